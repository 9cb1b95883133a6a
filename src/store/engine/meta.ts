// Small facts about the database itself: how far a loop has read, what was tried to see whether the disk takes writes.

import { scalar, text } from './column.ts'
import { greatest } from './dialect.ts'
import type { Reader } from './reader.ts'
import type { Sql } from './sqlite/handle.ts'
import { table } from './table.ts'

const facts = table('meta', { key: text, value: scalar }, { key: ['key'], clustered: true })

export const metaPut = facts.defineUpsert()

export const metaDelete = facts.defineDelete(['key'])

/** A fact that never falls, in the unit of another write. */
export function raiseFact(sql: Sql, key: string, value: number): void {
  sql(raising).run(key, value)
}

const raising = `${facts.insertion} ON CONFLICT DO UPDATE SET value = ${greatest('meta.value', 'excluded.value')}`

/** The number a fact has come to; 0 where there is none. */
export async function factOf(read: Reader, key: string): Promise<number> {
  return Number((await facts.one(read, 'WHERE key = ?', key))?.value ?? 0)
}
