// The door of a stranger's mail: what lists and names say of his host, mail that has to come twice, who names wrong recipients.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { advanceClock } from '#lib/clock.ts'
import { Fault, smtpReply } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Standings } from '#mail/spam/standing.ts'
import type { Teal } from '#service'
import { Dialogue, stuffed } from '../dialogue.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body, startOnEngine } from '../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-door-'))
const file = join(root, 'teal.log')
let dns: NameServer
let teal: Teal
let anna = ''
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  teal = await startOnEngine(
    {
      hostname: 'mx.example.com',
      log: { level: 'info', file },
      mail: { classificationHeaders: true },
      smtp: { dnsServers: [dns.address], unjudged: [], maxOpen: 8 },
      network: { proxies: [] },
      spam: { blockLists: ['bl.test=40'], allowLists: ['wl.test'], uriLists: ['uri.test'] },
      dkim: { automatic: false },
    },
    { strict: true },
  )
  anna = await service.user('anna')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await dns.close()
  rmSync(root, { recursive: true, force: true })
})
beforeEach(() => {
  dns.records.clear()
  dns.records.set('A 2.0.0.127.bl.test', ['127.0.0.2'])
  dns.records.set('A test.uri.test', ['127.0.0.2'])
  dns.records.set('PTR 1.0.0.127.in-addr.arpa', ['out.far.test'])
  dns.records.set('A out.far.test', ['127.0.0.1'])
})

let count = 0

/** What the log says of messages. */
function journal(): Body[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(line => line.includes('"event":"message"')).map(line => JSON.parse(line))
}

async function open(helo = 'out.far.test', from?: string): Promise<Dialogue> {
  const smtp = await Dialogue.open(service.at('smtp'), from)
  await smtp.reply()
  await smtp.ask(`EHLO ${helo}`)
  return smtp
}

async function send(helo: string, from: string, text = 'Hello', lines: readonly string[] = []): Promise<string> {
  count += 1
  const smtp = await open(helo)
  await smtp.ask(`MAIL FROM:<${from}>`)
  await smtp.ask('RCPT TO:<anna@example.com>')
  await smtp.ask('DATA')
  const head = [`From: ${from}`, `Message-ID: <d${count}@far.test>`, ...lines]
  smtp.send(stuffed(Buffer.from([...head, '', text, ''].join('\r\n'))))
  const reply = await smtp.reply()
  smtp.close()
  return reply
}

async function newest(): Promise<Body> {
  for (const path of ['INBOX', 'Junk']) {
    const { body } = await service.call('GET', `/users/${anna}/mailboxes/resolve?path=${path}`)
    const messages = `/users/${anna}/mailboxes/${body.id}/messages`
    const rows: Body[] = (await service.call('GET', messages)).body.results
    const row = rows.find(({ messageId }) => messageId === `<d${count}@far.test>`)
    if (row === undefined) continue
    const source = await (await service.raw('GET', `${messages}/${row.id}/message.eml`)).text()
    return { ...(await service.call('GET', `${messages}/${row.id}`)).body, source }
  }
  throw new Error('it did not come')
}

const noTexts = async () => []

test('a host with a name of its own has nothing against it', async () => {
  expect(await send('out.far.test', 'bob@far.test')).toMatch(/^250/)
  expect((await newest()).spam).toBeUndefined()
})

