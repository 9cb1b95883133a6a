// How a database that an earlier version made becomes one of this: the steps of ../schema.ts by their numbers, in this engine's words.
//
// All of them are one transaction, while nobody else has the database. What the tables of this engine alone need (shared ones) is a
// step, too, that is nothing to the other one; it must not mind where such a table is not there yet.

import { Fault } from '#lib/fault.ts'
import { inWords } from '../dialect.ts'
import { relearnedByPlace } from '../migrations/036-relearned-by-place.ts'
import { loose } from '../migrations/039-loose.ts'
import { migrations } from '../schema.ts'
import { postgresWords } from './words.ts'
import { heldByOthers } from './writer/hold.ts'

/** By number. A step that changes rows alone has the same text for both engines. */
export const steps: ReadonlyMap<number, string> = new Map([
  [36, relearnedByPlace],
  [
    37,
    'ALTER TABLE tally ADD COLUMN forgotten bigint NOT NULL DEFAULT 0; ALTER TABLE tally ALTER forgotten DROP DEFAULT',
  ],
  [38, 'CREATE TABLE as_lines (body bigint NOT NULL PRIMARY KEY, added bigint NOT NULL)'],
  [39, loose],
])

/** Before this schema nobody had a database behind an address. */
export const oldest = 35

interface Session {
  query(what: string | { readonly text: string; readonly query_timeout: number }): Promise<{
    rows: readonly { readonly there?: unknown }[]
  }>
}

/** Milliseconds that are as good as none, which the driver takes for its usual. */
const endless = 2 ** 31 - 1

/**
 * Brings a database of an earlier schema up to this one; it is in a transaction.
 *
 * @throws Fault DatabaseTooNew, NotPermitted where no version made such a database, DataDirectoryInUse where somebody works with it as it is
 */
export async function bringUp(session: Session, version: number): Promise<void> {
  const newest = migrations.length
  if (version > newest) throw new Fault('DatabaseTooNew')
  if (version === newest) return
  if (!(version >= oldest)) {
    const text = `The database says that it is of schema ${version}, and none was ever made there before ${oldest}: bring it back from a copy. Nothing was changed`
    throw new Fault('NotPermitted', { text })
  }
  const { rows } = await session.query(`SELECT ${heldByOthers} AS there`)
  if (rows[0]?.there) {
    const text =
      'This version changes the tables of the database, and another service has it: stop all that share it first'
    throw new Fault('DataDirectoryInUse', { text })
  }
  await session.query('SET LOCAL statement_timeout = 0')
  for (let number = version + 1; number <= newest; number++) {
    const text = inWords(steps.get(number) ?? missing(number), postgresWords)
    await session.query({ text, query_timeout: endless })
  }
  await session.query(`UPDATE schema_version SET version = ${newest}`)
}

function missing(number: number): never {
  throw new Error(`step ${number} has no words of this engine`)
}
