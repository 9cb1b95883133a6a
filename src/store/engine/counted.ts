// A page of a list together with how many rows the list has: both from one picture of the database, so that no commit
// between the two, an expiry for one, makes an answer that contradicts itself.

import type { Reader } from './reader.ts'

export interface Counted<Row> {
  readonly total: number
  readonly rows: Row[]
  /** Rows follow although fewer came than were asked for. */
  readonly more?: boolean
}

export async function counted<Row>(
  read: Reader,
  total: (picture: Reader) => Promise<number>,
  rows: (picture: Reader) => Promise<Row[] | { readonly rows: Row[]; readonly more: boolean }>,
): Promise<Counted<Row>> {
  const [all, some] = await read.snapshot(picture => Promise.all([total(picture), rows(picture)]))
  return { total: all, ...(Array.isArray(some) ? { rows: some } : some) }
}
