// What happened in an account after a change number, read from rows: for clients that were away or too slow.
//
// There is no journal to keep: messages carry the number of their creation and of their last change, those that went and
// folders that went left a row, folders know when they were made and named. What came and went meanwhile is told only as
// gone; two changes of one message are one. Rows come in the order of their numbers, a bounded piece at a time. So a message that
// changed since it came is told later than it came: until then nobody knows everything up to where it came.

import { limits } from '#lib/limits.ts'
import type { Reader } from '../engine/reader.ts'
import type { PickedRow } from '../engine/table.ts'
import { changedRows, changedUids, changedUidsOf, firstCame } from './changes.ts'
import { expunged, forgetsExpunged } from './gone/expunged.ts'
import { forgetsRemoved } from './mailboxes.ts'
import { messages } from './messages.ts'

interface Told<Kind extends string> {
  readonly kind: Kind
  readonly modseq: number
  /** Id of the folder. */
  readonly mailbox: string
}

interface ToldMessage<Kind extends string> extends Told<Kind> {
  readonly uid: number
  readonly num: number
  readonly thread: number
}

interface ToldState<Kind extends string> extends ToldMessage<Kind> {
  readonly idate: number
  readonly flags: number
  readonly keywords: readonly string[]
}

interface ToldFolder<Kind extends string> extends Told<Kind> {
  readonly path: string
}

interface ToldArrival extends ToldState<'exists'> {
  /** The number with which it came. */
  readonly came: number
}

export type JournalEntry =
  | ToldArrival
  | ToldState<'flags'>
  | ToldMessage<'expunge'>
  | ToldFolder<'created'>
  | ToldFolder<'renamed'>
  | Told<'deleted'>

export interface JournalPiece {
  /** Rising by modseq; all entries of one number are in one piece. */
  readonly entries: readonly JournalEntry[]
  /** Everything up to this number has been told. */
  readonly upTo: number
  /** The number up to which a reader knows everything once an entry was told, for each entry: a later reader may go on from there. */
  readonly known: readonly number[]
  /** Whether there is nothing after it. */
  readonly whole: boolean
}

interface Folder {
  num: number
  id: string
  path: string
  created: number
  named: number
  modseq: number
}

/**
 * Changes of an account after `after`. Short: about limits.updates.replayRows rows, more in very many folders.
 *
 * @param since where the reader of the journal began: a message made after that is new to it, whenever its row is met
 */
export function journalAfter(reader: Reader, user: number, since: number, after: number): Promise<JournalPiece> {
  return reader.snapshot(async read => {
    const folders = await read.all<Folder>(
      `SELECT b.num, b.id, b.path, b.created_modseq AS created, b.path_modseq AS named, t.modseq
       FROM mailbox b JOIN tally t ON t.mailbox = b.num
       WHERE b."user" = @user AND (t.modseq > @after OR b.created_modseq > @after OR b.path_modseq > @after) ORDER BY b.num`,
      { user, after },
    )
    const { replayRows, replayRowsMin } = limits.updates
    const room = Math.max(replayRowsMin, Math.floor(replayRows / Math.max(1, folders.length)))
    const last =
      (await read.one<{ modseq: number }>('SELECT modseq FROM usage WHERE "user" = ?', user))?.modseq ?? after
    const entries: JournalEntry[] = []
    let upTo = last
    for (const folder of folders) {
      entries.push(...folderEntries(folder, after))
      const gone = await goneEntries(read, folder, after, room, entries)
      upTo = Math.min(upTo, gone, await messageEntries(read, folder, { since, after, room }, entries))
    }
    for (const gone of await read.all<{ modseq: number; id: string }>(
      'SELECT modseq, id FROM removed_mailbox WHERE "user" = ? AND modseq > ? ORDER BY modseq LIMIT ?',
      user,
      after,
      limits.updates.replayMax,
    )) {
      entries.push({ kind: 'deleted', modseq: gone.modseq, mailbox: gone.id })
    }
    const told = entries
      .filter(entry => entry.modseq > after && entry.modseq <= upTo)
      .sort((a, b) => a.modseq - b.modseq)
    const whole = upTo === last
    let untold = Number.POSITIVE_INFINITY
    if (!whole) for (const { num } of folders) untold = Math.min(untold, await firstCame(read, num, since, upTo))
    return { entries: told, known: knownAfter(told, untold), upTo, whole }
  })
}

/** @param untold where the first new message came that none of the entries tells */
function knownAfter(entries: readonly JournalEntry[], untold: number): number[] {
  const known: number[] = []
  let came = untold
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at] as JournalEntry
    const isLast = entries[at + 1]?.modseq !== entry.modseq
    known.push(Math.min(isLast ? entry.modseq : entry.modseq - 1, came - 1))
    if (entry.kind === 'exists') came = Math.min(came, entry.came)
  }
  return known.reverse()
}

