// Hosts of other people that do what few expect, and that nothing follows from it for others.

import { isAscii } from 'node:buffer'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseAddresses } from '#mail/address/address-list.ts'
import { decodeBody } from '#mail/mime/decode.ts'
import { scanMime } from '#mail/mime/mime.ts'
import type { Teal } from '#service'
import { deliver, openLmtp } from '../../dialogue.ts'
import { type NameServer, startNameServer } from '../../net/name-server.ts'
import { Wire } from '../../net/wire.ts'
import { accessTo, type Body, startOnEngine, threads } from '../../running.ts'
import { type OddHost, startOddHost } from './odd-host.ts'

let teal: Teal
let dns: NameServer
/** At 127.0.0.1 and 127.0.0.2. */
let host: OddHost
let other: OddHost
let anna = ''
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  host = await startOddHost('127.0.0.1')
  other = await startOddHost('127.0.0.2', host.port)
  teal = await startOnEngine({
    outbound: { port: host.port },
    network: { allowPrivate: ['127.0.0.0/8'], dnsServers: [dns.address] },
    smtp: { authenticate: false },
    dkim: { automatic: false },
    auth: { cleartext: 'always' },
    threads,
  })
  await teal.core.settings.apply('const:sender:defer_times', '1h, 1h')
  anna = await service.user('anna')
})
afterEach(async () => {
  for (const one of [host, other]) one.behaveAgain()
  expect(await teal.check()).toEqual([])
})
afterAll(async () => {
  await teal.close()
  await host.close()
  await other.close()
  await dns.close()
})

/** A message as whoever gets it reads it: its first text. */
function readBack(raw: Buffer) {
  const root = scanMime(raw)
  let part = root
  while (part.children[0] !== undefined) part = part.children[0]
  const text = decodeBody(raw.subarray(part.headerEnd, part.bodyEnd), part.encoding).toString()
  return { root, text }
}

let count = 0

/** A domain of its own, whose hosts are at these addresses, the preferred one first. */
function domain(...addresses: string[]): string {
  count += 1
  const name = `d${count}.test`
  const hosts = addresses.map((_, at) => `${10 * (at + 1)} mx${at}.${name}`)
  dns.records.set(`MX ${name}`, hosts)
  for (const [at, address] of addresses.entries()) dns.records.set(`A mx${at}.${name}`, [address])
  return name
}

async function submit(user: string, to: readonly string[], more: object = {}): Promise<string> {
  const form = { to: to.map(address => ({ address })), subject: 'x', text: 'y', ...more }
  const { status, body } = await service.call('POST', `/users/${user}/submit`, form)
  expect({ status, body }).toMatchObject({ status: 200 })
  return body.message.queueId
}

async function targets(id: string): Promise<Body[]> {
  return (await service.call('GET', `/outbound/messages/${id}`)).body.targets
}

/** What became of a message, once every target was tried. */
async function tried(id: string): Promise<Body[]> {
  const over = ({ attempts, state }: Body) => attempts > 0 && state !== 'sending'
  await expect.poll(async () => (await targets(id)).every(over), { timeout: 10_000 }).toBe(true)
  return targets(id)
}

/** What is sent to a domain now goes now. */
async function expectTaken(user: string, address: string): Promise<void> {
  const id = await submit(user, [address])
  await expect.poll(async () => (await targets(id))[0]?.state, { timeout: 5000 }).toBe('delivered')
}

async function bySubmission(from: string, to: readonly string[], message: string): Promise<string> {
  const wire = await Wire.open(service.at('submission'))
  await wire.reply()
  await wire.ask('EHLO there')
  const login = Buffer.from('\0anna\0secret of anna').toString('base64')
  const replies = [await wire.ask(`AUTH PLAIN ${login}`), await wire.ask(`MAIL FROM:${from}`)]
  for (const one of to) replies.push(await wire.ask(`RCPT TO:${one}`))
  replies.push(await wire.ask('DATA'))
  expect(replies.map(reply => reply[0])).toEqual(['2', '2', ...to.map(() => '2'), '3'])
  wire.send(message)
  const reply = await wire.line()
  wire.close()
  return reply
}

async function newest(): Promise<string> {
  return (await service.call('GET', '/outbound/messages?pending=false&limit=1')).body.results[0].queueId
}

