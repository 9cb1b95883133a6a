// The tables in PostgreSQL, from their definitions: all of them must have been defined (imported) before.
//
// A database that is there says which migration it is at, in the numbers of ../schema.ts, and goes through those it lacks
// (steps.ts). Text is compared byte by byte
// whatever the database says; what the engine works out itself, and the functions texts use, stand here.

import { Fault } from '#lib/fault.ts'
import { inWords } from '../dialect.ts'
import { migrations } from '../schema.ts'
import { definedTables, sharedTables } from '../table.ts'
import '../../cluster/tables.ts'
import { indexed } from './indexed.ts'
import { bringUp } from './steps.ts'
import { postgresWords } from './words.ts'
import { writerTable } from './writer/functions.ts'

type Table = ReturnType<typeof definedTables> extends ReadonlyMap<string, infer One> ? One : never

const types = { integer: 'bigint', text: 'text COLLATE "C"', bytes: 'bytea', any: 'bigint' } as const

/** What texts call, and what SQLite has by itself or from sqlite/handle.ts. */
const functions = `
CREATE FUNCTION folded(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN lower(normalize($1, NFC) COLLATE "und-x-icu") COLLATE "C";
CREATE FUNCTION list_rows(list text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT n - 1, v COLLATE "C" FROM json_array_elements_text(CASE WHEN json_typeof(list::json) = 'array' THEN list::json END)
    WITH ORDINALITY AS e (v, n) $$;
CREATE FUNCTION list_rows(document text, path text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT r.key, r.value FROM list_rows((document::json -> path)::text) AS r $$;
`

/** Full text: full-text.ts. The views have what the checker asks of both engines. */
const search = `
CREATE TABLE search_text (
  "user" bigint NOT NULL, body bigint NOT NULL, grams bigint[] NOT NULL, words tsvector NOT NULL, PRIMARY KEY ("user", body)
);
CREATE INDEX search_text_grams ON search_text USING gin (grams);
CREATE INDEX search_text_words ON search_text USING gin (words);
CREATE VIEW search AS SELECT ("user" << 32) | body AS rowid FROM search_text;
CREATE VIEW search_word AS SELECT rowid FROM search;
`

/** Facts about the database itself that SQLite keeps beside its tables. */
const state = 'CREATE TABLE schema_version (version int NOT NULL)'

/** All statements that make an empty database one of this program. */
function schemaText(): string {
  const all = [...definedTables().values(), ...sharedTables().values()]
  const tables = all.flatMap(table => [tableText(table), ...indexTexts(table)])
  return [
    functions,
    ...tables,
    search,
    writerTable,
    state,
    `INSERT INTO schema_version VALUES (${migrations.length})`,
  ].join(';\n')
}

/** What the database has to be asked, and told. */
interface Session {
  query(what: string | { readonly text: string; readonly query_timeout: number }): Promise<{
    rows: readonly Partial<Record<'there' | 'version' | Trait, unknown>>[]
  }>
}

type Trait = keyof typeof unfit

/** What a database may be like that it cannot hold this: what is asked, and what is said where it is so. */
const unfit = {
  standby: {
    ask: 'pg_is_in_recovery()',
    text: 'The database is a copy that can only be read (a standby): name the server that it is copied from in store.url',
  },
  old: {
    ask: "current_setting('server_version_num')::int < 150000",
    text: 'The server is older than PostgreSQL 15, which is the oldest that will do',
  },
  encoded: {
    ask: "current_setting('server_encoding') <> 'UTF8'",
    text: "The database holds other text than UTF-8: make it anew (CREATE DATABASE teal OWNER teal ENCODING 'UTF8' TEMPLATE template0)",
  },
  bare: {
    ask: "NOT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')",
    text: 'The server was built without ICU, which letters are compared with',
  },
} as const

/** @throws Fault NotPermitted */
async function requireFit(session: Session): Promise<void> {
  const asked = Object.entries(unfit).map(([name, { ask }]) => `${ask} AS ${name}`)
  const { rows } = await session.query(`SELECT ${asked.join(', ')}`)
  for (const [name, { text }] of Object.entries(unfit)) {
    if (rows[0]?.[name as Trait]) throw new Fault('NotPermitted', { text })
  }
}

/** The lock of whoever makes or changes tables. */
const changing = 7_430_412

/** Of PostgreSQL why no table can be made, and what is said: the user may not do that, or there is no schema for it. */
const unmade: Readonly<Record<string, (said: string) => string>> = {
  '42501': said => `The user of store.url may not make tables in the database (${said}): it has to be its owner`,
  '3F000': said =>
    `Of the schemas that search_path names for the user of store.url there is none (${said}): make one, or take the setting back (ALTER ROLE … RESET search_path)`,
}

