// Mail to domains that say how they want to be sent to (MTA-STS): over TLS that proves their hosts, or not at all.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { queueAll } from '#actors/delivery/local-delivery.ts'
import { prepare } from '#actors/delivery/prepare.ts'
import { mailTargets } from '#actors/sending/outgoing.ts'
import { loadConfig } from '#config'
import { type Core, openCore } from '#core'
import { type Relay, startRelay } from '#jobs/relay/relay.ts'
import { advanceClock, clockShift, shiftClock } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { Outward } from '#net/outward/outward.ts'
import { namesHost, parsePolicy, policyId } from '#net/tls/mta-sts.ts'
import { listTargets, type OutboundOptions, stateName } from '#store/sending/outbound.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { type Authority, openAuthority } from '../../net/authority.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-sts-'))
let core: Core
let relay: Relay
let ca: Authority
let trusted: Sink
let strange: Sink
let https: Server
const texts = new Map<string, string[][]>()
/** What is served for each domain: status, type, text. */
const served = new Map<string, [number, string, string]>()
const fetched: string[] = []
/** What would be told to domains of sessions with their hosts. */
const told: { domain: string; flaw?: string; mx?: string; reason?: string }[] = []

const policy = (mode: string, mx: string, age = 86400) =>
  `version: STSv1\r\nmode: ${mode}\r\nmx: ${mx}\r\nmax_age: ${age}\r\n`
const coded = (code: string) => Object.assign(new Error(code), { code })

function say(domain: string, text: string, id = '1', status = 200, type = 'text/plain'): void {
  texts.set(`_mta-sts.${domain}`, [[`v=STSv1; id=${id};`]])
  served.set(`mta-sts.${domain}`, [status, type, text])
}

async function open(): Promise<void> {
  const flags = {
    dataDir: dir,
    hostname: 'our.test',
    network: { allowPrivate: ['127.0.0.0/8'] },
    dkim: { automatic: false },
  }
  core = await openCore(loadConfig({ flags }), makeLog('silent'))
  await core.settings.apply('const:sender:defer_times', '1s')
  // The host that proves itself is at .2, one that does not at .1; both at one port.
  const resolve = async (host: string) => [host.startsWith('mx.') ? '127.0.0.2' : '127.0.0.1']
  const { read, jobWriter: writer, sequence, settings, bodies, delivery, log, metrics } = core
  relay = startRelay({
    ...{ read, writer, sequence, settings, bodies, delivery, log, metrics, away: true },
    ...{
      hostname: 'our.test',
      version: 'test',
      relay: '',
      port: trusted.port,
      srs: { domain: 'our.test', secret: 'of these tests' },
      postmaster: '',
    },
    outward: new Outward({ allowPrivate: ['127.0.0.0/8'], resolve }),
    findKeys: async () => [],
    secrets: core.system.secrets,
    ca: ca.cert,
    counts: { add: (_, domain, { flaw, mx, reason }) => void told.push({ domain, flaw, mx, reason }) },
    policyPort: (https.address() as AddressInfo).port,
    resolveMx: async domain => [
      { exchange: domain.startsWith('alien') ? 'bad.alien.test' : `mx.${domain}`, priority: 2 },
      ...(domain.startsWith('early') ? [{ exchange: `bad.${domain}`, priority: 1 }] : []),
      ...(domain.startsWith('good') ? [{ exchange: `bad.${domain}`, priority: 3 }] : []),
    ],
    resolveTxt: async name => {
      const found = texts.get(name)
      if (found === undefined) throw coded('ENOTFOUND')
      return found
    },
  })
  core.onEvents(() => relay.kick())
}