describe('a relay of an account', () => {
  test('that is out of reach holds up no mail of others to the same domain', async () => {
    const name = domain('127.0.0.1')
    const bert = await service.user('bert', { mtaRelay: 'smtp://127.0.0.7:9' })
    const id = await submit(bert, [`a@${name}`, `b@${domain('127.0.0.1')}`])
    expect(await tried(id)).toMatchObject([
      { state: 'waiting', failure: 'refused' },
      { state: 'waiting', failure: 'refused' },
    ])
    await expectTaken(anna, `c@${name}`)
    const { destinations } = (await service.call('GET', '/outbound')).body
    expect(destinations).toContainEqual({ destination: 'smtp://127.0.0.7:9', waiting: 2 })
    // By another way it goes at once, and may come back to the usual one.
    const relay = `smtp://127.0.0.2:${host.port}`
    expect((await service.call('POST', `/outbound/messages/${id}/route`, { relay })).status).toBe(200)
    await expect.poll(async () => (await targets(id)).map(({ state }) => state)).toEqual(['delivered', 'delivered'])
    expect(other.messages.at(-1)?.to).toHaveLength(2)
  })

  test('that does not let it in lets others in', async () => {
    const right = Buffer.from('\0me\0right').toString('base64')
    other.extensions = ['AUTH PLAIN']
    other.answer = line =>
      /^AUTH/.test(line) ? (line.endsWith(right) ? '235 come\r\n' : '535 5.7.8 no\r\n') : undefined
    const relay = (password: string) => `smtp://me:${password}@127.0.0.2:${host.port}`
    const cleo = await service.user('cleo', { mtaRelay: relay('wrong') })
    const dora = await service.user('dora', { mtaRelay: relay('right') })
    const name = domain('127.0.0.1')
    expect(await tried(await submit(cleo, [`a@${name}`]))).toMatchObject([{ state: 'waiting', status: 535 }])
    await expectTaken(dora, `b@${name}`)
  })

  test('that an account names without encoding its password gets each message once', async () => {
    const odd = `smtp://127.0.0.2:${host.port}`
    const eve = await service.user('eve', { targets: [odd, odd.replace('//', '//me:100%@')] })
    other.extensions = ['AUTH PLAIN']
    const lmtp = await openLmtp(service.at('lmtp'))
    const message = Buffer.from('From: a@far.test\r\nSubject: twice\r\n\r\nx\r\n')
    expect(await deliver(lmtp, 'a@far.test', ['eve@example.com'], message)).toEqual([expect.stringMatching(/^250/)])
    lmtp.close()
    const [first] = (await service.call('GET', `/outbound/messages?user=${eve}&pending=false`)).body.results
    expect(await tried(first.queueId)).toMatchObject([{ state: 'delivered' }, { state: 'delivered' }])
    const login = Buffer.from('\0me\x00100%').toString('base64')
    expect(other.commands).toContain(`AUTH PLAIN ${login}`)
  })
})

describe('what a host cannot be told', () => {
  test('a message that is larger than it takes comes back at once, and the next one goes', async () => {
    const name = domain('127.0.0.1')
    host.extensions = ['SIZE 2000']
    const id = await submit(anna, [`a@${name}`], { text: 'long '.repeat(1000) })
    expect(await tried(id)).toMatchObject([
      { state: 'failed', status: 552, response: expect.stringContaining('5.3.4 The host takes 2000 bytes') },
    ])
    await expectTaken(anna, `b@${name}`)
  })

  test('an address with brackets in its quotes fails alone', async () => {
    const name = domain('127.0.0.1')
    const to = [`<fine@${name}>`, `<"a<b>c"@${name}>`, `<"also fine"@${name}>`]
    expect(await bySubmission('<anna@example.com>', to, 'From: anna@example.com\r\n\r\nx\r\n.\r\n')).toMatch(/^250/)
    expect(await tried(await newest())).toMatchObject([
      { state: 'delivered' },
      { state: 'failed', status: 553, response: expect.stringContaining('5.1.3') },
      { state: 'delivered' },
    ])
    await expectTaken(anna, `b@${name}`)
  })

  test('an address beyond ASCII is none for a host that does not say it takes such', async () => {
    const name = domain('127.0.0.1')
    host.extensions = ['8BITMIME']
    expect(await tried(await submit(anna, [`grün@${name}`, `fine@${name}`]))).toMatchObject([
      { state: 'failed', status: 553, response: expect.stringContaining('5.6.7') },
      { state: 'delivered' },
    ])
    expect(host.messages.at(-1)?.to).toEqual([`<fine@${name}>`])
    expect(host.commands.filter(line => /[^\0-\x7f]/.test(line))).toEqual([])
    host.extensions = ['SMTPUTF8']
    const capable = domain('127.0.0.1')
    await expectTaken(anna, `grün@${capable}`)
    expect(host.messages.at(-1)).toMatchObject({
      from: expect.stringMatching(/ SMTPUTF8\b/),
      to: [`<grün@${capable}>`],
    })
  })

  test('a forward of whom no host can be told by his own address goes on under one that every host takes', async () => {
    const name = domain('127.0.0.1')
    const form = { address: 'odd@example.com', targets: [`x@${name}`] }
    expect((await service.call('POST', '/addresses/forwarded', form)).status).toBe(200)
    const senders = ['"a b<c>"@far.test', 'x@[192.0.2.1]', 'a..b@far.test']
    for (const [at, from] of senders.entries()) {
      const lmtp = await openLmtp(service.at('lmtp'))
      const message = Buffer.from(`From: a@far.test\r\nSubject: ${at}\r\n\r\nx\r\n`)
      expect(await deliver(lmtp, from, ['odd@example.com'], message)).toEqual([expect.stringMatching(/^250/)])
      lmtp.close()
      await expect.poll(() => host.messages.at(-1)?.raw.toString()).toContain(`Subject: ${at}\r\n`)
      expect(host.messages.at(-1)?.from).toMatch(/^<SRS0=[a-z2-7]{8}=[a-z2-7]+=[\w.~-]+=[\w.=-]+@[\w.-]+>/)
    }
  })
})

