// Logging in over HTTP as scenarios: who gets what, and what a stranger does not learn.

import { isUtf8 } from 'node:buffer'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import vectors from '../../../lib/secret/vectors.json' with { type: 'json' }
import { useTeal } from '../../../running.ts'

const service = useTeal()
afterEach(() => shiftClock(0))
afterAll(() => shiftClock(0))

/** Differs where even the weakest form looks. */
const wrongFor = (password: string) => `${password.startsWith('x') ? 'y' : 'x'}${password.slice(1)}`

let number = 0
const fresh = async (more: Record<string, unknown> = {}) => {
  const name = `login${++number}`
  const id = await service.user(name, more)
  return { name, id, password: `secret of ${name}` }
}
const login = (username: string, password: string, more: Record<string, unknown> = {}) =>
  service.call('POST', '/authenticate', { username, password, ...more })
const storedPassword = async (id: string) =>
  (await service.teal.core.read.one<{ password: string }>('SELECT password FROM user WHERE id = ?', id))?.password
const log = async (id: string) => (await service.call('GET', `/users/${id}/authlog`)).body.results

describe('a login with the main password', () => {
  test('says exactly what clients know, by username and by address, whatever the dots, case and label', async () => {
    const { id } = await fresh({ username: 'first.last', password: 'pw 1', address: 'First.Last@example.com' })
    for (const name of [
      'first.last',
      'FIRSTLAST',
      'f.irst.last',
      'first.last+tag@example.com',
      'FirstLast@EXAMPLE.com',
    ]) {
      const { status, body } = await login(name, 'pw 1')
      expect(status).toBe(200)
      expect(body).toEqual({
        success: true,
        id,
        username: 'first.last',
        address: 'First.Last@example.com',
        scope: 'master',
        require2fa: false,
        require2faEnabled: false,
        requirePasswordChange: false,
      })
    }
  })

  test('opens every protocol while there is no second factor', async () => {
    const { name, password } = await fresh()
    for (const scope of ['master', 'imap', 'pop3', 'smtp']) {
      expect((await login(name, password, { scope })).body).toMatchObject({ success: true, scope })
    }
  })

  test('is refused alike for a wrong password and for a name nobody has', async () => {
    const { name } = await fresh()
    const wrong = await login(name, 'not this')
    const nobody = await login('nobody-here', 'not this')
    expect(wrong.status).toBe(403)
    expect(wrong.body).toEqual({ error: 'Authentication failed', code: 'AuthFailed' })
    expect(nobody).toEqual(wrong)
  })

  test('tells who does not know the password nothing about disabled accounts and closed scopes', async () => {
    const { name, password, id } = await fresh()
    await service.call('PUT', `/users/${id}`, { disabledScopes: ['imap'] })
    expect((await login(name, 'wrong', { scope: 'imap' })).body.code).toBe('AuthFailed')
    expect((await login(name, password, { scope: 'imap' })).body).toEqual({
      error: 'This password may not be used here',
      code: 'InvalidAuthScope',
    })
    expect((await login(name, password)).status).toBe(200)
    for (const change of [{ disabled: true }, { disabled: false, suspended: true }]) {
      await service.call('PUT', `/users/${id}`, change)
      const refused = { error: 'Authentication failed', code: 'AuthFailed' }
      expect((await login(name, password)).body).toEqual(refused)
      expect((await login(name, 'wrong')).body).toEqual(refused)
    }
    const results = (await log(id)).filter((entry: { action: string }) => entry.action === 'authentication')
    const found = new Set(results.map((entry: { result: string }) => entry.result))
    expect(found).toEqual(new Set(['success', 'fail', 'disabled', 'suspended']))
  })

  test('ends with the account', async () => {
    const { name, password, id } = await fresh()
    await service.call(
      'DELETE',
      `/users/${id}?deleteAfter=${encodeURIComponent(new Date(Date.now() + 9e6).toISOString())}`,
    )
    expect((await login(name, password)).body.code).toBe('AuthFailed')
  })

  test('of an account without one is refused', async () => {
    const { name } = await fresh({ password: false })
    expect((await login(name, 'anything')).body.code).toBe('AuthFailed')
  })

  for (const [what, sent, fields] of [
    ['an empty password', { username: 'a', password: '' }, ['password']],
    ['no password', { username: 'a' }, ['password']],
    ['a password of another type', { username: 'a', password: { $ne: 1 } }, ['password']],
    ['a password of a megabyte', { username: 'a', password: 'x'.repeat(1 << 20) }, ['password']],
    ['a name of another type', { username: ['a', 'b'], password: 'x' }, ['username']],
    ['a scope nobody knows', { username: 'a', password: 'x', scope: 'caldav' }, ['scope']],
    ['a token for a protocol', { username: 'a', password: 'x', scope: 'imap', token: true }, ['scope']],
    ['an appId that is none', { username: 'a', password: 'x', appId: 'no uri' }, ['appId']],
    ['a field nobody knows', { username: 'a', password: 'x', admin: true }, ['admin']],
    ['an address that is none', { username: 'a', password: 'x', ip: '1.2.3' }, ['ip']],
  ] as const) {
    test(`with ${what} is a bad request that names the field`, async () => {
      const { status, body } = await service.call('POST', '/authenticate', sent)
      expect(status).toBe(400)
      expect(body.code).toBe('InputValidationError')
      expect(Object.keys(body.details)).toEqual(fields)
    })
  }
})

