// `teal dkim` and `teal trace` on the command line: keys and their records, and the way of a message.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { type Sink, startSink } from '../jobs/mail-sink.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body } from '../running.ts'
import { commandsOf } from './inside.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-ways-'))
let teal: Teal
let dns: NameServer
let sink: Sink
let anna = ''
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  sink = await startSink()
  teal = await startTeal(
    {
      dataDir: dir,
      threads: 0,
      outbound: { relay: sink.url },
      network: { allowPrivate: ['127.0.0.0/8'], dnsServers: [dns.address] },
    },
    { strict: true },
  )
  anna = await service.user('anna')
  await teal.core.settings.apply('const:sender:defer_times', '1h')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await sink.close()
  await dns.close()
  rmSync(dir, { recursive: true, force: true })
})

const { teal: run } = commandsOf(() => dir)
const json = (out: string): Body[] =>
  out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

test('keys are made, told, and sign once DNS shows them', { timeout: 60_000 }, async () => {
  const rotated = await run('dkim', 'rotate', 'example.com')
  expect(rotated).toMatchObject({ code: 0, err: '' })
  expect(rotated.out).toMatch(/^\S+\._domainkey\.example\.com\. TXT "v=DKIM1;[^"]{1,255}"/m)
  const listed = await run('dkim', 'list', '--json')
  const keys = json(listed.out)
  expect(keys.map(({ domain, state }) => `${domain} ${state}`)).toEqual(['example.com next', 'example.com next'])
  expect((await run('dkim', 'status', 'example.com')).out).toMatch(/next +DNS does not show it\n {2}\S+\. TXT /)
  for (const { dnsTxt } of keys) dns.texts.set(dnsTxt.name, [dnsTxt.value])
  const shown = json((await run('dkim', 'status', 'example.com', '--json')).out)
  expect(shown.map(({ state }) => state)).toEqual(['current', 'current'])
  const refused = await run('dkim', 'rotate', 'strange.test')
  expect([refused.code, refused.out]).toEqual([1, ''])
  expect(refused.err).toMatch(/^teal: /)
})

test('the way of a message is told by either of its ids', { timeout: 60_000 }, async () => {
  sink.recipient = address => (address.startsWith('late') ? { code: 451, text: 'come back later' } : undefined)
  const form = { to: [{ address: 'a@far.test' }, { address: 'late@far.test' }], subject: 'x', text: 'x' }
  const { queueId } = (await service.call('POST', `/users/${anna}/submit`, form)).body.message
  const way = async () => (await service.call('GET', `/outbound/trace/${queueId}`)).body.results[0]
  await expect.poll(async () => (await way()).steps.length, { timeout: 20_000 }).toBe(3)
  const { code, out, err } = await run('trace', queueId)
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(new RegExp(`^${queueId} from <anna@example\\.com>\\n {2}\\S+ {2}queued`))
  expect(out).toMatch(/ {2}delivered {1,2}a@far\.test {2}127\.0\.0\.1 {2}plain {2}250 /)
  expect(out).toMatch(/ {2}retry +late@far\.test {2}127\.0\.0\.1 {2}plain {2}451 come back later/)
  expect(out).toMatch(/ {2}waiting for late@far\.test, next at \d{4}-/)
  const { messageId } = await way()
  expect(json((await run('trace', messageId, '--json')).out)).toMatchObject([{ queueId, messageId }])
  const none = await run('trace', '<nothing@here>')
  expect([none.code, none.out]).toEqual([1, ''])
})
