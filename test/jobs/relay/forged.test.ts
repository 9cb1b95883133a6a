// Nobody leaves under a name of somebody else: what a hostile account sends, by every way there is, as the next server sees
// it. That server reads like the most lenient one there is: any CR or LF ends a line, white space may stand before a colon.

import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Dialogue, deliver, openLmtp, stuffed } from '../../dialogue.ts'
import { type Body, useTeal } from '../../running.ts'
import { type Sink, type SinkMessage, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
  auth: { cleartext: 'always' },
  mail: { defaultDomain: 'srs.test' },
})
let sink: Sink
let key: Body
let anna = ''

beforeAll(async () => {
  sink = await startSink(sinkPort)
  anna = await service.user('anna', { name: 'Anna' })
  await service.user('bert')
  key = (await service.call('POST', '/dkim', { domain: 'example.com', selector: 's1' })).body
})
afterAll(() => sink.close())

const foreign = /bert@example\.com/i

/** Lines of the header as a reader sees them that takes any line end for one, continuation lines joined. */
function fieldsOf(raw: string): string[] {
  const lines = raw.split(/\r\n|\r|\n/)
  const end = lines.indexOf('')
  return lines
    .slice(0, end < 0 ? lines.length : end)
    .join('\n')
    .replace(/\n[ \t]+/g, ' ')
    .split('\n')
}

const named = (raw: string, name: string) =>
  fieldsOf(raw).filter(line => new RegExp(`^${name}[ \\t]*:`, 'i').test(line))

/** What a verifier says that knows the key of example.com. */
async function verdict(raw: string): Promise<string[]> {
  const resolver = async (name: string) => {
    if (name === key.dnsTxt.name) return [[key.dnsTxt.value]]
    throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  }
  const { results } = await dkimVerify(Buffer.from(raw), { resolver: resolver as never })
  return results.map(({ signingDomain, status }) => `${signingDomain ?? ''} ${status.result}`)
}

async function next(at: number): Promise<SinkMessage> {
  const message = (await sink.received(at + 1))[at]
  if (message === undefined) throw new Error('nothing came')
  return message
}

