// The writing connection: an answer that was lost is found, a connection that was ended is made again, and of two services that
// write to one database the later one stays.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect as dial, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { startTeal } from '#service'
import { Writing } from '#store/engine/postgres/writer/writing.ts'
import { accessTo } from '../running.ts'
import { loadStore } from './both.ts'
import { makeDatabase, urlIn } from './cluster.ts'
import { unit } from './rows.ts'

await loadStore()

const folder = mkdtempSync(join(tmpdir(), 'teal-proxy-'))
/** What the server says next is lost, and the connection with it. */
let losing = false
let proxy: Server
let url: string

const socket = '.s.PGSQL.5432'

beforeAll(async () => {
  proxy = createServer(near => {
    const far = dial(join(inject('postgres'), socket))
    for (const side of [near, far]) side.on('error', () => {})
    near.pipe(far)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    far.on('data', data => {
      if (!losing) return void near.write(data)
      losing = false
      near.destroy()
    })
  })
  await new Promise<void>(done => proxy.listen(join(folder, socket), done))
})

beforeEach(async () => {
  losing = false
  url = await makeDatabase(inject('postgres'), 'template0')
})

afterAll(async () => {
  proxy.close()
  rmSync(folder, { recursive: true, force: true })
})

const fact = (key: string, value = 1) => unit([['meta.put', [key, value]]])
const wrong = () => unit([['body.retain', { num: 404 }]])

async function facts(): Promise<string[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ key: string }>('SELECT key FROM meta ORDER BY key')
  await client.end()
  return rows.map(row => row.key)
}

function throughProxy(): string {
  return urlIn(folder, /\/(\w+)\?/.exec(url)?.[1] ?? '')
}

test('a batch whose answer was lost is known to be on disk', async () => {
  const { writing } = await Writing.open({ url: throughProxy() }, true)
  await writing.commit([fact('first')])
  losing = true
  expect(await writing.commit([fact('second')])).toMatchObject({ broken: null, failures: [] })
  expect(losing).toBe(false)
  // The plain try fails, and then the answer to the careful one is lost.
  await writing.commit([fact('third'), wrong()])
  losing = true
  const reply = await writing.commit([fact('fourth')])
  expect(reply).toMatchObject({ broken: null, failures: [] })
  await writing.close()
  expect(await facts()).toEqual(['first', 'fourth', 'second', 'third'])
})

test('a write that was broken off while it was made ready is never mistaken for another one', async () => {
  const { writing } = await Writing.open({ url }, true)
  const other = new pg.Client(url)
  await other.connect()
  await other.query(`CREATE TABLE trouble (says text);
    CREATE FUNCTION full_disk() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      IF EXISTS (SELECT FROM trouble WHERE current_query() LIKE says) THEN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END IF;
    END $$;
    CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION full_disk()`)
  await writing.commit([fact('first')])
  const steps = { 'CREATE OR REPLACE FUNCTION pg_temp.teal_step%': 'gone', 'SELECT pg_temp.teal_define%': 'left' }
  for (const [says, key] of Object.entries(steps)) {
    const write = unit([[key === 'gone' ? 'meta.delete' : 'signing_key.delete', ['first']]])
    await other.query('INSERT INTO trouble VALUES ($1)', [says])
    expect(await writing.commit([write])).toMatchObject({ broken: expect.stringContaining('full') as string })
    await other.query('DELETE FROM trouble')
    expect(await writing.commit([write])).toMatchObject({ broken: null, failures: [] })
    expect(await writing.commit([fact(key)])).toMatchObject({ broken: null, failures: [] })
  }
  await other.end()
  await writing.close()
  expect(await facts()).toEqual(['gone', 'left'])
})

