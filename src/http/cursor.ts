// Paging of lists: opaque cursors and what comes before and after a page (api-semantics 1.8).
//
// A cursor is base64url of the JSON array [boundary, page]: the sort key of the row next to which the wanted page
// begins, and that page's number. It holds nothing secret and is not signed, so whoever uses a boundary treats it as
// any other input. Text that is no cursor, or one made for another list, is the caller's mistake and answered 400.

import { Buffer } from 'node:buffer'
import { type Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Counted } from '#store/engine/counted.ts'

/** By these words clients know that their place in a list is lost, and begin anew. */
export const cursorLost = 'Invalid paging cursor'

/** Refuses a cursor that another list gave. */
export function foreignCursor(field: 'next' | 'previous'): Fault {
  return invalid(field, `is not a cursor of this list. ${cursorLost}`)
}

/** The sort key of one row; the last part makes it unique. */
export type Boundary = readonly (string | number)[]

export interface Cursor {
  readonly boundary: Boundary
  readonly page: number
}

/** `forward`: rows after the boundary in list order. `back`: rows before it, the nearest first. */
type Direction = 'forward' | 'back'

export interface Paging {
  readonly limit: number
  readonly next?: Cursor | undefined
  readonly previous?: Cursor | undefined
  /** Rows that the list leaves out before a page without a cursor. */
  readonly skip?: number | undefined
}

export interface List<Row> {
  /** What each part of a boundary is, to tell this list's cursors from another's. */
  readonly key: readonly ('string' | 'number')[]
  /**
   * At most `count` rows from `boundary` (null: from the start) in `direction`, the boundary's row not among them. Fewer of
   * them where they are so large that the others are for the next page: then `more`.
   */
  fetch(boundary: Boundary | null, direction: Direction, count: number): Fetched<Row> | Promise<Fetched<Row>>
  boundary(row: Row): Boundary
}

/** A list that says how many rows it has, of the same moment as those it gives. */
export interface CountedList<Row> extends Omit<List<Row>, 'fetch'> {
  fetch(boundary: Boundary | null, direction: Direction, count: number): Promise<Counted<Row>>
}

type Fetched<Row> = Row[] | { readonly rows: Row[]; readonly more: boolean }

export interface Page<Row> {
  readonly page: number
  readonly previousCursor: string | false
  readonly nextCursor: string | false
  readonly rows: Row[]
}

/**
 * One page of a list: fetches one row more than wanted to know whether there is more.
 * `next` wins over `previous`. Throws InputValidationError for a cursor of another list.
 */
export async function paged<Row>(paging: Paging, list: List<Row>): Promise<Page<Row>> {
  const cursor = paging.next ?? paging.previous
  const back = paging.next === undefined && paging.previous !== undefined
  if (cursor !== undefined && !fits(cursor.boundary, list.key)) {
    throw foreignCursor(back ? 'previous' : 'next')
  }
  const fetched = await list.fetch(cursor?.boundary ?? null, back ? 'back' : 'forward', paging.limit + 1)
  const { rows, more } = Array.isArray(fetched) ? { rows: fetched, more: false } : fetched
  // What was before has gone: what is left begins where the first page does.
  if (back && rows.length === 0) return paged({ limit: paging.limit }, list)
  const extra = more || rows.length > paging.limit
  const shown = extra ? rows.slice(0, paging.limit) : rows
  if (back) shown.reverse()

  const first = shown[0]
  const last = shown.at(-1)
  const hasPrevious = back ? extra : cursor !== undefined || (paging.skip ?? 0) > 0
  const hasNext = back || extra
  const before = first === undefined ? cursor?.boundary : list.boundary(first)
  const page = hasPrevious ? (cursor?.page ?? 2) : 1
  return {
    page,
    // Where the rest has gone the way back is still there.
    previousCursor: hasPrevious && before !== undefined ? encodeCursor(before, page - 1) : false,
    nextCursor: hasNext && last !== undefined ? encodeCursor(list.boundary(last), page + 1) : false,
    rows: shown,
  }
}

/** The same of a list that is counted. */
export async function pagedCounted<Row>(
  paging: Paging,
  list: CountedList<Row>,
): Promise<Page<Row> & { readonly total: number }> {
  let total = 0
  const page = await paged(paging, {
    ...list,
    async fetch(boundary, direction, count) {
      const fetched = await list.fetch(boundary, direction, count)
      total = fetched.total
      return { more: false, ...fetched }
    },
  })
  return { total, ...page }
}

export function encodeCursor(boundary: Boundary, page: number): string {
  return Buffer.from(JSON.stringify([boundary, Math.max(page, 1)])).toString('base64url')
}

const alphabet = /^[A-Za-z0-9_-]+$/

/** The cursor in `text`, or null where it is none. */
export function decodeCursor(text: string): Cursor | null {
  if (text.length > limits.http.cursorLengthMax || !alphabet.test(text)) return null
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (!Array.isArray(value) || value.length !== 2) return null
    const [boundary, page] = value as unknown[]
    if (!Array.isArray(boundary) || !Number.isSafeInteger(page)) return null
    const plain = boundary.every(part => typeof part === 'string' || Number.isFinite(part))
    return plain ? { boundary, page: Math.max(Number(page), 1) } : null
  } catch {
    return null
  }
}

function fits(boundary: Boundary, key: readonly string[]): boolean {
  return boundary.length === key.length && boundary.every((part, index) => typeof part === key[index])
}