describe('stored passwords of other forms', () => {
  /** Bytes that are text: others cannot be sent in JSON. */
  const texts = vectors
    .map(({ kind, password, stored }) => ({ kind, password: Buffer.from(password, 'hex'), stored }))
    .filter(({ password }) => isUtf8(password) && password.length > 0 && password.length <= 255)
  const kinds = [...new Set(texts.map(({ kind }) => kind))]
  test.each(kinds)('%s opens the account and is replaced by the standard form', async kind => {
    const all = texts.filter(one => one.kind === kind)
    // What a form says is found out behind every front: where only that is another, two passwords show what comes through it.
    for (const { password: bytes, stored } of process.env.TEAL_API_FRONT === undefined ? all : all.slice(0, 2)) {
      const password = bytes.toString('utf8')
      const { name, id } = await fresh({ password: stored, hashedPassword: true })
      expect((await login(name, wrongFor(password))).body.code).toBe('AuthFailed')
      expect((await login(name, password, { token: true })).body.token).toMatch(/^[0-9a-f]{40}$/)
      // As many rounds as a service takes that keeps nothing, or more.
      expect(await storedPassword(id)).toMatch(/^\$pbkdf2-sha(256|512)\$i=\d{4,}[,$]/)
      expect((await login(name, password)).status).toBe(200)
      expect((await login(name, wrongFor(password))).body.code).toBe('AuthFailed')
    }
  })

  test('that nobody can verify are refused when they are set', async () => {
    for (const password of ['{SSHA}abc', '$y$j9T$abc$def', 'plain', '$pbkdf2-sha256$i=99999999$YWJj$YWJj']) {
      const { status, body } = await service.call('POST', '/users', {
        ...{ username: 'hashless', password, hashedPassword: true, address: 'hashless@example.com' },
      })
      expect([status, body.code]).toEqual([400, 'HashError'])
    }
  })
})

