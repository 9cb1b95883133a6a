// kill -9 at random moments of commit, fan-out and delivery: for every change that was acknowledged its event arrives,
// for none that failed; ids are stable, and nothing comes twice within one life of the service.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile, runFile } from '#store/folder/place.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { type Child, startChild } from '../child.ts'
import { openSubscriber, until } from '../jobs/outbox.ts'

const rounds = 10
const users = 3
const seed = Number(process.env.SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
const dir = mkdtempSync(join(tmpdir(), 'teal-hooks-'))
let state = seed
/** Small random numbers that a seed reproduces. */
const random = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 4_294_967_296
}

afterAll(() => rmSync(dir, { recursive: true, force: true }))

test(`every acknowledged change is told, whatever is killed when (seed ${seed})`, async () => {
  const hook = await openSubscriber()
  const acknowledged = new Map<string, string>()
  const refused = new Set<string>()
  const owners: string[] = []
  const round = new Map<object, number>()
  const environment = { TEAL_NETWORK_ALLOW_PRIVATE: '127.0.0.0/8' }
  const live = (turn: number) =>
    hook.behave((call, response) => {
      round.set(call, turn)
      // Some answers are slow, so that a kill finds calls under way.
      void sleep(random() < 0.2 ? random() * 20 : 0).then(() => response.writeHead(200).end())
    })
  for (let turn = 0; turn < rounds; turn++) {
    live(turn)
    const service = await startChild(dir, environment)
    if (turn === 0) await prepare(service, hook.url, owners)
    // How long a call takes depends on the machine, and the first ones take longest: a life begins with what was acknowledged in it.
    const before = acknowledged.size
    const some = until('calls that succeed', () => acknowledged.size > before + 1 && refused.size > 0, 20_000)
    const killed = some.then(() => sleep(random() * 400)).then(() => service.end('SIGKILL'))
    await Promise.all(
      owners.map(async (owner, index) => {
        for (let n = 0; ; n++) {
          const path = `f-${turn}-${index}-${n}`
          const made = await post(service, `/users/${owner}/mailboxes`, { path }).catch(() => undefined)
          if (made === undefined) return
          if (made.success === true) acknowledged.set(made.id, path)
          const twice = await post(service, `/users/${owner}/mailboxes`, { path }).catch(() => undefined)
          if (twice === undefined) return
          if (made.success === true && twice.error !== undefined) refused.add(path)
        }
      }),
    )
    await killed
    rmSync(runFile(dir), { force: true })
    const read = openReader(databaseFile(dir))
    expect(await checkStore(read)).toEqual([])
    read.close()
  }

  live(rounds)
  const service = await startChild(dir, environment)
  const read = openReader(databaseFile(dir))
  const left = () =>
    read.one<{ n: number }>('SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM delivery) AS n')
  await until('all deliveries', async () => (await left())?.n === 0, 40_000)
  const made = new Set(
    (await read.all<{ id: string }>("SELECT id FROM mailbox WHERE path LIKE 'f-%'")).map(row => row.id),
  )
  read.close()

  const calls = hook.calls.filter(call => String(call.body.path).startsWith('f-'))
  const taken = new Map<string, typeof calls>()
  for (const call of calls)
    taken.set(String(call.body.mailbox), [...(taken.get(String(call.body.mailbox)) ?? []), call])
  for (const id of acknowledged.keys()) expect(taken.has(id), `${acknowledged.get(id)} was told`).toBe(true)
  expect(new Set(taken.keys())).toEqual(made)
  for (const own of taken.values()) {
    expect(new Set(own.map(call => call.body.id)).size).toBe(1)
    const lives = own.map(call => round.get(call))
    expect(new Set(lives).size).toBe(lives.length)
  }
  expect(acknowledged.size).toBeGreaterThan(rounds)
  expect(refused.size).toBeGreaterThan(0)
  expect(await service.end('SIGTERM')).toBe(0)
  await hook.close()
}, 240_000)

async function prepare(service: Child, url: string, owners: string[]): Promise<void> {
  for (let n = 0; n < users; n++) {
    const body = { username: `u${n}`, password: 'a long secret', address: `u${n}@example.com` }
    owners.push((await post(service, '/users', body)).id)
  }
  expect(await post(service, '/webhooks', { type: ['mailbox.*'], url })).toMatchObject({ success: true })
}

type Json = ReturnType<typeof JSON.parse>

async function post(service: Child, path: string, body: object): Promise<Json> {
  const headers = { 'x-access-token': service.token, 'content-type': 'application/json' }
  return (await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
}
