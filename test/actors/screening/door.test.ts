// Who tries a dictionary of names: waits longer for each answer, with as many connections as he likes, and is let in no more in the end.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Door } from '#actors/screening/door.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { Cache } from '#store/folder/cache.ts'

const { tarpitFrom, tarpitMs, tarpitMaxMs, networkUnknownMax } = limits.smtp
const metrics = makeMetrics('test')
let dir = ''
let cache: Cache
let door: Door

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teal-door-'))
  cache = Cache.open({ dir, log: makeLog('silent') })
  door = new Door({ counters: cache, greylist: false, messagesMax: 0, organizationMessagesMax: 0, metrics })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await cache.close()
  await rm(dir, { recursive: true, force: true })
})

/** How long an answer waits, in steps of the shortest wait; by a clock that only moves here. */
async function waits(ip: string, errors: number): Promise<number> {
  let answered = false
  const answer = door.unknown(ip, errors)
  const settled = () => {
    answered = true
  }
  void answer.then(settled, settled)
  // The counter is asked before the wait begins.
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  let steps = 0
  for (; !answered && steps < 1000; steps++) await vi.advanceTimersByTimeAsync(tarpitMs)
  await answer
  return steps
}

test('the first wrong names cost nothing, each one after them more, up to a bound', async () => {
  const all: number[] = []
  for (let errors = 0; errors < tarpitFrom + 40; errors++) all.push(await waits('198.51.100.7', errors))
  expect(all.slice(0, tarpitFrom)).toEqual(all.slice(0, tarpitFrom).map(() => 0))
  expect(all.slice(tarpitFrom, tarpitFrom + 4)).toEqual([1, 2, 3, 4])
  expect(all.at(-1)).toBe(tarpitMaxMs / tarpitMs)
})

test('a new connection of the same network waits as well, another network does not', async () => {
  for (let name = 0; name < 4 * tarpitFrom; name++) await waits(`203.0.113.${name}`, 0)
  expect(await waits('203.0.113.99', 0)).toBeGreaterThan(0)
  expect(await waits('192.0.2.1', 0)).toBe(0)
  expect(await waits('2001:db8::1', 0)).toBe(0)
})

test('after very many nothing is taken from the network any more, for an hour', async () => {
  await cache.count('unknown recipients', '203.0.113.0/24', limits.time.hour, networkUnknownMax)
  await expect(door.enter('203.0.113.5')).rejects.toMatchObject({ code: 'TooManyUnknown' })
  await expect(waits('203.0.113.6', 0)).rejects.toMatchObject({ code: 'TooManyUnknown' })
  await expect(door.enter('192.0.2.1')).resolves.toBeUndefined()
})

test('of IPv6 a /48 and a /32 are networks, too: who has them has /64s without end', async () => {
  const [, ofSite = 0, ofProvider = 0] = limits.net.networkSteps
  await cache.count('unknown recipients', '2001:db8:1:1::/64', limits.time.hour, networkUnknownMax - 1)
  await door.enter('2001:db8:1:1::5')
  for (let at = 1; at <= ofSite * networkUnknownMax; at++) void door.unknown(`2001:db8:1:${at.toString(16)}::1`, 0)
  await vi.advanceTimersByTimeAsync(tarpitMaxMs)
  await expect(door.enter('2001:db8:1:fff0::5')).rejects.toMatchObject({ code: 'TooManyUnknown' })
  await expect(waits('2001:db8:1:fff0::5', 0)).rejects.toMatchObject({ code: 'TooManyUnknown' })
  await expect(door.enter('2001:db8:2::5')).resolves.toBeUndefined()
  await cache.count('unknown recipients', '2001:db8::/32', limits.time.hour, ofProvider * networkUnknownMax)
  await expect(door.enter('2001:db8:3::5')).rejects.toMatchObject({ code: 'TooManyUnknown' })
  await expect(door.enter('2001:db9::5')).resolves.toBeUndefined()
})

test('who brings mail for very many names is not shut out for some wrong ones', async () => {
  const counted = (kind: string, count: number) => cache.count(kind, '203.0.113.0/24', limits.time.hour, count)
  await door.took('203.0.113.5', 40)
  await counted('unknown recipients', networkUnknownMax / 2)
  await door.took('203.0.113.6', 40)
  await counted('unknown recipients', networkUnknownMax / 2 + 39)
  await expect(door.enter('203.0.113.5')).resolves.toBeUndefined()
  await expect(waits('203.0.113.6', 0)).resolves.toBeGreaterThan(0)
  await expect(door.enter('203.0.113.5')).rejects.toMatchObject({ code: 'TooManyUnknown' })
  await door.took('203.0.113.7', 1)
  await expect(door.enter('203.0.113.5')).resolves.toBeUndefined()
})

test('messages of one network have a number in an hour, where there is to be one', async () => {
  const strict = new Door({ counters: cache, greylist: false, messagesMax: 2, organizationMessagesMax: 0, metrics })
  await strict.enter('203.0.113.5')
  await strict.enter('203.0.113.6')
  await expect(strict.enter('203.0.113.7')).rejects.toMatchObject({ code: 'NetworkBusy' })
  await expect(strict.enter('192.0.2.1')).resolves.toBeUndefined()
  await expect(door.enter('203.0.113.7')).resolves.toBeUndefined()
})
