// What goes out over submission: under whose address, and what its sender hears of it (RFC 3461).

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { advanceClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { Dialogue, stuffed } from '../../dialogue.ts'
import { useTeal } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
  auth: { cleartext: 'always' },
})
let sink: Sink
/** One that knows nothing of reports. */
let plain: Sink

beforeAll(async () => {
  sink = await startSink(sinkPort, { hideDSN: false })
  plain = await startSink()
  for (const one of [sink, plain]) {
    const refusal = (address: string) => (address.startsWith('listed') ? '[192.5.1.1] is listed' : '5.1.1 nobody')
    one.recipient = address => (/^(?:nobody|listed)/.test(address) ? { code: 550, text: refusal(address) } : undefined)
  }
  await service.call('POST', '/settings/const:sender:defer_times', { value: '1s, 1s' })
})
afterAll(async () => {
  await sink.close()
  await plain.close()
})

async function login(name: string): Promise<Dialogue> {
  const wire = await Dialogue.open(service.at('submission'))
  await wire.reply()
  await wire.ask('EHLO there')
  const token = Buffer.from(`\0${name}\0secret of ${name}`).toString('base64')
  expect(await wire.ask(`AUTH PLAIN ${token}`)).toMatch(/^235/)
  return wire
}

interface Sending {
  readonly from: string
  /** With parameters behind the address. */
  readonly to: readonly string[]
  readonly lines?: readonly string[]
  readonly text?: string
}

let count = 0

async function submit(name: string, { from, to, lines = [], text = 'Hello' }: Sending): Promise<string> {
  count += 1
  const wire = await login(name)
  const message = [...lines, `Subject: Number ${count}`, `Message-ID: <s${count}@teal.test>`, '', text, ''].join('\r\n')
  const replies = [await wire.ask(`MAIL FROM:${from}`)]
  for (const one of to) replies.push(await wire.ask(`RCPT TO:${one}`))
  replies.push(await wire.ask('DATA'))
  expect(replies.map(reply => reply[0])).toEqual(['2', ...to.map(() => '2'), '3'])
  wire.send(stuffed(Buffer.from(message)))
  const reply = await wire.reply()
  wire.close()
  return reply
}

async function sent(at: number, from = sink) {
  const message = (await from.received(at + 1))[at]
  if (message === undefined) throw new Error('nothing came')
  return message
}

async function inboxOf(user: string): Promise<string[]> {
  const { body } = await service.call('GET', `/users/${user}/mailboxes`)
  const path = `/users/${user}/mailboxes/${body.results[0].id}/messages`
  const list = (await service.call('GET', `${path}?order=asc`)).body.results as { id: number }[]
  return Promise.all(list.map(async ({ id }) => (await service.raw('GET', `${path}/${id}/message.eml`)).text()))
}

/** The reports an account has got, once there are so many. */
async function reports(user: string, wanted = 1): Promise<string[]> {
  const found = async () => (await inboxOf(user)).filter(text => text.includes('report-type=delivery-status'))
  await expect.poll(async () => (await found()).length, { timeout: 10_000 }).toBe(wanted)
  return found()
}

