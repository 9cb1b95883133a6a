// Moves the rows of a database to another one, table by table in the order of their keys, and says where both differ.
//
// A piece is there with the note of how far it went or not at all, so that a move that broke off goes on where it was. The
// database that is left must not change meanwhile. The full-text index is not moved: it can be made anew, and waits to be.

import { isDeepStrictEqual } from 'node:util'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '../engine/reader.ts'
import { definedTables } from '../engine/table.ts'
import { type AnyTable, columnsOf, type Filling, keyOf, type StoredRow } from './filling.ts'

/** What rows are read from: either engine's. */
type Source = Pick<Reader, 'arrays'>

/** What a row of a table becomes on its way; itself as a rule. */
export type Change = (table: string, row: StoredRow) => StoredRow | Promise<StoredRow>

const unchanged: Change = (_, row) => row

/**
 * All rows of `from`, which an empty database gets, or one that has some of them from before.
 *
 * @param moved hears of each piece
 * @throws Fault NotPermitted where what is there came from elsewhere
 */
export async function moveRows(
  from: Source,
  to: Filling,
  change = unchanged,
  moved: (table: string, rows: number) => void = () => {},
): Promise<void> {
  for (const table of definedTables().values()) {
    const last = await to.last(table)
    if (last !== undefined && !(await has(table, from, last))) {
      throw new Fault('NotPermitted', {
        text: `What was moved there before came from another database (${table.name}): name an empty one`,
      })
    }
    for await (const rows of pieces(table, from, change, last)) {
      await to.put(table, rows)
      moved(table.name, rows.length)
    }
  }
}

async function has(table: AnyTable, from: Source, key: StoredRow): Promise<boolean> {
  const where = table.shape.key.map(name => `${table.place(name)} = ?`).join(' AND ')
  return (await from.arrays(`SELECT 1 FROM ${table} WHERE ${where}`, ...key)).length > 0
}

/** Rows of a table in the order of its key, behind one where that is given, as many at a time as one statement takes. */
async function* pieces(table: AnyTable, from: Source, change: Change, after?: StoredRow): AsyncGenerator<StoredRow[]> {
  let last = after
  for (;;) {
    const read = await page(table, from, last)
    if (read.length === 0) return
    let piece: StoredRow[] = []
    let bytes = 0
    for (const row of read) {
      const changed = await change(table.name, row)
      piece.push(changed)
      for (const value of changed) bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
      if (bytes < limits.postgres.copyBytes) continue
      yield piece
      piece = []
      bytes = 0
    }
    if (piece.length > 0) yield piece
    last = keyOf(table, read.at(-1) as StoredRow)
  }
}

async function page(table: AnyTable, from: Source, after: StoredRow | undefined): Promise<StoredRow[]> {
  const key = table.shape.key.map(name => table.place(name)).join(', ')
  const marks = table.shape.key.map(() => '?').join(', ')
  const rest = `FROM ${table} ${after === undefined ? '' : `WHERE (${key}) > (${marks})`} ORDER BY ${key} LIMIT ?`
  const count = table.name === 'part' ? await partsAtOnce(from, rest, after) : limits.postgres.copyRows
  return from.arrays<StoredRow>(`SELECT ${columnsOf(table)} ${rest}`, ...(after ?? []), count)
}

/** Some parts are as large as a message may be. */
async function partsAtOnce(from: Source, rest: string, after: StoredRow | undefined): Promise<number> {
  const sizes = await from.arrays<[number]>(`SELECT stored ${rest}`, ...(after ?? []), limits.postgres.copyRows)
  let bytes = 0
  const full = sizes.findIndex(([size]) => {
    bytes += size
    return bytes >= limits.postgres.copyBytes
  })
  return full < 0 ? limits.postgres.copyRows : full + 1
}

/**
 * Where rows differ between the two, at most `most` places, as sentences. What waits to be indexed is passed over.
 *
 * @param changes what rows of each become before they are compared
 */
export async function differences(
  a: Source,
  b: Source,
  [ofA, ofB]: readonly [Change, Change] = [unchanged, unchanged],
  most = 20,
): Promise<string[]> {
  const found: string[] = []
  for (const table of definedTables().values()) {
    if (table.name === 'search_doc') continue
    const [left, right] = [rowsOf(table, a, ofA), rowsOf(table, b, ofB)]
    for (;;) {
      const [one, other] = await Promise.all([left.next(), right.next()])
      if (one.done === true && other.done === true) break
      if (isDeepStrictEqual(one.value, other.value)) continue
      const row = (one.value ?? other.value) as StoredRow
      found.push(`${table.name} ${JSON.stringify(keyOf(table, row))}`)
      if (found.length >= most) return found
      // From here on nothing is in step.
      if (!isDeepStrictEqual(one.value && keyOf(table, one.value), other.value && keyOf(table, other.value))) break
    }
  }
  return found
}

async function* rowsOf(table: AnyTable, from: Source, change: Change): AsyncGenerator<StoredRow, undefined> {
  for await (const piece of pieces(table, from, change)) yield* piece
  return undefined
}
