// How often may be tried, by account and by network: what makes a network known, and how far a flood of guesses comes.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Attempt, type AttemptKind, Attempts } from '#actors/auth/attempts.ts'
import { shareCache } from '#cluster/shared-cache.ts'
import { shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { networksOf, rangesOf } from '#lib/network.ts'
import { Cache, type CacheChange } from '#store/folder/cache.ts'

let dir = ''
let cache: Cache
let attempts: Attempts
const open = (trusted: readonly string[] = []) => {
  cache = Cache.open({ dir, log: makeLog('silent') })
  attempts = new Attempts(cache, trusted)
}
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teal-attempts-'))
  open()
})
afterEach(async () => {
  shiftClock(0)
  await cache.close()
  await rm(dir, { recursive: true, force: true })
})

/** Begins one and has it end so; `refused` where it may not. */
async function once(kind: AttemptKind, account: string, ip: string, right = false): Promise<string> {
  const attempt = await attempts.begin(kind, { account, ip }).catch(() => undefined)
  if (right) attempt?.succeeded()
  else attempt?.failed()
  return attempt === undefined ? 'refused' : 'looked at'
}

/** Begins so many at once and gives those that are let through at first, and how many are in the end when all fail. */
async function flood(
  count: number,
  subject: (at: number) => { account: string; ip: string },
  where = (_at: number) => attempts,
) {
  const begun: Attempt[] = []
  const all = Array.from({ length: count }, (_, at) =>
    where(at)
      .begin('password', subject(at))
      .then(
        attempt => void begun.push(attempt),
        () => undefined,
      ),
  )
  await new Promise(resolve => setImmediate(resolve))
  const first = begun.length
  let settled = 0
  const done = Promise.all(all).then(() => 'done')
  for (;;) {
    for (const attempt of begun.slice(settled)) attempt.failed()
    settled = begun.length
    const next = new Promise(resolve => setImmediate(() => resolve('more')))
    if ((await Promise.race([done, next])) === 'done') return { first, looked: begun.length }
  }
}

const { networkFailuresMax, networkSteps } = limits.attempts

describe('one network', () => {
  test('has no more looked at than may fail, of whatever many names at once; another is let in beside it', async () => {
    const flooded = flood(2000, at => ({ account: `name:${at}`, ip: '198.51.100.7' }))
    expect(await once('password', 'somebody', '203.0.113.1')).toBe('looked at')
    expect(await flooded).toEqual({ first: networkFailuresMax, looked: networkFailuresMax })
    expect(await once('password', 'somebody', '198.51.100.7')).toBe('refused')
    expect(await once('password', 'somebody', '198.51.100.8')).toBe('looked at')
    shiftClock(limits.attempts.networkMs + 1000)
    expect(await once('password', 'somebody', '198.51.100.7')).toBe('looked at')
  })

  test('has all its right ones let in, however many come at once', async () => {
    let right = 0
    const one = async (at: number) => {
      const attempt = await attempts.begin('password', { account: `user${at}`, ip: '198.51.100.7' })
      await new Promise(resolve => setImmediate(resolve))
      right += 1
      attempt.succeeded()
    }
    await Promise.all(Array.from({ length: 3000 }, (_, at) => one(at)))
    expect(right).toBe(3000)
  })

  test('is held to it on this machine, too, unless it is trusted', async () => {
    const local = (at: number) => ({ account: `name:${at}`, ip: at % 2 === 0 ? '127.0.0.1' : '::ffff:127.0.0.1' })
    expect((await flood(400, local)).looked).toBe(networkFailuresMax)
    await cache.close()
    open(['127.0.0.0/8'])
    expect((await flood(400, at => ({ account: `other:${at}`, ip: '127.0.0.1' }))).looked).toBe(400)
  })

  test('of many addresses is one: a /48 and a /32 of IPv6, a /24 of IPv4', async () => {
    const wide = [
      [1, (at: number) => `2001:db8:7:${at.toString(16)}::1`],
      [2, (at: number) => `2001:db9:${at.toString(16)}:5::1`],
      [1, (at: number) => `192.0.2.${at % 256}`],
    ] as const
    for (const [step, ip] of wide) {
      const most = networkFailuresMax * (networkSteps[step] ?? 0)
      const flooded = await flood(most + 500, at => ({ account: `name:${step}:${at}`, ip: ip(at) }))
      expect(flooded.looked).toBe(most)
    }
  })
})

