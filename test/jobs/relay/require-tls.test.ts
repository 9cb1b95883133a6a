// Mail whose sender wants it protected on all of its way (RFC 8689), and mail whose sender wants it to go in any case.

import { createHash, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { openAuthority } from '../../net/authority.ts'
import { type NameServer, startNameServer } from '../../net/name-server.ts'
import { Wire } from '../../net/wire.ts'
import { accessTo } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

let teal: Teal
let dns: NameServer
let sink: Sink
/** Proves itself and does not offer REQUIRETLS. */
let deaf: Sink
let anna = ''
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  dns.secure.add('test')
  const own = await (await openAuthority()).issue({ names: ['mx.any.test'] })
  const tls = { disabledCommands: ['AUTH' as const], key: own.key, cert: own.cert }
  sink = await startSink(0, { ...tls, ...{ hideREQUIRETLS: false } })
  deaf = await startSink(sink.port, tls, '127.0.0.2')
  const key = new X509Certificate(own.cert).publicKey.export({ type: 'spki', format: 'der' })
  const right = `030101${createHash('sha256').update(key).digest('hex')}`
  domain('kept.test', '127.0.0.1', right)
  domain('deaf.test', '127.0.0.2', right)
  domain('wrong.test', '127.0.0.1', `030101${'ab'.repeat(32)}`)
  domain('unproven.org', '127.0.0.1')
  dns.records.set('MX both.test', ['10 mx.deaf.test', '20 mx.kept.test'])
  teal = await startTeal({
    outbound: { port: sink.port },
    network: { allowPrivate: ['127.0.0.0/8'], dnsServers: [dns.address] },
    smtp: { authenticate: false },
    dkim: { automatic: false },
  })
  await teal.core.settings.apply('const:sender:defer_times', '1h')
  anna = await service.user('anna')
  await service.user('bert', { targets: ['b@kept.test'] })
  const form = { address: 'desk@example.com', targets: ['d@kept.test', 'd@deaf.test'] }
  await service.call('POST', '/addresses/forwarded', form)
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await sink.close()
  await deaf.close()
  await dns.close()
})

function domain(name: string, address: string, tlsa?: string): void {
  dns.records.set(`MX ${name}`, [`10 mx.${name}`])
  dns.records.set(`A mx.${name}`, [address])
  if (tlsa !== undefined) dns.records.set(`TLSA _${sink.port}._tcp.mx.${name}`, [tlsa])
}

async function secured(listener: 'smtp' | 'submission' | 'lmtp', hello = 'EHLO there'): Promise<Wire> {
  const wire = await Wire.open(service.at(listener))
  await wire.reply()
  await wire.ask(hello)
  await wire.ask('STARTTLS')
  await wire.startTls()
  wire.send(`${hello}\r\n`)
  expect(await wire.reply()).toContainEqual(expect.stringMatching(/^250[- ]REQUIRETLS$/))
  return wire
}

async function carry(wire: Wire, from: string, to: string, lines: readonly string[] = []): Promise<void> {
  const replies = [await wire.ask(`MAIL FROM:${from}`), await wire.ask(`RCPT TO:<${to}>`), await wire.ask('DATA')]
  expect(replies.map(reply => reply[0])).toEqual(['2', '2', '3'])
  const id = `Message-ID: <${to}.${Math.random()}@example.com>`
  wire.send(['From: anna@example.com', 'Subject: x', id, ...lines, '', 'the secret', '.', ''].join('\r\n'))
  expect(await wire.line()).toMatch(/^250 /)
  wire.close()
}

async function submit(from: string, to: string, lines?: readonly string[]): Promise<void> {
  const wire = await secured('submission')
  const token = Buffer.from('\0anna\0secret of anna').toString('base64')
  expect(await wire.ask(`AUTH PLAIN ${token}`)).toMatch(/^235/)
  await carry(wire, from, to, lines)
}

const cameTo = (at: Sink, address: string) => at.messages.find(({ to }) => to.includes(address))
const arrived = async (at: Sink, address: string) => {
  await expect.poll(() => cameTo(at, address), { timeout: 15_000 }).toBeDefined()
  return cameTo(at, address)
}

