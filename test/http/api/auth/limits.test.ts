// How often may be tried, by whom, and what a restart, a lost cache and a flood of guesses change about it.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { parseHash } from '#lib/secret/form.ts'
import { startTeal, type Teal } from '#service'
import { StandIns } from '#store/accounts/stand-in.ts'
import { accessTo, type Running, threads, useTeal } from '../../../running.ts'

/** Speaks the range protocol and knows one password. */
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()
const asked: string[] = []
let answers = true
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  if (!answers) return response.writeHead(503).end()
  const known = sha1('password1')
  return response.end(request.url === `/range/${known.slice(0, 5)}` ? `${known.slice(5)}:7` : `${'0'.repeat(35)}:0`)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
afterAll(() => server.close())

const service = useTeal()
afterEach(() => shiftClock(0))
afterAll(() => shiftClock(0))

let number = 0
const fresh = async (running: Running = service) => {
  const name = `limit${++number}`
  return { name, id: await running.user(name), password: `secret of ${name}` }
}
const attempt = (username: string, password: string, more: object = {}, running: Running = service) =>
  running.call('POST', '/authenticate', { username, password, ...more })
const codes = async (times: number, one: (at: number) => Promise<{ body: { code?: string } }>) => {
  const found: (string | undefined)[] = []
  for (let at = 0; at < times; at++) found.push((await one(at)).body.code)
  return found
}
const twelve = Array(12).fill('AuthFailed')

