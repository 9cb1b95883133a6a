// The outbound queue as those see it who run the service: everything in it, why it waits, and what can be done about it.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { type Body, useTeal } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
})
let sink: Sink
let anna = ''

beforeAll(async () => {
  sink = await startSink(sinkPort)
  sink.recipient = address => (address.startsWith('stuck') ? { code: 450, text: '4.2.0 busy today' } : undefined)
  await service.call('POST', '/settings/const:sender:defer_times', { value: '1h, 1h' })
  anna = await service.user('anna')
  const form = { address: 'desk@example.com', targets: ['stuck.desk@far.test'] }
  expect((await service.call('POST', '/addresses/forwarded', form)).status).toBe(200)
})
afterAll(() => {
  shiftClock(0)
  return sink.close()
})

async function submit(...to: string[]): Promise<string> {
  const form = { to: to.map(address => ({ address })), subject: 'x', text: 'y' }
  const { status, body } = await service.call('POST', `/users/${anna}/submit`, form)
  expect(status).toBe(200)
  return body.message.queueId
}

async function toDesk(id: string): Promise<void> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const message = `From: a@remote.test\r\nTo: desk@example.com\r\nMessage-ID: <${id}@remote.test>\r\n\r\nx\r\n`
  expect(await deliver(lmtp, 'a@remote.test', ['desk@example.com'], Buffer.from(message))).toEqual([
    expect.stringMatching(/^250/),
  ])
  lmtp.close()
}

const list = async (query = ''): Promise<Body> => (await service.call('GET', `/outbound/messages${query}`)).body
const one = (id: string) => service.call('GET', `/outbound/messages/${id}`)

/** Waits until every target was tried and waits again. */
async function deferred(): Promise<Body[]> {
  const waits = ({ sending, attempts }: Body) => sending === 0 && attempts > 0
  await expect.poll(async () => (await list()).results.every(waits), { timeout: 10_000 }).toBe(true)
  return (await list()).results
}

test('everything that is counted is seen, with its reason and its next try', async () => {
  const id = await submit('stuck.a@far.test', 'stuck.b@other.test', 'fine@far.test')
  await toDesk('one')
  const results = await deferred()
  const figures = (await service.call('GET', '/outbound')).body
  expect(results.reduce((sum: number, { waiting }: Body) => sum + waiting, 0)).toBe(figures.waiting)
  expect(figures).toMatchObject({ waiting: 3, deferred: 3 })
  const own = results.find(({ queueId }) => queueId === id)
  expect(own).toMatchObject({
    ...{ user: anna, origin: 'submission', from: 'anna@example.com', done: false, waiting: 2, sending: 0, attempts: 1 },
    ...{ failure: 'rejected', status: 450, destinations: ['far.test', 'other.test'] },
    response: expect.stringContaining('busy today'),
  })
  expect(Date.parse(own?.nextAttempt)).toBeGreaterThan(Date.parse(own?.created))
  const nobodys = results.find(({ user }) => user === false)
  expect(nobodys).toMatchObject({
    ...{ origin: 'forward', forwardedFor: 'desk@example.com', originalSender: 'a@remote.test' },
    ...{ status: 450, destinations: ['far.test'] },
  })
  expect((await one(nobodys?.queueId)).body).toMatchObject({
    user: false,
    targets: [{ seq: '001', value: 'stuck.desk@far.test', state: 'waiting', attempts: 1, status: 450 }],
  })
  const ids = async (query: string) => (await list(query)).results.map(({ queueId }: Body) => queueId)
  expect(await ids('?destination=other.test')).toEqual([id])
  expect(await ids('?origin=forward')).toEqual([nobodys?.queueId])
  expect(await ids(`?user=${anna}`)).toEqual([id])
  expect((await list('?destination=nowhere.test')).total).toBe(0)
})

test('the list has pages', async () => {
  for (let at = 0; at < 3; at++) await submit(`stuck.${at}@paged.test`)
  const all = (await list('?destination=paged.test')).results.map(({ queueId }: Body) => queueId)
  const found: string[] = []
  for (let query = '?destination=paged.test&limit=1'; ; ) {
    const { results, total, nextCursor } = await list(query)
    expect(total).toBe(3)
    found.push(...results.map(({ queueId }: Body) => queueId))
    if (nextCursor === false) break
    query = `?destination=paged.test&limit=1&next=${nextCursor}`
  }
  expect(found).toEqual(all)
  expect(all).toHaveLength(3)
})