async function reportsOn(address: string): Promise<string[]> {
  const { body } = await service.call('GET', `/users/${anna}/mailboxes`)
  const path = `/users/${anna}/mailboxes/${body.results[0].id}/messages`
  const list = (await service.call('GET', path)).body.results as { id: number }[]
  const texts = await Promise.all(
    list.map(async ({ id }) => (await service.raw('GET', `${path}/${id}/message.eml`)).text()),
  )
  return texts.filter(text => text.includes('delivery-status') && text.includes(address))
}

const failed = async (address: string) => {
  await expect.poll(async () => (await reportsOn(address)).length, { timeout: 15_000 }).toBe(1)
  const [report = ''] = await reportsOn(address)
  return report
}

test.each(['smtp', 'submission'] as const)('%s offers it over TLS only, and takes it there only', async listener => {
  const wire = await Wire.open(service.at(listener))
  await wire.reply()
  wire.send('EHLO there\r\n')
  expect((await wire.reply()).join()).not.toContain('REQUIRETLS')
  if (listener === 'smtp') expect(await wire.ask('MAIL FROM:<a@far.test> REQUIRETLS')).toMatch(/^530 5\.7\.10 /)
  wire.close()
  const safe = await secured('smtp')
  expect(await safe.ask('MAIL FROM:<a@far.test> REQUIRETLS=yes')).toMatch(/^501 5\.5\.4 /)
  expect(await safe.ask('MAIL FROM:<a@far.test> REQUIRETLS')).toMatch(/^250 /)
  safe.close()
})

test('it goes to a proven host that keeps it, whichever of the domain that is', async () => {
  await submit('<anna@example.com> REQUIRETLS', 'a@kept.test')
  expect(await arrived(sink, 'a@kept.test')).toMatchObject({ requireTls: true })
  await submit('<anna@example.com> REQUIRETLS', 'a@both.test')
  expect(await arrived(sink, 'a@both.test')).toMatchObject({ requireTls: true })
  await submit('<anna@example.com>', 'plain@kept.test')
  expect(await arrived(sink, 'plain@kept.test')).toMatchObject({ requireTls: false })
})

test.each(['a@deaf.test', 'a@unproven.org'])('%s gets nothing, and the sender the header', async address => {
  await submit('<anna@example.com> REQUIRETLS RET=FULL', address, ['TLS-Required: No'])
  const report = await failed(address)
  expect(report).toContain('5.7.30')
  expect(report).toContain('text/rfc822-headers')
  expect(report).not.toContain('the secret')
  expect(cameTo(sink, address) ?? cameTo(deaf, address)).toBeUndefined()
})

test('that no host proves itself for it holds up no other mail', async () => {
  // Its hosts are proven and have no TLSA records, its certificate is of nobody.
  dns.records.set('MX selfmade.test', ['10 mx.selfmade.test'])
  dns.records.set('A mx.selfmade.test', ['127.0.0.1'])
  await submit('<anna@example.com> REQUIRETLS', 'a@selfmade.test')
  const newest = async () => (await service.call('GET', '/outbound/messages?limit=1')).body.results[0]
  await expect.poll(newest).toMatchObject({ attempts: 1, sending: 0, failure: 'tls' })
  await submit('<anna@example.com>', 'plain@selfmade.test')
  await expect.poll(() => sink.messages.some(({ to }) => to.includes('plain@selfmade.test'))).toBe(true)
})

test('what is forwarded carries it on, by an account and by an address', async () => {
  await carry(await secured('smtp'), '<anna@example.com> REQUIRETLS', 'bert@example.com')
  expect(await arrived(sink, 'b@kept.test')).toMatchObject({ requireTls: true })
  await carry(await secured('smtp'), '<anna@example.com> REQUIRETLS', 'desk@example.com')
  expect(await arrived(sink, 'd@kept.test')).toMatchObject({ requireTls: true })
  expect(await failed('desk@example.com')).not.toContain('the secret')
  expect(cameTo(deaf, 'd@deaf.test')).toBeUndefined()
})

