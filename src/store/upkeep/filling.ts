// Filling an empty database with rows, by tables and in the order of their keys, so that it can be broken off and gone on with.

import type { Stored } from '../engine/column.ts'
import type { definedTables } from '../engine/table.ts'

export type AnyTable = ReturnType<typeof definedTables> extends ReadonlyMap<string, infer One> ? One : never

/** Values of all columns of a table, as they are stored. */
export type StoredRow = Stored[]

/** A database that is being filled. Nobody else has it, and no service takes it for one that is whole. */
export interface Filling {
  /** The key of the last row that is there of a table; undefined where none is. */
  last(table: AnyTable): Promise<StoredRow | undefined>
  /** Rows behind that one. They are there with the note of the last one's key, or not at all. */
  put(table: AnyTable, rows: readonly StoredRow[]): Promise<void>
  /** All is there: from now on it may be served. */
  finish(): Promise<void>
  close(): Promise<void>
}

/** Columns in the order of a row. */
export function columnsOf(table: AnyTable): string {
  return Object.keys(table.columns)
    .map(name => table.place(name))
    .join(', ')
}

export function keyOf(table: AnyTable, row: StoredRow): StoredRow {
  const names = Object.keys(table.columns)
  return table.shape.key.map(name => row[names.indexOf(name)] ?? null)
}