describe('wrong passwords', () => {
  test('lock the account after twelve, also for the right one, for two minutes from the first', async () => {
    const { name, password, id } = await fresh()
    expect(await codes(13, at => attempt(name, `wrong ${at}`))).toEqual([...twelve, 'RateLimitedError'])
    shiftClock(100_000)
    const locked = await service.raw('POST', '/authenticate', {
      body: JSON.stringify({ username: name, password }),
      headers: { 'content-type': 'application/json' },
    })
    expect(locked.status).toBe(403)
    expect(await locked.json()).toEqual({ error: 'Too many attempts, try again later', code: 'RateLimitedError' })
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(locked.headers.get('retry-after'))).toBeLessThanOrEqual(20)
    shiftClock(121_000)
    expect((await attempt(name, password)).status).toBe(200)
    const { results } = (await service.call('GET', `/users/${id}/authlog`)).body
    expect(results.map((entry: { result: string }) => entry.result)).toContain('ratelimited')
  })

  test('of names nobody has are counted in the same way, however the name is written', async () => {
    const names = ['nobody.x', 'NOBODY.X', 'nobodyx', 'no.body.x']
    const found = await codes(13, at => attempt(names[at % 4] ?? '', 'guess'))
    expect(found).toEqual([...twelve, 'RateLimitedError'])
  })

  test('say of a name in a domain with another one no more than that they are many, whether somebody has it', async () => {
    await service.call('POST', '/domainaliases', { alias: 'also.example', domain: 'example.com' })
    const { name } = await fresh()
    const asked = async (local: string) => {
      const names = [`${local}@example.com`, `${local}+x@ALSO.example`]
      return codes(13, at => attempt(names[at % 2] ?? '', 'guess'))
    }
    expect(await asked(name)).toEqual([...twelve, 'RateLimitedError'])
    expect(await asked('nobodyelse')).toEqual([...twelve, 'RateLimitedError'])
  })

  test('from addresses without end fill no log: further ones are one entry of their kind, without an address', async () => {
    const { name, password, id } = await fresh()
    const { strangeEntriesMax: most } = limits.authLog
    const more = 10
    const guesses = Array.from({ length: most + more }, (_, at) => ({ ip: `2001:db8:1:1::${(at + 1).toString(16)}` }))
    await Promise.all(guesses.map(from => attempt(name, 'guess', { ...from, sess: 'guess' })))
    const entries = async () => {
      const { total } = (await service.call('GET', `/users/${id}/authlog?filterip=`)).body
      const { results } = (await service.call('GET', `/users/${id}/authlog?limit=250`)).body
      return { total, crowd: results.find(({ ip, result }: { ip?: string; result?: string }) => result && !ip) }
    }
    // One for the account that was made.
    await expect.poll(entries).toMatchObject({ total: most + 2, crowd: { result: 'ratelimited', events: more } })
    expect((await entries()).crowd.sess).toBeUndefined()
    shiftClock(121_000)
    expect((await attempt(name, password, { ip: '192.0.2.1' })).status).toBe(200)
    const { results } = (await service.call('GET', `/users/${id}/authlog?filterip=192.0.2.1`)).body
    expect(results.map((entry: { result: string }) => entry.result)).toEqual(['success'])
  })

  test('are forgotten after a right one', async () => {
    const { name, password } = await fresh()
    for (let round = 0; round < 2; round++) {
      expect(await codes(11, at => attempt(name, `wrong ${at}`))).toEqual(twelve.slice(1))
      expect((await attempt(name, password)).status).toBe(200)
    }
  })

  test('at many protocols and scopes are counted together', async () => {
    const { name } = await fresh()
    const scopes = ['master', 'imap', 'pop3', 'smtp']
    const found = await codes(13, at => attempt(name, `wrong ${at}`, { scope: scopes[at % 4], protocol: `P${at}` }))
    expect(found).toEqual([...twelve, 'RateLimitedError'])
  })

  test('of a stranger do not lock the owner out, who came from elsewhere lately', async () => {
    const { name, password } = await fresh()
    expect((await attempt(name, password, { ip: '192.0.2.1' })).status).toBe(200)
    const stranger = await codes(13, at => attempt(name, `wrong ${at}`, { ip: '198.51.100.5' }))
    expect(stranger).toEqual([...twelve, 'RateLimitedError'])
    expect((await attempt(name, password, { ip: '203.0.113.9' })).body.code).toBe('RateLimitedError')
    expect((await attempt(name, password, { ip: '192.0.2.1' })).status).toBe(200)
    const own = await codes(13, at => attempt(name, `typo ${at}`, { ip: '192.0.2.1' }))
    expect(own).toEqual([...twelve, 'RateLimitedError'])
  })

  test('from one network are one stranger’s, whatever address of it is used', async () => {
    const { name, password } = await fresh()
    expect((await attempt(name, password, { ip: '2001:db8:1:2::77' })).status).toBe(200)
    expect(await codes(12, at => attempt(name, `w ${at}`))).toEqual(twelve)
    expect((await attempt(name, password, { ip: '2001:db8:1:2:ffff::1' })).status).toBe(200)
    expect((await attempt(name, password, { ip: '2001:db8:1:3::1' })).body.code).toBe('RateLimitedError')
  })

  test('asked all at once are no more than twelve guesses, and right ones beside them get in', async () => {
    const { name, password } = await fresh()
    const replies = await Promise.all(Array.from({ length: 64 }, (_, at) => attempt(name, `guess ${at}`)))
    expect(replies.filter(({ body }) => body.code === 'AuthFailed')).toHaveLength(12)
    expect(replies.filter(({ body }) => body.code === 'RateLimitedError')).toHaveLength(52)
    shiftClock(121_000)
    const right = await Promise.all(Array.from({ length: 64 }, () => attempt(name, password)))
    expect(right.map(({ status }) => status)).toEqual(Array(64).fill(200))
  })

  test('of application passwords have a count of their own, and a right one is let in while the account is locked', async () => {
    const { name, id, password } = await fresh()
    const asp = (await service.call('POST', `/users/${id}/asps`, { description: 'x' })).body.password
    expect(await codes(12, at => attempt(name, `wrong ${at}`))).toEqual(twelve)
    expect((await attempt(name, asp, { scope: 'imap' })).status).toBe(200)
    expect((await attempt(name, password)).body.code).toBe('RateLimitedError')
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    const guesses = await codes(13, at => attempt(name, `${letters.slice(at, at + 10)}zzzzzz`, { scope: 'imap' }))
    expect(new Set(guesses)).toEqual(new Set(['RateLimitedError']))
    expect((await attempt(name, asp, { scope: 'imap' })).body.code).toBe('RateLimitedError')
  })

  test('for confirming a change are counted too', async () => {
    const { name, id, password } = await fresh()
    const found = await codes(13, () => service.call('PUT', `/users/${id}`, { name: 'x', existingPassword: 'guess' }))
    expect(found).toEqual([...Array(12).fill('AuthFail'), 'RateLimitedError'])
    expect((await attempt(name, password)).body.code).toBe('RateLimitedError')
  })
})

