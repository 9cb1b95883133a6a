// What is sent on is sealed (RFC 8617): whoever gets it sees who sealed it, what had been found, and a chain that holds.

import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem, signatures } from '#mail/crypt/dkim.ts'
import { verifyMessage } from '#mail/origin/verification.ts'
import type { Teal } from '#service'
import { Dialogue, stuffed } from '../dialogue.ts'
import { type Sink, startSink } from '../jobs/mail-sink.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, startOnEngine } from '../running.ts'

const key = generateKeyPairSync('ed25519').privateKey
let dns: NameServer
let sink: Sink
let teal: Teal
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  sink = await startSink()
  teal = await startOnEngine(
    {
      hostname: 'mx.example.com',
      outbound: { relay: sink.url },
      network: { allowPrivate: ['127.0.0.0/8'] },
      smtp: { dnsServers: [dns.address], unjudged: [] },
      dkim: { automatic: false },
    },
    { strict: true },
  )
  await service.user('anna', { targets: ['far@far.test'] })
  const made = (await service.call('POST', '/dkim', { domain: 'example.com', selector: 's1' })).body
  dns.texts.set(made.dnsTxt.name, [made.dnsTxt.value])
  const { name, value } = dnsTxt('good.test', 's1', publicPem(key))
  dns.texts.set(name, [value])
  dns.texts.set('good.test', ['v=spf1 ip4:127.0.0.1 -all'])
  dns.texts.set('_dmarc.good.test', ['v=DMARC1; p=reject'])
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await sink.close()
  await dns.close()
})

let count = 0

/** Brings a message for anna and gives it as it went on. */
async function sentOn(message: Buffer): Promise<string> {
  const at = sink.messages.length
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO there')
  await smtp.ask('MAIL FROM:<bob@good.test>')
  await smtp.ask('RCPT TO:<anna@example.com>')
  await smtp.ask('DATA')
  smtp.send(stuffed(message))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
  return (await sink.received(at + 1))[at]?.raw ?? ''
}

async function signed(lines: readonly string[] = [], text = 'Hello'): Promise<Buffer> {
  count += 1
  const head = [
    'From: bob@good.test',
    'To: anna@example.com',
    `Message-ID: <s${count}@good.test>`,
    'Date: Mon, 1 Jan 2024 10:00:00 +0000',
    ...lines,
  ]
  const plain = Buffer.from([...head, '', text, ''].join('\r\n'))
  const field = await signatures(plain, [{ domain: 'good.test', selector: 's1', privateKey: privatePem(key) }])
  return Buffer.concat([Buffer.from(field), plain])
}

/** What the next host finds, that believes example.com. */
function judged(raw: string) {
  const resolve = async (name: string) => {
    const found = dns.texts.get(name)
    if (found === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return found.map(one => [one])
  }
  const how = { ip: '192.0.2.1', helo: 'x', sender: 'x@far.test', hostname: 'far.test', sealers: ['example.com'] }
  return verifyMessage({ message: Buffer.from(raw), ...how }, resolve)
}

const seals = (raw: string) => [...raw.matchAll(/^ARC-Seal:((?:.*\r\n[ \t])*.*)/gim)].map(([field]) => field)

test('a forward is sealed, so that the next host believes what was found here though it is changed later', async () => {
  const raw = await sentOn(await signed())
  expect(seals(raw)).toHaveLength(1)
  expect(raw).toMatch(/^ARC-Authentication-Results: i=1; mx\.example\.com;/m)
  const found = await judged(raw)
  expect(found).toMatchObject({ arc: 'example.com', dkim: 'good.test', dmarc: { domain: 'good.test' } })
  // What its host alone proved is known to the next one from the seal.
  const plain = (await signed()).toString().replace(/^DKIM-Signature:.*\r\n([ \t].*\r\n)*/, '')
  const proven = await judged(await sentOn(Buffer.from(plain)))
  expect(proven).toMatchObject({ dkim: false, dmarc: { domain: false }, failure: { vouched: 'example.com' } })
  // What a list does to it: the signature breaks, and with it the newest seal.
  const changed = await judged(raw.replace('Hello', 'Hello!'))
  expect(changed.arc).toBe(false)
})

test('its own forward that comes back round is sealed once more, and the chain holds', async () => {
  const first = await sentOn(await signed())
  const again = first.replace(/^X-WildDuck-[^\r]*\r\n|^X-Loop[^\r]*\r\n/gim, '')
  await service.user('berta', { targets: ['far@far.test'] })
  const at = sink.messages.length
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  for (const line of ['EHLO there', 'MAIL FROM:<bob@good.test>', 'RCPT TO:<berta@example.com>', 'DATA'])
    await smtp.ask(line)
  smtp.send(stuffed(Buffer.from(again)))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
  const raw = (await sink.received(at + 1))[at]?.raw ?? ''
  expect(seals(raw).map(field => /cv=(\w+)/.exec(field)?.[1])).toEqual(['pass', 'none'])
  expect((await judged(raw)).arc).toBe('example.com')
})

test('a chain that does not hold is sealed as failed, once', async () => {
  const field = (name: string) => `${name}: i=1; a=rsa-sha256; d=far.test; s=x; cv=none; b=AAAA`
  const broken = [
    field('ARC-Seal'),
    `${field('ARC-Message-Signature')}; bh=AAAA; h=from`,
    'ARC-Authentication-Results: i=1; far.test; dmarc=pass',
  ]
  const raw = await sentOn(await signed(broken))
  expect(seals(raw)[0]).toMatch(/i=2;/)
  expect(seals(raw)[0]).toMatch(/cv=fail/)
  expect((await judged(raw)).arc).toBe(false)
  const failed = broken.map(line => line.replace('cv=none', 'cv=fail'))
  expect(seals(await sentOn(await signed(failed)))).toHaveLength(1)
})

test('results that a stranger wrote in our name are not sealed', async () => {
  const forged = 'Authentication-Results: mx.example.com; dmarc=pass header.from=bank.test'
  const raw = await sentOn(await signed([forged]))
  expect(seals(raw)).toHaveLength(1)
  expect(raw).not.toContain('bank.test')
})

test('a large one, too', async () => {
  const raw = await sentOn(await signed([], 'A line of text that is long enough.\r\n'.repeat(60_000)))
  expect(await judged(raw)).toMatchObject({ arc: 'example.com', dkim: 'good.test' })
})

test('and one whose header is folded without end, or holds blanks without end', async () => {
  const long = ['X-Long: a', ...Array.from({ length: 50_000 }, () => ' x')]
  for (const lines of [long, [`X-Blank${' '.repeat(100_000)}x: 1`, `DKIM-Signature: y=a${' '.repeat(100_000)}b`]]) {
    const raw = await sentOn(await signed(lines))
    expect(await judged(raw)).toMatchObject({ arc: 'example.com', dkim: 'good.test' })
  }
})
