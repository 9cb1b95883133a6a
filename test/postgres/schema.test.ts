// The tables of a database that is there: what an earlier version made is brought up to this one's, what is a later one's, or nobody's,
// is refused and left as it is.
//
// `schema-36.sql` is what the first schema was made of, without the tables of nodes, which came later. It never changes; a
// step behind it gets its words in src/store/engine/postgres/steps.ts, and has to end where a new database begins.

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { startTeal } from '#service'
import { oldest, steps } from '#store/engine/postgres/steps.ts'
import { Writing } from '#store/engine/postgres/writer/writing.ts'
import { migrations } from '#store/engine/schema.ts'
import { sharedTables } from '#store/engine/table.ts'
import { startNats } from '../cluster/nats.ts'
import { accessTo } from '../running.ts'
import { loadStore } from './both.ts'
import { dropDatabase, makeDatabase } from './cluster.ts'
import { unit } from './rows.ts'

await loadStore()

const newest = migrations.length
const first = readFileSync(new URL('schema-36.sql', import.meta.url), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'teal-schema-'))
let url: string

beforeEach(async () => {
  url = await makeDatabase(inject('postgres'), 'template0')
})

afterEach(() => dropDatabase(url))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Rows of the last statement. */
async function asked(text: string, at = url): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(at)
  await client.connect()
  try {
    const found = await client.query(text)
    return (Array.isArray(found) ? found.at(-1) : found).rows
  } finally {
    await client.end()
  }
}

const version = async () => Number((await asked('SELECT version FROM schema_version'))[0]?.version)

/** A database of an earlier schema with nothing in it. */
async function older(number: number): Promise<void> {
  const passed = [...steps].filter(([step]) => step > 36 && step <= number).map(([, text]) => `${text};`)
  await asked(`${first}; ${passed.join(' ')} INSERT INTO schema_version VALUES (${number})`)
}

let made = 0

/** A data directory of a service that was here before: one that holds nothing may begin anew. */
function dataDir(from?: string): string {
  made += 1
  const dir = join(folder, `${made}`)
  if (from !== undefined) cpSync(join(from, 'keys'), join(dir, 'keys'), { recursive: true })
  return dir
}

/** Runs a service, which has to be sound, and gives what `task` does. */
async function served<Value>(
  options: Parameters<typeof startTeal>[0],
  task: (running: ReturnType<typeof accessTo>) => Promise<Value>,
): Promise<Value> {
  const teal = await startTeal({ store: { url }, ...options }, { strict: true })
  try {
    const value = await task(accessTo(() => teal))
    expect(await teal.check()).toEqual([])
    return value
  } finally {
    await teal.close()
  }
}