describe('a name nobody has', () => {
  const hashed = async (task: () => Promise<unknown>) => {
    const count = async () => {
      const { values } = await service.teal.core.metrics.poolTasks.get()
      return values.filter(({ labels }) => labels.pool === 'password').reduce((sum, { value }) => sum + value, 0)
    }
    const before = await count()
    await task()
    return (await count()) - before
  }

  test('costs as many hashes as one somebody has', async () => {
    const { name, id } = await fresh()
    await service.call('POST', `/users/${id}/asps`, { description: 'x', password: 'aaaaaaaaaaaaaaaa' })
    const bare = (await fresh({ user: (wanted: string) => service.user(wanted, { password: false }) } as Running)).name
    for (const [password, scope, hashes] of [
      ['wrong', 'master', 1],
      ['wrong', 'imap', 1],
      ['abcdefghijklmnop', 'imap', 2],
      ['aaaaaaaaaaaaaaaa', 'master', 1],
    ] as const) {
      for (const one of [name, bare, `nobody-like-${name}`]) {
        expect([one, password, await hashed(() => attempt(one, password, { scope }))]).toEqual([one, password, hashes])
      }
    }
  })

  test('costs what some account does, also where hashes of another service cost more and many guess at once', async () => {
    const hash = '$2y$04$OtU8sNGOiyZbE2MkcbY7Z.GV.yXRdGs3Yai1PE6Ie6pzb0RfK6YgC'
    const imported = { user: (name: string) => service.user(name, { password: hash, hashedPassword: true }) } as Running
    for (let n = 0; n < 4; n++) await fresh(imported)
    const { name } = await fresh()
    const { authentication } = service.teal.core.credentials
    const guess = { password: 'the same guess', scope: 'imap', protocol: 'IMAP' } as const
    const together = (username: string) =>
      hashed(() =>
        Promise.allSettled(Array.from({ length: 8 }, () => authentication.authenticate({ ...guess, username }))),
      )
    for (const one of [name, 'nobody-at-once']) {
      // What is read is known then: all of them wait for the hash alone.
      await attempt(one, 'another guess', { scope: 'imap' })
      expect([one, await together(one)]).toEqual([one, 1])
    }

    const { read, writer } = service.teal.core
    const standIns = new StandIns(read, Buffer.alloc(32), () => writer.changes.of('user'))
    const kinds = new Set<string>()
    for (let n = 0; n < 64; n++) {
      const stored = await standIns.hash(`name:nobody${n}`)
      expect(await standIns.hash(`name:nobody${n}`)).toBe(stored)
      kinds.add(parseHash(stored ?? '')?.kind ?? 'none')
    }
    expect([...kinds]).toEqual(expect.arrayContaining(['bcrypt', 'pbkdf2']))
    expect(standIns.text('name:a', 'wrong')).toHaveLength(5)
    expect(standIns.text('name:a', 'wrong')).not.toBe(standIns.text('name:b', 'wrong'))
  })

  test('is held back and counted while the answer says nothing', async () => {
    const { name } = await fresh()
    const replies = await Promise.all([
      attempt(name, 'x', { scope: 'smtp' }),
      attempt('nobody-else', 'x', { scope: 'smtp' }),
    ])
    expect(replies[0]).toEqual(replies[1])
  })
})