/**
 * Brings the database up to this program's schema.
 *
 * @param moving whether rows may be on their way into it
 * @returns whether there was none
 * @throws Fault DatabaseTooNew when a later program wrote it, DataMissing where it is empty and must not be, or not all of it has come yet,
 *   NotPermitted where it will not do, DataDirectoryInUse where it has to be changed and somebody works with it
 */
export async function migratePostgres(session: Session, mayBeNew = true, moving = false): Promise<boolean> {
  await requireFit(session)
  await session.query('BEGIN')
  try {
    // Of several that come at once one makes the tables.
    await session.query(`SELECT pg_advisory_xact_lock(${changing})`)
    const made = await haveTables(session, mayBeNew, moving)
    await session.query('COMMIT')
    return made
  } catch (error) {
    await session.query('ROLLBACK').catch(() => {})
    const { code = '', message } = error as { code?: string; message: string }
    const text = unmade[code]?.(message)
    throw text === undefined ? error : new Fault('NotPermitted', { text, cause: error })
  }
}

/**
 * For who comes back to a database that it holds (writer/hold.ts): another version may have changed the tables while it was away.
 *
 * @throws Fault DatabaseTooNew
 */
export async function requireOwnSchema(session: Session): Promise<void> {
  // A change on its way has not seen who holds the database now: wait for its end.
  await session.query(`SELECT pg_advisory_xact_lock_shared(${changing})`)
  const { rows } = await session.query('SELECT version FROM schema_version')
  if (Number(rows[0]?.version) !== migrations.length) throw new Fault('DatabaseTooNew')
}

async function haveTables(session: Session, mayBeNew: boolean, moving: boolean): Promise<boolean> {
  const { rows } = await session.query(`SELECT to_regclass('schema_version') IS NOT NULL AS there`)
  const { rows: notes } = await session.query(`SELECT to_regclass('moving') IS NOT NULL AS there`)
  if (notes[0]?.there && !moving) {
    throw new Fault('DataMissing', { text: 'Not all has come to this database: run `teal move` again as it was' })
  }
  if (rows[0]?.there) {
    const found = await session.query('SELECT version FROM schema_version')
    await bringUp(session, Number(found.rows[0]?.version))
    await makeShared(session)
    return false
  }
  if (!mayBeNew) throw new Fault('DataMissing')
  await session.query(schemaText())
  return true
}

/** Tables of nodes are of no step, for a file has none: they begin empty where they are missing. */
async function makeShared(session: Session): Promise<void> {
  for (const table of sharedTables().values()) {
    const { rows } = await session.query(`SELECT to_regclass('${table.name}') IS NOT NULL AS there`)
    if (!rows[0]?.there) await session.query([tableText(table), ...indexTexts(table)].join(';'))
  }
}

function tableText(table: Table): string {
  const columns = Object.entries(table.columns).map(([key, { type, nullable, fraction }]) => {
    const kind = fraction === true ? 'double precision' : types[type]
    return `${table.place(key)} ${kind}${nullable ? '' : ' NOT NULL'}`
  })
  const derived = Object.entries(table.shape.derived ?? {}).map(([name, from]) => {
    return `${name} text COLLATE "C" GENERATED ALWAYS AS (${inWords(from, postgresWords)}) STORED`
  })
  const key = hasLongKey(table) ? [] : [`PRIMARY KEY (${keyOf(table)})`]
  // Bytes are packed by who stores them, and some of many are asked for.
  const packed = Object.entries(table.columns).filter(([, { type }]) => type === 'bytes')
  const plain = packed.map(([key]) => `ALTER TABLE ${table} ALTER ${table.place(key)} SET STORAGE EXTERNAL`)
  return [`CREATE TABLE ${table} (${[...columns, ...derived, ...key].join(', ')})`, ...plain].join(';\n')
}

function hasLongKey({ shape: { key, long = [] } }: Table): boolean {
  return key.some(column => long.includes(column))
}

function keyOf(table: Table): string {
  return indexed(table, table.shape.key)
}

function indexTexts(table: Table): string[] {
  const named = `CREATE UNIQUE INDEX ${table.name}_key ON ${table} (${keyOf(table)})`
  const key = hasLongKey(table) ? [named] : []
  const others = Object.entries(table.shape.indexes ?? {}).map(([name, { on, unique, where }]) => {
    const part = where === undefined ? '' : ` WHERE ${where}`
    return `CREATE ${unique === true ? 'UNIQUE ' : ''}INDEX ${name} ON ${table} (${indexed(table, on)})${part}`
  })
  return [...key, ...others]
}
