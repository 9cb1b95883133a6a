// What two nodes do as one service: limits and failed logins are counted once, queues are worked on by one of them, what is changed at
// one holds at the other, and large mail in their bucket is read at both wherever it came.

import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { generateSync } from 'otplib'
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest'
import { advanceClock, shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { startTeal, type Teal } from '#service'
import { leaseCount, leaseOf, shardOf } from '#store/cluster/shards.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { type Sink, startSink } from '../jobs/mail-sink.ts'
import { openSubscriber, type Subscriber } from '../jobs/outbox.ts'
import { bodiesAt, carry } from '../postgres/carry.ts'
import { makeDatabase } from '../postgres/cluster.ts'
import { type S3, startS3 } from '../postgres/s3.ts'
import { accessTo } from '../running.ts'
import { type Nats, startNats } from './nats.ts'
import type { Up } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-together-'))
let nats: Nats
let sink: Sink
let subscriber: Subscriber
let s3: S3
let url: string
let a: Teal
let b: Up
let child: ChildProcess
const access = { a: accessTo(() => a), b: accessTo(() => b as never) }
const nodes = ['a', 'b'] as const

beforeAll(async () => {
  nats = await startNats()
  sink = await startSink()
  subscriber = await openSubscriber()
  s3 = await startS3()
  url = await makeDatabase(inject('postgres'), 'template0')
  const more = {
    ...{ outbound: { relay: sink.url }, network: { allowPrivate: ['127.0.0.0/8'] } },
    bodies: bodiesAt(s3.url),
  }
  for (const node of nodes) mkdirSync(join(folder, node))
  a = await startTeal({ ...more, dataDir: join(folder, 'a'), store: { url }, cluster: { nats: nats.url, node: 'a' } })
  cpSync(join(folder, 'a', 'keys'), join(folder, 'b', 'keys'), { recursive: true })
  const given = [join(folder, 'b'), url, nats.url, 'b', JSON.stringify({ ...more, clocked: true })]
  child = fork(resolve('test/cluster/service.ts'), given, { execArgv: [] })
  ;[b] = (await once(child, 'message')) as [Up]
  const shared = () => expect(a.core.cluster?.leases.count).toBe(leaseCount / 2)
  await vi.waitFor(shared, { timeout: 60_000, interval: 50 })
})

afterEach(async () => {
  expect(await a.check()).toEqual([])
})

afterAll(async () => {
  shiftClock(0)
  if (child.connected) {
    child.send('close')
    await once(child, 'exit')
  }
  await a?.close()
  await Promise.all([sink.close(), subscriber.close(), nats.stop(), s3.close()])
  rmSync(folder, { recursive: true, force: true })
})

let made = 0

/** An account at each node. */
async function users(more: Record<string, unknown> = {}): Promise<{ name: string; id: string }[]> {
  const found = new Map<number | undefined, { name: string; id: string }>()
  while (found.size < 2) {
    made += 1
    const name = `t${made}`
    const id = await access.a.user(name, more)
    found.set(a.core.cluster?.leases.ownerOf(shardOf(id)), { name, id })
  }
  return [...found.values()]
}

const letter = (to: readonly string[], subject: string) => ({
  from: { address: 'someone@example.com' },
  to: to.map(address => ({ address })),
  ...{ subject, text: 'well' },
})

test('who may write to five a day may write to five, whichever nodes are asked at once', async () => {
  for (const { id } of await users({ recipients: 5 })) {
    const before = sink.messages.length
    const sent = await Promise.all(
      Array.from({ length: 16 }, (_, at) =>
        access[at % 2 === 0 ? 'a' : 'b'].call('POST', `/users/${id}/submit`, letter([`w${at}@example.org`], `w${at}`)),
      ),
    )
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(5)
    await sink.received(before + 5)
    for (const node of nodes) {
      await expect
        .poll(async () => (await access[node].call('GET', `/users/${id}`)).body.limits.recipients.used)
        .toBe(5)
    }
  }
})

test('wrong passwords at one node count at the other', async () => {
  const [{ name } = { name: '' }] = await users()
  const attempt = (node: 'a' | 'b', password: string) =>
    access[node].call('POST', '/authenticate', { username: name, password, ip: '192.0.2.7' })
  const codes = new Set<string>()
  for (let at = 0; at < 40 && !codes.has('RateLimitedError'); at++) codes.add((await attempt('a', `w${at}`)).body.code)
  expect([...codes]).toContain('RateLimitedError')
  await expect.poll(async () => (await attempt('b', `secret of ${name}`)).body.code).toBe('RateLimitedError')
})

test('guessed codes at one node count at the other', async () => {
  const [{ id } = { id: '' }] = await users()
  const { body } = await access.a.call('POST', `/users/${id}/2fa/totp/setup`, {})
  const code = () => generateSync({ secret: body.seed })
  expect((await access.b.call('POST', `/users/${id}/2fa/totp/enable`, { token: code() })).status).toBe(200)
  const check = async (node: 'a' | 'b') =>
    (await access[node].call('POST', `/users/${id}/2fa/totp/check`, { token: '000000' })).body.code
  for (let at = 0; at < limits.attempts.factorFailuresMax; at++) await check('a')
  expect(await check('a')).toBe('RateLimitedError')
  await expect.poll(() => check('b')).toBe('RateLimitedError')
})

test('mail out leaves once, whichever node took it, and also after the node that sends has changed', async () => {
  const all = await users()
  const before = sink.messages.length
  const subjects: string[] = []
  for (const { id } of all) {
    for (const node of nodes) {
      const subject = `out ${id} ${node}`
      expect(
        (await access[node].call('POST', `/users/${id}/submit`, letter(['far@example.org'], subject))).status,
      ).toBe(200)
      subjects.push(subject)
    }
  }
  await sink.received(before + subjects.length)
  const came = sink.messages.slice(before).map(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1]?.trim())
  expect(came.toSorted()).toEqual(subjects.toSorted())
})

