// What a network is let do over the API: when it becomes known, what is counted wherever it comes from, how much of it at once.

import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { decodeBase32, totpCode } from '#lib/secret/totp.ts'
import { useTeal } from '../../../running.ts'

const service = useTeal()
afterEach(() => shiftClock(0))
afterAll(() => shiftClock(0))

let number = 0
async function fresh() {
  const name = `net${++number}`
  const id = await service.user(name)
  return { name, id, password: `secret of ${name}` }
}
type User = Awaited<ReturnType<typeof fresh>>

const login = (username: string, password: string, ip: string, more: object = {}) =>
  service.call('POST', '/authenticate', { username, password, ip, ...more })
const codeOf = (seed: string, offset = 0) =>
  totpCode(decodeBase32(seed) ?? Buffer.alloc(0), Math.floor(now() / 30_000) + offset)
const wrongCode = (seed: string) => {
  const codes = new Set([-1, 0, 1].map(offset => codeOf(seed, offset)))
  return ['000000', '111111', '222222', '333333'].find(code => !codes.has(code)) ?? ''
}
async function withCodes(user: User): Promise<string> {
  shiftClock(30_000 - (Date.now() % 30_000) + 15_000)
  const { body } = await service.call('POST', `/users/${user.id}/2fa/totp/setup`, {})
  await service.call('POST', `/users/${user.id}/2fa/totp/enable`, { token: codeOf(body.seed) })
  return body.seed
}
const check = async (user: User, code: string, ip: string) => {
  const { body } = await login(user.name, user.password, ip, { token: true })
  const form = { token: code, totpNonce: body.totpNonce, ip }
  return (await service.call('POST', `/users/${user.id}/2fa/totp/check`, form)).body
}
const lock = async (user: User, ip: string) => {
  for (let at = 0; at < 12; at++) await login(user.name, `wrong ${at}`, ip)
}

describe('a network', () => {
  test('becomes known by a whole login and not by the password of one', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    expect((await login(user.name, user.password, '192.0.2.1', { token: true })).body.totpNonce).toBeDefined()
    await lock(user, '198.51.100.1')
    expect((await login(user.name, user.password, '192.0.2.1')).body.code).toBe('RateLimitedError')
    shiftClock(now() - Date.now() + 121_000)
    expect((await check(user, codeOf(seed, 1), '192.0.2.1')).token).toBeDefined()
    await lock(user, '198.51.100.1')
    expect((await login(user.name, user.password, '192.0.2.1')).status).toBe(200)
    expect((await login(user.name, user.password, '192.0.2.2')).body.code).toBe('RateLimitedError')
  })

  test('gets no codes of its own: six wrong ones lock the account for everybody, for three minutes', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    expect((await check(user, codeOf(seed), '192.0.2.1')).token).toBeDefined()
    const found: string[] = []
    for (let at = 0; at < 7; at++) found.push((await check(user, wrongCode(seed), `2001:db8:${at}::1`)).code)
    expect(found).toEqual([...Array(6).fill('InvalidToken'), 'RateLimitedError'])
    expect((await check(user, codeOf(seed, 1), '192.0.2.1')).code).toBe('RateLimitedError')
    shiftClock(now() - Date.now() + 181_000)
    expect((await check(user, codeOf(seed), '192.0.2.1')).token).toBeDefined()
  })

  test('finds no code by patience: who has the password has a hundred in a month, and the owner comes in from home', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    expect((await check(user, codeOf(seed), '192.0.2.1')).token).toBeDefined()
    const wait = () => shiftClock(now() - Date.now() + 180_000)
    for (let at = 0; at < 100; at++) {
      if (at % 6 === 5) wait()
      expect((await check(user, wrongCode(seed), `203.0.${at}.1`)).code).toBe('InvalidToken')
    }
    wait()
    expect(await check(user, codeOf(seed), '198.51.100.1')).toMatchObject({ code: 'RateLimitedError' })
    expect((await check(user, codeOf(seed), '192.0.2.1')).token).toBeDefined()
    const password = 'another one of hers'
    expect((await service.call('PUT', `/users/${user.id}`, { password })).status).toBe(200)
    expect((await check({ ...user, password }, codeOf(seed, 1), '198.51.100.1')).token).toBeDefined()
  })

  test('of an application password is not known for the main one, whose lock it leaves alone', async () => {
    const user = await fresh()
    const { password: asp } = (await service.call('POST', `/users/${user.id}/asps`, { description: 'x' })).body
    expect((await login(user.name, asp, '192.0.2.1', { scope: 'imap' })).status).toBe(200)
    await lock(user, '198.51.100.1')
    expect((await login(user.name, asp, '192.0.2.1', { scope: 'imap' })).status).toBe(200)
    expect((await login(user.name, user.password, '192.0.2.1')).body.code).toBe('RateLimitedError')
    for (let at = 0; at < 12; at++) {
      const guess = `${'abcdefghijklmnop'.slice(at)}${'q'.repeat(at)}`
      await login(user.name, guess, '198.51.100.2', { scope: 'imap' })
    }
    expect((await login(user.name, asp, '198.51.100.2', { scope: 'imap' })).body.code).toBe('RateLimitedError')
    expect((await login(user.name, asp, '192.0.2.1', { scope: 'imap' })).status).toBe(200)
  })

  test('has no more hashed than may fail, of 600 names at once', async () => {
    const hashed = async () => {
      const { values } = await service.teal.core.metrics.poolTasks.get()
      // On a busy machine some wait too long and are never hashed.
      const done = values.filter(({ labels }) => labels.pool === 'password' && labels.result === 'ok')
      return done.reduce((sum, { value }) => sum + value, 0)
    }
    const before = await hashed()
    const burst = Array.from({ length: 600 }, (_, at) => login(`nobody${at}`, 'guess', '203.0.113.77'))
    const user = await fresh()
    expect((await login(user.name, user.password, '192.0.2.200')).status).toBe(200)
    const codes = (await Promise.all(burst)).map(({ body }) => body.code)
    expect(codes.filter(code => code === 'AuthFailed')).toHaveLength(limits.attempts.networkFailuresMax)
    // The account that was made, and its login.
    expect((await hashed()) - before).toBe(limits.attempts.networkFailuresMax + 2)
  })
})
