// Filling a database behind an address. A table of notes is there until all is, and keeps services away meanwhile (schema.ts).
//
// Rows are there with the note of the last one's key, or not at all.

import { Fault } from '#lib/fault.ts'
import { columnsOf, type Filling, keyOf, type StoredRow } from '../../upkeep/filling.ts'
import { inWords } from '../dialect.ts'
import { definedTables } from '../table.ts'
import { shownAddress } from './address.ts'
import { migratePostgres } from './schema.ts'
import { type Client, connect, type PostgresSettings, postgresFault } from './session.ts'
import { bound } from './values.ts'
import { postgresWords } from './words.ts'
import { holdDatabase } from './writer/hold.ts'

/** @throws Fault NotPermitted where it holds rows of a service, DataDirectoryInUse where one has it, StorageUnavailable */
export async function fillPostgres(settings: PostgresSettings): Promise<Filling> {
  const client = await connect({ ...settings, statementMs: 0 })
  try {
    await holdDatabase(client, settings)
    await migratePostgres(client as never, true, true)
    await begin(client, settings)
  } catch (error) {
    await client.end().catch(() => {})
    throw postgresFault(error) ?? error
  }
  const asked = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task()
    } catch (error) {
      throw postgresFault(error) ?? error
    }
  }
  return {
    last: ({ name }) =>
      asked(async () => {
        const noted = await client.query('SELECT after FROM moving WHERE name = $1', [name])
        const [row] = noted.rows as { after: string }[]
        return row && (JSON.parse(row.after) as StoredRow)
      }),
    put: (table, rows) => asked(() => put(client, table, rows)),
    finish: () =>
      asked(async () => {
        await client.query('UPDATE search_doc SET indexed = 0')
        await client.query('DROP TABLE moving')
        await client.query('ANALYZE')
      }),
    close: () => client.end(),
  }
}

/** Keeps services away from a database that is read to its end. @throws Fault DataDirectoryInUse, StorageUnavailable */
export async function holdPostgres(settings: PostgresSettings): Promise<Client> {
  const client = await connect(settings)
  try {
    await holdDatabase(client, settings)
    await migratePostgres(client as never, false)
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw postgresFault(error) ?? error
  }
}

/** Statements with neutral words, all or none, while nobody has the database. @throws Fault as `holdPostgres` */
export async function changePostgres(settings: PostgresSettings, texts: readonly string[]): Promise<void> {
  const hold = await holdPostgres({ ...settings, statementMs: 0 })
  try {
    await hold.query(`BEGIN; ${texts.map(text => inWords(text, postgresWords)).join('; ')}; COMMIT`)
  } catch (error) {
    throw postgresFault(error) ?? error
  } finally {
    await hold.end()
  }
}

/** Rows that are there must be those of a move that was broken off. */
async function begin(client: Client, { url }: PostgresSettings): Promise<void> {
  const { rows } = await client.query<{ there: number }>(`SELECT to_regclass('moving') IS NOT NULL AS there`)
  if (rows[0]?.there) return
  for (const table of definedTables().values()) {
    const { rowCount } = await client.query(`SELECT 1 FROM ${table} LIMIT 1`)
    if (rowCount === 0) continue
    throw new Fault('NotPermitted', { text: `The database at ${shownAddress(url)} holds rows of a service already` })
  }
  await client.query('CREATE TABLE moving (name text PRIMARY KEY, after text NOT NULL)')
}

type AnyTable = Parameters<Filling['put']>[0]

async function put(client: Client, table: AnyTable, rows: readonly StoredRow[]): Promise<void> {
  await client.query('BEGIN')
  try {
    const values = rows.flatMap(row => row.map(value => bound(value).form))
    await client.query(insertion(table, rows.length), values)
    const last = JSON.stringify(keyOf(table, rows.at(-1) ?? []))
    await client.query('INSERT INTO moving VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET after = excluded.after', [
      table.name,
      last,
    ])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

function insertion(table: AnyTable, rows: number): string {
  const width = Object.keys(table.columns).length
  const places = Array.from({ length: rows }, (_, row) => {
    return `(${Array.from({ length: width }, (_value, at) => `$${row * width + at + 1}`).join(', ')})`
  })
  return `INSERT INTO ${table} (${columnsOf(table)}) VALUES ${places.join(', ')}`
}
