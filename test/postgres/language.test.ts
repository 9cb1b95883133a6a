// A server that speaks another language than English (lc_messages), as those do that were installed in one: also the word for how
// serious an error is comes in it. What is refused is refused alone, what was ended is found, and answers are the same.

import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTeal } from '#service'
import { Writing } from '#store/engine/postgres/writer/writing.ts'
import { accessTo } from '../running.ts'
import { loadStore } from './both.ts'
import { type Cluster, makeDatabase, startCluster } from './cluster.ts'
import { unit } from './rows.ts'

await loadStore()

let cluster: Cluster
let url: string
let other: pg.Client

beforeAll(async () => {
  cluster = await startCluster({ language: 'de' })
})

beforeEach(async () => {
  url = await makeDatabase(cluster.folder, 'template0')
  other = new pg.Client(url)
  await other.connect()
  return () => other.end()
})

afterAll(() => cluster?.stop())

const fact = (key: string) => unit([['meta.put', [key, 1]]])
const wrong = () => unit([['body.retain', { num: 404 }]])

test('it does speak it', async () => {
  await expect(other.query('SELECT 1 / 0')).rejects.toMatchObject({ severity: 'FEHLER' })
})

test('a unit that breaks a rule fails alone, and the others are written', async () => {
  const { writing } = await Writing.open({ url }, true)
  const { rows: before } = await other.query('SELECT session FROM writer_call')
  const reply = await writing.commit([fact('one'), wrong(), fact('two')])
  expect(reply).toMatchObject({ broken: null, failures: [{ unit: 1, kind: 'error' }] })
  const { rows } = await other.query('SELECT session FROM writer_call')
  expect(rows).toEqual(before)
  await writing.close()
})

test('a batch that cannot be written for want of room is answered at once, on the connection that there is', async () => {
  const { writing } = await Writing.open({ url }, true)
  await writing.commit([fact('one')])
  const { rows: before } = await other.query('SELECT session FROM writer_call')
  await other.query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'voll' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON meta FOR EACH ROW EXECUTE FUNCTION full_disk()`)
  expect(await writing.commit([fact('two')])).toMatchObject({ broken: expect.stringContaining('voll') as string })
  await other.query('DROP TRIGGER full_disk ON meta')
  expect(await writing.commit([fact('two')])).toMatchObject({ broken: null, failures: [] })
  const { rows } = await other.query('SELECT session FROM writer_call')
  expect(rows).toEqual(before)
  await writing.close()
})

test('a connection that the server ends is made again', async () => {
  const { writing } = await Writing.open({ url }, true)
  await writing.commit([fact('one')])
  await other.query(`BEGIN; UPDATE meta SET value = 2 WHERE key = 'one'`)
  const written = writing.commit([fact('one')])
  await expect.poll(async () => (await other.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount).toBe(1)
  await other.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted; COMMIT`)
  expect(await written).toMatchObject({ broken: expect.any(String) as string })
  expect(await writing.commit([fact('two')])).toMatchObject({ broken: null, failures: [] })
  await writing.close()
})

test('a name that is taken is said to be', async () => {
  const teal = await startTeal({ store: { url } }, { strict: true })
  const access = accessTo(() => teal)
  await access.user('anna')
  const again = await access.call('POST', '/users', {
    username: 'anna',
    password: 'another secret',
    address: 'b@example.com',
  })
  expect(again).toMatchObject({ status: 400, body: { code: 'UserExistsError' } })
  await access.user('berta')
  expect(await teal.check()).toEqual([])
  await teal.close()
})