describe('one account', () => {
  test('is guessed at twelve times at all nodes together, however many come to each at once', async () => {
    const nodes = ['a', 'b', 'c'].map(name => Cache.open({ dir: join(dir, name), log: makeLog('silent') }))
    try {
      for (const own of nodes) {
        const others = nodes.filter(other => other !== own)
        const tell = (changes: readonly CacheChange[]) => {
          for (const other of others) for (const change of changes) other.apply(change)
        }
        shareCache({ cache: own, sharers: () => nodes.length, strict: async () => undefined, tell })
      }
      const entrances = nodes.map(own => new Attempts(own))
      const at = (number: number) => entrances[number % nodes.length] as Attempts
      const stranger = (number: number) => ({ account: 'anna', ip: `198.51.${number % 256}.5` })
      expect((await flood(90, stranger, at)).first).toBe(12)
      const ip = '203.0.113.1'
      const soon = () => Promise.all(entrances.map(one => one.begin('password', { account: 'anna', ip })))
      await expect(soon()).rejects.toMatchObject({ code: 'RateLimitedError' })
    } finally {
      await Promise.all(nodes.map(own => own.close()))
    }
  })

  test('is guessed at twelve times by strangers, and its own network still comes in', async () => {
    attempts.entered('password', { account: 'anna', ip: '192.0.2.1' })
    expect((await flood(600, at => ({ account: 'anna', ip: `198.51.${at % 256}.5` }))).looked).toBe(12)
    expect(await once('password', 'anna', '203.0.113.9')).toBe('refused')
    expect(await once('password', 'anna', '192.0.2.1', true)).toBe('looked at')
  })

  test('keeps its own network open while that network is full of other names', async () => {
    attempts.entered('password', { account: 'anna', ip: '192.0.2.1' })
    await flood(600, at => ({ account: `name:${at}`, ip: '192.0.2.1' }))
    expect(await once('password', 'bert', '192.0.2.1')).toBe('refused')
    expect(await once('password', 'anna', '192.0.2.1', true)).toBe('looked at')
  })

  test('has six wrong factors wherever they come from, known networks included', async () => {
    const from = (at: number) => `2001:db8:${at}::1`
    for (let at = 0; at < 7; at++) attempts.entered('password', { account: 'anna', ip: from(at) })
    const found: string[] = []
    for (let at = 0; at < 7; at++) found.push(await once('factor', 'anna', from(at)))
    expect(found).toEqual([...Array(6).fill('looked at'), 'refused'])
  })

  test('has a hundred wrong codes of logins in a month from strangers, and as many from each network it knows', async () => {
    let after = 0
    const wait = () => {
      after += limits.attempts.factorMs + 1000
      shiftClock(after)
    }
    const guess = async (ip: string) => {
      const attempt = await attempts.begin('login code', { account: 'anna', ip, authVersion: 1 }).catch(() => undefined)
      attempt?.failed()
      return attempt !== undefined
    }
    const all = async (place: (at: number) => string) => {
      for (let at = 0; at < limits.attempts.codeFailuresMax; at++) {
        if (at % 6 === 0) wait()
        if (!(await guess(place(at)))) return at
      }
      return limits.attempts.codeFailuresMax
    }
    attempts.entered('password', { account: 'anna', ip: '192.0.2.1' })
    expect(await all(at => `198.51.${at}.1`)).toBe(limits.attempts.codeFailuresMax)
    expect(await all(() => '192.0.2.1')).toBe(limits.attempts.codeFailuresMax)
    wait()
    expect([await guess('203.0.113.1'), await guess('192.0.2.1')]).toEqual([false, false])
    expect(await once('factor', 'anna', '203.0.113.1', true)).toBe('looked at')
    shiftClock(after + limits.attempts.codeMs)
    expect([await guess('203.0.113.1'), await guess('192.0.2.1')]).toEqual([true, true])
  })

  test('is not locked by keys that strangers make up without its password', async () => {
    attempts.entered('password', { account: 'anna', ip: '192.0.2.1' })
    const found: string[] = []
    for (let at = 0; at < 7; at++) found.push(await once('key', 'anna', `198.51.100.${at}`))
    expect(found).toEqual([...Array(6).fill('looked at'), 'refused'])
    for (const kind of ['key', 'factor', 'password'] as const) {
      expect(await once(kind, 'anna', '192.0.2.1')).toBe('looked at')
    }
  })

  test('is known by an application password for application passwords alone', async () => {
    attempts.entered('asp', { account: 'anna', ip: '192.0.2.1' })
    for (const kind of ['asp', 'password'] as const) {
      for (let at = 0; at < 12; at++) await once(kind, 'anna', '198.51.100.1')
    }
    expect(await once('asp', 'anna', '192.0.2.1')).toBe('looked at')
    expect(await once('password', 'anna', '192.0.2.1')).toBe('refused')
    attempts.entered('password', { account: 'bert', ip: '192.0.2.1' })
    for (let at = 0; at < 12; at++) await once('asp', 'bert', '198.51.100.2')
    expect(await once('asp', 'bert', '192.0.2.1')).toBe('looked at')
  })

  test('knows a bounded number of networks, the latest', async () => {
    const from = (at: number) => `198.${at >> 8}.${at & 255}.1`
    const { knownMax } = limits.attempts
    for (let at = 0; at <= knownMax; at++) attempts.entered('password', { account: 'anna', ip: from(at) })
    for (let at = 0; at < 12; at++) await once('password', 'anna', '203.0.113.1')
    expect(await once('password', 'anna', from(0))).toBe('refused')
    expect(await once('password', 'anna', from(1))).toBe('looked at')
    expect(await once('password', 'anna', from(knownMax))).toBe('looked at')
  })

  test('is locked after a restart as before, with what is known', async () => {
    attempts.entered('password', { account: 'anna', ip: '192.0.2.1' })
    for (let at = 0; at < 12; at++) await once('password', 'anna', '203.0.113.1')
    for (let at = 0; at < 6; at++) await once('factor', 'anna', '203.0.113.1')
    await cache.close()
    open()
    expect(await once('password', 'anna', '203.0.113.1')).toBe('refused')
    expect(await once('factor', 'anna', '192.0.2.1')).toBe('refused')
    expect(await once('password', 'anna', '192.0.2.1')).toBe('looked at')
  })
})

