// What a message says on top of how it was judged: once, in our words, without being asked for, and so that what its author signed still
// holds. What others wrote of that kind is gone, whoever they are and however the message came; what a relay found that is trusted with it is
// part of what we say.

import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem, signatures } from '#mail/crypt/dkim.ts'
import type { Teal } from '#service'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body, startOnEngine } from '../running.ts'

const key = generateKeyPairSync('ed25519').privateKey
let dns: NameServer
const running: Partial<Record<'usual' | 'relayed', Teal>> = {}
const at = (name: keyof typeof running) => accessTo(() => running[name] as Teal)

beforeAll(async () => {
  dns = await startNameServer()
  const { name, value } = dnsTxt('good.test', 's1', publicPem(key))
  dns.texts.set(name, [value])
  const smtp = { dnsServers: [dns.address], unjudged: [], greylist: false }
  const auth = { cleartext: 'always' } as const
  running.usual = await startOnEngine({ smtp, auth, dkim: { automatic: false } }, { strict: true })
  running.relayed = await startOnEngine({ smtp, spam: { relays: ['127.0.0.0/8'] } }, { strict: true })
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

const found = ['X-Spam-Flag: YES', 'X-Spam-Status: Yes, score=9.1 required=5', 'X-Spam-Report: much']

test('what a relay found is part of what we say where it is heeded, as it came from our own house, and gone from strangers', async () => {
  const stays = await bring('usual', 'lmtp', await signed(found))
  expect(ofSpam(stays.source)).toEqual(found)
  const cut = await bring('usual', 'smtp', await signed([...found, 'X-Kept: yes']))
  for (const line of found) expect(ofSpam(cut.source)).not.toContain(line)
  expect(cut.source).toContain('\r\nX-Kept: yes\r\n')
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
    const kept = await bring('relayed', how, await signed(['X-Spam-Score: 1.2', 'X-Spam-Report: little']))
    expect(ofSpam(kept.source)).toEqual(['X-Spam-Score: 1.2', 'X-Spam-Report: little'])
  }
})

describe('an account that writes to another', () => {
  /** What came last into a folder of an account, once its subject is there. */
  async function come(user: string, subject: string, path = 'INBOX'): Promise<string> {
    const { call, raw } = at('usual')
    const { id } = (await call('GET', `/users/resolve/${user}`)).body
    const box = (await call('GET', `/users/${id}/mailboxes/resolve?path=${path}`)).body.id
    const messages = `/users/${id}/mailboxes/${box}/messages`
    const row = async () =>
      (await call('GET', messages)).body.results.find((one: Body) => one.subject === subject) as Body
    await expect.poll(row).toBeDefined()
    return (await raw('GET', `${messages}/${(await row()).id}/message.eml`)).text()
  }

  const lies = [
    ...['X-Spam-Flag: NO', 'X-Spam-Status: No, score=-9', 'WD-Mail-Classification: not-junk'],
    'Authentication-Results: localhost; dmarc=pass header.from=bank.test',
  ]
  const kept = 'X-Kept: yes'
  const ofOurs = (source: string) => source.match(/^(?:x-spam|wd-mail|authentication-results: localhost).*/gim) ?? []

  test('cannot say in its letter how it was judged, at once or through the queue, over submission', async () => {
    await at('usual').user('bert')
    await at('usual').call('POST', '/addresses/forwarded', { address: 'on@example.com', targets: ['bert@example.com'] })
    for (const to of ['bert@example.com', 'on@example.com']) {
      const wire = await Dialogue.open(at('usual').at('submission'))
      await wire.reply()
      await wire.ask('EHLO there')
      await wire.ask(`AUTH PLAIN ${Buffer.from('\0anna\0secret of anna').toString('base64')}`)
      const text = ['From: anna@example.com', `Subject: to ${to}`, ...lies, kept, '', 'Hello', ''].join('\r\n')
      const [reply] = await deliver(wire, 'anna@example.com', [to], Buffer.from(text))
      wire.close()
      expect(reply).toMatch(/^250/)
      const source = await come('bert', `to ${to}`)
      expect(ofOurs(source)).toEqual([])
      expect(source).toContain(`\r\n${kept}\r\n`)
    }
  })

  test('nor over HTTP; what is put into a folder stays as it is', async () => {
    const { call } = at('usual')
    const { id } = (await call('GET', '/users/resolve/anna')).body
    const headers = [...lies, kept].map(line => ({ key: line.split(': ')[0], value: line.split(': ')[1] }))
    const form = { to: [{ address: 'bert@example.com' }], subject: 'by call', text: 'x', headers }
    expect((await call('POST', `/users/${id}/submit`, form)).body).toMatchObject({ success: true })
    expect(ofOurs(await come('bert', 'by call'))).toEqual([])
    const box = (await call('GET', `/users/${id}/mailboxes/resolve?path=Drafts`)).body.id
    const raw = ['From: anna@example.com', 'To: bert@example.com', 'Subject: kept', ...lies, '', 'x', ''].join('\r\n')
    const draft = (await call('POST', `/users/${id}/mailboxes/${box}/messages`, { raw, draft: true })).body.message
    expect(ofOurs(await come('anna', 'kept', 'Drafts'))).toEqual(lies)
    const submit = `/users/${id}/mailboxes/${box}/messages/${draft.id}/submit`
    expect((await call('POST', submit, {})).body).toMatchObject({ success: true })
    expect(ofOurs(await come('bert', 'kept'))).toEqual([])
  })
})