test('8BITMIME is said where there is something to say, and only to who knows it', async () => {
  const name = domain('127.0.0.1')
  const send = (text: string) => {
    const message = `From: anna@example.com\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${text}\r\n.\r\n`
    return bySubmission('<anna@example.com>', [`<a@${name}>`], message)
  }
  for (const [text, says] of [
    ['grün', true],
    ['green', false],
  ] as const) {
    await send(text)
    await expect.poll(() => host.messages.at(-1)?.raw.toString()).toContain(text)
    expect(host.messages.at(-1)?.from.includes('BODY=8BITMIME')).toBe(says)
  }
})

test('a message beyond ASCII is written anew for a host that takes ASCII alone, and signed as that', async () => {
  const key = await service.call('POST', '/dkim', { domain: 'example.com', selector: 's' })
  expect(key.body).toMatchObject({ success: true })
  const record = key.body.dnsTxt.value as string
  host.extensions = []
  const bodies = {
    plain: [
      'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\ngrün = so grün \r\n',
      'gr=C3=BCn =3D so gr=C3=BCn=20\r\n',
    ],
    none: ['\r\ngrün\r\n', 'gr=C3=BCn\r\n'],
    parts: [
      'Content-Type: multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: 8bit\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>grün</p>\r\n--b\r\nContent-Type: application/x\r\nContent-Transfer-Encoding: binary\r\n\r\n\u00fc\r\n--b\r\n\r\nplain = plain\r\n--b--\r\n',
      '--b\r\n\r\nplain = plain\r\n--b--\r\n',
    ],
  }
  for (const [name, [content = '', wanted = '']] of Object.entries(bodies)) {
    const to = `${name}@${domain('127.0.0.1')}`
    expect(
      await bySubmission('<anna@example.com> BODY=8BITMIME', [`<${to}>`], `From: anna@example.com\r\n${content}.\r\n`),
    ).toMatch(/^250/)
    await expect.poll(() => host.messages.at(-1)?.to).toEqual([`<${to}>`])
    const raw = host.messages.at(-1)?.raw ?? Buffer.alloc(0)
    expect(raw.toString('latin1')).toMatch(/^[\0-\x7f]*$/)
    expect(raw.toString()).toContain(wanted)
    const { results } = await dkimVerify(raw, { resolver: async () => [[record]] })
    expect(results.map(({ status }) => status.result)).toEqual(['pass'])
    const { root, text } = readBack(raw)
    expect(root.header.rawAll('mime-version')).toHaveLength(1)
    expect(text).toContain(name === 'parts' ? '<p>grün</p>' : 'grün')
  }
  await service.call('DELETE', `/dkim/${key.body.id}`)
})

