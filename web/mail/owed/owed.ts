// What is to be done to messages and the service has not done yet, as this browser keeps it: in the order in which it was wanted, until it
// is done or cannot be done any more (doing.ts).
//
// Each is kept under a key of its own, so that two windows never write over each other. Lists show their messages as if it were done. Who acts
// as somebody else leaves nothing here.

import { signal } from '@preact/signals'
import { local } from '../../base/browser.ts'
import { session } from '../../base/session.ts'
import type { Row } from '../store.ts'

export interface Marks {
  readonly seen?: boolean
  readonly flagged?: boolean
}

/** Messages by the numbers that they have at the service; `at` is where they are shown, if that is another folder. */
export interface Deeded {
  readonly mailbox: string
  readonly uids: readonly number[]
  readonly at?: string
}

export type Deed = Deeded &
  (
    | { readonly kind: 'mark'; readonly marks: Marks }
    /** To a folder by its id, or to the archive that is made first. */
    | { readonly kind: 'move'; readonly to: string }
    | { readonly kind: 'delete' }
  )

export interface Owed {
  /** Those that were wanted later come after it. */
  readonly id: string
  readonly deed: Deed
  /** The service was asked, and its answer did not come: it may be done. */
  readonly isTried: boolean
  /** It could not be done at once. */
  readonly isLate: boolean
  /** Unread messages among them when it was wanted. */
  readonly unread: number
  /** What is moved as it was listed, to be shown where it goes. */
  readonly rows?: readonly Row[]
}

/** More rows than this are not kept with what is owed, nor more people of one. */
const rowsMax = 50
const peopleMax = 4

export const owed = signal<readonly Owed[]>([])

/** Those that there was no room for, or that must not be kept. */
const unkept = new Map<string, Owed>()
let made = 0

function place(): string {
  return `teal.deed.${session.value?.user?.id ?? ''}.`
}

/** As it is kept now: other windows add to it and take from it. */
export function readOwed(): readonly Owed[] {
  const start = place()
  const found = [...unkept.values()]
  for (const key of local.keys()) {
    if (!key.startsWith(start)) continue
    try {
      found.push(JSON.parse(local.get(key) ?? '') as Owed)
    } catch {
      local.remove(key)
    }
  }
  found.sort((a, b) => (a.id < b.id ? -1 : 1))
  // Views hear only of what is another thing to them.
  const said = (all: readonly Owed[]) => all.map(({ id, isLate }) => `${id} ${isLate}`).join()
  if (said(found) !== said(owed.value)) owed.value = found
  return found
}

addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(place())) readOwed()
})

export function owe(deed: Deed, unread: number, rows: readonly Row[] = []): Owed {
  made += 1
  const id = `${Date.now()}.${String(made).padStart(6, '0')}.${crypto.randomUUID()}`
  const one = { id, deed, isTried: false, isLate: false, unread }
  put(deed.kind === 'move' ? { ...one, rows: rows.slice(0, rowsMax).map(short) } : one)
  return one
}

function short(row: Row): Row {
  return { ...row, to: row.to.slice(0, peopleMax), cc: [], bcc: [], references: [], attachmentsList: [] }
}

function put(one: Owed): void {
  // Where there is little room, what is to be done counts, and not what it looks like.
  if (isPut(one) || isPut({ ...one, rows: [] })) unkept.delete(one.id)
  else unkept.set(one.id, one)
  readOwed()
}

function isPut(one: Owed): boolean {
  return session.value?.acting === undefined && local.set(place() + one.id, JSON.stringify(one))
}

/** Notes how it goes with one that is still there. */
export function note(id: string, change: Partial<Pick<Owed, 'isTried' | 'isLate'>>): void {
  const one = readOwed().find(other => other.id === id)
  if (one !== undefined) put({ ...one, ...change })
}

/** Messages have other numbers in another folder now: what is still to be done to them is done to those. */
export function renumber({ id, deed: { mailbox } }: Owed, numbers: ReadonlyMap<number, number>, to: string): void {
  for (const one of readOwed()) {
    if (one.id <= id) continue
    if (one.deed.mailbox !== mailbox || !one.deed.uids.some(uid => numbers.has(uid))) continue
    const uids = one.deed.uids.filter(uid => !numbers.has(uid))
    const { at: _, ...deed } = one.deed
    const moved = { ...one, deed: { ...deed, mailbox: to, uids: one.deed.uids.flatMap(uid => numbers.get(uid) ?? []) } }
    if (uids.length > 0) put({ ...one, deed: { ...one.deed, uids } })
    put(uids.length > 0 ? { ...moved, id: `${one.id}.moved`, unread: 0 } : moved)
  }
}

/** It is done, or will not be. */
export function drop(id: string): void {
  unkept.delete(id)
  local.remove(place() + id)
  readOwed()
}

export function forgetOwed(): void {
  for (const { id } of readOwed()) drop(id)
}

/** Whether some of it is lost when the page is left now. */
export function isOwedLostWithPage(): boolean {
  return unkept.size > 0
}

/** Messages that are still in a folder and are shown there no more. */
export function leaving(mailbox: string): ReadonlySet<number> {
  const gone = owed.value.filter(({ deed }) => deed.mailbox === mailbox && deed.kind !== 'mark')
  return new Set(gone.flatMap(({ deed }) => deed.uids))
}

/** The folder that a message is in when all that is owed is done; '' for none. */
export function whereIs(mailbox: string, uid: number): string {
  const last = owed.value.findLast(
    ({ deed }) => deed.kind !== 'mark' && deed.mailbox === mailbox && deed.uids.includes(uid),
  )?.deed
  if (last === undefined) return mailbox
  return last.kind === 'move' ? last.to : ''
}

/** Messages by the folders that they are shown in. */
export function byWhere({ mailbox, uids }: Deeded): Deeded[] {
  return [...Map.groupBy(uids, uid => whereIs(mailbox, uid))].map(([at, some]) =>
    at === mailbox ? { mailbox, uids: some } : { mailbox, uids: some, at },
  )
}

/** What a folder's counts when all that waits is done. */
export function owedCounts(mailbox: string): { total: number; unseen: number } {
  const sum = { total: 0, unseen: 0 }
  for (const { deed, isLate, unread } of owed.value) {
    if (!isLate) continue
    const count = deed.uids.length
    const from = deed.at ?? deed.mailbox
    if (deed.kind === 'mark') {
      if (from === mailbox && deed.marks.seen !== undefined) sum.unseen += deed.marks.seen ? -unread : count - unread
      continue
    }
    if (from === mailbox) {
      sum.total -= count
      sum.unseen -= unread
    }
    if (deed.kind === 'move' && deed.to === mailbox) {
      sum.total += count
      sum.unseen += unread
    }
  }
  return sum
}