/** How many rows changed after a number, counted up to `max`, which is also what is said where it is not known any more. */
export async function journalLength(read: Reader, user: number, after: number, max: number): Promise<number> {
  if (await forgets(read, user, after)) return max
  const folders = await read.all<{ num: number }>(
    'SELECT b.num FROM mailbox b JOIN tally t ON t.mailbox = b.num WHERE b."user" = ? AND t.modseq > ?',
    user,
    after,
  )
  const count = async (text: string, ...values: number[]) =>
    (await read.one<{ n: number }>(`SELECT count(*) AS n FROM (${text} LIMIT ?)`, ...values, max))?.n ?? 0
  let length = 0
  for (const { num } of folders) {
    length += await count(changedUids, ...(await changedUidsOf(read, num, after)))
    length += await count('SELECT 1 FROM expunged WHERE mailbox = ? AND modseq > ?', num, after)
    if (length >= max) break
  }
  return length
}

/** Whether some of what went after a number is not known any more: nothing may be told from there on. */
export async function forgets(read: Reader, user: number, after: number): Promise<boolean> {
  return (await forgetsRemoved(read, user, after)) || (await forgetsExpunged(read, user, after))
}

function folderEntries({ id, path, created, named }: Folder, after: number): JournalEntry[] {
  if (created > after) return [{ kind: 'created', modseq: created, mailbox: id, path }]
  return named > after ? [{ kind: 'renamed', modseq: named, mailbox: id, path }] : []
}

const changed = messages.pick(['uid', 'modseq', 'num', 'createdModseq', 'thread', 'idate', 'flags', 'keywords'])
const gone = expunged.pick(['uid', 'num', 'thread', 'modseq'])

/** Adds what changed in a folder and returns the number up to which that is all. */
async function messageEntries(
  read: Reader,
  folder: Folder,
  { since, after, room }: { since: number; after: number; room: number },
  entries: JournalEntry[],
): Promise<number> {
  const rows = await changedRows<PickedRow<typeof changed>>(read, folder.num, changed.list, {
    modseq: after,
    count: room + 1,
  })
  let upTo = Number.MAX_SAFE_INTEGER
  const more = rows.length > room
  if (more) upTo = edge(rows.map(row => row[changed.at.modseq]))
  // One change number may carry more messages than there is room for: then all of it is read.
  const shown = more && upTo <= after ? await sameNumber(read, folder.num, rows[0]?.[changed.at.modseq] ?? 0) : rows
  if (shown !== rows) upTo = rows[0]?.[changed.at.modseq] ?? upTo
  for (const [uid, modseq, num, created, thread, idate, flags, keywords] of shown) {
    const about = { mailbox: folder.id, uid, num, thread, idate, flags, keywords: keywords?.split(' ') ?? [] }
    if (created > since) entries.push({ kind: 'exists', modseq, came: created, ...about })
    if (modseq > created) entries.push({ kind: 'flags', modseq, ...about })
  }
  return upTo
}

async function sameNumber(read: Reader, mailbox: number, modseq: number): Promise<PickedRow<typeof changed>[]> {
  const count = Number.MAX_SAFE_INTEGER
  return await changedRows(read, mailbox, changed.list, { modseq: modseq - 1, upTo: modseq, count })
}

async function goneEntries(
  read: Reader,
  folder: Folder,
  after: number,
  room: number,
  entries: JournalEntry[],
): Promise<number> {
  const text = 'FROM expunged WHERE mailbox = ? AND modseq > ? ORDER BY modseq, uid LIMIT ?'
  const rows = await gone.all(read, text, folder.num, after, room + 1)
  let upTo = Number.MAX_SAFE_INTEGER
  let shown = rows
  if (rows.length > room) {
    upTo = edge(rows.map(row => row[gone.at.modseq]))
    if (upTo <= after) {
      upTo = rows[0]?.[gone.at.modseq] ?? upTo
      shown = await gone.all(read, 'FROM expunged WHERE mailbox = ? AND modseq = ? ORDER BY uid', folder.num, upTo)
    }
  }
  for (const [uid, num, thread, modseq] of shown) {
    entries.push({ kind: 'expunge', modseq, mailbox: folder.id, uid, num, thread })
  }
  return upTo
}

/** The number before the last one, of which there may be more; 0 where all are the same. */
function edge(numbers: readonly number[]): number {
  const last = numbers.at(-1) ?? 0
  const first = numbers[0] ?? 0
  return first === last ? 0 : last - 1
}