describe('a header beyond ASCII', () => {
  const header =
    'From: Grün <anna@example.com>\r\nTo: "Öl, AG" <a@blå.test>, b@far.test\r\nSubject: so grün, =?utf-8?Q?=C3=BC?= und\r\n mehr\r\n' +
    'Message-ID: <grün@example.com>\r\nX-Plain: as   it is\r\nContent-Type: text/plain; name="grün (1).txt"\r\n'

  test('leaves as ASCII that says the same, whatever the host takes, and signed as that', async () => {
    const key = await service.call('POST', '/dkim', { domain: 'example.com', selector: 'h' })
    const record = key.body.dnsTxt.value as string
    for (const extensions of [['8BITMIME', 'SMTPUTF8'], ['8BITMIME'], []]) {
      host.extensions = extensions
      const to = `<a@${domain('127.0.0.1')}>`
      expect(await bySubmission('<anna@example.com>', [to], `${header}\r\nx\r\n.\r\n`)).toMatch(/^250/)
      await expect.poll(() => host.messages.at(-1)?.to).toEqual([to])
      const { raw = Buffer.alloc(0), from } = host.messages.at(-1) ?? {}
      expect(from).not.toMatch(/SMTPUTF8|8BITMIME/)
      expect(raw.toString('latin1')).toMatch(/^[\0-\x7f]*$/)
      expect(
        Math.max(
          ...raw
            .toString()
            .split('\r\n')
            .slice(-14)
            .map(({ length }) => length),
        ),
      ).toBeLessThan(79)
      const read = readBack(raw).root
      expect(read.header.all('from')).toEqual(['Grün <anna@example.com>'])
      expect(read.header.get('subject')).toBe('so grün, ü und mehr')
      expect(parseAddresses(read.header.raw('to') ?? '')).toEqual([
        { name: 'Öl, AG', address: 'a@blå.test' },
        { name: '', address: 'b@far.test' },
      ])
      expect(read.header.get('message-id')).toBe('<gr=C3=BCn@example.com>')
      expect(read.type.params.name).toBe('grün (1).txt')
      expect(raw.toString()).toContain('\r\nX-Plain: as   it is\r\n')
      const { results } = await dkimVerify(raw, { resolver: async () => [[record]] })
      expect(results.map(({ status }) => status.result)).toEqual(['pass'])
    }
    await service.call('DELETE', `/dkim/${key.body.id}`)
  })

  const people = 'From: anna@example.com\r\nTo: fine@far.test, Ü <grün@far.test>\r\nSubject: x\r\n\r\nx\r\n.\r\n'

  test('that has an address without such a form is told to who knows it, and shown to who does not', async () => {
    for (const [extensions, says, to] of [
      [['8BITMIME', 'SMTPUTF8'], true, 'fine@far.test, Ü <grün@far.test>'],
      [['8BITMIME'], false, 'fine@far.test, Ü <grün@far.test> :;'],
      [[], false, 'fine@far.test, Ü <grün@far.test> :;'],
    ] as const) {
      host.extensions = extensions
      const name = `<a@${domain('127.0.0.1')}>`
      await bySubmission('<anna@example.com> SMTPUTF8', [name], people)
      await expect.poll(() => host.messages.at(-1)?.to).toEqual([name])
      const { raw = Buffer.alloc(0), from = '' } = host.messages.at(-1) ?? {}
      expect(/ SMTPUTF8\b/.test(from)).toBe(says)
      expect(isAscii(raw)).toBe(!says)
      expect(readBack(raw).root.header.get('to')).toBe(to)
      // What is said of one message is not said of the next.
      await expectTaken(anna, `b@${domain('127.0.0.1')}`)
      expect(host.messages.at(-1)?.from).not.toMatch(/SMTPUTF8/)
    }
  })

  test('that has an author without such a form comes back from who does not know it', async () => {
    host.extensions = ['8BITMIME']
    const message = `From: anna@example.com\r\nReply-To: grün@example.com\r\n\r\nx\r\n.\r\n`
    await bySubmission('<anna@example.com> SMTPUTF8', [`<a@${domain('127.0.0.1')}>`], message)
    expect(await tried(await newest())).toMatchObject([
      {
        state: 'failed',
        status: 550,
        response: expect.stringContaining('5.6.7 The host takes headers in ASCII alone'),
      },
    ])
  })

  test('of somebody who has signed it goes on as it came, and to who knows it where it came with SMTPUTF8', async () => {
    const line = `X-Long: ${'x'.repeat(600)} ${'y'.repeat(600)}\r\n`
    const signed = `DKIM-Signature: v=1; d=far.test; b=\r\nFrom: Grün <a@far.test>\r\n${line}\r\nx${'x'.repeat(1500)}\r\n`
    const bring = async (sender: string) => {
      const name = domain('127.0.0.1')
      const address = `on.${name}@example.com`
      await service.call('POST', '/addresses/forwarded', { address, targets: [`x@${name}`] })
      const lmtp = await openLmtp(service.at('lmtp'))
      for (const one of [`MAIL FROM:${sender}`, `RCPT TO:<${address}>`, 'DATA']) await lmtp.ask(one)
      lmtp.send(`${signed}.\r\n`)
      expect(await lmtp.reply()).toMatch(/^250/)
      lmtp.close()
    }
    const before = host.messages.length
    for (const [extensions, sender, says] of [
      [['8BITMIME'], '<a@far.test>', false],
      [['8BITMIME', 'SMTPUTF8'], '<a@far.test>', false],
      [['8BITMIME', 'SMTPUTF8'], '<b@far.test> SMTPUTF8', true],
    ] as const) {
      host.extensions = extensions
      const at = host.messages.length
      await bring(sender)
      await expect.poll(() => host.messages.length).toBe(at + 1)
      const { raw = Buffer.alloc(0), from = '' } = host.messages.at(-1) ?? {}
      expect(raw.toString()).toContain(signed)
      expect(/ SMTPUTF8\b/.test(from)).toBe(says)
    }
    host.extensions = ['8BITMIME']
    await bring('<b@far.test> SMTPUTF8')
    const last = async () => (await service.call('GET', '/outbound/messages?limit=1')).body.results[0].queueId
    expect(await tried(await last())).toMatchObject([{ state: 'failed', response: expect.stringContaining('5.6.7') }])
    expect(host.messages).toHaveLength(before + 3)
  })
})