test('what waits is tried now, whoever it belongs to', async () => {
  const forward = (await deferred()).find(({ user }) => user === false)
  const { attempts } = (await one(forward?.queueId)).body.targets[0]
  expect((await service.call('POST', `/outbound/messages/${forward?.queueId}/retry`)).status).toBe(200)
  await expect.poll(async () => (await one(forward?.queueId)).body.targets[0].attempts).toBe(attempts + 1)
})

test('what waits is removed, and what has gone is said to have gone', async () => {
  const forward = (await deferred()).find(({ user }) => user === false)
  const path = `/outbound/messages/${forward?.queueId}`
  expect((await service.call('DELETE', path)).body).toEqual({ success: true, queueId: forward?.queueId, deleted: 1 })
  expect((await one(forward?.queueId)).body).toMatchObject({ targets: [{ state: 'cancelled' }] })
  expect((await list('?origin=forward')).total).toBe(0)
  expect((await list('?origin=forward&pending=false')).total).toBe(1)
  const gone = { status: 200, body: { success: false, code: 'NoSuchQueueEntry', error: expect.any(String) } }
  expect(await service.call('DELETE', path)).toMatchObject(gone)
  expect(await service.call('POST', `${path}/retry`)).toMatchObject({ status: 404, body: { code: 'NoSuchQueueEntry' } })
  expect(await service.call('DELETE', '/outbound/messages/000000000000ffffff')).toMatchObject(gone)
  expect(await one('000000000000ffffff')).toMatchObject({ status: 404, body: { code: 'NoSuchQueueEntry' } })
})

test('a message of an account that has left, or was taken back, is none any more', async () => {
  const left = await submit('fine@far.test')
  const stuck = await submit('stuck.c@far.test')
  const path = (id: string) => `/users/${anna}/outbound/${id}`
  const gone = { status: 200, body: { success: false, code: 'NoSuchQueueEntry' } }
  await expect.poll(async () => (await one(left)).body.targets[0].state).toBe('delivered')
  expect(await service.call('DELETE', path(left))).toMatchObject(gone)
  await expect.poll(async () => (await one(stuck)).body.targets[0]).toMatchObject({ state: 'waiting', attempts: 1 })
  expect((await service.call('DELETE', path(stuck))).body).toMatchObject({ success: true, deleted: 1 })
  expect(await service.call('DELETE', path(stuck))).toMatchObject(gone)
  expect(await service.call('DELETE', path('000000000000ffffff'))).toMatchObject(gone)
})

test('users see and touch nothing of it', async () => {
  const login = { username: 'anna', password: 'secret of anna', token: true, scope: 'master' }
  const { token } = (await service.call('POST', '/authenticate', login)).body
  const id = await submit('stuck.d@far.test')
  const calls: [method: string, path: string][] = [
    ['GET', '/outbound'],
    ['GET', '/outbound/messages'],
    ['GET', `/outbound/messages/${id}`],
    ['POST', `/outbound/messages/${id}/retry`],
    ['DELETE', `/outbound/messages/${id}`],
  ]
  for (const [method, path] of calls) {
    expect(await service.call(method, path, undefined, token), path).toMatchObject({
      status: 403,
      body: { code: 'MissingPrivileges' },
    })
  }
  expect((await service.call('GET', `/users/me/outbound/${id}`, undefined, token)).status).toBe(200)
})

test('what was queued or put off while the clock was ahead waits no longer than it would have', async () => {
  const hour = 3_600_000
  shiftClock(400 * limits.time.day)
  const id = await submit('stuck.ahead@clock.test')
  const later = new Date(now() + hour).toISOString()
  const form = { to: [{ address: 'stuck.later@clock.test' }], subject: 'x', text: 'y', sendTime: later }
  const chosen = (await service.call('POST', `/users/${anna}/submit`, form)).body.message.queueId
  const target = async (of: string) => (await one(of)).body.targets[0]
  await expect.poll(async () => (await target(id)).attempts, { timeout: 10_000 }).toBe(1)
  shiftClock(0)
  // Whoever queues something has the queue looked at.
  await submit('fine@clock.test')
  await expect.poll(async () => Date.parse((await target(id)).nextAttempt)).toBeLessThan(now() + 2 * hour)
  expect(Date.parse((await one(id)).body.created)).toBeLessThanOrEqual(now())
  expect((await target(chosen)).nextAttempt).toBe(later)
})
