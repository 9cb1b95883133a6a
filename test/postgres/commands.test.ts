// Commands beside a service whose database is behind an address, as its operator runs them: tokens, status, verify, doctor.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type Child, childEnvironment, runTeal, startChild } from '../child.ts'
import { type Machine, startMachine } from '../cli/machine.ts'
import type { Body } from '../running.ts'
import { dropDatabase, makeDatabase } from './cluster.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-commands-'))
let machine: Machine
let service: Child
let url: string

beforeAll(async () => {
  machine = await startMachine()
  url = await makeDatabase(inject('postgres'), 'template0')
  service = await startChild(folder, { TEAL_STORE_URL: url })
})

afterAll(async () => {
  await service?.end('SIGTERM')
  await machine?.close()
  await dropDatabase(url)
  rmSync(folder, { recursive: true, force: true })
})

const run = (...words: string[]) => runTeal(words, childEnvironment(folder, { TEAL_STORE_URL: url }))

async function users(token: string): Promise<Body> {
  const answer = await fetch(`${service.url}/users`, { headers: { 'x-access-token': token } })
  return { status: answer.status, body: await answer.json() }
}

test('tokens are made, listed and ended beside the service', async () => {
  await addUser('anna')
  const made = await run('token', 'create', '--role', 'root', '--label', 'ours', '--json')
  expect(made.code).toBe(0)
  const { id, token } = JSON.parse(made.out)
  expect(await users(token)).toMatchObject({ status: 200, body: { total: 1 } })
  expect((await run('token', 'list', '--json')).out).toContain(id)
  const own = await run('token', 'create', '--role', 'user', '--user', 'anna')
  expect(own.code).toBe(0)
  expect((await run('token', 'revoke', id)).code).toBe(0)
  expect((await users(token)).status).toBe(403)
})

async function addUser(name: string): Promise<void> {
  const answer = await fetch(`${service.url}/users`, {
    method: 'POST',
    headers: { 'x-access-token': service.token, 'content-type': 'application/json' },
    body: JSON.stringify({ username: name, password: `secret of ${name}`, address: `${name}@example.com` }),
  })
  expect(answer.status).toBe(200)
}

test('status tells what it holds, while it runs and when it does not', async () => {
  const seen = await run('status', '--json')
  expect(JSON.parse(seen.out)).toMatchObject({ running: true, works: true, users: 1 })
  expect(await service.end('SIGTERM')).toBe(0)
  const { code, out } = await run('status', '--json')
  expect([code, JSON.parse(out)]).toMatchObject([1, { running: false, works: true, users: 1 }])
  expect((await run('user', 'add', 'berta@example.com', '--generate')).code).toBe(0)
  service = await startChild(folder, { TEAL_STORE_URL: url })
  expect(await users(service.token)).toMatchObject({ body: { total: 2 } })
})

test('verify names what is wrong in the database', async () => {
  expect(await run('verify')).toMatchObject({ code: 0, err: '' })
  const client = new pg.Client(url)
  await client.connect()
  await client.query('UPDATE tally SET total = total + 1 WHERE mailbox = (SELECT min(mailbox) FROM tally)')
  const wrong = await run('verify', '--quick')
  await client.query('UPDATE tally SET total = total - 1 WHERE mailbox = (SELECT min(mailbox) FROM tally)')
  await client.end()
  expect(wrong.code).toBe(1)
  expect(wrong.err).toContain('with its own tools')
  expect((await run('verify', '--quick')).code).toBe(0)
})

test('doctor says whether the database answers, and whose its copies are', async () => {
  const { out } = await run('doctor', ...machine.asked, '--json')
  const found = out
    .trim()
    .split('\n')
    .map(one => JSON.parse(one) as Body)
  expect(found).toContainEqual(expect.objectContaining({ check: 'database', state: 'good' }))
  expect(found).toContainEqual(
    expect.objectContaining({ check: 'backup', state: 'unknown', advice: expect.stringContaining('pg_dump') }),
  )
  const nowhere = url.replace(/\/t\w+\?/, '/nowhere?')
  const env = childEnvironment(folder, { TEAL_STORE_URL: nowhere })
  const ill = await runTeal(['doctor', ...machine.asked, '--json'], env)
  expect(ill.code).toBe(1)
  expect(ill.out).toMatch(/"check":"database","state":"wrong"/)
})