beforeAll(async () => {
  ca = await openAuthority()
  const good = await ca.issue({ names: ['mx.good.test', 'mx.later.test', 'mx.testing.test', 'mx.early.test'] })
  const tls = { disabledCommands: ['AUTH' as const], key: good.key, cert: good.cert, hideREQUIRETLS: false }
  trusted = await startSink(0, tls, '127.0.0.2')
  strange = await startSink(trusted.port, { disabledCommands: ['AUTH', 'STARTTLS'] })
  const names = ['good', 'later', 'testing', 'forged', 'alien', 'moved', 'huge', 'odd', 'early'].map(
    name => `mta-sts.${name}.test`,
  )
  https = createServer(await ca.issue({ names }), (request, response) => {
    const name = (request.headers.host ?? '').split(':')[0] ?? ''
    fetched.push(name)
    const [status, type, text] = served.get(name) ?? [404, 'text/plain', '']
    response.writeHead(status, { 'content-type': type, location: 'https://mta-sts.good.test/.well-known/mta-sts.txt' })
    response.end(text)
  })
  await new Promise<void>(resolve => https.listen(0, '127.0.0.1', () => resolve()))
  await open()
})
afterEach(async () => expect(await checkStore(core.read)).toEqual([]))
afterAll(async () => {
  await relay.close()
  await core.close()
  await trusted.close()
  await strange.close()
  https.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Sends and gives state and answer when it is settled. */
async function send(domain: string, options: OutboundOptions = {}, from = ''): Promise<string> {
  const message = `From: me@our.test\r\nMessage-ID: <${newId()}@our.test>\r\n\r\nHello\r\n`
  const received = await core.bodies.receive(Buffer.from(message))
  const prepared = await prepare(received, core.sequence)
  const outgoing = {
    user: null,
    from,
    targets: mailTargets([`a@${domain}`]),
    prepared,
    origin: 'report',
    options,
  } as const
  const [queued] = await core.system.directory.run(queueAll, [outgoing])
  await received.discard()
  const num = queued?.num ?? 0
  const state = async () => {
    const [target] = await listTargets(core.read, num)
    return target === undefined ? '' : `${stateName(target)} ${target.failure ?? ''} ${target.response ?? ''}`
  }
  await expect.poll(state, { timeout: 15_000 }).toMatch(/^(delivered|failed)/)
  return state()
}

describe('a policy that is enforced', () => {
  test('lets mail to a host that proves itself', async () => {
    say('good.test', policy('enforce', 'mx.good.test'))
    expect(await send('good.test')).toMatch(/^delivered/)
    expect(await send('good.test')).toMatch(/^delivered/)
    expect(fetched.filter(name => name === 'mta-sts.good.test')).toHaveLength(1)
  })

  test('keeps it from one whose certificate is for another, and from one it does not name', async () => {
    say('forged.test', policy('enforce', 'mx.forged.test'))
    expect(await send('forged.test')).toMatch(/^failed tls/)
    say('alien.test', policy('enforce', 'mx.alien.test'))
    expect(await send('alien.test')).toMatch(/^failed tls 4\.7\.5 .*MTA-STS/)
  })

  test('holds after a restart, though DNS and the host of the policy are gone', async () => {
    await relay.close()
    await core.close()
    texts.delete('_mta-sts.forged.test')
    served.clear()
    await open()
    expect(await send('forged.test')).toMatch(/^failed tls/)
    texts.set('_mta-sts.forged.test', [['v=STSv1; id=2']])
    advanceClock(limits.sts.checkMs)
    expect(await send('forged.test')).toMatch(/^failed tls/)
  })

  test('ends at its time, and with one that is none any more', async () => {
    say('later.test', policy('enforce', 'other.later.test'))
    expect(await send('later.test')).toMatch(/^failed/)
    say('later.test', policy('none', ''), '2')
    advanceClock(limits.sts.checkMs)
    expect(await send('later.test')).toMatch(/^delivered/)
  })

  test('is heard of in time, though the clock was ahead when its domain was last asked', async () => {
    advanceClock(limits.sts.checkMs)
    const [right = 0] = clockShift()
    say('later.test', policy('none', ''), '3')
    shiftClock(right + 30 * limits.time.day)
    expect(await send('later.test')).toMatch(/^delivered/)
    shiftClock(right)
    // With the same id: what was fetched in days to come is fetched anew.
    say('later.test', policy('enforce', 'other.later.test'), '3')
    // What holds is not forgotten for having ended by that clock, when nobody can say it anew.
    texts.delete('_mta-sts.forged.test')
    advanceClock(limits.sts.checkMs)
    expect(await send('later.test')).toMatch(/^failed/)
    expect(await send('forged.test')).toMatch(/^failed tls/)
  })
})

describe('what is no policy, or asks for nothing, keeps no mail back', () => {
  test.each([
    ['testing', () => say('testing.test', policy('testing', 'other.test'))],
    ['moved', () => say('moved.test', policy('enforce', 'other.test'), '1', 301)],
    ['huge', () => say('huge.test', `${policy('enforce', 'other.test')}${'x: y\r\n'.repeat(20_000)}`)],
    ['odd', () => say('odd.test', 'version: STSv2')],
  ])('%s', async (name, prepare) => {
    prepare()
    expect(await send(`${name}.test`)).toMatch(/^delivered/)
    expect(fetched).toContain(`mta-sts.${name}.test`)
  })
})

describe('a domain is told', () => {
  test('of each session once, and of no host whose turn did not come', async () => {
    const of = (name: string) => told.filter(({ domain }) => domain === name)
    // The host behind the first is none of the policy's, and nobody needed it.
    expect(of('good.test')).toEqual([{ domain: 'good.test' }])
    const unnamed = { flaw: 'validation-failure', reason: 'not named by the policy' }
    // What was sent all the same, by a policy in testing.
    expect(of('testing.test')).toEqual([{ domain: 'testing.test', mx: 'mx.testing.test', ...unnamed }])
    say('early.test', policy('enforce', 'mx.early.test'))
    expect(await send('early.test')).toMatch(/^delivered/)
    expect(of('early.test')).toEqual([
      { domain: 'early.test', mx: 'bad.early.test', ...unnamed },
      { domain: 'early.test' },
    ])
    expect(of('alien.test')).toContainEqual({ domain: 'alien.test', mx: 'bad.alien.test', ...unnamed })
  })

  test('why its policy could not be had', async () => {
    // The certificate there is of others.
    say('strange.test', policy('enforce', 'other.test'))
    expect(await send('strange.test')).toMatch(/^delivered/)
    const why = (name: string) => told.find(({ domain, flaw }) => domain === name && flaw?.startsWith('sts-'))?.flaw
    expect(['moved.test', 'huge.test', 'odd.test', 'strange.test'].map(why)).toEqual([
      'sts-policy-fetch-error',
      'sts-policy-fetch-error',
      'sts-policy-invalid',
      'sts-webpki-invalid',
    ])
  })
})

test('policies are read by the letter', async () => {
  expect(parsePolicy(policy('enforce', '*.A.test.'))).toEqual({
    mode: 'enforce',
    mx: ['*.a.test'],
    maxAgeMs: 86_400_000,
  })
  const plain = policy('testing', 'a.test', 10 ** 9).replaceAll('\r\n', '\n')
  expect(parsePolicy(plain)).toEqual({ mode: 'testing', mx: ['a.test'], maxAgeMs: limits.sts.ageMaxMs })
  expect(parsePolicy(`${plain}other: x\nmode: enforce`)?.mode).toBe('testing')
  for (const text of [
    policy('enforce', '').replace('mx: \r\n', ''),
    policy('enforce', 'a b'),
    policy('enforce', 'a.*.test'),
    policy('force', 'a.test'),
    policy('enforce', 'a.test').replace('STSv1', 'STSv2'),
    policy('enforce', 'a.test').replace('86400', '-1'),
    'no policy at all',
  ])
    expect(parsePolicy(text)).toBeUndefined()
  expect(namesHost(['*.a.test'], 'mx.a.test')).toBe(true)
  expect(namesHost(['*.a.test'], 'x.mx.a.test')).toBe(false)
  expect(namesHost(['*.a.test'], 'a.test')).toBe(false)
  expect(await policyId('a.test', async () => [['v=STSv1; ', 'id=20260101;'], ['other']])).toBe('20260101')
  expect(await policyId('a.test', async () => [['v=STSv1; id=1'], ['v=STSv1; id=2']])).toBeUndefined()
  await expect(policyId('a.test', () => Promise.reject(coded('ESERVFAIL')))).rejects.toThrow()
})

describe('mail with REQUIRETLS', () => {
  const options = { requireTls: true } as const
  const from = 'me@our.test'

  test('goes to a host that a policy names and that keeps it, also where the policy is in testing', async () => {
    say('good.test', policy('enforce', 'mx.good.test'), '7')
    const at = trusted.messages.length
    expect(await send('good.test', options, from)).toMatch(/^delivered/)
    say('testing.test', policy('testing', 'mx.testing.test'), '7')
    advanceClock(limits.sts.checkMs)
    expect(await send('testing.test', options, from)).toMatch(/^delivered/)
    expect(trusted.messages.slice(at).map(({ requireTls }) => requireTls)).toEqual([true, true])
  })

  test('goes to none without a policy, or that the policy does not name', async () => {
    expect(await send('nothing.test', options, from)).toMatch(/^failed tls 5\.7\.30/)
    say('testing.test', policy('testing', 'other.test'), '8')
    advanceClock(limits.sts.checkMs)
    expect(await send('testing.test', options, from)).toMatch(/^failed tls 5\.7\.30/)
  })

  test('goes by a relay that proves itself, and by no other', async () => {
    const by = (host: string) => ({ ...options, relay: `smtp://${host}:${trusted.port}` })
    expect(await send('far.test', by('mx.good.test'), from)).toMatch(/^delivered/)
    expect(trusted.messages.at(-1)).toMatchObject({ requireTls: true, to: ['a@far.test'] })
    // Its certificate is for another, and it has none.
    expect(await send('far.test', by('mx.forged.test'), from)).toMatch(/^failed/)
    expect(await send('far.test', by('bad.alien.test'), from)).toMatch(/^failed/)
  })
})