test('no line leaves that is longer than any may be, and all says what it said', async () => {
  const key = await service.call('POST', '/dkim', { domain: 'example.com', selector: 'l' })
  const record = key.body.dnsTxt.value as string
  const long = 'x'.repeat(998)
  const ids = Array.from({ length: 40 }, (_, at) => `<${'i'.repeat(60)}${at}@a.test>`)
  const base64 = Buffer.from('y'.repeat(3000)).toString('base64')
  const attached = ['DKIM-Signature: v=1; d=far.test; b=', 'From: a@far.test', '', `signed ${long}`]
  const message = [
    'From: anna@example.com',
    `Subject: ${'word '.repeat(300)}end`,
    `X-Word: ${'z'.repeat(1200)}`,
    `References: ${ids.join('')}`,
    `To: ${Array.from({ length: 60 }, (_, at) => `a${at}@${'b'.repeat(20)}.test`).join(',')}`,
    'Content-Type: multipart/mixed; boundary=b',
    ...['', '--b', 'Content-Type: text/html', '', `<p>${long} = ${long} </p>`, 'short '],
    ...['--b', 'Content-Type: application/x', '', `${long}${long}`],
    ...['--b', 'Content-Type: application/y', 'Content-Transfer-Encoding: base64', '', base64],
    ...['--b', 'Content-Transfer-Encoding: quoted-printable', '', `${'=3D'.repeat(500)}`],
    ...['--b', 'Content-Type: message/rfc822', '', 'From: a@far.test', `X-Long: ${long}`, '', `<b>${long}`],
    ...['--b', 'Content-Type: message/rfc822', '', ...attached],
    ...['--b', '', long, '--b--', '.', ''],
  ].join('\r\n')
  const to = `<a@${domain('127.0.0.1')}>`
  expect(await bySubmission('<anna@example.com>', [to], message)).toMatch(/^250/)
  await expect.poll(() => host.messages.at(-1)?.to).toEqual([to])
  const raw = host.messages.at(-1)?.raw ?? Buffer.alloc(0)
  // What somebody has signed is left as it is.
  const signed = attached.join('\r\n')
  expect(raw.toString('latin1')).toContain(`\r\n\r\n${signed}\r\n--b`)
  expect(
    Math.max(
      ...raw
        .toString('latin1')
        .replace(signed, '')
        .split('\r\n')
        .map(({ length }) => length),
    ),
  ).toBe(998)
  const { root } = readBack(raw)
  expect(root.header.get('subject')).toBe(`${'word '.repeat(300)}end`)
  expect(root.header.get('x-word')).toBe('z'.repeat(1200))
  expect(root.header.get('references')?.match(/<[^<>]+>/g)).toEqual(ids)
  expect(parseAddresses(root.header.raw('to') ?? '')).toHaveLength(60)
  const [inner] = root.children[4]?.children ?? []
  expect(inner?.header.get('mime-version')).toBe('1.0')
  const parts = root.children.map(part => (part === root.children[4] ? (part.children[0] ?? part) : part))
  const bodies = parts.map(({ headerEnd, bodyEnd, encoding }) =>
    decodeBody(raw.subarray(headerEnd, bodyEnd), encoding).toString(),
  )
  expect(bodies).toEqual([
    `<p>${long} = ${long} </p>\r\nshort `,
    `${long}${long}`,
    'y'.repeat(3000),
    '='.repeat(500),
    `<b>${long}`,
    signed,
    long,
  ])
  const { results } = await dkimVerify(raw, { resolver: async () => [[record]] })
  expect(results.map(({ status }) => status.result)).toEqual(['pass'])
  await service.call('DELETE', `/dkim/${key.body.id}`)
})

test('NUL leaves in an encoding, and a host that takes none gets what was written', async () => {
  host.extensions = ['8BITMIME']
  const bytes = 'x\0\0y\r\n.\0\r\n'
  const message = [
    ...['From: anna@example.com', 'Content-Type: multipart/mixed; boundary=b'],
    ...['', '--b', 'Content-Type: text/plain', '', 'a\0b = c'],
    ...['--b', 'Content-Type: application/x', 'Content-Transfer-Encoding: binary', '', bytes.replace('.', '..')],
    ...['--b', 'Content-Type: text/plain; charset=utf-8', '', 'so grün ', '--b--', '.', ''],
  ]
  const to = `<a@${domain('127.0.0.1')}>`
  expect(await bySubmission('<anna@example.com> BODY=8BITMIME', [to], message.join('\r\n'))).toMatch(/^250/)
  await expect.poll(() => host.messages.at(-1)?.to).toEqual([to])
  const raw = host.messages.at(-1)?.raw ?? Buffer.alloc(0)
  expect(raw.includes(0)).toBe(false)
  expect(raw.toString()).toContain('Content-Type: text/plain; charset=utf-8\r\n\r\nso grün \r\n--b--')
  const bodies = readBack(raw).root.children.map(({ headerEnd, bodyEnd, encoding }) =>
    decodeBody(raw.subarray(headerEnd, bodyEnd), encoding).toString(),
  )
  expect(bodies.slice(0, 2)).toEqual(['a\0b = c', bytes])
})

