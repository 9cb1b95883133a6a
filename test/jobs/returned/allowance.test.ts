// How much an account may send: a word before the day's limit, and a halt where it sends far more than it ever did. Nothing is lost by it.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { advanceClock, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { Dialogue } from '../../dialogue.ts'
import { type Body, useTeal } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
  auth: { cleartext: 'always' },
  quota: { recipients: 2000 },
})
let sink: Sink
let admin = ''

beforeAll(async () => {
  sink = await startSink(sinkPort)
  admin = await service.user('admin')
})
afterAll(() => sink.close())

let count = 0

/** Over HTTP, to so many strangers. */
async function send(user: string, recipients: number): Promise<{ status: number; body: Body }> {
  const to = Array.from({ length: recipients }, () => ({ address: `r${++count}@far.test` }))
  return service.call('POST', `/users/${user}/submit`, { to, subject: 'x', text: 'x' })
}

async function subjects(user: string): Promise<string[]> {
  const { body } = await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)
  const { body: list } = await service.call('GET', `/users/${user}/mailboxes/${body.id}/messages`)
  return list.results.map(({ subject }: Body) => subject)
}

const paused = async (): Promise<Body[]> => (await service.call('GET', '/outbound/paused')).body.results

async function login(name: string): Promise<Dialogue> {
  const wire = await Dialogue.open(service.at('submission'))
  await wire.reply()
  await wire.ask('EHLO there')
  expect(await wire.ask(`AUTH PLAIN ${Buffer.from(`\0${name}\0secret of ${name}`).toString('base64')}`)).toMatch(/^235/)
  return wire
}

/** An account as it sees itself. */
async function asItself(user: string, name: string): Promise<Body> {
  const login = { username: name, password: `secret of ${name}`, token: true, scope: 'master' }
  const { token } = (await service.call('POST', '/authenticate', login)).body
  return (await service.raw('GET', `/users/${user}`, { headers: { 'x-access-token': token } })).json()
}

test('a word before the limit of a day, once', async () => {
  const user = await service.user('near', { recipients: 10 })
  expect((await send(user, 7)).status).toBe(200)
  expect(await subjects(user)).toEqual([])
  expect((await send(user, 1)).status).toBe(200)
  await expect.poll(() => subjects(user), { timeout: 10_000 }).toEqual(['The limit of a day is near'])
  expect((await send(user, 2)).status).toBe(200)
  expect((await send(user, 1)).body.code).toBe('RateLimitedError')
  expect(await subjects(user)).toHaveLength(1)
})

test('a stolen account that writes to a thousand in a minute is held back, and nothing that was taken is lost', async () => {
  const user = await service.user('stolen')
  const wire = await login('stolen')
  let taken = 0
  let last = ''
  // Nothing leaves meanwhile, so that all of it is there to be held.
  sink.recipient = () => ({ code: 451, text: '4.3.0 wait' })
  for (let sent = 0; sent < 1000; sent += 50) {
    last = await wire.ask('MAIL FROM:<stolen@example.com>')
    if (!last.startsWith('250')) break
    for (let at = 0; at < 50; at++) expect(await wire.ask(`RCPT TO:<s${sent + at}@far.test>`)).toMatch(/^250/)
    await wire.ask('DATA')
    wire.send(`Subject: ${sent}\r\n\r\nBuy\r\n.\r\n`)
    last = await wire.reply()
    if (!last.startsWith('250')) break
    taken += 50
  }
  expect(last).toMatch(/^450 4\.7\.1 /)
  expect(taken).toBe(300)
  expect(await wire.ask('RSET')).toMatch(/^250/)
  expect(await wire.ask('MAIL FROM:<stolen@example.com>')).toMatch(/^450 4\.7\.1/)
  wire.close()
  expect((await send(user, 1)).body.code).toBe('SendingPaused')
  // Its owner sees it with the account, and why.
  const seen = () => asItself(user, 'stolen')
  expect((await seen()).sendingPaused).toEqual({
    ...{ since: expect.any(String), reason: 'burst', recipients: 350, usual: 0 },
  })
  const [one] = await paused()
  expect(one).toMatchObject({ user, address: 'stolen@example.com', reason: 'burst', recipients: 350, usual: 0 })
  await expect
    .poll(() => subjects(admin), { timeout: 10_000 })
    .toEqual([expect.stringContaining('stolen@example.com is paused')])
  await expect.poll(() => subjects(user), { timeout: 10_000 }).toEqual(['Sending is paused'])
  expect(await (await service.raw('GET', '/metrics')).text()).toMatch(/sending_paused [1-9]/)
  // What was being sent when it was paused comes back and is held, too.
  const held = async () =>
    (
      await service.teal.core.read.one<{ n: number }>(
        'SELECT count(*) AS n FROM outbound_target t JOIN outbound o ON o.num = t.message WHERE o."user" = ? AND t.due > ?',
        user,
        now() + 1000 * limits.time.day,
      )
    )?.n
  await expect.poll(held, { timeout: 15_000 }).toBe(300)
  const { body } = await service.call('GET', `/users/${user}/outbound`)
  const queueId = body.results[0].queueId
  expect((await service.call('POST', `/users/${user}/outbound/${queueId}/retry`)).body.code).toBe('SendingPaused')
  const { targets } = (await service.call('GET', `/users/${user}/outbound/${queueId}`)).body
  expect(targets[0]).toMatchObject({ state: 'waiting', nextAttempt: false })
  sink.recipient = () => undefined
  const before = sink.messages.length
  // Others are not concerned.
  const other = await service.user('other')
  expect((await send(other, 1)).status).toBe(200)
  await sink.received(before + 1)
  expect((await service.call('POST', `/users/${user}/outbound/resume`)).status).toBe(200)
  expect((await service.call('POST', `/users/${user}/outbound/resume`)).body.code).toBe('NotPaused')
  expect(await seen()).not.toHaveProperty('sendingPaused')
  expect(await held()).toBe(0)
  advanceClock(limits.time.hour)
  const got = () => sink.messages.flatMap(({ to }) => to).filter(to => /^s\d+@/.test(to)).length
  await expect.poll(got, { timeout: 15_000 }).toBe(300)
  // Whoever let it go on has looked: for a day it is not held back again.
  expect((await send(user, 390)).status).toBe(200)
  expect(await paused()).toEqual([])
})