test('names that lead nowhere are counted, and shown with the message', async () => {
  dns.records.delete('PTR 1.0.0.127.in-addr.arpa')
  // Another resolver, another memory: the service has the answers of before for some minutes.
  const ask = async (name: string, type: string) => {
    const found = dns.records.get(`${type} ${name}`)
    if (found === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
    return [...found]
  }
  const judge = new Standings(ask, { block: [], allow: [], uri: [] }, [])
  const of = (helo: string) => judge.of({ ip: '127.0.0.1', helo, hostname: 'mx.example.com', texts: noTexts })
  expect((await of('there')).parts).toEqual([
    { name: 'helo', score: 5, info: 'there is no name of a host' },
    { name: 'reverse-name', score: 10, info: 'the host has no name' },
  ])
  expect((await of('MX.example.com')).parts[0]).toMatchObject({ name: 'helo', score: 20 })
  expect((await of('[127.0.0.1]')).parts).toHaveLength(1)
  expect(await send('there', 'bob@far.test')).toMatch(/^250/)
  const { spam, source } = await newest()
  expect(spam).toMatchObject({ score: 5, parts: [{ name: 'helo', score: 5 }] })
  expect(source.match(/^X-Spam-/gm)).toHaveLength(3)
  expect(source).toMatch(/^X-Spam-Status: No, score=5 required=50\r\n\ttests=helo=5\r$/m)
})

test('whom the account wrote to has points in his favour, once he proves to be himself', async () => {
  dns.texts.set('pen.test', ['v=spf1 ip4:127.0.0.1 -all'])
  dns.texts.set('_dmarc.pen.test', ['v=DMARC1; p=none'])
  expect(await send('there', 'friend@pen.test')).toMatch(/^250/)
  const before = (await newest()).spam.parts.map(({ name }: Body) => name)
  expect(before).not.toContain('correspondent')
  const sent = (await service.call('GET', `/users/${anna}/mailboxes/resolve?path=Sent%20Mail`)).body.id
  const to = [{ address: 'pal@pen.test' }, { address: 'pal@lie.test' }]
  expect(
    (await service.call('POST', `/users/${anna}/mailboxes/${sent}/messages`, { subject: 'x', text: 'x', to })).status,
  ).toBe(200)
  const register = async () => (await service.call('GET', `/users/${anna}/addressregister?query=pal`)).body.results
  await expect.poll(register, { timeout: 15_000 }).toHaveLength(2)
  expect(await send('there', 'pal@pen.test')).toMatch(/^250/)
  const { spam } = await newest()
  expect(spam.parts).toContainEqual({ name: 'correspondent', score: -10, info: expect.any(String) })
  expect(spam.score).toBe(0)
  dns.texts.set('lie.test', ['v=spf1 -all'])
  dns.texts.set('_dmarc.lie.test', ['v=DMARC1; p=none'])
  expect(await send('there', 'pal@lie.test')).toMatch(/^250/)
  expect((await newest()).spam.parts.map(({ name }: Body) => name)).not.toContain('correspondent')
})

test('what a stranger says of spam is cut out', async () => {
  expect(await send('there', 'bob@far.test', 'x', ['X-Spam-Flag: NO', 'x-spam-status: No, score=-9'])).toMatch(/^250/)
  const { source } = await newest()
  expect(source).not.toContain('-9')
  expect(source.match(/^X-Spam-Flag/gim)).toHaveLength(1)
})

test('who is made to wait for a wrong name, or waits for name servers of his own, holds no place against others', async () => {
  const { cache } = teal.core
  // Nobody logged in from there.
  const strangers = () => Promise.all(Array.from({ length: 4 }, () => open('out.far.test', '127.0.0.7')))
  const first = await strangers()
  for (const one of first) expect(await one.ask('MAIL FROM:<bob@far.test>')).toMatch(/^250/)
  await cache.count('unknown recipients', '127.0.0.0/24', limits.time.hour, 16)
  for (const one of first) one.send('RCPT TO:<nobody@example.com>\r\n')
  await expect.poll(() => cache.counted('unknown recipients', '127.0.0.0/24').used).toBe(20)
  const second = await strangers()
  for (const one of first) expect(await one.reply()).toMatch(/^421 4\.7\.0 /)
  for (const one of first) await one.closed()
  cache.remove('unknown recipients', '127.0.0.0/24')

  dns.silent.add('slow.test')
  for (const [at, one] of second.entries()) {
    expect(await one.ask(`MAIL FROM:<bob@s${at}.slow.test>`)).toMatch(/^250/)
    expect(await one.ask('RCPT TO:<anna@example.com>')).toMatch(/^250/)
    expect(await one.ask('DATA')).toMatch(/^354/)
    one.send(stuffed(Buffer.from(`From: bob@s${at}.slow.test\r\nSubject: slow\r\n\r\n`)))
  }
  await expect.poll(() => dns.asked.filter(name => /^TXT s\d\.slow/.test(name)).length).toBeGreaterThanOrEqual(4)
  for (const one of await strangers()) one.close()
  // In place of the answer that was owed to them (RFC 5321 3.8): who hears nothing cannot know whether the message arrived.
  for (const one of second) expect(await one.reply()).toMatch(/^421 4\.7\.0 /)
  for (const one of second) await one.closed()
  dns.silent.clear()
  dns.answerLate()
  // Whose place went to others was not told that he is rid of his message, and brings it again: it is kept but once.
  const slow = () => journal().filter(({ from = '' }) => from.endsWith('.slow.test'))
  await expect.poll(() => slow().length).toBe(4)
  expect(slow()).toMatchObject(Array(4).fill({ refused: 'Disconnected' }))
})

test('mail of a listed host has to come twice, and then counts as listed', async () => {
  dns.records.set('A bad.test.uri.test', ['127.0.0.2'])
  const again = () => send('mx.example.com', 'eve@spam.test', 'See http://a.b.bad.test/x')
  const put = await again()
  expect(put).toMatch(/^451 4\.7\.1 .*questions to postmaster@mx\.example\.com/)
  expect(await again()).toContain(smtpReply(new Fault('Greylisted')).text)
  advanceClock(limits.smtp.greylistMs)
  expect(await again()).toMatch(/^250/)
  const { spam } = await newest()
  expect(spam.parts.map(({ name }: Body) => name)).toEqual(expect.arrayContaining(['helo', 'uribl']))
  expect(await again()).toMatch(/^250/)
  expect(await send('mx.example.com', 'mallory@spam.test', 'http://bad.test')).toMatch(/^250/)
  expect(await (await service.raw('GET', '/metrics')).text()).toMatch(/turned_away_total\{reason="greylisted"\} 2/)
})

test('a listed link is found behind as many others as lists are asked about', async () => {
  const links = (name: string) => Array.from({ length: limits.verify.linksMax }, (_, at) => `http://${name}${at}.test/`)
  for (const link of links('bad')) dns.records.set(`A ${new URL(link).host}.uri.test`, ['127.0.0.2'])
  await send('out.far.test', 'bob@far.test', [...links('good'), ...links('bad')].join('\r\n'))
  expect(dns.asked.some(name => /^A bad\d+\.test\.uri\.test$/.test(name))).toBe(true)
  expect(dns.asked.filter(name => /^A (?:bad|good)\d+\.test\.uri\.test$/.test(name))).toHaveLength(
    limits.verify.linksMax,
  )
})

test('lists are asked while their test entries say that they work', async () => {
  const answers = new Map<string, string[] | 'gone'>()
  const ask = async (name: string) => {
    const found = answers.get(name)
    if (found === 'gone') throw Object.assign(new Error(name), { code: 'ETIMEOUT' })
    if (found === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
    return found
  }
  const zones = { block: ['bl.test=40'], allow: [], uri: [] }
  const of = async (servers: string[] = []) => {
    const { parts, off } = await new Standings(ask, zones, servers).of({
      ...{ ip: '2001:db8::1', helo: '[::1]', hostname: 'x', texts: noTexts },
    })
    return [...parts.filter(({ name }) => name === 'dnsbl').map(({ score }) => score), ...off]
  }
  const host = `${[...'20010db8000000000000000000000001'].reverse().join('.')}.bl.test`
  answers.set(host, ['127.0.0.4'])
  expect(await of()).toEqual(['bl.test: its test entry is missing'])
  answers.set('2.0.0.127.bl.test', ['127.0.0.2'])
  expect(await of()).toEqual([40])
  expect(await of(['8.8.8.8'])).toEqual(['bl.test: the resolver 8.8.8.8 is public'])
  answers.set(host, ['192.0.2.1'])
  expect(await of()).toEqual([])
  for (const refusal of ['127.255.255.254', '127.0.0.1']) {
    answers.set(host, [refusal])
    expect(await of()).toEqual(['bl.test: it refuses to be asked by this resolver'])
  }
  answers.set('1.0.0.127.bl.test', ['127.0.0.2'])
  expect(await of()).toEqual(['bl.test: it lists everything'])
  answers.set('1.0.0.127.bl.test', 'gone')
  expect(await of()).toEqual(['bl.test: it does not answer'])
})

test('a list of hosts to trust takes points away, and needs no test entry', async () => {
  const listed = new Set(['9.2.0.192.wl.test'])
  const ask = async (name: string) => {
    if (listed.has(name)) return ['127.0.9.2']
    if (name === '10.2.0.192.wl.test') return ['127.0.0.255']
    throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
  }
  const judge = new Standings(ask, { block: [], allow: ['wl.test'], uri: [] }, ['192.0.2.53'])
  const of = (ip: string) => judge.of({ ip, helo: `[${ip}]`, hostname: 'x', texts: noTexts })
  const { parts, off } = await of('192.0.2.9')
  expect(parts).toContainEqual({ name: 'dnswl', score: -20, info: 'wl.test 127.0.9.2' })
  expect(off).toEqual([])
  // Asked too often it says the same of everybody.
  const refused = await of('192.0.2.10')
  expect(refused.parts.filter(({ name }) => name === 'dnswl')).toEqual([])
  expect(refused.off).toEqual(['wl.test: it refuses to be asked by this resolver'])
})

test('the postmaster of this host has no domain', async () => {
  const smtp = await open()
  await smtp.ask('MAIL FROM:<bob@far.test>')
  expect(await smtp.ask('RCPT TO:<Postmaster>')).toMatch(/^250/)
  expect(await smtp.ask('RCPT TO:<abuse>')).toMatch(/^501/)
  smtp.close()
})

test('who names many that do not exist waits, and then nothing more is taken from his network; nor from one that sends too much', async () => {
  const smtp = await open()
  await smtp.ask('MAIL FROM:<bob@far.test>')
  expect(await smtp.ask('RCPT TO:<nobody@example.com>')).toMatch(/^550 5\.1\.1/)
  await teal.core.cache.count('unknown recipients', '127.0.0.0/24', limits.time.hour, limits.smtp.networkUnknownMax)
  smtp.close()
  advanceClock(limits.smtp.networkQuietMs)
  const next = await open()
  const reply = await next.ask('MAIL FROM:<bob@far.test>')
  expect(reply).toMatch(/^450 4\.7\.1 .*postmaster@mx\.example\.com/)
  expect(reply).toContain(smtpReply(new Fault('TooManyUnknown')).text)
  teal.core.cache.remove('unknown recipients', '127.0.0.0/24')
  await teal.core.cache.count('network messages', '127.0.0.0/24', limits.time.hour, teal.config.smtp.networkMessages)
  expect(await next.ask('MAIL FROM:<bob@far.test>')).toContain(smtpReply(new Fault('NetworkBusy')).text)
  next.close()
})

test('nor from an organization whose hosts bring too much, whatever networks they are in', async () => {
  teal.core.cache.remove('network messages', '127.0.0.0/24')
  const { organizationMessages: most } = teal.config.smtp
  await teal.core.cache.count('organization messages', 'far.test', limits.time.hour, most)
  expect(await send('out.far.test', 'org@far.test')).toContain(smtpReply(new Fault('NetworkBusy')).text)
  teal.core.cache.remove('organization messages', 'far.test')
  expect(await send('out.far.test', 'org@far.test')).toMatch(/^250/)
})

test('lists that do not want to be asked, as by a public resolver, are seen in the metrics', async () => {
  const off = async () => /dns_lists_off (\d+)/.exec(await (await service.raw('GET', '/metrics')).text())?.[1]
  expect(await off()).toBe('0')
  teal.core.cache.remove('network messages', '127.0.0.0/24')
  dns.records.set('A fresh.test.uri.test', ['127.255.255.254'])
  await send('out.far.test', 'lists@far.test', 'http://fresh.test/')
  await send('out.far.test', 'lists@far.test', 'Hello')
  await expect.poll(off).toBe('1')
})
