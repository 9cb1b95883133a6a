// Rows of a page of messages: as many as what is stored of them allows, short texts with the row and long ones each by itself.
//
// A message may have a thousand attachments to be told of: what is read in one go is bounded, and others have their turn in between.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import type { Reader } from '../engine/reader.ts'
import { readSummaryText } from '../mailboxes/outlines.ts'

/** The first rows of a page, and whether it has others that are left to the next one. */
export interface SomeRows<Row> {
  readonly rows: Row[]
  readonly more: boolean
}

/** As many rows as their stored text allows, one at least: a message may have a thousand attachments to be told of. */
export class SomeRowsTaken<Row> {
  readonly #decode: (row: MeasuredText) => Row
  readonly #rows: Row[] = []
  #bytes = 0
  #more = false

  constructor(decode: (row: MeasuredText) => Row) {
    this.#decode = decode
  }

  /** Takes the next row where there is room for it. */
  take(row: MeasuredText): boolean {
    this.#bytes += row.bytes
    this.#more = this.#rows.length > 0 && this.#bytes > limits.http.pageBytesMax
    if (!this.#more) this.#rows.push(this.#decode(row))
    return !this.#more
  }

  get taken(): SomeRows<Row> {
    return { rows: this.#rows, more: this.#more }
  }
}

/** What is read first of a summary: how long it is, and all of a short one. */
export interface MeasuredText {
  readonly bytes: number
  readonly summary: string | null
}

/** A message whose summary may still have to be read. */
interface Unread {
  readonly body: number
  readonly summary: string | null
}

/**
 * The same messages with the summaries that are long, each of which takes a millisecond or two to read: others have their turn in
 * between. A summary is that of a body and never changes; a message whose body went meanwhile is left out.
 */
export async function withSummaries<Row extends Unread>(
  read: Reader,
  rows: readonly Row[],
  slices: Slices,
): Promise<(Row & { readonly summary: string })[]> {
  const whole: (Row & { readonly summary: string })[] = []
  for (const row of rows) {
    if (isWhole(row)) {
      whole.push(row)
      continue
    }
    if (slices.spent) await slices.turn()
    const summary = await readSummaryText(read, row.body)
    if (summary !== undefined) whole.push({ ...row, summary })
  }
  return whole
}

function isWhole<Row extends Unread>(row: Row): row is Row & { readonly summary: string } {
  return row.summary !== null
}

/** For who works on a thread of his own. */
export const unhurried: Slices = { spent: false, turn: () => Promise.resolve() }
