// Marks of domains (BIMI) as they were fetched, so that a message holds one by its number and not its picture: the table, its
// reads and writes.
//
// A mark is what was proven of it with the picture it was proven of; another picture is another mark. There are never more
// than a set number: those fetched longest ago go first, and messages that had one of them are shown without its picture.

import { boolean, moment, oneOf, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

const marks = table(
  'mark',
  {
    /** Hash of all that it is. */
    id: text,
    /** By which it is asked for: domain, selector and where it lies, as a hash. */
    assertion: text,
    certified: boolean,
    /** VMC or CMC; empty for a mark without evidence. */
    type: oneOf<'VMC' | 'CMC' | ''>(),
    url: text,
    /** A data URL. */
    image: text,
    fetched: moment,
  },
  {
    key: ['id'],
    indexes: { mark_assertion: { on: ['assertion', 'fetched'] }, mark_fetched: { on: ['fetched'] } },
  },
)

export type MarkRow = Readonly<RowOf<typeof marks>>

/** As a message holds it. */
export interface HeldMark {
  /** Whether a certificate proves it. */
  readonly certified: boolean
  readonly url: string
  readonly type?: 'VMC' | 'CMC'
  readonly mark: string
}

/** Keeps one that was fetched. */
export const markPut = marks.defineUpsert()

/** Forgets those fetched longest ago but for so many. */
export const markSweep = defineWrite<{ rowsMax: number }>('mark.sweep', (sql, { rowsMax }) => {
  sql('DELETE FROM mark WHERE id IN (SELECT id FROM mark ORDER BY fetched DESC LIMIT -1 OFFSET ?)').run(rowsMax)
})

/** What was fetched last of what a domain asserts, no longer ago than `since`. */
export async function findMark(read: Reader, assertion: string, since: number): Promise<HeldMark | undefined> {
  const rest = 'WHERE assertion = ? AND fetched > ? ORDER BY fetched DESC LIMIT 1'
  const row = await marks.one(read, rest, assertion, since)
  return row === undefined ? undefined : heldMark(row)
}

export function heldMark({ id, certified, type, url }: MarkRow): HeldMark {
  return { certified, url, ...(type !== '' && { type }), mark: id }
}

/** A mark with its picture, while that is kept; as the API shows it. */
export async function shownMark(
  read: Reader,
  held: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const { mark, ...shown } = held
  if (typeof mark !== 'string') return shown
  const row = await read.one<{ image: string }>('SELECT image FROM mark WHERE id = ?', mark)
  return row === undefined ? shown : { ...shown, image: row.image }
}
