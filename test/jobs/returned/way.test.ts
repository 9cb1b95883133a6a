// A message's whole way in one answer: how it came, what was decided, what went on, what came back; for operators, and for users of what
// is theirs.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { environmentOf, runTeal } from '../../child.ts'
import { Dialogue, stuffed } from '../../dialogue.ts'
import { type Body, useTeal } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
  mail: { defaultDomain: 'example.com' },
  smtp: { authenticate: true, dnsServers: ['127.0.0.1:9'] },
})
let sink: Sink

beforeAll(async () => {
  sink = await startSink(sinkPort)
})
afterAll(() => sink.close())

async function arrive(to: readonly string[], message: string, from = 'w@remote.test'): Promise<void> {
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO out.remote.test')
  await smtp.ask(`MAIL FROM:<${from}>`)
  for (const one of to) expect(await smtp.ask(`RCPT TO:<${one}>`)).toMatch(/^250/)
  await smtp.ask('DATA')
  smtp.send(stuffed(Buffer.from(message)))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
}

const letter = (id: string) =>
  `From: Writer <w@remote.test>\r\nTo: anna@example.com\r\nSubject: Way\r\nMessage-ID: ${id}\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n\r\nHi\r\n`

const trace = async (id: string) => (await service.call('GET', `/outbound/trace/${encodeURIComponent(id)}`)).body
const ownTrace = async (user: string, id: string) =>
  (await service.call('GET', `/users/${user}/outbound/trace/${encodeURIComponent(id)}`)).body

test('of what comes in, is decided, goes on and comes back', async () => {
  const id = '<way@remote.test>'
  const anna = await service.user('anna')
  const bert = await service.user('bert')
  const filter = { name: 'on it goes', query: { subject: 'Way' }, action: { targets: ['friend@elsewhere.test'] } }
  expect((await service.call('POST', `/users/${anna}/filters`, filter)).status).toBe(200)
  const gone = { name: 'not wanted', query: { subject: 'Way' }, action: { delete: true } }
  const carl = await service.user('carl')
  await service.call('POST', `/users/${carl}/filters`, gone)
  await arrive(['anna@example.com', 'bert@example.com', 'carl@example.com'], letter(id))
  const [copy] = await sink.received(1)
  const bounce = [
    ...['From: MAILER-DAEMON@far.test', 'Content-Type: multipart/report; report-type=delivery-status; boundary=b', ''],
    ...['--b', 'Content-Type: message/delivery-status', '', 'Reporting-MTA: dns; mx.far.test', ''],
    ...['Final-Recipient: rfc822; friend@elsewhere.test', 'Action: failed', 'Status: 5.2.2', '--b--', ''],
  ]
  await arrive([copy?.from ?? ''], bounce.join('\r\n'), '')
  const steps = async () => (await trace(id)).results[0]?.steps.map(({ step }: Body) => step)
  await expect.poll(steps, { timeout: 15_000 }).toEqual(['queued', 'delivered', 'done', 'bounced'])
  const { arrivals, results } = await trace(id)
  expect(results).toHaveLength(1)
  const [one] = results
  expect(one).toMatchObject({
    user: anna,
    origin: 'forward',
    forwardedFor: 'anna@example.com',
    originalSender: 'w@remote.test',
  })
  expect(arrivals.map(({ user }: Body) => user).sort()).toEqual([anna, bert, carl].sort())
  const of = (user: string) => arrivals.find((arrival: Body) => arrival.user === user)
  expect(of(anna)).toMatchObject({
    ...{ recipient: 'anna@example.com', from: 'w@remote.test', source: 'smtp', path: 'INBOX' },
    ...{ origin: '127.0.0.1', helo: 'out.remote.test', protocol: 'ESMTP' },
    decided: {
      filters: ['on it goes'],
      stored: 'INBOX',
      forwarded: ['friend@elsewhere.test'],
      queueIds: [one.queueId],
    },
  })
  expect(of(anna).verificationResults).toBeDefined()
  expect(of(bert)).toMatchObject({ path: 'INBOX', source: 'smtp' })
  expect(of(bert).decided).toBeUndefined()
  expect(of(carl)).toMatchObject({ recipient: 'carl@example.com', decided: { filters: ['not wanted'], stored: null } })
  // By the id in the queue, and without brackets, the same.
  expect(await trace(one.queueId)).toEqual({ success: true, arrivals, results })
  expect(await trace('way@remote.test')).toEqual({ success: true, arrivals, results })
  const { out } = await runTeal(['trace', id], environmentOf(service.teal.config))
  expect(out).toMatch(/^to anna@example\.com from <w@remote\.test>\n/m)
  expect(out).toMatch(/received +smtp from out\.remote\.test \[127\.0\.0\.1\] ESMTP\n/)
  expect(out).toMatch(/decided +stored in INBOX, by on it goes, on to friend@elsewhere\.test, queued as [0-9a-f]{18}\n/)
  expect(out).toMatch(/decided +not stored, by not wanted\n/)
  expect(out).toMatch(/bounced +friend@elsewhere\.test {2}mx\.far\.test {2}5\.2\.2\n/)
  // To each what is theirs.
  const hers = await ownTrace(anna, id)
  expect(hers.arrivals.map(({ user }: Body) => user)).toEqual([anna])
  expect(hers.results).toEqual(results)
  const his = await ownTrace(bert, id)
  expect(his.arrivals.map(({ user }: Body) => user)).toEqual([bert])
  expect(his.results).toEqual([])
  expect(await ownTrace(bert, one.queueId)).toMatchObject({ arrivals: [], results: [] })
  expect((await ownTrace(carl, id)).arrivals).toMatchObject([{ user: carl }])
})

test('of what is written here, and of what an address without account sends on', async () => {
  const dora = await service.user('dora')
  const form = { to: [{ address: 'x@far.test' }], subject: 'x', text: 'x' }
  const { body } = await service.call('POST', `/users/${dora}/submit`, form)
  const { queueId } = body.message
  const own = await ownTrace(dora, queueId)
  expect(own.results).toMatchObject([{ queueId, user: dora, origin: 'submission' }])
  const byId = await ownTrace(dora, own.results[0].messageId)
  expect(byId.results.map((one: Body) => one.queueId)).toEqual([queueId])
  await service.call('POST', '/addresses/forwarded', { address: 'desk@example.com', targets: ['y@far.test'] })
  await arrive(['desk@example.com'], letter('<desk@remote.test>'))
  expect((await trace('<desk@remote.test>')).results).toMatchObject([{ user: false, forwardedFor: 'desk@example.com' }])
  expect(await trace('<nothing@here.test>')).toMatchObject({ arrivals: [], results: [] })
})
