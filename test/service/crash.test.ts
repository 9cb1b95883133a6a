// kill -9 under delivery load, many rounds at random moments: what was answered 250 is there exactly once, byte for byte,
// the store is whole, and the service starts again by itself.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile, runFile } from '#store/folder/place.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { type Child, startChild } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'

const rounds = 12
const connections = 8
const seed = Number(process.env.SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
const dir = mkdtempSync(join(tmpdir(), 'teal-crash-'))
const random = generator(seed)

afterAll(() => rmSync(dir, { recursive: true, force: true }))

test(`nothing answered 250 is lost or doubled by kill -9 (seed ${seed})`, async () => {
  const acknowledged = new Map<string, Buffer>()
  let sent = 0
  for (let round = 0; round < rounds; round++) {
    const service = await startChild(dir)
    if (round === 0) await createUsers(service)
    const before = acknowledged.size
    // The moment counts from the first answer, however slow the machine is today.
    const killed = until(() => acknowledged.size > before, 20_000)
      .then(() => sleep(random() * 400))
      .then(() => service.end('SIGKILL'))
    await Promise.all(
      Array.from({ length: connections }, async () => {
        const lmtp = await openLmtp(service.listeners.lmtp as { host: string; port: number }).catch(() => undefined)
        while (lmtp !== undefined) {
          sent += 1
          const id = `m${sent}.${round}`
          const message = compose(id)
          const user = sent % 3
          const [reply] = await deliver(lmtp, 'sender@example.net', [`u${user}@example.com`], message).catch(() => [''])
          if (reply?.startsWith('250') === true) acknowledged.set(id, message)
          else if (reply === '') break
        }
      }),
    )
    await killed
    rmSync(runFile(dir), { force: true })
    const read = openReader(databaseFile(dir))
    expect(await checkStore(read)).toEqual([])
    read.close()
  }
  const service = await startChild(dir)
  const found = await everything(service)
  for (const [id, message] of acknowledged) {
    const copies = found.get(id) ?? []
    expect(copies.length, id).toBe(1)
    const stored = copies[0] as Buffer
    expect(stored.subarray(stored.length - message.length).equals(message), id).toBe(true)
  }
  expect(acknowledged.size).toBeGreaterThan(rounds)
  expect(await service.end('SIGTERM')).toBe(0)
  expect(existsSync(runFile(dir))).toBe(false)
}, 240_000)

/** Resolves when something holds, or when `ms` are over. */
async function until(holds: () => boolean, ms: number): Promise<void> {
  for (let waited = 0; !holds() && waited < ms; waited += 5) await sleep(5)
}

async function createUsers(service: Child): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const body = JSON.stringify({ username: `u${n}`, password: 'a long secret', address: `u${n}@example.com` })
    const headers = { 'x-access-token': service.token, 'content-type': 'application/json' }
    const response = await fetch(`${service.url}/users`, { method: 'POST', headers, body })
    expect(response.status).toBe(200)
  }
}

/** Every stored message by its id. */
async function everything(service: Child): Promise<Map<string, Buffer[]>> {
  const headers = { 'x-access-token': service.token }
  const get = async (path: string) => (await fetch(service.url + path, { headers })).json() as Promise<Json>
  const found = new Map<string, Buffer[]>()
  for (let n = 0; n < 3; n++) {
    const { id } = await get(`/users/resolve/u${n}`)
    const { id: inbox } = await get(`/users/${id}/mailboxes/resolve?path=INBOX`)
    let cursor: string | false = ''
    while (cursor !== false) {
      const more = cursor === '' ? '' : `&next=${cursor}`
      const page: Json = await get(`/users/${id}/mailboxes/${inbox}/messages?limit=250${more}`)
      for (const message of page.results) {
        const path = `/users/${id}/mailboxes/${inbox}/messages/${message.id}/message.eml`
        const source = Buffer.from(await (await fetch(service.url + path, { headers })).arrayBuffer())
        const key = message.messageId.slice(1, -1).split('@')[0]
        found.set(key, [...(found.get(key) ?? []), source])
      }
      cursor = page.nextCursor
    }
  }
  return found
}

type Json = ReturnType<typeof JSON.parse>

function compose(id: string): Buffer {
  const lines = Array.from({ length: 5 + Math.floor(random() * 60) }, () =>
    Math.floor(random() * 1e15)
      .toString(36)
      .repeat(5),
  )
  return Buffer.from(`Message-ID: <${id}@example.net>\r\nSubject: ${id}\r\n\r\n${lines.join('\r\n')}\r\n`)
}

/** Small random numbers that a seed reproduces (mulberry32). */
function generator(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