test('a batch that waits for another writer, as that one does for it, is written after it', async () => {
  // Whoever looks for a deadlock first is undone: that is to be the batch, however busy the machine is.
  const looking = new pg.Client(url)
  await looking.connect()
  await looking.query(`ALTER DATABASE ${looking.database} SET deadlock_timeout = '5s'`)
  await looking.end()
  const { writing } = await Writing.open({ url }, true)
  await writing.commit([fact('one'), fact('two')])
  const other = new pg.Client(url)
  await other.connect()
  await other.query("SET deadlock_timeout = '1min'")
  const put = (key: string) => other.query('UPDATE meta SET value = 2 WHERE key = $1', [key])
  await other.query('BEGIN')
  await put('two')
  const written = writing.commit([fact('one', 3), fact('two', 3)])
  const watch = new pg.Client(url)
  await watch.connect()
  const waits = async () => (await watch.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount
  await expect.poll(waits).toBeGreaterThan(0)
  await put('one')
  await other.query('COMMIT')
  expect(await written).toMatchObject({ broken: null, failures: [] })
  const { rows } = await watch.query("SELECT value FROM meta WHERE key IN ('one', 'two')")
  expect(rows.map(({ value }) => Number(value))).toEqual([3, 3])
  await other.end()
  await watch.end()
  await writing.close()
})

test('values are what they are, and writers wait for each other, whatever the database is set to', async () => {
  const other = new pg.Client(url)
  await other.connect()
  const settings = {
    bytea_output: 'escape',
    quote_all_identifiers: 'on',
    extra_float_digits: '-15',
    lock_timeout: '1ms',
    default_transaction_isolation: 'serializable',
  }
  for (const [name, value] of Object.entries(settings)) {
    await other.query(`ALTER DATABASE ${other.database} SET ${name} = '${value}'`)
  }
  const teal = await startTeal({ store: { url } }, { strict: true })
  const access = accessTo(() => teal)
  const user = await access.user('anna')
  const box = (await access.call('POST', `/users/${user}/mailboxes`, { path: 'Box', retention: 123_456_789 })).body.id
  const text = 'größe \\x '.repeat(50)
  const form = { from: { address: 'x@y.example' }, subject: 'ä', text }
  const { body } = await access.call('POST', `/users/${user}/mailboxes/${box}/messages`, form)
  const message = await access.call('GET', `/users/${user}/mailboxes/${box}/messages/${body.message.id}`)
  expect(message.body).toMatchObject({ subject: 'ä', text: expect.stringContaining(text.trim()) as string })
  expect((await access.call('GET', `/users/${user}/mailboxes/${box}`)).body.retention).toBe(123_456_789)
  await access.indexed()
  expect((await access.call('GET', `/users/${user}/search?q=größe`)).body.total).toBe(1)
  expect(await teal.check()).toEqual([])
  await teal.close()
  const { writing } = await Writing.open({ url }, true)
  await writing.commit([fact('mine')])
  await other.query("BEGIN ISOLATION LEVEL READ COMMITTED; UPDATE meta SET value = 2 WHERE key = 'mine'")
  const written = writing.commit([fact('mine', 3)])
  const watch = new pg.Client(url)
  await watch.connect()
  await expect.poll(async () => (await watch.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount).toBe(1)
  await other.query('COMMIT')
  expect(await written).toMatchObject({ broken: null, failures: [] })
  await watch.end()
  await other.end()
  await writing.close()
})

test('a connection that the server ends is made again, and every answer is true', async () => {
  const { writing } = await Writing.open({ url }, true)
  const other = new pg.Client(url)
  await other.connect()
  const kept: string[] = []
  let ended = 0
  const ending = (async () => {
    while (ended < 6) {
      const before = kept.length
      await expect.poll(() => kept.length).toBeGreaterThan(before)
      const { rowCount } = await other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`)
      ended += rowCount ?? 0
    }
  })()
  for (let at = 0; ended < 6; at++) {
    const keys = [0, 1, 2].map(n => `k${String(at).padStart(5, '0')}.${n}`)
    const { broken, failures } = await writing.commit([...keys.map(key => fact(key)), wrong()])
    if (broken !== null) continue
    expect(failures).toMatchObject([{ unit: 3, kind: 'error' }])
    kept.push(...keys)
  }
  await ending
  await other.end()
  await writing.close()
  expect(await facts()).toEqual(kept)
})

test('a database is written to by one service, and who took it over stays', async () => {
  const { writing: old } = await Writing.open({ url: throughProxy() }, true)
  await old.commit([fact('old')])
  const refused = await Writing.open({ url }, true).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'DataDirectoryInUse', message: expect.stringContaining('Another service') })
  expect(String((refused as Error).message)).not.toContain('teal@')
  expect(await old.commit([fact('older')])).toMatchObject({ broken: null, failures: [] })
  const other = new pg.Client(url)
  await other.connect()
  await other.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
  await other.end()
  const { writing, ...opened } = await Writing.open({ url }, true)
  expect(opened.made).toBe(false)
  for (const key of ['late', 'later']) {
    const { broken } = await old.commit([fact(key)])
    expect(broken).not.toBeNull()
  }
  expect(await old.commit([fact('latest')])).toMatchObject({
    broken: expect.stringContaining('another service') as string,
  })
  expect(await writing.commit([fact('new')])).toMatchObject({ broken: null, failures: [] })
  await old.close()
  await writing.close()
  expect(await facts()).toEqual(['new', 'old', 'older'])
})