describe('tokens', () => {
  const tokenOf = async (name: string, password: string): Promise<string> =>
    (await login(name, password, { token: true })).body.token
  const good = async (token: string) => (await service.call('GET', '/authenticated', undefined, token)).status

  test('open the own account as `me`, by every header and in the query', async () => {
    const { name, password, id } = await fresh()
    const token = await tokenOf(name, password)
    expect((await service.call('GET', '/users/me', undefined, token)).body.id).toBe(id)
    const ways: [string, Record<string, string>][] = [
      [`/authenticated?accessToken=${token}`, {}],
      ['/authenticated', { authorization: `Bearer ${token}` }],
      ['/authenticated', { authorization: token }],
    ]
    for (const [path, headers] of ways) {
      const response = await fetch(service.teal.url + path, { headers })
      expect(await response.json()).toEqual({ success: true })
    }
    expect((await service.call('GET', '/users/me')).status).toBe(400)
    const other = await fresh()
    expect((await service.call('GET', `/users/${other.id}`, undefined, token)).body.code).toBe('MissingPrivileges')
  })

  test('end when they are given back, and only once', async () => {
    const { name, password } = await fresh()
    const token = await tokenOf(name, password)
    expect((await service.call('DELETE', '/authenticate', undefined, token)).body).toEqual({ success: true })
    expect((await service.call('DELETE', '/authenticate', undefined, token)).body).toMatchObject({
      code: 'InvalidToken',
    })
    expect(await good(token)).toBe(403)
    expect((await service.call('DELETE', '/authenticate')).status).toBe(200)
    expect((await service.call('GET', '/authenticated')).status).toBe(200)
  })

  test('of everybody else end with the password, the one that changed it stays', async () => {
    const { name, password, id } = await fresh()
    const [mine, other] = [await tokenOf(name, password), await tokenOf(name, password)]
    const change = { existingPassword: password, password: 'another one' }
    expect((await service.call('PUT', '/users/me', change, mine)).status).toBe(200)
    expect([await good(mine), await good(other)]).toEqual([200, 403])
    expect((await login(name, password)).status).toBe(403)
    expect((await login(name, 'another one')).status).toBe(200)
    await service.call('PUT', `/users/${id}`, { password: 'third' })
    expect(await good(mine)).toBe(403)
  })

  test.each([
    ['disabled', 'PUT', '', { disabled: true }],
    ['suspended', 'PUT', '', { suspended: true }],
    ['given a temporary password', 'POST', '/password/reset', {}],
  ])('end when the account is %s', async (_what, method, path, body) => {
    const { name, password, id } = await fresh()
    const token = await tokenOf(name, password)
    expect((await service.call(method, `/users/${id}${path}`, body)).status).toBe(200)
    expect(await good(token)).toBe(403)
  })

  test('end by themselves when they were not used for long, and at some age whatever happens', async () => {
    const { name, password } = await fresh()
    const [used, unused] = [await tokenOf(name, password), await tokenOf(name, password)]
    const day = 24 * 3_600_000
    for (const days of [13, 26]) {
      shiftClock(days * day)
      expect(await good(used)).toBe(200)
      await service.call('GET', '/health')
    }
    expect(await good(unused)).toBe(403)
    for (let days = 36; days < 180; days += 10) {
      shiftClock(days * day)
      expect(await good(used)).toBe(200)
      await service.call('GET', '/health')
    }
    shiftClock(181 * day)
    expect(await good(used)).toBe(403)
    const { access, read } = service.teal.core
    const count = async () =>
      (await read.one<{ n: number }>('SELECT count(*) AS n FROM token WHERE user IS NOT NULL'))?.n
    expect(await count()).toBeGreaterThan(1)
    await access.sweep()
    expect(await count()).toBe(0)
  })

  test('that are none are refused, however wrong', async () => {
    for (const token of ['x', '0'.repeat(40), 'F'.repeat(40), '0'.repeat(41), "' OR 1=1 --", '%00']) {
      const { status, body } = await service.call('GET', '/users/me', undefined, token)
      expect([status, body.code]).toEqual([403, 'InvalidToken'])
    }
    const basic = await fetch(`${service.teal.url}/authenticated`, { headers: { authorization: 'Basic abc' } })
    expect(basic.status).toBe(403)
    expect((await service.call('GET', '/authenticated', undefined, null)).status).toBe(403)
    for (const query of ['accessToken[a]=b', 'accessToken=a&accessToken=b', 'accessToken[]=', 'accessToken.x=1']) {
      const { status, body } = await service.call('GET', `/authenticated?${query}`, undefined, null)
      expect([query, status, body.code]).toEqual([query, 403, 'InvalidToken'])
    }
  })

  test('of a user neither log others in nor reset passwords', async () => {
    const { name, password } = await fresh()
    const token = await tokenOf(name, password)
    for (const [path, body] of [
      ['/authenticate', { username: name, password }],
      ['/preauth', { username: name }],
      ['/users/me/password/reset', {}],
    ] as const) {
      const reply = await service.call('POST', path, body, token)
      expect([path, reply.status, reply.body.code]).toEqual([path, 403, 'MissingPrivileges'])
    }
  })
})

