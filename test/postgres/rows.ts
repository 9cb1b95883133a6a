// Rows for every table by the kinds of its columns, and units that show each write: for comparing engines.

import type { WrittenUnit } from '#store/engine/postgres/writer/writing.ts'
import { definedTables } from '#store/engine/table.ts'
import { definedWrites, type Operation, type Write } from '#store/engine/write.ts'

type Columns = Record<string, { type: string; nullable: boolean; codec?: { decode(stored: unknown): unknown } }>

/** A row of a table; the same number makes the same row. */
export function rowFor(table: string, number: number, nothing = false): Record<string, unknown> {
  const columns = definedTables().get(table)?.columns as unknown as Columns
  return Object.fromEntries(
    Object.entries(columns).map(([key, { type, nullable, codec }], at) => {
      const stored = nullable && nothing ? null : storedFor(type, key, number + at)
      return [key, codec === undefined ? stored : decoded(codec, stored, number)]
    }),
  )
}

function storedFor(type: string, key: string, number: number): unknown {
  if (type === 'bytes') return Buffer.from([number, 0, 255])
  if (type === 'text') return `${key} ${number} Straße \u0000 \u{1f600} 'x' "y" \\ \u0001`
  return number
}

/** JSON and words of closed sets do not take any text. */
function decoded(codec: { decode(stored: unknown): unknown }, stored: unknown, number: number): unknown {
  if (stored === null) return codec.decode(null)
  if (typeof stored === 'number') return codec.decode(number & 1)
  try {
    return codec.decode(JSON.stringify({ number, text: 'a\u0000b \u{1f600}', list: [1, 'x'] }))
  } catch {
    return codec.decode(stored)
  }
}

export function unit(
  operations: readonly (readonly [name: string, form: unknown])[],
  partition = 0,
  epoch = 0,
): WrittenUnit {
  return { partition, epoch, operations: operations as unknown as readonly Operation[] }
}

/** Writes of one table that take a row of it and read nothing, those first that add rows, those last that take them away. */
export function plainWrites(table: string): Write<unknown>[] {
  const rank = ({ name }: Write<unknown>) =>
    /\.(?:insert|row|put)$/.test(name) ? 0 : /\.(?:delete|clear)$/.test(name) ? 2 : 1
  return [...definedWrites().values()]
    .filter(write => write.name.startsWith(`${table}.`) && write.encode !== undefined && write.told === undefined)
    .sort((one, other) => rank(one) - rank(other))
}