/** The one author of a message that went out, and that it says so to everybody. */
async function expectHonest(message: SinkMessage, author = 'anna@example.com'): Promise<void> {
  const { raw, from } = message
  expect(raw).not.toMatch(/[^\r]\n|\r[^\n]|\0/)
  expect(named(raw, 'from')).toHaveLength(1)
  expect(named(raw, 'from')[0]).toContain(author)
  expect(named(raw, 'from')[0]?.replace(/"[^"]*"/, '')).not.toMatch(foreign)
  expect(named(raw, '(?:resent-)?sender').join()).not.toMatch(foreign)
  expect(named(raw, 'resent-from').join()).not.toMatch(foreign)
  expect(from).not.toMatch(foreign)
  expect(await verdict(raw)).toEqual(['example.com pass'])
}

async function login(name: string): Promise<Dialogue> {
  const wire = await Dialogue.open(service.at('submission'))
  await wire.reply()
  await wire.ask('EHLO there')
  const token = Buffer.from(`\0${name}\0secret of ${name}`).toString('base64')
  expect(await wire.ask(`AUTH PLAIN ${token}`)).toMatch(/^235/)
  return wire
}

/** Submits these bytes and gives the answer after the message. */
async function submit(message: string | Buffer, how: 'DATA' | 'BDAT' = 'DATA'): Promise<string> {
  const wire = await login('anna')
  await wire.ask('MAIL FROM:<bert@example.com>')
  await wire.ask('RCPT TO:<far@far.test>')
  const bytes = typeof message === 'string' ? Buffer.from(message) : message
  if (how === 'DATA') {
    await wire.ask('DATA')
    wire.send(stuffed(bytes))
  } else wire.send(Buffer.concat([Buffer.from(`BDAT ${bytes.length} LAST\r\n`), bytes]))
  const reply = await wire.reply()
  wire.close()
  return reply
}

async function upload(user: string, raw: string | Buffer, path: string): Promise<string> {
  const box = (await service.call('GET', `/users/${user}/mailboxes/resolve?path=${encodeURIComponent(path)}`)).body.id
  const query = path === 'Drafts' ? '?draft=true' : ''
  const headers = { 'content-type': 'message/rfc822' }
  const url = `/users/${user}/mailboxes/${box}/messages${query}`
  const stored: Body = await (
    await service.raw('POST', url, { body: new Uint8Array(Buffer.from(raw)), headers })
  ).json()
  expect(stored).toMatchObject({ success: true })
  if (path === 'Drafts') {
    const drafted = await service.call('PUT', `/users/${user}/mailboxes/${box}/messages/${stored.message.id}`, {
      draft: true,
    })
    expect(drafted.status).toBe(200)
  }
  return `/users/${user}/mailboxes/${box}/messages/${stored.message.id}`
}

const bert = 'From: Bert <bert@example.com>'
const own = 'From: Anna <anna@example.com>'
const rest = 'To: far@far.test\r\nSubject: x\r\n\r\ntext\r\n'

const forged: [what: string, message: string][] = [
  ['a foreign address', `${bert}\r\n${rest}`],
  ['two addresses in brackets', `From: <bert@example.com> <anna@example.com>\r\n${rest}`],
  ['two addresses in brackets, the own one first', `From: <anna@example.com> <bert@example.com>\r\n${rest}`],
  ['a group', `From: bert@example.com:anna@example.com;\r\n${rest}`],
  ['a group of others', `From: us:anna@example.com,bert@example.com;\r\n${rest}`],
  ['an empty group', `From: bert:;\r\n${rest}`],
  ['a comment', `From: bert@example.com (<anna@example.com>)\r\n${rest}`],
  ['a route', `From: <@bert:anna@example.com>\r\n${rest}`],
  ['a quote that never ends', `From: "<anna@example.com> bert@example.com\r\n${rest}`],
  ['a second field', `${own}\r\n${bert}\r\n${rest}`],
  ['a second field in capitals', `${own}\r\nFROM: bert@example.com\r\n${rest}`],
  ['white space before the colon', `From : bert@example.com\r\n${own}\r\n${rest}`],
  ['white space before the colon and nothing else', `From\t: bert@example.com\r\n${rest}`],
  ['a folded name', `${own}\r\nFrom\r\n : bert@example.com\r\n${rest}`],
  ['an empty first field', `From:\r\n${bert}\r\n${rest}`],
  [
    'encoded words in the address',
    `From: =?utf-8?q?bert=40example=2Ecom?= <anna+=?utf-8?q?bert?=@example.com>\r\n${rest}`,
  ],
  ['a Sender', `${own}\r\nSender: bert@example.com\r\n${rest}`],
  ['two Senders', `${own}\r\nSender: anna@example.com\r\nSender: bert@example.com\r\n${rest}`],
  ['Resent-From', `${own}\r\nResent-From: bert@example.com\r\nResent-Sender: bert@example.com\r\n${rest}`],
  ['From in an attached message alone', `Content-Type: message/rfc822\r\n\r\n${bert}\r\n${rest}`],
  ['nothing but a body', `\r\n${bert}\r\n${rest}`],
  ['an mbox line at the top', `From bert@example.com Mon Jan  1 00:00:00 2024\r\n${own}\r\n${rest}`],
  ['a continuation at the top', ` From: bert@example.com\r\n${own}\r\n${rest}`],
  ['a line that is no field', `X: y\r\nno field at all\r\n${own}\r\n${rest}`],
  ['a continuation of white space', `X: y\r\n \t\r\n${bert}\r\n${own}\r\n${rest}`],
  ['a name that is not ASCII', `Fröm: bert@example.com\r\n${own}\r\n${rest}`],
  ['no end of the header', `X: y\r\n${bert}`],
  ['bare line feeds', `X: y\n${bert}\n${own}\n${rest}`],
]

/** What no reader can be trusted to take as we do. */
const refused: [what: string, message: string][] = [
  ['a bare CR in a field', `X: y\r${bert}\r\n${own}\r\n${rest}`],
  ['a bare CR at the top', `\r${own}\r\n${rest}`],
  ['two CRs at the end of the header', `${own}\r\nX: y\r\n\r\r\n${bert}\r\n${rest}`],
  ['NUL in a field', `Fr\0om: bert@example.com\r\n${own}\r\n${rest}`],
  ['more fields than are read', `${own}\r\n${'X: y\r\n'.repeat(limits.mime.headerFieldsMax)}${bert}\r\n${rest}`],
  [
    'a longer header than is read',
    `${own}\r\n${`X: ${'y'.repeat(900)}\r\n`.repeat(limits.mime.headerBytesMax / 900 + 1)}${bert}\r\n${rest}`,
  ],
]

describe('submission', () => {
  test.each(forged)('with %s leaves under the own address', async (_, message) => {
    const at = sink.messages.length
    expect(await submit(message)).toMatch(/^250/)
    await expectHonest(await next(at))
  })

  test.each(refused)('with %s is refused', async (_, message) => {
    const at = sink.messages.length
    expect(await submit(message)).toMatch(/^554 5\.6\.0/)
    expect(await submit(message, 'BDAT')).toMatch(/^554 5\.6\.0/)
    expect(await submit(`${own}\r\nSubject: after it\r\n\r\nx\r\n`)).toMatch(/^250/)
    expect((await next(at)).raw).toContain('Subject: after it')
  })

  test.each([
    ['bare CRs', `${own}\r\nSubject: x\r\n\r\none\rtwo\r.\rthree\r\n`, 'one\r\ntwo\r\n.\r\nthree\r\n'],
    ['bare line feeds', `${own}\r\nSubject: x\r\n\r\none\n.\ntwo\n`, 'one\r\n.\r\ntwo\r\n'],
    ['CR at the end', `${own}\r\nSubject: x\r\n\r\none\r`, 'one\r\n'],
  ])('of a body with %s carries a signature that holds', async (_, message, body) => {
    const at = sink.messages.length
    expect(await submit(message, 'BDAT')).toMatch(/^250/)
    const sent = await next(at)
    expect(sent.raw.slice(sent.raw.indexOf('\r\n\r\n') + 4)).toBe(body)
    await expectHonest(sent)
  })

  test('of a large body with bare CRs does so, too', async () => {
    const at = sink.messages.length
    const text = 'a line that is long enough to be one\r'.repeat((2 * limits.body.wholeBytesMax) / 37)
    expect(await submit(`${own}\r\nSubject: x\r\n\r\n${text}`, 'BDAT')).toMatch(/^250/)
    await expectHonest(await next(at))
  })

  test.each([
    ['From', 'From: bert@example.com'],
    ['From at the top', 'From: bert@example.com', true],
    ['Sender', 'Sender: bert@example.com'],
    ['Reply-To', 'Reply-To: bert@example.com'],
    ['Subject', 'Subject: another'],
    ['Cc', 'Cc: another@far.test'],
    ['Date', 'Date: Mon, 1 Jan 2024 10:00:00 +0000'],
    ['Content-Type', 'Content-Type: text/html'],
  ])('is signed so that a second %s breaks it', async (_, line, top = false) => {
    const at = sink.messages.length
    await submit(`${own}\r\n${rest}`)
    const { raw } = await next(at)
    expect(await verdict(raw)).toEqual(['example.com pass'])
    const end = raw.indexOf('\r\n\r\n')
    const changed = top ? `${line}\r\n${raw}` : `${raw.slice(0, end)}\r\n${line}${raw.slice(end)}`
    expect(await verdict(changed)).not.toContain('example.com pass')
  })

  test('of what needs no change changes nothing, and what is missing is added', async () => {
    const at = sink.messages.length
    const head = [
      'X-Odd:  kept   as it is',
      'From: "Anna, at work" <anna@example.com>, =?utf-8?q?Anna?= <a.nna+x@example.com>',
      'Sender: anna@example.com',
      'Subject: folded',
      '\t further',
      'Date: Mon, 1 Jan 2024 10:00:00 +0000',
      'Message-ID: <kept@example.com>',
    ]
    const message = `${head.join('\r\n')}\r\n\r\n.dot\r\n`
    await submit(message)
    expect((await next(at)).raw).toContain(`\r\n${message}`)
    await submit(`${own}\r\nSubject: bare\r\n\r\n`)
    const { raw } = await next(at + 1)
    expect(named(raw, 'date')).toHaveLength(1)
    expect(named(raw, 'message-id')[0]).toMatch(/^Message-ID: <[^<>\s]+@example\.com>$/)
  })

  test('says nothing of checks that were never made', async () => {
    const at = sink.messages.length
    await submit(
      `Authentication-Results: mx; dmarc=pass header.from=bank.test\r\nReturn-Path: <x@y>\r\n${own}\r\n${rest}`,
    )
    const { raw } = await next(at)
    expect(raw).not.toMatch(/bank\.test|^Return-Path/m)
  })
})

describe('over HTTP', () => {
  test.each(forged)('a draft with %s leaves under the own address', async (_, message) => {
    const at = sink.messages.length
    // Who it goes to is read from the header alone.
    const place = await upload(
      anna,
      `To: far@far.test\n${message}`.replace(/^To: far@far.test\n(?=[ \r])/, ''),
      'Drafts',
    )
    const { status, body } = await service.call('POST', `${place}/submit`, {})
    expect(status).toBe(200)
    if (body.queueId !== undefined) await expectHonest(await next(at))
  })

  test.each(refused)('a draft with %s is refused', async (_, message) => {
    const place = await upload(anna, message, 'Drafts')
    const { status, body } = await service.call('POST', `${place}/submit`, {})
    // Where no recipient is seen, nothing is sent.
    if (status === 200) expect(body.queueId).toBeUndefined()
    else expect({ status, code: body.code }).toEqual({ status: 400, code: 'MessageMalformed' })
  })

  test.each([
    ['a foreign From', { from: { name: 'Bert', address: 'bert@example.com' } }],
    ['lines in the name', { from: { name: 'A\r\nFrom: bert@example.com\r\n\r\nx', address: 'anna@example.com' } }],
    ['lines in the subject', { subject: 'x\r\nFrom: bert@example.com\r\n\r\nx' }],
    ['a CR in the subject', { subject: 'x\rFrom: bert@example.com' }],
    ['lines in a name of To', { to: [{ name: 'x\r\nFrom: bert@example.com', address: 'far@far.test' }] }],
    ['lines in Reply-To', { replyTo: { name: 'x\nFrom: bert@example.com', address: 'far@far.test' } }],
    ['From among the headers', { headers: [{ key: 'From', value: 'bert@example.com' }] }],
    ['From with white space', { headers: [{ key: ' from ', value: 'bert@example.com' }] }],
    ['a colon in a key', { headers: [{ key: 'From:x', value: 'bert@example.com' }] }],
    ['lines in a key', { headers: [{ key: 'X\r\nFrom', value: 'bert@example.com' }] }],
    ['lines in a value', { headers: [{ key: 'X-A', value: 'x\r\nFrom: bert@example.com\r\n\r\n' }] }],
    ['a CR in a value', { headers: [{ key: 'X-A', value: 'x\rFrom: bert@example.com' }] }],
    ['lines in Message-ID', { headers: [{ key: 'Message-ID', value: '<a@b>\r\nFrom: bert@example.com' }] }],
    ['lines in In-Reply-To', { headers: [{ key: 'In-Reply-To', value: '<a@b>\r\nFrom: bert@example.com' }] }],
    ['lines in References', { headers: [{ key: 'References', value: '<a@b>\rFrom: bert@example.com' }] }],
    [
      'Sender and Resent-From among the headers',
      {
        headers: [
          { key: 'Sender', value: 'bert@example.com' },
          { key: 'Resent-From', value: 'bert@example.com' },
          { key: 'Resent-Sender', value: 'bert@example.com' },
        ],
      },
    ],
    [
      'lines in an attachment',
      {
        attachments: [
          {
            filename: 'a\r\nFrom: bert@example.com',
            contentType: 'text/plain\r\nFrom: bert@example.com',
            cid: 'x\r\nFrom: bert@example.com',
            content: 'eA==',
          },
        ],
      },
    ],
    ['a foreign envelope', { envelope: { from: { address: 'bert@example.com' }, to: [{ address: 'far@far.test' }] } }],
  ])('a message with %s leaves under the own address', async (_, form) => {
    const at = sink.messages.length
    const all = { to: [{ address: 'far@far.test' }], subject: 'x', text: 'one\rtwo\n.\nthree', ...form }
    const { status } = await service.call('POST', `/users/${anna}/submit`, all)
    if (status === 400) return
    expect(status).toBe(200)
    await expectHonest(await next(at))
  })
})

describe('a message that goes on by hand', () => {
  const forward = async (place: string): Promise<SinkMessage> => {
    const at = sink.messages.length
    const { status, body } = await service.call('POST', `${place}/forward`, { addresses: ['far@far.test'] })
    expect({ status, success: body.success }).toEqual({ status: 200, success: true })
    return next(at)
  }

  test.each([...forged, ...refused.slice(0, 5)])(
    'with %s, uploaded, is never authentic under another name',
    async (_, message) => {
      const { raw, from } = await forward(await upload(anna, message, 'INBOX'))
      expect(raw).not.toMatch(/[^\r]\n|\r[^\n]/)
      expect(from).not.toMatch(/^bert@/)
      const authors = named(raw, 'from').join()
      if (foreign.test(authors)) {
        expect(await verdict(raw)).toEqual([' none'])
        expect(from).not.toMatch(/@example\.com$/)
      } else expect(authors).toContain('anna@example.com')
    },
  )

  test('of the same house is sent as of who sends it', async () => {
    const { raw, from } = await forward(await upload(anna, `${bert}\r\n${rest}`, 'INBOX'))
    expect(named(raw, 'from').join()).toMatch(/<anna@example\.com>$/)
    expect(named(raw, 'from').join()).not.toMatch(foreign)
    expect(named(raw, 'reply-to')).toEqual(['Reply-To: Bert <bert@example.com>'])
    expect(from).not.toMatch(foreign)
  })

  test('of a stranger stays as it was, unsigned and under a sender that is rewritten', async () => {
    const { raw, from } = await forward(await upload(anna, `From: Boss <boss@bank.test>\r\n${rest}`, 'INBOX'))
    expect(named(raw, 'from')).toEqual(['From: Boss <boss@bank.test>'])
    expect(await verdict(raw)).toEqual([' none'])
    expect(from).toMatch(/^SRS0=.*=anna@srs\.test$/)
  })

  test('of the own hand is signed as when it was sent', async () => {
    const { raw, from } = await forward(await upload(anna, `${own}\r\n${rest}`, 'INBOX'))
    expect(named(raw, 'from')).toEqual([own])
    expect(await verdict(raw)).toEqual(['example.com pass'])
    expect(from).toBe('anna@example.com')
  })

  test('sent as a draft under another name and forwarded from Sent is no other', async () => {
    const place = await upload(anna, `${bert}\r\nTo: far@far.test\r\nSubject: x\r\n\r\ntext\r\n`, 'Drafts')
    const at = sink.messages.length
    const { body } = await service.call('POST', `${place}/submit`, {})
    await expectHonest(await next(at))
    const { id, mailbox } = body.message
    const { raw } = await forward(`/users/${anna}/mailboxes/${mailbox}/messages/${id}`)
    expect(named(raw, 'from').join()).not.toMatch(foreign)
  })
})

describe('a message that goes on by itself', () => {
  const lmtp = async (to: string, from: string, message: string, wire = 'lmtp' as 'lmtp' | 'smtp') => {
    if (wire === 'lmtp') {
      const session = await openLmtp(service.at('lmtp'))
      const [reply] = await deliver(session, from, [to], Buffer.from(message))
      session.close()
      return reply
    }
    const session = await Dialogue.open(service.at('smtp'))
    await session.reply()
    await session.ask('EHLO there')
    await session.ask(`MAIL FROM:<${from}>`)
    await session.ask(`RCPT TO:<${to}>`)
    await session.ask('DATA')
    session.send(stuffed(Buffer.from(message)))
    const reply = await session.reply()
    session.close()
    return reply
  }

  beforeAll(() => service.user('onward', { targets: ['far@far.test'] }))

  test.each(['bert@example.com', 'x@srs.test', 'ben@far.test', ''])(
    'is not signed for the author that a stranger names, whatever the sender: %j',
    async sender => {
      const at = sink.messages.length
      expect(await lmtp('onward@example.com', sender, `${bert}\r\n${rest}`)).toMatch(/^250/)
      const { raw, from } = await next(at)
      expect(named(raw, 'from')).toEqual([bert])
      expect(await verdict(raw)).toEqual([' none'])
      expect(from).toMatch(sender === '' ? /^$/ : /^SRS0=[^@]*@srs\.test$|^x@srs\.test$/)
    },
  )

  test('is signed where its author sent it from here, though it lay here before it went on', async () => {
    await service.user('again', { targets: ['onward@example.com'] })
    for (const to of ['onward@example.com', 'again@example.com']) {
      const at = sink.messages.length
      const wire = await login('anna')
      await wire.ask('MAIL FROM:<anna@example.com>')
      await wire.ask(`RCPT TO:<${to}>`)
      await wire.ask('DATA')
      wire.send(stuffed(Buffer.from(`${own}\r\n${rest}`)))
      expect(await wire.reply()).toMatch(/^250/)
      wire.close()
      const { raw } = await next(at)
      expect(named(raw, 'from')).toEqual([own])
      expect(await verdict(raw)).toEqual(['example.com pass'])
    }
  })

  test('is not signed where it only came round by a forward of this house', async () => {
    const at = sink.messages.length
    expect(await lmtp('again@example.com', 'x@far.test', `${bert}\r\n${rest}`)).toMatch(/^250/)
    const { raw } = await next(at)
    expect(named(raw, 'from')).toEqual([bert])
    expect(await verdict(raw)).toEqual([' none'])
  })

  test('under an author of the domain that senders are rewritten to is of who forwards it, unless that is proven', async () => {
    const at = sink.messages.length
    const message = `From: Chief <ceo@mail.srs.test>\r\n${rest}`
    expect(await lmtp('onward@example.com', 'x@far.test', message, 'smtp')).toMatch(/^250/)
    const { raw } = await next(at)
    expect(named(raw, 'from')).toEqual(['From: "Chief via onward@example.com" <onward@example.com>'])
    expect(named(raw, 'reply-to')).toEqual(['Reply-To: Chief <ceo@mail.srs.test>'])
  })

  test.each(refused.slice(0, 4))('with %s keeps its header a header', async (_, message) => {
    const at = sink.messages.length
    expect(await lmtp('onward@example.com', 'x@far.test', message)).toMatch(/^250/)
    const { raw } = await next(at)
    expect(raw).not.toMatch(/[^\r]\n|\r[^\n]|\0/)
    expect(named(raw, 'from')).toEqual([own])
    expect(await verdict(raw)).toEqual([' none'])
  })
})
