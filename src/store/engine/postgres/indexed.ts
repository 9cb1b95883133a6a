// Columns as they stand in an index, for the tables and for texts that name them: of what is long a hash.

import type { definedTables } from '../table.ts'

type Table = ReturnType<typeof definedTables> extends ReadonlyMap<string, infer One> ? One : never

/** Columns of a table, or those the engine works out, behind the name of an index. */
export function indexed(table: Table, columns: readonly string[]): string {
  const long: readonly string[] = table.shape.long ?? []
  return columns
    .map(column => {
      const place = table.place(column)
      return long.includes(column) ? `md5(${place})` : place
    })
    .join(', ')
}