describe('the sender', () => {
  beforeAll(() => service.user('honest', { name: 'Hon Est', fromWhitelist: ['*@partner.test'] }))

  test.each([
    ['a foreign one', ['From: Boss <boss@far.test>', 'Sender: boss@far.test'], 'From: Boss <honest@example.com>'],
    ['none', ['To: x@far.test'], 'From: Hon Est <honest@example.com>'],
    ['two fields', ['From: honest@example.com', 'From: boss@far.test'], 'From: honest@example.com'],
    ['own and foreign', ['From: Me <honest@example.com>, boss@far.test'], 'From: Me <honest@example.com>'],
    ['one that is no address', ['From: boss'], 'From: boss <honest@example.com>'],
    [
      'ten fields',
      Array.from({ length: 10 }, (_, at) => `From: b${at}@far.test`),
      'From: Hon Est <honest@example.com>',
    ],
  ])('From: %s is replaced', async (_, lines, wanted) => {
    const at = sink.messages.length
    await submit('honest', { from: '<boss@far.test>', to: ['<a@far.test>'], lines })
    const { from, raw } = await sent(at)
    expect(from).toBe('honest@example.com')
    expect(raw.match(/^(?:From|Sender):.*/gim)).toEqual([wanted])
    expect(raw).not.toContain('boss@far.test')
  })

  test.each([
    ['<honest+label@example.com>', 'From: <honest+label@example.com>'],
    ['<anyone@partner.test>', 'From: Any <anyone@partner.test>'],
  ])('an own one stays as it is written: %s', async (from, line) => {
    const at = sink.messages.length
    const lines = [line, 'X-Odd:  kept   as it is', 'Sender: honest@example.com']
    await submit('honest', { from, to: ['<a@far.test>'], lines, text: '.dots\r\n..and more' })
    const message = await sent(at)
    expect(`<${message.from}>`).toBe(from)
    expect(message.raw).toContain(`\r\n${lines.join('\r\n')}\r\nSubject: `)
    expect(message.raw).toMatch(/\r\n\r\n\.dots\r\n\.\.and more\r\n$/)
  })

  test('a text without a header leaves whole, below one', async () => {
    await service.user('bare')
    const at = sink.messages.length
    const wire = await login('bare')
    for (const line of ['MAIL FROM:<bare@example.com>', 'RCPT TO:<x@elsewhere.test>', 'DATA']) await wire.ask(line)
    wire.send(stuffed(Buffer.from('Hello Anna,\r\n\r\nbye\r\n')))
    expect(await wire.reply()).toMatch(/^250/)
    wire.close()
    const { raw } = await sent(at)
    expect(raw).toMatch(/^From: [^\0]*\S\r\n\r\nHello Anna,\r\n\r\nbye\r\n$/m)
  })

  test('a receipt keeps the null sender, and Bcc stays at home', async () => {
    const at = sink.messages.length
    await submit('honest', { from: '<>', to: ['<a@far.test>'], lines: ['From: honest@example.com', 'Bcc: c@far.test'] })
    const { from, raw } = await sent(at)
    expect(from).toBe('')
    expect(raw).not.toContain('c@far.test')
  })
})

test('what one recipient here cannot take now is tried again, and nobody has to send it again for the others', async () => {
  const user = await service.user('whole')
  const form = { address: 'desk@example.com', targets: ['desk@far.test'], forwards: 1 }
  expect((await service.call('POST', '/addresses/forwarded', form)).status).toBe(200)
  const send = (to: readonly string[]) => submit('whole', { from: '<whole@example.com>', to })
  expect(await send(['<desk@example.com>'])).toMatch(/^250/)
  const before = sink.messages.length
  // Alone it is refused, with others it waits.
  expect(await send(['<desk@example.com>'])).toMatch(/^4/)
  expect(await send(['<desk@example.com>', '<far@far.test>', '<whole@example.com>'])).toMatch(/^250/)
  const [{ queueId }] = (await service.call('GET', `/outbound/messages?user=${user}`)).body.results
  const found = async () => (await service.call('GET', `/outbound/messages/${queueId}`)).body.targets
  await expect.poll(found).toMatchObject([
    { value: 'desk@example.com', state: 'waiting' },
    { value: 'far@far.test', state: 'delivered' },
  ])
  expect(sink.messages.slice(before).filter(({ to }) => to.includes('far@far.test'))).toHaveLength(1)
  expect(await inboxOf(user)).toHaveLength(1)
  await service.call('DELETE', `/outbound/messages/${queueId}`)
})

