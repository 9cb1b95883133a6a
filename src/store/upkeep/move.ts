// Moves the rows of a database to PostgreSQL, table by table in the order of their keys, and says where both differ.
//
// A piece is there with the note of how far it went or not at all, so that a move that broke off goes on where it was. The
// database that is left must not change meanwhile. The full-text index is not moved: it can be made anew, and waits to be.

import { isDeepStrictEqual } from 'node:util'
import { limits } from '#lib/limits.ts'
import type { Stored } from '../engine/column.ts'
import { type Client, postgresFault } from '../engine/postgres/session.ts'
import { bound } from '../engine/postgres/values.ts'
import type { Reader } from '../engine/reader.ts'
import { definedTables } from '../engine/table.ts'

type Table = ReturnType<typeof definedTables> extends ReadonlyMap<string, infer One> ? One : never
type Row = Stored[]

/** What rows are read from: either engine's. */
type Source = Pick<Reader, 'arrays'>

const notes = 'CREATE TABLE IF NOT EXISTS moving (name text PRIMARY KEY, after text NOT NULL)'

/** All rows of `from`, which the tables of an empty database get. @param moved hears of each piece */
export async function moveRows(
  from: Source,
  to: Client,
  moved: (table: string, rows: number) => void = () => {},
): Promise<void> {
  try {
    await to.query(notes)
    for (const table of definedTables().values()) await moveTable(table, from, to, moved)
    await to.query('UPDATE search_doc SET indexed = 0')
    await to.query('DROP TABLE moving')
    await to.query('ANALYZE')
  } catch (error) {
    throw postgresFault(error) ?? error
  }
}

async function moveTable(
  table: Table,
  from: Source,
  to: Client,
  moved: (table: string, rows: number) => void,
): Promise<void> {
  const noted = await to.query('SELECT after FROM moving WHERE name = $1', [table.name])
  const after = noted.rows[0] as { after: string } | undefined
  for await (const rows of pieces(table, from, after === undefined ? undefined : (JSON.parse(after.after) as Row))) {
    await to.query('BEGIN')
    try {
      await to.query(
        insertion(table, rows.length),
        rows.flatMap(row => row.map(value => bound(value).form)),
      )
      const last = JSON.stringify(keyOf(table, rows.at(-1) as Row))
      await to.query('INSERT INTO moving VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET after = $2', [
        table.name,
        last,
      ])
      await to.query('COMMIT')
    } catch (error) {
      await to.query('ROLLBACK').catch(() => {})
      throw error
    }
    moved(table.name, rows.length)
  }
}

/** Rows of a table in the order of its key, behind one where that is given, as many at a time as one statement takes. */
async function* pieces(table: Table, from: Source, after?: Row): AsyncGenerator<Row[]> {
  let last = after
  for (;;) {
    const read = await page(table, from, last)
    if (read.length === 0) return
    let piece: Row[] = []
    let bytes = 0
    for (const row of read) {
      piece.push(row)
      for (const value of row) bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
      if (bytes < limits.postgres.copyBytes) continue
      yield piece
      piece = []
      bytes = 0
    }
    if (piece.length > 0) yield piece
    last = keyOf(table, read.at(-1) as Row)
  }
}

async function page(table: Table, from: Source, after: Row | undefined): Promise<Row[]> {
  const key = table.shape.key.map(name => table.place(name)).join(', ')
  const marks = table.shape.key.map(() => '?').join(', ')
  const where = after === undefined ? '' : `WHERE (${key}) > (${marks})`
  const text = `SELECT ${columnsOf(table)} FROM ${table} ${where} ORDER BY ${key} LIMIT ?`
  return from.arrays<Row>(text, ...(after ?? []), limits.postgres.copyRows)
}

function columnsOf(table: Table): string {
  return Object.keys(table.columns)
    .map(name => table.place(name))
    .join(', ')
}

function keyOf(table: Table, row: Row): Row {
  const names = Object.keys(table.columns)
  return table.shape.key.map(name => row[names.indexOf(name)] ?? null)
}

function insertion(table: Table, rows: number): string {
  const width = Object.keys(table.columns).length
  const places = Array.from({ length: rows }, (_, row) => {
    return `(${Array.from({ length: width }, (_value, at) => `$${row * width + at + 1}`).join(', ')})`
  })
  return `INSERT INTO ${table} (${columnsOf(table)}) VALUES ${places.join(', ')}`
}

/** Where rows differ between the two, at most `most` places, as sentences. What waits to be indexed is passed over. */
export async function differences(a: Source, b: Source, most = 20): Promise<string[]> {
  const found: string[] = []
  for (const table of definedTables().values()) {
    if (table.name === 'search_doc') continue
    const [left, right] = [rowsOf(table, a), rowsOf(table, b)]
    for (;;) {
      const [one, other] = await Promise.all([left.next(), right.next()])
      if (one.done === true && other.done === true) break
      if (isDeepStrictEqual(one.value, other.value)) continue
      const row = (one.value ?? other.value) as Row
      found.push(`${table.name} ${JSON.stringify(keyOf(table, row))}`)
      if (found.length >= most) return found
      // From here on nothing is in step.
      if (!isDeepStrictEqual(one.value && keyOf(table, one.value), other.value && keyOf(table, other.value))) break
    }
  }
  return found
}

async function* rowsOf(table: Table, from: Source): AsyncGenerator<Row, undefined> {
  for await (const piece of pieces(table, from)) yield* piece
  return undefined
}
