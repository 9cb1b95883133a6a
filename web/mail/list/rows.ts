// Rows of lists: which letters they stand for, and what they look like when something has changed since they were asked for, or is owed.
//
// What is to be moved and is not yet has the number it has where it still is; where it is to go it is shown all the same.

import { owed, whereIs } from '../owed/owed.ts'
import type { Row } from '../store.ts'

export interface Change {
  readonly mailbox: string
  readonly uids: ReadonlySet<number>
  readonly change: Partial<Row>
}

/** Marks that are owed. */
export function marked(): Change[] {
  return owed.value.flatMap(({ deed }) =>
    deed.kind === 'mark' ? [{ mailbox: deed.mailbox, uids: new Set(deed.uids), change: deed.marks }] : [],
  )
}

/** Rows that are to come to a folder and are not there yet, the last first, as they come to stand above all others. */
export function arriving(folder: string): Row[] {
  const marks = marked()
  return owed.value
    .filter(({ deed, isLate }) => isLate && deed.kind === 'move' && deed.to === folder)
    .toReversed()
    .flatMap(({ rows = [] }) => rows.toSorted((a, b) => b.id - a.id))
    .filter(row => lettersOf(row).some(uid => whereIs(row.mailbox, uid) === folder))
    .map(row => patched(row, marks))
}

/** Letters among some that nobody has read. */
export function unreadOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { seen, conversation }) => sum + (conversation?.unseen ?? (seen ? 0 : 1)), 0)
}

/** Letters that a row stands for. */
export function lettersOf({ id, conversation }: Row): readonly number[] {
  return conversation === undefined || conversation.messages.length === 0 ? [id] : conversation.messages
}

export function patched(row: Row, changes: readonly Change[]): Row {
  return changes
    .filter(({ mailbox, uids }) => row.mailbox === mailbox && uids.has(row.id))
    .reduce((now, { uids, change }) => changed(now, uids, change), row)
}

function changed(row: Row, uids: ReadonlySet<number>, change: Partial<Row>): Row {
  const { conversation } = row
  if (conversation === undefined || !conversation.messages.every(uid => uids.has(uid))) return { ...row, ...change }
  const { seen, flagged } = change
  const { here } = conversation
  const counts = {
    ...(seen !== undefined && { unseen: seen ? 0 : here }),
    ...(flagged !== undefined && { flagged: flagged ? here : 0 }),
  }
  return { ...row, ...change, conversation: { ...conversation, ...counts } }
}

/** A letter or two stand in nearly every message: all that have them are only looked for when they are scrolled to. */
export function isShort(q: string): boolean {
  return /^[\p{Script=Latin}\d]{1,2}$/u.test(q.trim())
}