describe('what the sender hears', () => {
  test('is offered to those who log in alone', async () => {
    await service.user('asker')
    const wire = await login('asker')
    wire.send('EHLO again\r\n')
    const lines: string[] = []
    for (let line = await wire.line(); lines.push(line) && line[3] === '-'; line = await wire.line());
    expect(lines.map(line => line.slice(4))).toContain('DSN')
    for (const wrong of [
      'RET=ALL',
      'ENVID=',
      'ENVID=a+b',
      `ENVID=${'x'.repeat(101)}`,
      'ENVID=+0D+0A',
      'RET=FULL RET=FULL',
    ]) {
      expect(await wire.ask(`MAIL FROM:<asker@example.com> ${wrong}`), wrong).toMatch(/^501/)
    }
    expect(await wire.ask('MAIL FROM:<asker@example.com> RET=HDRS ENVID=a+2Bb')).toMatch(/^250/)
    for (const wrong of [
      'NOTIFY=NEVER,DELAY',
      'NOTIFY=',
      'NOTIFY=SOMETIMES',
      'NOTIFY=DELAY,DELAY',
      'ORCPT=x',
      'ORCPT=rfc822;',
    ]) {
      expect(await wire.ask(`RCPT TO:<a@far.test> ${wrong}`), wrong).toMatch(/^501/)
    }
    expect(await wire.ask('RCPT TO:<a@far.test> X=1')).toMatch(/^555/)
    wire.close()
    const smtp = await Dialogue.open(service.at('smtp'))
    await smtp.reply()
    await smtp.ask('EHLO there')
    expect(await smtp.ask('MAIL FROM:<x@far.test> RET=FULL')).toMatch(/^555/)
    await smtp.ask('MAIL FROM:<x@far.test>')
    expect(await smtp.ask('RCPT TO:<asker@example.com> NOTIFY=SUCCESS')).toMatch(/^555/)
    smtp.close()
  })

  test('a host that reports itself is told what is wanted, each recipient apart, and nobody here reports', async () => {
    const user = await service.user('passes')
    const at = sink.messages.length
    const to = [
      '<a@far.test> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;first+2Ba@far.test',
      '<b@far.test>',
      '<c@far.test> NOTIFY=NEVER',
      '<d@far.test> ORCPT=utf-8;j\u00f5@far.test',
    ]
    await submit('passes', { from: '<passes@example.com> RET=HDRS ENVID=QQ+2B7', to })
    const messages = (await sink.received(at + 4)).slice(at)
    const of = (address: string) => messages.find(message => message.to.includes(address))?.dsn
    expect(of('a@far.test')).toEqual([
      { ret: 'HDRS', envid: 'QQ+7' },
      { notify: ['SUCCESS', 'DELAY'], orcpt: 'rfc822;first+a@far.test' },
    ])
    expect(of('b@far.test')?.[1]).toBeUndefined()
    expect(of('c@far.test')?.[1]).toEqual({ notify: ['NEVER'] })
    expect(of('d@far.test')?.[1]).toMatchObject({ orcpt: 'utf-8;j\\x{F5}@far.test' })
    expect(await inboxOf(user)).toEqual([])
  })

  test('one that does not is reported as the end of our knowledge', async () => {
    const user = await service.user('relays', { mtaRelay: plain.url })
    const at = plain.messages.length
    const named = '<c@far.test> NOTIFY=SUCCESS ORCPT=utf-8;j\u00f5a\\x{2B}c@far.test'
    const to = ['<a@far.test> NOTIFY=SUCCESS ORCPT=rfc822;first@far.test', '<b@far.test>', named]
    await submit('relays', { from: '<relays@example.com> ENVID=env+2B1 RET=FULL', to, text: 'the body' })
    await plain.received(at + 3)
    const [report = ''] = await reports(user)
    expect(report).toContain('Original-Recipient: utf-8; j\\x{F5}a\\x{2B}c@far.test\r\n')
    expect(report).toContain('Original-Envelope-Id: env+1\r\n')
    expect(report).toContain(
      'Original-Recipient: rfc822; first@far.test\r\nFinal-Recipient: rfc822; a@far.test\r\nAction: relayed\r\nStatus: 2.',
    )
    expect(report).not.toContain('b@far.test')
    // The message itself comes back with failures only.
    expect(report).not.toContain('the body')
    expect(report).toMatch(/^Return-Path: <>\r$/m)
  })

  test('a delivery here is reported, too', async () => {
    const user = await service.user('near')
    await service.user('nearby')
    await submit('near', { from: '<near@example.com>', to: ['<nearby@example.com> NOTIFY=SUCCESS'] })
    const [report] = await reports(user)
    expect(report).toContain('Final-Recipient: rfc822; nearby@example.com\r\nAction: delivered\r\nStatus: 2.')
    expect(report).not.toContain('Diagnostic-Code')
  })

  test.each([
    ['full', 'RET=FULL', true],
    ['headers', 'RET=HDRS', false],
  ])('a failure brings back what was asked for: %s', async (name, ret, whole) => {
    const user = await service.user(`fails-${name}`)
    const text = 'a line of the body\r\n'.repeat(5000)
    const to = ['<nobody@far.test>', '<listed@far.test>']
    await submit(`fails-${name}`, { from: `<fails-${name}@example.com> ${ret}`, to, text })
    const [report = ''] = await reports(user)
    // A part of an address of a host is no code.
    expect(report.match(/Action: failed\r\nStatus: \S+/g)?.map(one => one.slice(-5))).toEqual(['5.1.1', '5.0.0'])
    expect(report).toContain('\r\nDiagnostic-Code: smtp; 550 ')
    expect(report.includes(text)).toBe(whole)
    expect(report).toContain(whole ? 'Content-Type: message/rfc822\r\n' : 'Content-Type: text/rfc822-headers\r\n')
  })

  test('who wants to hear nothing hears nothing', async () => {
    const user = await service.user('quiet')
    const to = [
      '<nobody1@far.test> NOTIFY=NEVER',
      '<nobody2@far.test> NOTIFY=SUCCESS',
      '<nobody3@far.test> NOTIFY=FAILURE',
    ]
    await submit('quiet', { from: '<quiet@example.com>', to })
    const [report] = await reports(user)
    expect(report).toContain('nobody3@far.test')
    expect(report).not.toMatch(/nobody[12]@far\.test/)
  })
})

