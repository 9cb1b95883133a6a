// What stands between a service and its database: a pooler that keeps sessions serves, one that does not is refused; and whoever starts
// a service that is not let in reads why.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { startTeal } from '#service'
import { installed } from '../../bench/peer/install.ts'
import { childEnvironment, runTeal } from '../child.ts'
import { freePort } from '../free-port.ts'
import { accessTo } from '../running.ts'
import { dropDatabase, makeDatabase, urlIn } from './cluster.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-between-'))
let url: string
let pooler: ChildProcess
let port: number

beforeAll(async () => {
  installed('pgbouncer', ['pgbouncer'])
  url = await makeDatabase(inject('postgres'), 'template0')
  port = await freePort()
  const to = `host=${inject('postgres')} dbname=${new URL(url).pathname.slice(1)} user=teal`
  chmodSync(folder, 0o777)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]\nsession = ${to} pool_mode=session\ntransaction = ${to} pool_mode=transaction\nstatement = ${to} pool_mode=statement\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\ndefault_pool_size = 60\n`,
  )
  const words = [join(folder, 'pgbouncer.ini')]
  pooler =
    process.getuid?.() === 0
      ? spawn('runuser', ['-u', 'nobody', '--', 'pgbouncer', ...words], { stdio: 'ignore', cwd: folder })
      : spawn('pgbouncer', words, { stdio: 'ignore' })
  while (!(await answers())) await sleep(20)
})

afterAll(async () => {
  pooler?.kill()
  if (pooler?.exitCode === null) await once(pooler, 'exit')
  await dropDatabase(url)
  rmSync(folder, { recursive: true, force: true })
})

async function answers(): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const open = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return open
}

/** What a start says that is refused. */
async function refusal(database: string): Promise<string> {
  const { code, err } = await runTeal(['serve'], childEnvironment(join(folder, 'none'), { TEAL_STORE_URL: database }))
  expect(code).toBe(1)
  return err
}

test('a pooler that keeps sessions is as none', async () => {
  const teal = await startTeal({ store: { url: `postgres://teal@127.0.0.1:${port}/session` } })
  await accessTo(() => teal).user('anna')
  expect(await teal.check()).toEqual([])
  await teal.close()
})

test('a pooler that does not is refused', async () => {
  for (const mode of ['transaction', 'statement']) {
    expect(await refusal(`postgres://teal@127.0.0.1:${port}/${mode}`)).toContain('pool_mode = session')
  }
})

test('why a database is not to be had is said', async () => {
  const nobody = `postgres://teal@127.0.0.1:${await freePort()}/teal`
  expect(await refusal(nobody)).toMatch(/Storage is not available now: connect ECONNREFUSED/)
  expect(await refusal(urlIn(inject('postgres'), 'nothing_here'))).toContain('database "nothing_here" does not exist')
  const { search } = new URL(url)
  const secure = `postgres://teal@localhost/teal${search}&sslmode=verify-full&sslrootcert=${folder}/none.pem`
  expect(await refusal(secure)).toContain('none.pem')
})

test('a database whose search_path leads to no schema is refused with what to do', async () => {
  const database = await makeDatabase(inject('postgres'), 'template0')
  const client = new pg.Client(database)
  await client.connect()
  await client.query(`ALTER DATABASE ${client.database} SET search_path = nowhere`)
  await client.end()
  expect(await refusal(database)).toMatch(/search_path names .* there is none/)
  await dropDatabase(database)
})

test('a database of another encoding is refused before anything is made in it', async () => {
  const client = new pg.Client(urlIn(inject('postgres'), 'postgres'))
  await client.connect()
  const name = `latin_${process.pid}`
  await client.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0`)
  await client.end()
  const database = urlIn(inject('postgres'), name)
  expect(await refusal(database)).toContain('other text than UTF-8')
  await dropDatabase(database)
})
