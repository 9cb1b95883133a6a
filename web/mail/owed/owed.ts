// What is to be done to messages and the service has not done yet, as this browser keeps it: in the order in which it was wanted, until it
// is done or cannot be done any more (doing.ts).
//
// Each is kept under a key of its own, so that two windows never write over each other. Lists show their messages as if it were done. Who acts
// as somebody else leaves nothing here.

import { signal } from '@preact/signals'
import { session } from '../../base/session.ts'

export interface Marks {
  readonly seen?: boolean
  readonly flagged?: boolean
}

export type Deed = { readonly mailbox: string; readonly uids: readonly number[] } & (
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
}

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
  for (const key of Object.keys(localStorage)) {
    if (!key.startsWith(start)) continue
    try {
      found.push(JSON.parse(localStorage.getItem(key) ?? '') as Owed)
    } catch {
      localStorage.removeItem(key)
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

export function owe(deed: Deed, unread: number): Owed {
  made += 1
  const id = `${Date.now()}.${String(made).padStart(6, '0')}.${crypto.randomUUID()}`
  const one = { id, deed, isTried: false, isLate: false, unread }
  put(one)
  return one
}

function put(one: Owed): void {
  try {
    if (session.value?.acting !== undefined) throw new Error('Not in this browser')
    localStorage.setItem(place() + one.id, JSON.stringify(one))
    unkept.delete(one.id)
  } catch {
    unkept.set(one.id, one)
  }
  readOwed()
}

/** Notes how it goes with one that is still there. */
export function note(id: string, change: Partial<Pick<Owed, 'isTried' | 'isLate'>>): void {
  const one = readOwed().find(other => other.id === id)
  if (one !== undefined) put({ ...one, ...change })
}

/** It is done, or will not be. */
export function drop(id: string): void {
  unkept.delete(id)
  localStorage.removeItem(place() + id)
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

/** What a folder's counts come to when all that waits is done. */
export function owedCounts(mailbox: string): { total: number; unseen: number } {
  const sum = { total: 0, unseen: 0 }
  for (const { deed, isLate, unread } of owed.value) {
    if (!isLate) continue
    const count = deed.uids.length
    if (deed.kind === 'mark') {
      if (deed.mailbox === mailbox && deed.marks.seen !== undefined)
        sum.unseen += deed.marks.seen ? -unread : count - unread
      continue
    }
    if (deed.mailbox === mailbox) {
      sum.total -= count
      sum.unseen -= unread
    } else if (deed.kind === 'move' && deed.to === mailbox) {
      sum.total += count
      sum.unseen += unread
    }
  }
  return sum
}
