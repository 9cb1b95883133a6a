// kill -9 while a deleted account is being taken away: it goes on where it was, everything goes, and the counters in the
// result and in the event say exactly what there was.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { prepare } from '#actors/delivery/prepare.ts'
import { appendMessage } from '#actors/mailbox/append.ts'
import { removalTask } from '#actors/user/removal.ts'
import { loadConfig } from '#config'
import { openCore } from '#core'
import { sleep } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import type { Reader } from '#store/engine/reader.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile, runFile } from '#store/folder/place.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { type Child, childEnvironment, startChild } from '../child.ts'

const messages = 4000
const roundsMax = 12
const dir = mkdtempSync(join(tmpdir(), 'teal-removal-'))
const env = { TEAL_WEBHOOKS_ENABLED: 'false' }

afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('a removal that is killed again and again takes everything and counts it right', async () => {
  const first = await startChild(dir, env)
  const { id } = await call(first, 'POST', '/users', { username: 'gone', password: false, address: 'gone@example.com' })
  await call(first, 'POST', `/users/${id}/storage`, { content: 'a file' })
  await first.end('SIGTERM')
  await fill(id)

  const second = await startChild(dir, env)
  const { task } = await call(second, 'DELETE', `/users/${id}`)
  await second.end('SIGKILL')
  let kills = 1
  let between = 0
  while ((await state(task)) !== 'done' && kills < roundsMax) {
    rmSync(runFile(dir), { force: true })
    const before = await left()
    const service = await startChild(dir, env)
    // However fast the machine is: some of it went, and not yet all.
    await check(async read => {
      for (let waited = 0; (await leftIn(read)) === before && waited < 10_000; waited += 2) await sleep(2)
    })
    await sleep((kills * 37) % 30)
    await service.end('SIGKILL')
    kills += 1
    if ((await left()) > 0) between += 1
    await check(async read => expect(await checkStore(read)).toEqual([]))
  }
  const last = await startChild(dir, env)
  // However slow the machine is: undisturbed it comes to its end.
  for (let waited = 0; (await state(task)) !== 'done' && waited < 60_000; waited += 50) await sleep(50)
  await last.end('SIGTERM')
  expect(await state(task)).toBe('done')
  expect(between).toBeGreaterThan(0)
  await check(async read => {
    const row = await read.one<{ result: string }>(
      'SELECT result FROM task WHERE id = ? AND kind = ?',
      task,
      removalTask,
    )
    const result = JSON.parse(row?.result ?? '{}')
    expect(result).toMatchObject({ messages: { deleted: messages }, mailboxes: { deleted: 5 }, files: { deleted: 1 } })
    const events = await read.all<{ body: string }>("SELECT body FROM event WHERE name = 'user.delete.completed'")
    expect(events.map(event => JSON.parse(event.body))).toEqual([{ user: id, result: { user: id, task, ...result } }])
    for (const table of ['user', 'usage', 'mailbox', 'message', 'body', 'outline', 'file', 'expunged', 'reference']) {
      expect([table, await read.one(`SELECT count(*) AS n FROM ${table}`)]).toEqual([table, { n: 0 }])
    }
  })
}, 120_000)

async function call(
  service: Child,
  method: string,
  path: string,
  body?: object,
): Promise<{ id: string; task: string }> {
  const headers = { 'x-access-token': service.token, 'content-type': 'application/json' }
  const response = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  expect(response.status).toBe(200)
  return (await response.json()) as { id: string; task: string }
}

/** Many messages, stored without a network between. */
async function fill(id: string): Promise<void> {
  const core = await openCore(loadConfig({ env: childEnvironment(dir, env) }), makeLog('error'))
  const handle = core.system.handle(id)
  for (let from = 0; from < messages; from += 500) {
    const some = Array.from({ length: 500 }, async (_, index) => {
      const bytes = Buffer.from(`Message-ID: <${from + index}@x.example>\r\n\r\ntext ${from + index}\r\n`)
      const prepared = await prepare(await core.bodies.receive(bytes), core.sequence)
      const rest = { prefix: '', flags: 0, keywords: [], meta: { source: 'import' }, once: false, limited: false }
      await handle.run(appendMessage, { prepared, to: 'INBOX', ...rest })
    })
    await Promise.all(some)
  }
  await core.close()
}

async function state(task: string): Promise<string | undefined> {
  return check(async read => (await read.one<{ state: string }>('SELECT state FROM task WHERE id = ?', task))?.state)
}

/** Messages that are still there. */
const left = (): Promise<number> => check(leftIn)

async function leftIn(read: Reader): Promise<number> {
  return (await read.one<{ n: number }>('SELECT count(*) AS n FROM message'))?.n ?? 0
}

async function check<T>(look: (read: Reader) => Promise<T>): Promise<T> {
  const read = openReader(databaseFile(dir))
  try {
    return await look(read)
  } finally {
    read.close()
  }
}
