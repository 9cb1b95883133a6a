// What a message says on top of how it was judged: once, in our words, without being asked for, and so that what its author signed still
// holds. What a host of our own house found in our place stays, or is part of what we say.

import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem, signatures } from '#mail/crypt/dkim.ts'
import { startTeal, type Teal } from '#service'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body } from '../running.ts'

const key = generateKeyPairSync('ed25519').privateKey
let dns: NameServer
const running: Partial<Record<'usual' | 'relayed', Teal>> = {}
const at = (name: keyof typeof running) => accessTo(() => running[name] as Teal)

beforeAll(async () => {
  dns = await startNameServer()
  const { name, value } = dnsTxt('good.test', 's1', publicPem(key))
  dns.texts.set(name, [value])
  const smtp = { dnsServers: [dns.address], unjudged: [], greylist: false }
  running.usual = await startTeal({ smtp, dkim: { automatic: false } }, { strict: true })
  running.relayed = await startTeal({ smtp, spam: { relays: ['127.0.0.0/8'] } }, { strict: true })
  for (const service of ['usual', 'relayed'] as const) await at(service).user('anna')
})
afterAll(async () => {
  for (const teal of Object.values(running)) {
    expect(await teal.check()).toEqual([])
    await teal.close()
  }
  await dns.close()
})

let count = 0

/** A message with these lines, signed with all of them by its author. */
async function signed(lines: readonly string[]): Promise<Buffer> {
  count += 1
  const head = ['From: bob@good.test', 'To: anna@example.com', `Message-ID: <v${count}@good.test>`, ...lines]
  const plain = Buffer.from([...head, '', 'Hello', ''].join('\r\n'))
  const field = await signatures(plain, [{ domain: 'good.test', selector: 's1', privateKey: privatePem(key) }])
  return Buffer.concat([Buffer.from(field), plain])
}

async function bring(service: keyof typeof running, how: 'smtp' | 'lmtp', message: Buffer, to = 'anna') {
  const wire = how === 'lmtp' ? await openLmtp(at(service).at('lmtp')) : await Dialogue.open(at(service).at('smtp'))
  if (how === 'smtp') {
    await wire.reply()
    // A name that is none, so that something speaks against its host.
    await wire.ask('EHLO there')
  }
  const [reply] = await deliver(wire, 'bob@good.test', [`${to}@example.com`], message)
  wire.close()
  expect(reply).toMatch(/^250/)
  const { call, raw } = at(service)
  const { body: user } = await call('GET', `/users/resolve/${to}`)
  for (const path of ['INBOX', 'Junk']) {
    const box = (await call('GET', `/users/${user.id}/mailboxes/resolve?path=${path}`)).body.id
    const rows: Body[] = (await call('GET', `/users/${user.id}/mailboxes/${box}/messages`)).body.results
    const row = rows.find(({ messageId }) => messageId === `<v${count}@good.test>`)
    if (row === undefined) continue
    const place = `/users/${user.id}/mailboxes/${box}/messages/${row.id}`
    return { path, ...(await call('GET', place)).body, source: await (await raw('GET', `${place}/message.eml`)).text() }
  }
  throw new Error('it did not come')
}

const ofSpam = (source: string) => source.match(/^(?:x-spam-|wd-mail)[^:]*: *[^\r]*/gim) ?? []
const resolver = async (name: string) => {
  const found = dns.texts.get(name)
  if (found === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  return [[...found]]
}

test('a stranger is judged in our words alone, and what he signed holds', async () => {
  const lies = ['X-Spam-Flag: NO', 'X-Spam-Status: No, score=-9', 'X-SPAM-Level :', 'WD-Mail-Classification: not-junk']
  const { source, spam } = await bring('usual', 'smtp', await signed(lies))
  expect(spam.score).toBeGreaterThan(0)
  expect(ofSpam(source)).toEqual([
    'X-Spam-Flag: NO',
    `X-Spam-Score: ${spam.score}`,
    `X-Spam-Status: No, score=${spam.score} required=50`,
  ])
  // They stand above what its author wrote, and above who handed it over.
  expect(source.indexOf('X-Spam-Status')).toBeLessThan(source.indexOf('\r\nReceived:'))
  const { results } = await dkimVerify(Buffer.from(source), { resolver: resolver as never })
  expect(results.map(({ status }) => status.result)).toEqual(['pass'])
})

test('what nobody judged says nothing', async () => {
  const { source, spam } = await bring('usual', 'lmtp', await signed([]))
  expect(spam).toBeUndefined()
  expect(ofSpam(source)).toEqual([])
})

test('an account is told by its own level', async () => {
  await at('usual').user('strict', { spamLevel: 3 })
  const strict = await bring('usual', 'smtp', await signed([]), 'strict')
  expect(strict.path).toBe('Junk')
  expect(ofSpam(strict.source)).toEqual(
    expect.arrayContaining([
      'X-Spam-Flag: YES',
      `X-Spam-Status: Yes, score=${strict.spam.score} required=3`,
      'WD-Mail-Classification: junk',
      'WD-Mail-Classification-Source: user-spamlevel',
    ]),
  )
  await at('usual').user('calm', { spamLevel: 60 })
  const calm = await bring('usual', 'smtp', await signed([]), 'calm')
  expect([calm.path, ofSpam(calm.source)[0]]).toEqual(['INBOX', 'X-Spam-Flag: NO'])
})

test('what a host of the house found stays; where it is heeded it is part of what we say', async () => {
  const found = ['X-Spam-Flag: YES', 'X-Spam-Status: Yes, score=9.1 required=5', 'X-Spam-Report: much']
  const kept = await bring('usual', 'lmtp', await signed(found))
  expect(ofSpam(kept.source)).toEqual(found)
  for (const how of ['lmtp', 'smtp'] as const) {
    const heeded = await bring('relayed', how, await signed(found))
    expect(heeded.path).toBe('Junk')
    expect(heeded.spam.parts).toContainEqual({ name: 'relay', score: 50, info: 'score 9.1' })
    const lines = ofSpam(heeded.source)
    expect(lines.filter(line => line.startsWith('X-Spam-'))).toEqual([
      'X-Spam-Flag: YES',
      `X-Spam-Score: ${heeded.spam.score}`,
      `X-Spam-Status: Yes, score=${heeded.spam.score} required=50`,
    ])
    expect(lines).toContain('WD-Mail-Classification: junk')
  }
})