describe('counts', () => {
  let dataDir = ''
  let teal: Teal | undefined
  const running = accessTo(() => {
    if (teal === undefined) throw new Error('not up')
    return teal
  })
  afterAll(async () => {
    await teal?.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  const restart = async () => {
    await teal?.close()
    teal = await startTeal({ dataDir, threads }, { strict: true })
  }

  test('outlast a restart; a lost cache opens the windows and changes nothing else', async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'teal-limits-'))
    await restart()
    const { name, password, id } = await fresh(running)
    const token = (await attempt(name, password, { token: true }, running)).body.token
    await running.call('PUT', `/users/${id}/2fa/custom`, {}, token)
    expect(await codes(12, at => attempt(name, `wrong ${at}`, {}, running))).toEqual(twelve)
    await restart()
    expect((await attempt(name, password, {}, running)).body.code).toBe('RateLimitedError')
    const before = await running.call('GET', `/users/${id}`)
    await teal?.close()
    teal = undefined
    rmSync(join(dataDir, 'cache'), { recursive: true })
    await restart()
    expect(await running.call('GET', `/users/${id}`)).toEqual(before)
    expect((await running.call('GET', '/authenticated', undefined, token)).status).toBe(200)
    expect((await attempt(name, password, {}, running)).body.require2fa).toEqual(['custom'])
    expect((await running.call('GET', `/users/${id}/authlog`)).body.results.length).toBeGreaterThan(2)
    expect((await running.call('GET', '/health')).status).toBe(200)
    expect(await running.teal.check()).toEqual([])
  })
})

describe('passwords known from breaches', () => {
  const pwned = (type: 'softfail' | 'fail' | 'hardfail') =>
    useTeal({ auth: { pwned: { enabled: true, type, apiUrl } } })

  describe('softfail', () => {
    const soft = pwned('softfail')
    test('tells, asks once in two weeks, and a new password is a new question', async () => {
      const id = await soft.user('leaky', { password: 'password1' })
      const from = asked.length
      expect((await attempt('leaky', 'password1', {}, soft)).body.passwordPwned).toBe(true)
      expect((await attempt('leaky', 'password1', {}, soft)).body.passwordPwned).toBe(true)
      expect(asked.length - from).toBe(1)
      shiftClock(15 * 24 * 3_600_000)
      await attempt('leaky', 'password1', {}, soft)
      expect(asked.length - from).toBe(2)
      expect((await soft.call('GET', `/users/${id}`)).body).toMatchObject({
        passwordPwned: true,
        lastPwnedCheck: expect.any(String),
      })
      const unsafe = await soft.call('PUT', `/users/${id}`, { password: 'password1', allowUnsafe: false })
      expect([unsafe.status, unsafe.body.code]).toEqual([403, 'InsecurePasswordError'])
      await soft.call('PUT', `/users/${id}`, { password: 'quite another one', allowUnsafe: false })
      expect((await attempt('leaky', 'quite another one', {}, soft)).body).not.toHaveProperty('passwordPwned')
      expect((await attempt('leaky', 'quite another one', { scope: 'imap' }, soft)).status).toBe(200)
    })

    test('lets in when nobody answers, and does not ask again at once', async () => {
      await soft.user('offline')
      answers = false
      const from = asked.length
      expect((await attempt('offline', 'secret of offline', {}, soft)).status).toBe(200)
      expect((await attempt('offline', 'secret of offline', {}, soft)).status).toBe(200)
      expect(asked.length - from).toBe(1)
      answers = true
    })
  })

  describe('fail', () => {
    const hard = pwned('fail')
    test('refuses, the second time as well as the first', async () => {
      await hard.user('leaky', { password: 'password1' })
      expect((await attempt('leaky', 'password1', {}, hard)).body.code).toBe('AuthFailed')
      expect((await attempt('leaky', 'password1', {}, hard)).body.code).toBe('AuthFailed')
    })
  })

  describe('hardfail', () => {
    const hard = pwned('hardfail')
    test('refuses when nobody answers', async () => {
      await hard.user('offline')
      answers = false
      expect((await attempt('offline', 'secret of offline', {}, hard)).body.code).toBe('AuthFailed')
      answers = true
      shiftClock(6 * 60_000)
      expect((await attempt('offline', 'secret of offline', {}, hard)).status).toBe(200)
    })
  })
})

describe('the configured root token', () => {
  const open = useTeal({ api: { accessToken: 'a token of the configuration', accessControl: { enabled: false } } })
  test('opens everything, and where there is one a call without is refused', async () => {
    expect((await open.call('GET', '/users', undefined, 'a token of the configuration')).status).toBe(200)
    expect((await open.call('GET', '/users', undefined, null)).body.code).toBe('InvalidToken')
    expect((await open.call('GET', '/users', undefined, 'a token of the configuratioN')).body.code).toBe('InvalidToken')
  })
})