test('a large message leaves in short lines, and in ASCII where it must, signed as that', async () => {
  const key = await service.call('POST', '/dkim', { domain: 'example.com', selector: 'm' })
  const record = key.body.dnsTxt.value as string
  const line = `${'grün '.repeat(12_000)}\r\n`
  const text = line.repeat(20)
  const bytes = Buffer.from('\u0001ü\r\n'.repeat(100_000))
  const message = [
    'From: anna@example.com',
    'Content-Type: multipart/mixed; boundary=b',
    ...['', '--b', 'Content-Type: text/plain; charset=utf-8', '', text],
    ...['--b', 'Content-Type: application/x', 'Content-Transfer-Encoding: binary', '', bytes.toString()],
    ...['--b', 'Content-Type: text/plain', '', 'as it is ', '--b--', '.', ''],
  ].join('\r\n')
  for (const extensions of [['8BITMIME'], []]) {
    host.extensions = extensions
    const to = `<a@${domain('127.0.0.1')}>`
    expect(await bySubmission('<anna@example.com>', [to], message)).toMatch(/^250/)
    await expect.poll(() => host.messages.at(-1)?.to, { timeout: 10_000 }).toEqual([to])
    const raw = host.messages.at(-1)?.raw ?? Buffer.alloc(0)
    expect(isAscii(raw)).toBe(extensions.length === 0)
    const lines = raw.toString('latin1').split('\r\n')
    expect(lines.reduce((most, { length }) => Math.max(most, length), 0)).toBeLessThanOrEqual(998)
    const { children } = readBack(raw).root
    const bodies = children.map(({ headerEnd, bodyEnd, encoding }) =>
      decodeBody(raw.subarray(headerEnd, bodyEnd), encoding),
    )
    expect(bodies[0]?.equals(Buffer.from(text))).toBe(true)
    expect(bodies[1]?.equals(bytes)).toBe(true)
    expect(raw.toString('latin1')).toContain('Content-Type: text/plain\r\n\r\nas it is \r\n--b--')
    const { results } = await dkimVerify(raw, { resolver: async () => [[record]] })
    expect(results.map(({ status }) => status.result)).toEqual(['pass'])
  }
  await service.call('DELETE', `/dkim/${key.body.id}`)
})

const breaksOff: OddHost['answer'] = (line, socket) => {
  if (line !== '.') return undefined
  socket.destroy()
  return null
}

describe('a host that says 421 and closes', () => {
  /** Says so at a command, and is gone. */
  const closesAt =
    (verb: RegExp, times = 1): OddHost['answer'] =>
    (line, socket) => {
      if (times === 0 || !verb.test(line)) return undefined
      times -= 1
      socket.end('421 4.7.0 too much of it\r\n')
      return null
    }

  test.each([['MAIL'], ['RCPT'], ['DATA'], ['\\.$']])('at %s has answered, and is not out of reach', async verb => {
    for (const extensions of [['8BITMIME', 'PIPELINING'], ['8BITMIME']]) {
      const name = domain('127.0.0.1')
      host.extensions = extensions
      host.answer = closesAt(new RegExp(`^${verb}`))
      expect(await tried(await submit(anna, [`a@${name}`]))).toMatchObject([
        { state: 'waiting', attempts: 1, status: 421, response: expect.stringContaining('4.7.0 too much of it') },
      ])
      // Others to the same place need not wait.
      await expectTaken(anna, `b@${name}`)
    }
  })

  test('before it has the message has the next host tried at once', async () => {
    const name = domain('127.0.0.1', '127.0.0.2', '127.0.0.7')
    host.answer = closesAt(/^RCPT/, 2)
    const before = other.messages.length
    await expectTaken(anna, `a@${name}`)
    expect(other.messages).toHaveLength(before + 1)
    // Where no other can be reached its answer counts.
    const alone = domain('127.0.0.1', '127.0.0.7')
    expect(await tried(await submit(anna, [`a@${alone}`]))).toMatchObject([{ state: 'waiting', status: 421 }])
  })

  test('in a session that was used before is asked again in a new one', async () => {
    const name = domain('127.0.0.1')
    await expectTaken(anna, `a@${name}`)
    host.answer = closesAt(/^MAIL/)
    await expectTaken(anna, `b@${name}`)
    // But not where it has the message.
    const before = host.messages.length
    host.answer = closesAt(/^\.$/)
    expect(await tried(await submit(anna, [`c@${name}`]))).toMatchObject([{ state: 'waiting', status: 421 }])
    expect(host.messages).toHaveLength(before + 1)
  })
})