test('what is forwarded by hand counts with what is sent, and none of it leaves an account that is held back', async () => {
  const user = await service.user('hands')
  const { body: inbox } = await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)
  const path = `/users/${user}/mailboxes/${inbox.id}/messages`
  const headers = { 'content-type': 'message/rfc822' }
  const body = 'From: hands@example.com\r\nSubject: Buy\r\n\r\nBuy\r\n'
  const { message } = (await (await service.raw('POST', path, { headers, body })).json()) as Body
  const forward = (targets: number) => {
    const addresses = Array.from({ length: targets }, () => `f${++count}@far.test`)
    return service.call('POST', `${path}/${message.id}/forward`, { addresses })
  }
  expect((await send(user, 150)).status).toBe(200)
  expect((await forward(100)).status).toBe(200)
  expect((await forward(50)).status).toBe(200)
  expect((await forward(1)).body.code).toBe('SendingPaused')
  expect(await paused()).toMatchObject([{ user, reason: 'burst', recipients: 301 }])
  expect((await forward(1)).body.code).toBe('SendingPaused')
  expect((await send(user, 1)).body.code).toBe('SendingPaused')
  const shown = (await service.call('GET', `/users/${user}`)).body.limits
  expect(shown.forwards).toMatchObject({ used: 150 })
  expect((await service.call('POST', `/users/${user}/outbound/resume`)).status).toBe(200)
  expect((await forward(1)).status).toBe(200)
})

test('all who look after its domain hear of it, and not who came first', async () => {
  const old = await service.user('old', { address: 'old@tended.example' })
  const user = await service.user('sudden', { address: 'sudden@tended.example' })
  const tending = [await service.user('tender'), await service.user('carer')]
  const set = { name: 'tended.example', admins: tending }
  expect((await service.call('POST', '/domains', set)).body).toMatchObject({ success: true })
  // One message to as many as a message may have is no burst yet.
  expect((await send(user, 401)).body.code).toBe('TooMany')
  expect((await send(user, 400)).status).toBe(200)
  expect((await send(user, 1)).body.code).toBe('SendingPaused')
  for (const one of tending) {
    await expect
      .poll(() => subjects(one), { timeout: 10_000 })
      .toEqual([expect.stringContaining('sudden@tended.example is paused')])
  }
  expect(await subjects(old)).toEqual([])
  expect((await service.call('POST', `/users/${user}/outbound/resume`)).status).toBe(200)
})

test('what an account did on several days is usual for it, and one that was slow is soon conspicuous', async () => {
  const [busy, slow] = [await service.user('busy'), await service.user('slow')]
  for (let day = 0; day < 4; day++) {
    expect((await send(busy, 290)).status).toBe(200)
    expect((await send(slow, 3)).status).toBe(200)
    advanceClock(limits.time.day)
  }
  for (let part = 0; part < 3; part++) expect((await send(busy, 380)).status).toBe(200)
  expect((await send(busy, 100)).body.code).toBe('SendingPaused')
  expect((await send(slow, 290)).status).toBe(200)
  expect((await send(slow, 20)).body.code).toBe('SendingPaused')
  expect((await paused()).map(({ usual }) => usual)).toEqual([290, 0])
})

test('by hand, whatever it sends; and switched off nobody is', async () => {
  const user = await service.user('hand')
  expect((await service.call('POST', `/users/${user}/outbound/pause`)).status).toBe(200)
  const { body } = await send(user, 1)
  expect(body).toMatchObject({
    code: 'SendingPaused',
    error: expect.stringContaining('held back until the postmaster'),
  })
  expect((await service.call('POST', `/users/${user}/outbound/resume`)).status).toBe(200)
  expect((await send(user, 1)).status).toBe(200)
  const free = await service.user('free')
  await service.call('POST', '/settings/const:sender:burst', { value: 0 })
  for (let part = 0; part < 3; part++) expect((await send(free, 390)).status).toBe(200)
})

test('what an account has in the queue stays held when the account goes, until somebody decides', async () => {
  const user = await service.user('leaver')
  sink.recipient = () => ({ code: 451, text: '4.3.0 wait' })
  const { body } = await send(user, 1)
  const target = async () =>
    (await service.call('GET', `/outbound/messages/${body.message.queueId}`)).body.targets[0] as Body
  await expect.poll(async () => (await target()).attempts, { timeout: 10_000 }).toBeGreaterThan(0)
  await service.call('POST', `/users/${user}/outbound/pause`)
  await expect.poll(async () => (await target()).nextAttempt, { timeout: 10_000 }).toBe(false)
  expect((await service.call('DELETE', `/users/${user}`)).status).toBe(200)
  expect((await paused()).map(one => one.user)).toContain(user)
  sink.recipient = () => undefined
  expect((await service.call('POST', `/users/${user}/outbound/resume`)).status).toBe(200)
  advanceClock(limits.time.hour)
  await expect.poll(async () => (await target()).state, { timeout: 10_000 }).toBe('delivered')
})