describe('a question about a name', () => {
  test('is answered for those who may log others in', async () => {
    const { name, id } = await fresh()
    const { body } = await service.call('POST', '/preauth', { username: name })
    const known = {
      success: true,
      id,
      username: name,
      address: `${name}@example.com`,
      scope: 'master',
      require2fa: false,
    }
    expect(body).toEqual(known)
    await service.call('PUT', `/users/${id}`, { disabledScopes: ['pop3'] })
    expect((await service.call('POST', '/preauth', { username: name, scope: 'pop3' })).body.code).toBe(
      'InvalidAuthScope',
    )
  })

  test('is refused alike for unknown, disabled and suspended accounts', async () => {
    const { name, id } = await fresh()
    const unknown = await service.call('POST', '/preauth', { username: 'nobody-at-all' })
    expect(unknown.body).toEqual({ error: 'Authentication failed', code: 'AuthFailed' })
    for (const change of [{ disabled: true }, { disabled: false, suspended: true }]) {
      await service.call('PUT', `/users/${id}`, change)
      expect(await service.call('POST', '/preauth', { username: name })).toEqual(unknown)
    }
  })

  test('cannot be asked about a long list of names', async () => {
    const ask = (username: string) => service.call('POST', '/preauth', { username, ip: '198.51.100.77' })
    const codes: string[] = []
    for (let at = 0; at < 32; at++) codes.push((await ask(`guess${at}`)).body.code)
    expect(new Set(codes.slice(0, 30))).toEqual(new Set(['AuthFailed']))
    expect(codes.slice(30)).toEqual(['RateLimitedError', 'RateLimitedError'])
  })
})

test('a password that an operator sets may have to be changed; its owner can neither ask for that nor end it otherwise', async () => {
  const { name, id } = await fresh()
  await service.call('PUT', `/users/${id}`, { password: 'given', requirePasswordChange: true })
  const entered = (await login(name, 'given', { token: true })).body
  expect(entered.requirePasswordChange).toBe(true)
  expect((await service.call('GET', `/users/${id}`)).body.requirePasswordChange).toBe(true)
  await service.call('PUT', '/users/me', { requirePasswordChange: false, name: 'Other' }, entered.token)
  expect((await login(name, 'given')).body.requirePasswordChange).toBe(true)
  const change = { existingPassword: 'given', password: 'my own', requirePasswordChange: true }
  expect((await service.call('PUT', '/users/me', change, entered.token)).status).toBe(200)
  expect((await login(name, 'my own')).body.requirePasswordChange).toBe(false)
  await service.call('PUT', `/users/${id}`, { requirePasswordChange: true })
  expect((await login(name, 'my own')).body.requirePasswordChange).toBe(true)
  await service.call('PUT', `/users/${id}`, { requirePasswordChange: false })
  expect((await login(name, 'my own')).body.requirePasswordChange).toBe(false)
})

describe('a temporary password', () => {
  const reset = (id: string, body = {}) => service.call('POST', `/users/${id}/password/reset`, body)

  test('opens the account as a whole, the real one keeps working, and a new password ends it', async () => {
    const { name, password, id } = await fresh()
    const { body } = await reset(id)
    expect(body).toEqual({
      success: true,
      password: expect.stringMatching(/^[A-Za-z0-9]{12}$/),
      validAfter: expect.any(String),
      expires: expect.any(String),
    })
    expect(Date.parse(body.expires) - Date.parse(body.validAfter)).toBe(24 * 3_600_000)
    const entered = await login(name, body.password)
    expect(entered.body).toMatchObject({ success: true, requirePasswordChange: true })
    expect((await login(name, password)).body.requirePasswordChange).toBe(false)
    expect((await login(name, body.password, { scope: 'imap' })).body.code).toBe('InvalidAuthScope')
    expect((await service.call('GET', `/users/${id}`)).body.requirePasswordChange).toBe(true)
    await service.call('PUT', `/users/${id}`, { password: 'new one' })
    expect((await login(name, body.password)).body.code).toBe('AuthFailed')
    const entries = (await log(id)).map((entry: { action: string; source?: string }) => [entry.action, entry.source])
    expect(entries).toContainEqual(['authentication', 'temporary'])
    expect(entries).toContainEqual(['reset', undefined])
    expect(entries).toContainEqual(['password change', undefined])
  })

  test('confirms a new password for who lost the old one', async () => {
    const { name, id } = await fresh()
    const { body } = await reset(id)
    const { token } = (await login(name, body.password, { token: true })).body
    shiftClock(3_600_000)
    const form = { existingPassword: body.password, password: 'found again' }
    expect((await service.call('PUT', '/users/me', form, token)).status).toBe(200)
    shiftClock(0)
    expect((await login(name, 'found again')).body.requirePasswordChange).toBe(false)
  })

  test('is good for a day from its beginning, which may lie ahead', async () => {
    const { name, id } = await fresh()
    const day = 24 * 3_600_000
    const validAfter = new Date(Date.now() + 3 * day).toISOString()
    const { body } = await reset(id, { validAfter })
    expect(body.validAfter).toBe(validAfter)
    expect((await login(name, body.password)).body.code).toBe('TempPasswordNotYetValid')
    shiftClock(3 * day + 1000)
    expect((await login(name, body.password)).status).toBe(200)
    shiftClock(4 * day + 1000)
    expect((await login(name, body.password)).body.code).toBe('AuthFailed')
    shiftClock(0)
    expect((await reset(id, { validAfter: '2999-01-01' })).body.details).toHaveProperty('validAfter')
    expect((await reset(id, { validAfter: 'soon' })).status).toBe(400)
    expect((await reset('f'.repeat(24))).body.code).toBe('UserNotFound')
    expect((await reset(id, { validAfter: false })).status).toBe(200)
  })

  test('never takes the place of the real one, which was stored in another form', async () => {
    const { name, id } = await fresh({ password: 'abNANd1rDfiNc', hashedPassword: true })
    const { body } = await reset(id)
    expect((await login(name, body.password)).status).toBe(200)
    expect(await storedPassword(id)).toBe('abNANd1rDfiNc')
    expect((await login(name, 'secret')).body.requirePasswordChange).toBe(false)
  })

  test('does not stand in for the second factor', async () => {
    const { name, id } = await fresh()
    await service.call('PUT', `/users/${id}/2fa/custom`, {})
    const { body } = await reset(id)
    expect((await login(name, body.password, { token: true })).body.require2fa).toEqual(['custom'])
  })
})

