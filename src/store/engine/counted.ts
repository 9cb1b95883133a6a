// A page of a list together with how many rows the list has: both from one picture of the database, so that no commit
// between the two, an expiry for one, makes an answer that contradicts itself.
//
// Both are read at once and on the reader's own thread: what is handed in must have read before it waits for anything.

import type { Reader } from './reader.ts'

export interface Counted<Row> {
  readonly total: number
  readonly rows: Row[]
  /** Rows follow although fewer came than were asked for. */
  readonly more?: boolean
}

export async function counted<Row>(
  read: Reader,
  total: () => Promise<number>,
  rows: () => Promise<Row[] | { readonly rows: Row[]; readonly more: boolean }>,
): Promise<Counted<Row>> {
  const [all, some] = await read.snapshot(() => Promise.all([total(), rows()]))
  return { total: all, ...(Array.isArray(some) ? { rows: some } : some) }
}