test('questions about names are no more than may be asked, however many come at once', async () => {
  let heard = 0
  const ask = async () => {
    const question = await attempts.asked('198.51.100.7', '')
    heard += 1
    await new Promise(resolve => setImmediate(resolve))
    question.missed()
  }
  await Promise.allSettled(Array.from({ length: 600 }, ask))
  expect(heard).toBe(limits.attempts.namesMax)
})

test('networks of an address, narrowest first, and ranges that are trusted', () => {
  expect(networksOf('192.0.2.77')).toEqual(['192.0.2.77', '192.0.2.0/24'])
  expect(networksOf('::ffff:192.0.2.77')).toEqual(['192.0.2.77', '192.0.2.0/24'])
  expect(networksOf('2001:db8:1:2:3::4')).toEqual(['2001:db8:1:2::/64', '2001:db8:1::/48', '2001:db8::/32'])
  expect(networksOf('::1')).toEqual(['::1'])
  expect([networksOf(''), networksOf('elsewhere')]).toEqual([[], []])
  const trusted = rangesOf(['10.0.0.0/8', '::1/128', '::ffff:192.0.2.0/120'])
  const asked = ['10.1.2.3', '::ffff:10.1.2.3', '::1', '192.0.2.9', '192.0.3.9', '11.0.0.1', '', 'x']
  expect(asked.map(trusted)).toEqual([true, true, true, true, false, false, false, false])
})
