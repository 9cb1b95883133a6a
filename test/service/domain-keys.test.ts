// Every local domain signs without being asked: keys are made, published, used once DNS shows them, changed for the next ones.

import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { advanceClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Teal } from '#service'
import { type Sink, startSink } from '../jobs/mail-sink.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body, startOnEngine } from '../running.ts'

let dns: NameServer
let sink: Sink
let teal: Teal
const service = accessTo(() => teal)
let anna = ''

beforeAll(async () => {
  dns = await startNameServer()
  sink = await startSink()
  teal = await startOnEngine(
    {
      outbound: { relay: sink.url },
      network: { allowPrivate: ['127.0.0.0/8'] },
      smtp: { dnsServers: [dns.address] },
    },
    { strict: true },
  )
  anna = await service.user('anna')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await sink.close()
  await dns.close()
})

const keys = async (domain = 'example.com'): Promise<Body[]> =>
  (await service.call('GET', `/domainkeys?domain=${domain}`)).body.results
const check = async (): Promise<Body[]> =>
  (await service.call('POST', '/domainkeys/check', { domain: 'example.com' })).body.results
const states = (all: Body[]) => all.map(({ algorithm, state, signs }) => `${algorithm} ${state} ${signs}`).sort()
const publish = (all: Body[]) => {
  for (const { dnsTxt, state } of all) if (state === 'next') dns.texts.set(dnsTxt.name, [dnsTxt.value])
}

/** What a verifier says, that reads the same DNS, of a message that leaves now. */
async function verdict(): Promise<string[]> {
  const count = sink.messages.length
  const form = { to: [{ address: 'far@far.test' }], subject: 'x', text: 'text' }
  expect((await service.call('POST', `/users/${anna}/submit`, form)).status).toBe(200)
  const raw = (await sink.received(count + 1))[count]?.raw ?? ''
  const resolver = async (name: string) => {
    const found = dns.texts.get(name)
    if (found === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return [[...found]]
  }
  const { results } = await dkimVerify(Buffer.from(raw), { resolver: resolver as never })
  return results.map(({ algo, status }) => `${algo ?? ''} ${status.result}`).sort()
}

test('keys come by themselves, sign once DNS shows them, and no more when it does not', async () => {
  await expect
    .poll(async () => states(await keys()), { timeout: 20_000 })
    .toEqual(['ed25519 next false', 'rsa next false'])
  expect(await verdict()).toEqual([' none'])
  expect(states(await check())).toEqual(['ed25519 next false', 'rsa next false'])
  expect((await keys()).map(({ why }) => why)).toEqual(['DNS does not show it', 'DNS does not show it'])
  const [first] = await keys()
  dns.texts.set(first.dnsTxt.name, ['v=DKIM1; p=AAAA'])
  expect((await check()).map(({ why }) => why)).toContain('DNS shows something else under its name')
  publish(await keys())
  // Nobody asks for it: the service looks again by itself.
  advanceClock(limits.dkim.checkMs)
  await expect
    .poll(async () => states(await keys()), { timeout: 20_000 })
    .toEqual(['ed25519 current true', 'rsa current true'])
  expect(await verdict()).toEqual(['ed25519-sha256 pass', 'rsa-sha256 pass'])
  dns.failing = true
  expect(states(await check())).toEqual(['ed25519 current true', 'rsa current true'])
  dns.failing = false
  const gone = (await keys()).find(({ algorithm }) => algorithm === 'ed25519').dnsTxt
  dns.texts.delete(gone.name)
  expect(states(await check())).toEqual(['ed25519 next false', 'rsa current true'])
  expect(await verdict()).toEqual(['rsa-sha256 pass'])
  dns.texts.set(gone.name, [gone.value])
  expect(states(await check())).toEqual(['ed25519 current true', 'rsa current true'])
})

test('a rotation signs with the old keys until DNS shows the new ones, which it does once', async () => {
  const before = (await keys()).map(({ selector }) => selector)
  const made: Body[] = (await service.call('POST', '/domainkeys/rotate', { domain: 'Example.com' })).body.results
  expect(made).toHaveLength(4)
  expect((await service.call('POST', '/domainkeys/rotate', { domain: 'example.com' })).body.results).toEqual(made)
  expect(await verdict()).toEqual(['ed25519-sha256 pass', 'rsa-sha256 pass'])
  publish(made)
  const after = await check()
  expect(after.filter(({ signs }) => signs).map(({ selector }) => before.includes(selector))).toEqual([false, false])
  expect(
    after
      .filter(({ state }) => state === 'retired')
      .map(({ selector }) => selector)
      .sort(),
  ).toEqual(before.sort())
  expect(await verdict()).toEqual(['ed25519-sha256 pass', 'rsa-sha256 pass'])
  const rows = await teal.core.read.all<{ key: string | null }>('SELECT key FROM signing_key WHERE state = 2')
  expect(rows).toEqual([{ key: null }, { key: null }])
  advanceClock(limits.dkim.retiredMs)
  await expect.poll(async () => (await keys()).length, { timeout: 20_000 }).toBe(2)
})

test('a key put in by hand signs alone, and the others are back when it goes', async () => {
  const made = (await service.call('POST', '/dkim', { domain: 'example.com', selector: 'own' })).body
  dns.texts.set(made.dnsTxt.name, [made.dnsTxt.value])
  expect(await verdict()).toEqual(['rsa-sha256 pass'])
  expect((await keys()).map(({ signs }) => signs)).toEqual([false, false])
  await service.call('DELETE', `/dkim/${made.id}`)
  expect(await verdict()).toEqual(['ed25519-sha256 pass', 'rsa-sha256 pass'])
})

test('keys of a domain go with its last address; a strange domain has none', async () => {
  expect((await service.call('POST', '/domainkeys/rotate', { domain: 'strange.test' })).body.code).toBe(
    'DomainNotFound',
  )
  const { body } = await service.call('POST', `/users/${anna}/addresses`, { address: 'anna@short.test' })
  await service.call('POST', '/domainkeys/rotate', { domain: 'short.test' })
  expect(await keys('short.test')).toHaveLength(2)
  await service.call('DELETE', `/users/${anna}/addresses/${body.id}`)
  await service.call('POST', '/domainkeys/check', { domain: 'short.test' })
  expect(await keys('short.test')).toEqual([])
  expect(await (await service.raw('GET', '/metrics')).text()).toMatch(/wildduck_dkim_keys\{state="current"\} 2/)
})