test('who subscribes at one node hears what happens at both, until it ends', async () => {
  const { body } = await access.b.call('POST', '/webhooks', { type: ['user.created'], url: subscriber.url })
  const ids: string[] = []
  for (const node of nodes) ids.push(await access[node].user(`hook${node}`))
  const heard = () => subscriber.taken.map(({ body: event }) => event.user)
  await expect.poll(() => heard().toSorted()).toEqual(ids.toSorted())
  expect((await access.a.call('DELETE', `/webhooks/${body.id}`)).status).toBe(200)
  const count = heard().length
  for (const node of nodes) await access[node].user(`unheard${node}`)
  expect(heard()).toHaveLength(count)
})

test('what takes long is asked for at either node and done by one', async () => {
  const [one, two] = await users()
  for (const [node, user] of [
    ['a', one],
    ['b', two],
  ] as const) {
    const { status } = await access[node].call('DELETE', `/users/${user?.id}`)
    expect(status).toBe(200)
    await expect
      .poll(async () => (await a.core.read.all("SELECT id FROM task WHERE state IN ('queued', 'running')")).length)
      .toBe(0)
  }
})

test('a setting that is changed at one node holds at the other', async () => {
  expect((await access.b.call('POST', '/settings/const:max:recipients', { value: 77 })).status).toBe(200)
  expect((await access.a.call('GET', '/settings/const:max:recipients')).body.value).toBe(77)
})

/** Large mail: whose, and what was sent. */
const large: { readonly id: string; readonly text: string }[] = []

async function readLarge(...at: readonly ('a' | 'b')[]): Promise<void> {
  for (const node of at) {
    for (const { id, text } of large) {
      const mailboxes = await access[node].call('GET', `/users/${id}/mailboxes`)
      const inbox = mailboxes.body.results.find(({ path }: { path: string }) => path === 'INBOX')
      const source = await access[node].raw('GET', `/users/${id}/mailboxes/${inbox.id}/messages/1/message.eml`)
      expect((await source.text()).endsWith(text)).toBe(true)
    }
  }
}

/** Rows of large parts: of those in the database, and in the bucket. */
const places = async (): Promise<number[]> => [
  (await a.core.read.all(`SELECT num FROM part WHERE file = 0 AND stored > ${limits.body.inlineBytesMax}`)).length,
  (await a.core.read.all('SELECT num FROM part WHERE file = 1')).length,
]

test('large mail that came at one node is read at the other, while it is carried from the bucket and back, too', async () => {
  for (const [at, { name, id }] of (await users()).entries()) {
    const bytes = randomBytes(1_500_000).toString('base64').replace(/.{76}/g, '$&\r\n')
    const text = `Subject: large\r\nMIME-Version: 1.0\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n${bytes}\r\n`
    const lmtp = await openLmtp(access[nodes[at] as 'a'].at('lmtp'))
    const [reply] = await deliver(lmtp, 'x@example.org', [`${name}@example.com`], Buffer.from(text))
    lmtp.close()
    expect(reply).toMatch(/^250/)
    large.push({ id, text })
  }
  expect(await places()).toEqual([0, 2])
  await readLarge(...nodes)
  for (const [node, to, there] of [
    ['b', 'database', [2, 0]],
    ['a', 'bucket', [0, 2]],
  ] as const) {
    const reading = readLarge(...nodes)
    expect(await carry(to, { dataDir: join(folder, node), url, bodies: s3.url })).toBe(0)
    await reading
    expect(await places()).toEqual(there)
    await readLarge(...nodes)
  }
})

test('objects that no row names any more are removed by one of the nodes', async () => {
  expect(s3.names()).toHaveLength(4)
  // So that two that look would both have seen them before one was gone.
  s3.trouble = { slow: 50 }
  advanceClock(limits.body.strayRoundMs)
  child.send(limits.body.strayRoundMs)
  await expect.poll(() => s3.names()).toHaveLength(2)
  s3.trouble = {}
  await readLarge(...nodes)
  expect(s3.calls.filter(method => method === 'DELETE')).toHaveLength(2)
})

test('the queues go on at the other node when the one that works on them stops', async () => {
  const queue = () => a.core.cluster?.leases.ownerOf(leaseOf('queue'))
  const before = sink.messages.length
  const [user] = await users()
  child.send('close')
  await once(child, 'exit')
  await expect.poll(queue).toBe(a.core.cluster?.leases.num)
  expect((await access.a.call('POST', `/users/${user?.id}/submit`, letter(['on@example.org'], 'on'))).status).toBe(200)
  await sink.received(before + 1)
})

test('a node that has ended is not needed for what came at it', async () => {
  await readLarge('a')
})