/** What tables, columns, indexes, functions and views there are, in whichever order they came. */
async function shape(at = url): Promise<string[]> {
  const rows = await asked(
    `SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || coalesce(l.collname, '') || ' '
        || a.attnotnull || ' ' || a.attstorage::text || ' ' || a.attgenerated::text || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS what
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_collation l ON l.oid = a.attcollation LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'view ' || viewname || ' ' || definition FROM pg_views WHERE schemaname = 'public'
    UNION ALL SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    at,
  )
  return rows.map(({ what }) => String(what).replace(/\s+/g, ' ')).sort()
}

test('tables of nodes that are missing are made at the start, and nodes get in', async () => {
  const alone = dataDir()
  await served({ dataDir: alone }, ({ user }) => user('anna'))
  const names = [...sharedTables().keys()]
  expect(names).toContain('node_answer')
  const before = await shape()
  for (const name of names) await asked(`DROP TABLE ${name}`)

  await served({ dataDir: alone }, async ({ call }) => {
    expect(await call('GET', '/users/resolve/anna')).toMatchObject({ status: 200 })
  })
  expect(await shape()).toEqual(before)

  // Some are there already, as of a version that had fewer of them.
  await asked('DROP TABLE node_answer')
  const nats = await startNats()
  try {
    const cluster = { nats: nats.url, node: 'a' }
    await served({ dataDir: alone, cluster }, async ({ user, call }) => {
      await user('berta')
      expect((await call('GET', '/health')).body.cluster.nodes).toMatchObject([{ name: 'a', alive: true }])
    })
    await served({ dataDir: dataDir(alone), cluster: { ...cluster, node: 'b' } }, async ({ call }) => {
      expect(await call('GET', '/users/resolve/berta')).toMatchObject({ status: 200 })
    })
  } finally {
    await nats.stop()
  }
  expect(await shape()).toEqual(before)
})

describe('a database', () => {
  test.each(Array.from({ length: newest - oldest + 1 }, (_, at) => oldest + at))(
    'of schema %i becomes one of this',
    async number => {
      await older(number)
      await served({ dataDir: dataDir() }, ({ user }) => user('anna'))
      expect(await version()).toBe(newest)
      const fresh = await makeDatabase(inject('postgres'))
      expect(await shape()).toEqual(await shape(fresh))
      await dropDatabase(fresh)
    },
  )

  test('goes through every step there is', () => {
    expect([...steps.keys()]).toEqual(Array.from({ length: newest - oldest }, (_, at) => oldest + 1 + at))
  })

  test('whose models of spam are of another form learns all of it again', async () => {
    await older(35)
    await asked(`INSERT INTO spam_mark ("user", reference, spam, counted, waits, body, at, features)
      VALUES (1, 1, 1, 1, 0, 7, 1, '\\x01'), (1, 2, 0, NULL, 1, 8, 2, NULL)`)
    await served({ dataDir: dataDir(), spam: { classifier: false } }, async () => {
      const rows = await asked('SELECT reference, spam, counted, waits, features FROM spam_mark ORDER BY reference')
      expect(rows).toEqual([
        { reference: '1', spam: '1', counted: null, waits: '1', features: null },
        { reference: '2', spam: '0', counted: null, waits: '1', features: null },
      ])
      await asked('DELETE FROM spam_mark')
    })
  })

  test.each([
    ['of a later version', newest + 1, { code: 'DatabaseTooNew' }],
    [
      'of a schema that nobody ever had',
      oldest - 1,
      { code: 'NotPermitted', message: expect.stringContaining(`of schema ${oldest - 1}`) as string },
    ],
  ])('%s is refused and left as it is', async (_, number, fault) => {
    await older(number)
    const before = await shape()
    await expect(startTeal({ dataDir: dataDir(), store: { url } })).rejects.toMatchObject(fault)
    expect(await version()).toBe(number)
    expect(await shape()).toEqual(before)
  })

  test('whose step breaks off stays of the schema before it', async () => {
    await older(36)
    await asked('ALTER TABLE tally RENAME TO elsewhere')
    const before = await shape()
    await expect(startTeal({ dataDir: dataDir(), store: { url } })).rejects.toThrow('tally')
    expect(await version()).toBe(36)
    expect(await shape()).toEqual(before)
  })

  test('that another node serves is not changed for a newer one', async () => {
    const nats = await startNats()
    const one = dataDir()
    const options = (node: string, dir: string) => ({ dataDir: dir, store: { url }, cluster: { nats: nats.url, node } })
    const teal = await startTeal(options('a', one))
    try {
      // As it is to a newer version.
      await asked(`UPDATE schema_version SET version = ${newest - 1}`)
      const other = startTeal(options('b', dataDir(one)))
      await expect(other).rejects.toMatchObject({
        code: 'DataDirectoryInUse',
        message: expect.stringContaining('stop all'),
      })
      expect(await version()).toBe(newest - 1)
    } finally {
      await teal.close()
    }
    await asked('DROP INDEX search_loose')
    await (await startTeal(options('b', dataDir(one)))).close()
    expect(await version()).toBe(newest)
    await nats.stop()
  })

  test('that a newer version took while an answer was lost is not asked for ever what came of it', async () => {
    const { writing } = await Writing.open({ url }, true)
    const fact = (key: string) => writing.commit([unit([['meta.put', [key, 1]]], 0, 0)])
    expect(await fact('first')).toMatchObject({ broken: null, failures: [] })
    const other = new pg.Client(url)
    await other.connect()
    await other.query('BEGIN; LOCK TABLE meta')
    const answer = fact('second')
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await other.query(waiting)).rowCount).toBe(1)
    // As it is where another version takes the database over.
    await other.query(`UPDATE schema_version SET version = ${newest + 1}`)
    await other.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) found`)
    await other.query('COMMIT')
    await other.end()
    expect((await answer).broken).toContain('newer version')
    expect((await fact('third')).broken).toContain('newer version')
    await asked(`UPDATE schema_version SET version = ${newest}`)
    expect(await fact('fourth')).toMatchObject({ broken: null, failures: [] })
    await writing.close()
    const facts = await asked(`SELECT key FROM meta WHERE key IN ('first', 'second', 'third', 'fourth') ORDER BY key`)
    expect(facts).toEqual([{ key: 'first' }, { key: 'fourth' }])
  })
})