/** Every line that EHLO is answered with. */
async function greeting(wire: Dialogue): Promise<string[]> {
  wire.send('EHLO there\r\n')
  const lines = [await wire.line()]
  while (lines.at(-1)?.[3] === '-') lines.push(await wire.line())
  return lines
}

describe('a message that is to go later (RFC 4865)', () => {
  test('goes at its time, to who is here, too', async () => {
    await service.user('early')
    const late = await service.user('late')
    const wire = await login('early')
    const release = (await greeting(wire)).find(line => line.startsWith('250-FUTURERELEASE'))
    expect(release).toMatch(/^250-FUTURERELEASE 2592000 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const from = 'MAIL FROM:<early@example.com>'
    for (const wrong of [
      'HOLDFOR=0',
      'HOLDFOR=x',
      'HOLDFOR=9999999',
      'HOLDUNTIL=tomorrow',
      'HOLDUNTIL=2100-01-01T00:00:00Z',
      // There is no such day, and RFC 3339 knows no hour of that number.
      'HOLDUNTIL=2026-02-30T00:00:00Z',
      'HOLDUNTIL=2026-01-01T24:00:00Z',
      'HOLDFOR=10 HOLDUNTIL=2026-01-01T00:00:00Z',
      'HOLDUNTIL=2026-01-01T00:00:00Z HOLDFOR=10',
    ]) {
      expect(await wire.ask(`${from} ${wrong}`)).toMatch(/^501 5\.5\.4 /)
    }
    const at = sink.messages.length
    for (const line of [`${from} HOLDFOR=86400`, 'RCPT TO:<far@far.test>', 'RCPT TO:<late@example.com>', 'DATA'])
      await wire.ask(line)
    wire.send(stuffed(Buffer.from('Subject: later\r\n\r\nx\r\n')))
    expect(await wire.reply()).toMatch(/^250/)
    wire.close()
    // What is sent after it comes before it.
    await submit('early', { from: '<early@example.com>', to: ['<far@far.test>', '<late@example.com>'] })
    await sink.received(at + 1)
    expect(await inboxOf(late)).toHaveLength(1)
    advanceClock(limits.time.day)
    expect((await sent(at + 1)).raw).toContain('Subject: later')
    await expect.poll(async () => (await inboxOf(late)).length, { timeout: 10_000 }).toBe(2)
  })
})
