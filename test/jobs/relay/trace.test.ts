// Where a message is: its way by queue id and by Message-ID, step by step; and what an operator does about it.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Wire } from '../../net/wire.ts'
import { type Body, useTeal } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const sinkPort = 30_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}`, source: '127.0.0.7' },
  network: { allowPrivate: ['127.0.0.0/8'] },
  dkim: { automatic: false },
  smtp: { authenticate: false },
  auth: { cleartext: 'always' },
})
let sink: Sink
let other: Sink
let anna = ''
const sources = new Set<string>()

beforeAll(async () => {
  sink = await startSink(sinkPort, {
    onMailFrom: (_address, { remoteAddress }, done) => {
      sources.add(remoteAddress)
      done()
    },
  })
  other = await startSink()
  await service.teal.core.settings.apply('const:sender:defer_times', '1s, 1h')
  anna = await service.user('anna')
})
afterAll(async () => {
  await sink.close()
  await other.close()
})

async function submit(to: string[]): Promise<string> {
  const form = { to: to.map(address => ({ address })), subject: 'x', text: 'x' }
  return (await service.call('POST', `/users/${anna}/submit`, form)).body.message.queueId
}

const traced = async (id: string): Promise<Body[]> =>
  (await service.call('GET', `/outbound/trace/${encodeURIComponent(id)}`)).body.results
const steps = async (id: string) => ((await traced(id))[0]?.steps ?? []).map(({ step }: Body) => step)

test('each attempt is told with its answer, by queue id and by Message-ID', async () => {
  let refusals = 0
  sink.recipient = address => {
    if (address.startsWith('late') && refusals++ < 1) return { code: 451, text: 'come back later' }
    return address.startsWith('never') ? { code: 550, text: 'nobody of this name' } : undefined
  }
  const id = await submit(['late@far.test', 'never@far.test'])
  await expect.poll(() => steps(id), { timeout: 15_000 }).toEqual(['queued', 'retry', 'failed', 'delivered', 'done'])
  const slowed = async () =>
    /outbound_destinations_slowed (\d+)/.exec(await (await service.raw('GET', '/metrics')).text())?.[1]
  expect(await slowed()).toBe('1')
  for (let more = 0; more < 12; more++) await submit([`more${more}@far.test`])
  await expect.poll(slowed, { timeout: 15_000 }).toBe('0')
  const left = async () => (await service.call('GET', '/outbound')).body
  await expect.poll(left, { timeout: 15_000 }).toMatchObject({ waiting: 0, sending: 0 })
  const [one] = await traced(id)
  expect(one.steps[1]).toMatchObject({ target: 'late@far.test', host: '127.0.0.1', status: 451, failure: 'rejected' })
  expect(one.steps[1].response).toContain('come back later')
  expect(one.steps[2]).toMatchObject({ target: 'never@far.test', status: 550 })
  expect((await traced(one.messageId)).map(({ queueId }) => queueId)).toEqual([id])
  expect(await traced('<nothing@here>')).toEqual([])
  expect([...sources]).toEqual(['127.0.0.7'])
})

/** The id that the last reply names. */
async function brought(listener: 'smtp' | 'submission', lines: readonly string[], message: string): Promise<string> {
  const wire = await Wire.open(service.at(listener))
  await wire.reply()
  for (const line of ['EHLO there', ...lines, 'DATA']) expect(await wire.ask(line)).toMatch(/^[23]/)
  wire.send(`${message}\r\n.\r\n`)
  const reply = await wire.line()
  wire.close()
  return / Stored as (\S+)$/.exec(reply)?.[1] ?? reply
}

test('a message is found by the id that its own reply named, also where it has no other', async () => {
  sink.recipient = () => undefined
  const login = `AUTH PLAIN ${Buffer.from('\0anna\0secret of anna').toString('base64')}`
  const sent = await brought(
    'submission',
    [login, 'MAIL FROM:<anna@example.com>', 'RCPT TO:<far@far.test>'],
    'From: anna@example.com\r\nSubject: out\r\n\r\nx',
  )
  expect(await steps(sent)).toContain('queued')
  const came = await brought('smtp', ['MAIL FROM:<ben@far.test>', 'RCPT TO:<anna@example.com>'], 'Subject: in\r\n\r\nx')
  const whole = async (id: string) => (await service.call('GET', `/outbound/trace/${id}`)).body.arrivals
  expect(await whole(came)).toMatchObject([{ recipient: 'anna@example.com', from: 'ben@far.test', source: 'smtp' }])
  const own = async (id: string) => (await service.call('GET', `/users/${anna}/outbound/trace/${id}`)).body
  expect(await own(came)).toMatchObject({ arrivals: [{ recipient: 'anna@example.com' }], results: [] })
  expect(await own(sent)).toMatchObject({ results: [{ from: 'anna@example.com' }] })
  const other = await service.user('other')
  const theirs = (await service.call('GET', `/users/${other}/outbound/trace/${came}`)).body
  expect(theirs).toMatchObject({ arrivals: [], results: [] })
  // One digit less or more is another message.
  for (const id of [came.slice(1), `${came}1`, sent.slice(1), `${sent}0`]) {
    expect([await whole(id), await traced(id)]).toEqual([[], []])
  }
})

test('held it waits, retried it goes, and by another way where it is told to', async () => {
  sink.recipient = () => ({ code: 451, text: 'not now' })
  const id = await submit(['a@far.test'])
  await expect.poll(() => steps(id), { timeout: 15_000 }).toEqual(['queued', 'retry', 'retry'])
  expect((await service.call('POST', `/outbound/messages/${id}/hold`)).status).toBe(200)
  const { body } = await service.call('GET', `/outbound/messages/${id}`)
  expect(body.targets[0]).toMatchObject({ state: 'waiting', nextAttempt: false })
  expect((await service.call('GET', '/outbound')).body).toMatchObject({ waiting: 1, next: false })
  await service.call('POST', `/outbound/messages/${id}/retry`)
  await expect.poll(() => steps(id), { timeout: 15_000 }).toContain('failed')
  const next = await submit(['b@far.test'])
  await expect.poll(() => steps(next), { timeout: 15_000 }).toEqual(['queued', 'retry', 'retry'])
  const relay = `smtp://me:secret@127.0.0.1:${other.port}`
  expect((await service.call('POST', `/outbound/messages/${next}/route`, { relay: 'https://x.test/' })).status).toBe(
    400,
  )
  const plain = relay.replace('me:secret@', '')
  expect((await service.call('POST', `/outbound/messages/${next}/route`, { relay: plain })).status).toBe(200)
  await other.received(1)
  await expect.poll(() => steps(next)).toContain('delivered')
  for (const way of ['hold', 'route', 'retry']) {
    const { body: refused } = await service.call(
      'POST',
      `/outbound/messages/${next}/${way}`,
      way === 'route' ? { relay: plain } : undefined,
    )
    expect(refused.code).toBe('NoSuchQueueEntry')
  }
})