describe('the log', () => {
  test('tells one kind of event once, with how often it came', async () => {
    const { name, password, id } = await fresh()
    for (let at = 0; at < 3; at++) await login(name, password, { ip: '192.0.2.9', sess: 'abc', protocol: 'WEB' })
    await login(name, 'wrong', { ip: '192.0.2.9' })
    const { body } = await service.call('GET', `/users/${id}/authlog?filterip=192.0.2.9&action=AUTHENTICATION`)
    expect(body).toMatchObject({
      action: 'authentication',
      total: 2,
      page: 1,
      previousCursor: false,
      nextCursor: false,
    })
    const [failed, passed] = body.results
    expect(passed).toMatchObject({
      result: 'success',
      events: 3,
      source: 'master',
      protocol: 'WEB',
      sess: 'abc',
      requiredScope: 'master',
    })
    expect(failed).toMatchObject({ result: 'fail', events: 1, protocol: 'API' })
    expect(passed.key).toMatch(/^[A-Za-z0-9+/]{22}==$/)
    const one = await service.call('GET', `/users/${id}/authlog/${passed.id}`)
    expect(one.body).toEqual({ success: true, ...passed })
    expect((await service.call('GET', `/users/${id}/authlog/${'f'.repeat(24)}`)).body.code).toBe('EventNotFound')
    expect((await service.call('GET', `/users/${'f'.repeat(24)}/authlog`)).body.code).toBe('UserNotFound')
    shiftClock(7 * 3_600_000)
    await login(name, password, { ip: '192.0.2.9', sess: 'abc', protocol: 'WEB' })
    expect((await service.call('GET', `/users/${id}/authlog?filterip=192.0.2.9`)).body.total).toBe(3)
    shiftClock(31 * 24 * 3_600_000)
    expect((await service.call('GET', `/users/${id}/authlog`)).body.total).toBe(0)
  })

  test('goes in pages, newest first', async () => {
    const { name, password, id } = await fresh()
    for (const at of [1, 2, 3]) await login(name, password, { ip: `192.0.2.${at}` })
    const page = async (query: string) => (await service.call('GET', `/users/${id}/authlog?limit=2&${query}`)).body
    const first = await page('')
    expect(first.results.map((entry: { ip: string }) => entry.ip)).toEqual(['192.0.2.3', '192.0.2.2'])
    const second = await page(`next=${first.nextCursor}`)
    expect(second.page).toBe(2)
    expect(second.results.map((entry: { action: string }) => entry.action)).toEqual([
      'authentication',
      'account created',
    ])
    const back = await page(`previous=${second.previousCursor}`)
    expect(back.results).toEqual(first.results)
  })
})