describe('a host that takes a message and breaks off', () => {
  test('gets it again later, and no other host at once', async () => {
    const name = domain('127.0.0.1', '127.0.0.2')
    const before = other.messages.length
    host.answer = breaksOff
    const id = await submit(anna, [`a@${name}`])
    expect(await tried(id)).toMatchObject([{ state: 'waiting', attempts: 1, failure: 'reset' }])
    expect(other.messages).toHaveLength(before)
    // Whoever does so each time has another host of the domain tried.
    await service.call('POST', `/outbound/messages/${id}/retry`)
    await expect.poll(async () => (await targets(id))[0]?.state).toBe('delivered')
    expect(other.messages).toHaveLength(before + 1)
  })

  test('does so too in a session that was used before', async () => {
    const name = domain('127.0.0.1')
    await expectTaken(anna, `a@${name}`)
    const before = host.messages.length
    host.answer = breaksOff
    expect(await tried(await submit(anna, [`b@${name}`]))).toMatchObject([{ state: 'waiting', attempts: 1 }])
    expect(host.messages).toHaveLength(before + 1)
    host.behaveAgain()
    await expectTaken(anna, `c@${name}`)
  })

  test('in the midst of it is followed by the next host at once', async () => {
    const name = domain('127.0.0.1', '127.0.0.2')
    const before = other.messages.length
    host.answer = (line, socket) => {
      if (line !== 'DATA') return undefined
      // More than fits on the way.
      socket.write('354 go on\r\n')
      socket.pause()
      setTimeout(() => socket.destroy(), 200)
      return null
    }
    const text = `${'x'.repeat(70)}\r\n`.repeat(350_000)
    await bySubmission('<anna@example.com>', [`<a@${name}>`], `From: anna@example.com\r\n\r\n${text}.\r\n`)
    await expect.poll(() => other.messages.length, { timeout: 20_000 }).toBe(before + 1)
  })
})

describe('whom a host puts off', () => {
  test('the next one of the domain is asked about, and nobody else', async () => {
    const name = domain('127.0.0.1', '127.0.0.2')
    const before = other.messages.length
    host.answer = line =>
      /^RCPT TO:<b@/.test(line)
        ? '451 4.7.1 come again\r\n'
        : /^RCPT TO:<c@/.test(line)
          ? '550 5.1.1 no\r\n'
          : undefined
    const id = await submit(
      anna,
      ['a', 'b', 'c'].map(one => `${one}@${name}`),
    )
    expect(await tried(id)).toMatchObject([
      { state: 'delivered', attempts: 1 },
      { state: 'delivered', attempts: 1 },
      { state: 'failed', status: 550 },
    ])
    expect(other.messages.slice(before)).toMatchObject([{ to: [`<b@${name}>`] }])
    // Whatever it says so of, when it has seen all of it, too.
    for (const verb of [/^MAIL/, /^DATA/, /^\.$/]) {
      host.answer = line => (verb.test(line) ? '450 4.3.2 not now\r\n' : undefined)
      await expectTaken(anna, `d@${name}`)
    }
    expect(other.messages).toHaveLength(before + 4)
  })

  test('the first answer stands for where another one says no more, and two are asked at most', async () => {
    const name = domain('127.0.0.1', '127.0.0.2', '127.0.0.1')
    const before = host.messages.length
    let times = 0
    host.answer = line => (/^RCPT/.test(line) && times++ === 0 ? '450 4.7.1 the first\r\n' : undefined)
    other.answer = line => (/^RCPT/.test(line) ? '451 4.7.1 the second\r\n' : undefined)
    expect(await tried(await submit(anna, [`a@${name}`]))).toMatchObject([
      { state: 'waiting', status: 450, attempts: 1, response: expect.stringContaining('the first') },
    ])
    expect(host.messages).toHaveLength(before)
    const alone = domain('127.0.0.1', '127.0.0.7')
    times = 0
    expect(await tried(await submit(anna, [`a@${alone}`]))).toMatchObject([{ state: 'waiting', status: 450 }])
    // That it is not known whether the second has it keeps it from being sent again at once.
    times = 0
    other.answer = breaksOff
    expect(await tried(await submit(anna, [`b@${name}`]))).toMatchObject([{ state: 'waiting', failure: 'reset' }])
    expect(host.messages).toHaveLength(before)
  })
})