test('a header may waive what the domain wants proven', async () => {
  await submit('<anna@example.com>', 'held@wrong.test')
  await submit('<anna@example.com>', 'waived@wrong.test', ['TLS-Required: No'])
  expect(await arrived(sink, 'waived@wrong.test')).toMatchObject({ requireTls: false })
  expect(cameTo(sink, 'held@wrong.test')).toBeUndefined()
})

test('over LMTP it is offered and carried on as well', async () => {
  const wire = await secured('lmtp', 'LHLO there')
  await service.user('lena', { targets: ['l@kept.test'] })
  await carry(wire, '<anna@example.com> REQUIRETLS', 'lena@example.com')
  expect(await arrived(sink, 'l@kept.test')).toMatchObject({ requireTls: true })
})

test('an answer goes as the message came; to a proven host that does not know the keyword without it, to others not at all', async () => {
  const away = await service.user('away')
  await service.call('PUT', `/users/${away}/autoreply`, { status: true, text: 'I am away' })
  for (const from of ['x@kept.test', 'x@deaf.test', 'x@unproven.org']) {
    await carry(await secured('smtp'), `<${from}> REQUIRETLS`, 'away@example.com', ['To: away@example.com'])
  }
  expect(await arrived(sink, 'x@kept.test')).toMatchObject({ from: '', requireTls: true })
  expect(await arrived(deaf, 'x@deaf.test')).toMatchObject({ from: '', requireTls: false })
  const { body } = await service.call('GET', '/outbound/messages?origin=autoreply&pending=false')
  expect(body.results).toHaveLength(3)
  const states = async () => {
    const all = (await service.call('GET', '/outbound/messages?origin=autoreply&pending=false')).body.results
    return all.filter(({ done }: { done: unknown }) => done === false).length
  }
  await expect.poll(states, { timeout: 15_000 }).toBe(0)
  expect([...sink.messages, ...deaf.messages].some(({ to }) => to.includes('x@unproven.org'))).toBe(false)
})

test('what is sent over HTTP may ask for it, a draft as well', async () => {
  const form = { to: [{ address: 'http@kept.test' }], subject: 'x', text: 'the secret', requireTls: true }
  expect((await service.call('POST', `/users/${anna}/submit`, form)).status).toBe(200)
  expect(await arrived(sink, 'http@kept.test')).toMatchObject({ requireTls: true })
  const other = { ...form, to: [{ address: 'http@deaf.test' }] }
  expect((await service.call('POST', `/users/${anna}/submit`, other)).status).toBe(200)
  expect(await failed('http@deaf.test')).not.toContain('the secret')
  const draft = { ...form, to: [{ address: 'draft@kept.test' }], requireTls: undefined, isDraft: true }
  const { body } = await service.call('POST', `/users/${anna}/submit`, draft)
  const { mailbox, id } = body.message
  const path = `/users/${anna}/mailboxes/${mailbox}/messages/${id}/submit`
  expect((await service.call('POST', path, { requireTls: true })).status).toBe(200)
  expect(await arrived(sink, 'draft@kept.test')).toMatchObject({ requireTls: true })
})

test('a relay of the account has to prove itself, too', async () => {
  const via = await service.user('via', { mtaRelay: `smtp://127.0.0.1:${sink.port}` })
  const form = { to: [{ address: 'relayed@far.test' }], subject: 'x', text: 'the secret' }
  expect((await service.call('POST', `/users/${via}/submit`, form)).status).toBe(200)
  expect(await arrived(sink, 'relayed@far.test')).toMatchObject({ requireTls: false })
  const { body } = await service.call('POST', `/users/${via}/submit`, {
    ...form,
    to: [{ address: 'safe@far.test' }],
    requireTls: true,
  })
  const state = async () => {
    const { targets } = (await service.call('GET', `/users/${via}/outbound/${body.message.queueId}`)).body
    return targets[0].attempts
  }
  await expect.poll(state, { timeout: 15_000 }).toBeGreaterThan(0)
  expect(cameTo(sink, 'safe@far.test')).toBeUndefined()
})