describe('what a host answers', () => {
  const at =
    (verb: RegExp, reply: string): OddHost['answer'] =>
    line =>
      verb.test(line) ? reply : undefined

  test.each([
    ['550-5.1.1 no\r\n450 4.2.0 later\r\n', { state: 'waiting', status: 450 }],
    ['450-later\r\n550 5.1.1 no\r\n', { state: 'failed', status: 550 }],
    ['250-yes\r\n550 5.1.1 no\r\n', { state: 'failed', status: 550 }],
    ['550-5.1.1 no\r\nsee http://there.test/\r\n550 5.1.1 never\r\n', { state: 'failed', status: 550 }],
    ['550 5.1.1 no\r\nsee http://there.test/\r\n', { state: 'failed', status: 550 }],
    ['650 what\r\n', { state: 'waiting', status: 650 }],
    ['550-5.1.1 no\r\n250 yes\r\n', { state: 'delivered', status: 250 }],
  ])('has the code of its last line, and no other line is one: %j', async (reply, wanted) => {
    const name = domain('127.0.0.1')
    host.extensions = ['PIPELINING']
    host.answer = at(/^RCPT TO:<a@/, reply)
    expect(await tried(await submit(anna, [`a@${name}`, `b@${name}`]))).toMatchObject([wanted, { state: 'delivered' }])
    // Nothing is out of step behind it.
    host.answer = at(/^\.$/, reply)
    expect(await tried(await submit(anna, [`c@${name}`]))).toMatchObject([wanted])
    host.behaveAgain()
    await expectTaken(anna, `d@${name}`)
  })

  test('that is no answer at all ends the session, and nothing for good', async () => {
    const name = domain('127.0.0.1')
    host.answer = at(/^RCPT TO:<a@/, `${'no answer\r\n'.repeat(8000)}`)
    expect(await tried(await submit(anna, [`a@${name}`, `b@${name}`]))).toMatchObject([
      { state: 'waiting', failure: 'protocol' },
      { state: 'waiting', failure: 'protocol' },
    ])
    host.answer = at(/^$/, '* OK IMAP\r\n')
    const [one] = await tried(await submit(anna, [`c@${domain('127.0.0.1')}`]))
    expect(one).toMatchObject({ state: 'waiting', failure: 'protocol' })
  })

  test.each([
    ['552 Too many recipients'],
    ['552 5.5.3 Too many'],
    ['452 4.5.3 Too many recipients'],
    ['550 5.5.3 One at a time'],
    ['452 one more time'],
  ])('%s behind a recipient that it took has the others sent to it at once', async reply => {
    const name = domain('127.0.0.1')
    let taken = 0
    host.answer = line => {
      if (/^MAIL/.test(line)) taken = 0
      return /^RCPT/.test(line) && ++taken > 2 ? `${reply}\r\n` : undefined
    }
    const before = host.messages.length
    const to = ['a', 'b', 'c', 'd', 'e'].map(one => `${one}@${name}`)
    const id = await submit(anna, to)
    expect((await tried(id)).map(({ state, attempts }) => ({ state, attempts }))).toEqual(
      to.map(() => ({ state: 'delivered', attempts: 1 })),
    )
    expect(host.messages).toHaveLength(before + 3)
  })

  test('of too many recipients waits where no more are taken at all, and of a full mailbox does not', async () => {
    const name = domain('127.0.0.1')
    let taken = 0
    host.answer = line => (/^RCPT/.test(line) && ++taken > 1 ? '552 Too many recipients\r\n' : undefined)
    expect(await tried(await submit(anna, [`a@${name}`, `b@${name}`]))).toMatchObject([
      { state: 'delivered' },
      { state: 'waiting', status: 552, attempts: 1 },
    ])
    host.answer = at(/^RCPT TO:<b/, '552 5.2.2 Mailbox full\r\n')
    const before = host.messages.length
    expect(await tried(await submit(anna, [`a@${name}`, `b@${name}`]))).toMatchObject([
      { state: 'delivered' },
      { state: 'failed', status: 552 },
    ])
    expect(host.messages).toHaveLength(before + 1)
  })
})

describe('a domain', () => {
  test('that has neither a mail host nor an address is none', async () => {
    count += 1
    const name = `d${count}.test`
    dns.texts.set(name, ['v=spf1 -all'])
    const id = await submit(anna, [`a@${name}`])
    expect(await tried(id)).toMatchObject([
      { state: 'failed', status: 550, response: expect.stringContaining('5.4.4') },
    ])
  })

  test('that does not exist, or takes no mail, is written to again whenever somebody likes', async () => {
    const user = await service.user('whenever')
    count += 2
    const [missing, silent] = [`d${count - 1}.test`, `d${count}.test`]
    dns.records.set(`MX ${silent}`, ['0 .'])
    for (const [name, response] of [
      [missing, '5.1.2'],
      [silent, '5.1.10'],
    ]) {
      const failed = { state: 'failed', response: expect.stringContaining(`${response} `) }
      expect(await tried(await submit(user, [`a@${name}`]))).toMatchObject([failed])
      expect(await tried(await submit(user, [`a@${name}`]))).toMatchObject([failed])
    }
    expect((await service.call('GET', `/users/${user}/suppressions`)).body.total).toBe(0)
  })

  test('whose address nobody can say for now waits', async () => {
    count += 1
    const name = `d${count}.test`
    dns.texts.set(name, ['v=spf1 -all'])
    dns.bogus.add(`A ${name}`)
    expect(await tried(await submit(anna, [`a@${name}`]))).toMatchObject([{ state: 'waiting', failure: 'unresolved' }])
  })

  test('whose hosts lead nowhere is none, unless nobody can say so', async () => {
    const named = () => {
      count += 1
      dns.records.set(`MX d${count}.test`, [`10 mx1.d${count}.test`, `20 mx2.d${count}.test`])
      return `d${count}.test`
    }
    const [nowhere, unknown] = [named(), named()]
    dns.bogus.add(`AAAA mx2.${unknown}`)
    expect(await tried(await submit(anna, [`a@${nowhere}`]))).toMatchObject([
      {
        state: 'failed',
        status: 550,
        response: `5.4.4 None of the mail hosts of the domain has an address: ${nowhere}`,
      },
    ])
    expect(await tried(await submit(anna, [`a@${unknown}`]))).toMatchObject([
      { state: 'waiting', failure: 'unresolved' },
    ])
  })
})
