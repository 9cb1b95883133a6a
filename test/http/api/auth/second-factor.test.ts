// Second factors over HTTP: every way in with them, and every way past them that must not be one.

import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { decodeBase32, totpCode } from '#lib/secret/totp.ts'
import { environmentOf, runTeal } from '../../../child.ts'
import { Authenticator, type Quirks } from '../../../lib/secret/authenticator.ts'
import { useTeal } from '../../../running.ts'

const service = useTeal()
afterEach(() => shiftClock(0))
afterAll(() => shiftClock(0))

const origin = 'https://mail.example.com'
const rpId = 'example.com'
let number = 0

async function fresh() {
  const name = `factor${++number}`
  const id = await service.user(name)
  return { name, id, password: `secret of ${name}` }
}
type User = Awaited<ReturnType<typeof fresh>>

const login = (user: User, more: Record<string, unknown> = {}) =>
  service.call('POST', '/authenticate', { username: user.name, password: user.password, token: true, ...more })
const good = async (token: string) => (await service.call('GET', '/authenticated', undefined, token)).status
const factor = (user: User, method: string, path: string, body: object = {}, token?: string) =>
  service.call(method, `/users/${user.id}/2fa${path}`, body, token)
const step = (offset = 0) => Math.floor(now() / 30_000) + offset
const codeOf = (seed: string, offset = 0) => totpCode(decodeBase32(seed) ?? Buffer.alloc(0), step(offset))
const wrongCode = (seed: string) => {
  const codes = new Set([-1, 0, 1].map(offset => codeOf(seed, offset)))
  return ['000000', '111111', '222222', '333333'].find(code => !codes.has(code)) ?? ''
}

/** Puts the clock into the middle of a step, so that none ends within a test. */
const settle = () => shiftClock(30_000 - (Date.now() % 30_000) + 15_000)

async function withCodes(user: User) {
  settle()
  const { body } = await factor(user, 'POST', '/totp/setup', { issuer: 'Teal & Co' })
  expect(await factor(user, 'POST', '/totp/enable', { token: codeOf(body.seed) })).toMatchObject({ status: 200 })
  return body.seed as string
}

const nonceOf = async (user: User): Promise<string> => (await login(user)).body.totpNonce

describe('one-time codes', () => {
  test('are set up with a seed and a picture, and switched on by a code', async () => {
    const user = await fresh()
    settle()
    const { status, body } = await factor(user, 'POST', '/totp/setup', { issuer: 'Teal' })
    expect(status).toBe(200)
    expect(body.seed).toMatch(/^[A-Z2-7]{32}$/)
    expect(body.qrcode).toMatch(/^data:image\/png;base64,iVBOR/)
    const before = await login(user)
    expect(before.body).toMatchObject({ require2fa: false, token: expect.any(String) })
    expect((await factor(user, 'POST', '/totp/enable', { token: wrongCode(body.seed) })).body.code).toBe('InvalidToken')
    expect((await factor(user, 'POST', '/totp/enable', { token: wrongCode(body.seed) })).status).toBe(400)
    expect((await factor(user, 'POST', '/totp/enable', { token: codeOf(body.seed) })).body).toEqual({ success: true })
    expect(await good(before.body.token)).toBe(403)
    expect((await factor(user, 'POST', '/totp/enable', { token: codeOf(body.seed) })).body.code).toBe('TotpEnabled')
    expect((await factor(user, 'POST', '/totp/setup', { issuer: 'Teal' })).body.code).toBe('TotpEnabled')
    const stored = await service.teal.core.read.one<{ options: string }>(
      'SELECT options FROM user WHERE id = ?',
      user.id,
    )
    expect(stored?.options).toMatch(/\$wd01\$aes-256-gcm\$/)
    expect(stored?.options).not.toContain(body.seed)
  })

  test('finish a login: the code that switched them on once more, then only later ones', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const { body } = await login(user)
    expect(body).toMatchObject({
      success: true,
      require2fa: ['totp'],
      twoFactorNonce: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
    expect(body.totpNonce).toBe(body.twoFactorNonce)
    expect(body).not.toHaveProperty('token')
    const check = (totpNonce: string, token: string) => factor(user, 'POST', '/totp/check', { token, totpNonce })
    const first = await check(body.totpNonce, codeOf(seed))
    expect(first.body.token).toMatch(/^[0-9a-f]{40}$/)
    expect(await good(first.body.token)).toBe(200)
    expect((await check(body.totpNonce, codeOf(seed, 1))).body.code).toBe('InvalidTotpNonce')
    const nonce = await nonceOf(user)
    const replayed = await check(nonce, codeOf(seed))
    expect([replayed.status, replayed.body.code]).toEqual([403, 'RateLimitedError'])
    expect((await check(nonce, wrongCode(seed))).body.code).toBe('InvalidToken')
    expect((await check(nonce, codeOf(seed, 1))).body.token).toMatch(/^[0-9a-f]{40}$/)
    shiftClock(now() - Date.now() + 600_000)
    expect((await check(await nonceOf(user), codeOf(seed, -3))).body.code).toBe('InvalidToken')
  })

  test('are counted: after six wrong ones no code is looked at, a right one clears', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const nonce = await nonceOf(user)
    const check = (token: string) => factor(user, 'POST', '/totp/check', { token, totpNonce: nonce })
    const codes: string[] = []
    for (let at = 0; at < 7; at++) codes.push((await check(wrongCode(seed))).body.code)
    expect(codes).toEqual([...Array(6).fill('InvalidToken'), 'RateLimitedError'])
    const locked = await service.raw('POST', `/users/${user.id}/2fa/totp/check`, {
      body: JSON.stringify({ token: codeOf(seed), totpNonce: nonce }),
      headers: { 'content-type': 'application/json' },
    })
    expect([locked.status, Number(locked.headers.get('retry-after')) > 0]).toEqual([403, true])
    shiftClock(now() - Date.now() + 181_000)
    const again = await nonceOf(user)
    expect((await factor(user, 'POST', '/totp/check', { token: codeOf(seed), totpNonce: again })).status).toBe(200)
    const { results } = (await service.call('GET', `/users/${user.id}/authlog?action=check 2fa totp`)).body
    expect(new Set(results.map((entry: { result: string }) => entry.result))).toEqual(
      new Set(['fail', 'ratelimited', 'success']),
    )
  })

  test('that finish no login lock nobody out of one: a stolen token is not enough', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const first = { token: codeOf(seed), totpNonce: await nonceOf(user) }
    const stolen = (await factor(user, 'POST', '/totp/check', first)).body.token
    const codes: string[] = []
    for (let at = 0; at < 7; at++) {
      codes.push((await factor(user, 'POST', '/totp/check', { token: wrongCode(seed) }, stolen)).body.code)
    }
    expect(codes).toEqual([...Array(6).fill('InvalidToken'), 'RateLimitedError'])
    const owner = { token: codeOf(seed, 1), totpNonce: await nonceOf(user) }
    expect((await factor(user, 'POST', '/totp/check', owner)).body.token).toMatch(/^[0-9a-f]{40}$/)
  })

  test('cannot be guessed by many at once', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const nonce = await nonceOf(user)
    const wrong = wrongCode(seed)
    const replies = await Promise.all(
      Array.from({ length: 40 }, () => factor(user, 'POST', '/totp/check', { token: wrong, totpNonce: nonce })),
    )
    expect(replies.filter(({ body }) => body.code === 'InvalidToken')).toHaveLength(6)
    expect(replies.filter(({ body }) => body.code === 'RateLimitedError')).toHaveLength(34)
  })

  test('of one login are no use to another account, and neither is its nonce', async () => {
    const [user, other] = [await fresh(), await fresh()]
    const seed = await withCodes(user)
    const otherSeed = await withCodes(other)
    const nonce = await nonceOf(user)
    const crossed = await factor(other, 'POST', '/totp/check', { token: codeOf(otherSeed), totpNonce: nonce })
    expect([crossed.status, crossed.body.code]).toEqual([403, 'InvalidTotpNonce'])
    const made = await factor(user, 'POST', '/totp/check', { token: codeOf(seed), totpNonce: '0'.repeat(40) })
    expect(made.body.code).toBe('InvalidTotpNonce')
    expect((await factor(user, 'POST', '/totp/check', { token: codeOf(seed), totpNonce: nonce })).status).toBe(200)
  })

  test('are no use after the login they were for has ended', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const nonce = await nonceOf(user)
    await service.call('PUT', `/users/${user.id}`, { password: 'another' })
    const after = await factor(user, 'POST', '/totp/check', { token: codeOf(seed), totpNonce: nonce })
    expect(after.body.code).toBe('InvalidTotpNonce')
    const late = await nonceOf({ ...user, password: 'another' })
    shiftClock(now() - Date.now() + 601_000)
    const expired = await factor(user, 'POST', '/totp/check', { token: codeOf(seed), totpNonce: late })
    expect(expired.body.code).toBe('InvalidTotpNonce')
  })

  test('can be checked without a login, by whoever may authenticate', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const { body } = await factor(user, 'POST', '/totp/check', { token: codeOf(seed) })
    expect(body).toEqual({ success: true })
  })

  test('are switched off, also when a login waits: its nonce stays', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const nonce = await nonceOf(user)
    expect((await factor(user, 'DELETE', '/totp')).body).toEqual({ success: true })
    expect((await factor(user, 'DELETE', '/totp')).body.code).toBe('TotpDisabled')
    const check = await factor(user, 'POST', '/totp/check', { token: codeOf(seed), totpNonce: nonce })
    expect([check.status, check.body.code]).toEqual([400, 'TotpDisabled'])
    expect((await login(user)).body.token).toMatch(/./)
  })

  test('wait six hours for the code that switches them on', async () => {
    const user = await fresh()
    settle()
    const { body } = await factor(user, 'POST', '/totp/setup')
    shiftClock(now() - Date.now() + 6 * 3_600_000 + 1)
    expect((await factor(user, 'POST', '/totp/enable', { token: codeOf(body.seed) })).body.code).toBe('TotpDisabled')
    const nobody = { ...user, id: 'f'.repeat(24) }
    expect((await factor(nobody, 'POST', '/totp/setup', { issuer: 'Teal' })).body.code).toBe('UserNotFound')
  })

  test.each([
    ['/totp/setup', { issuer: 7 }, 'issuer'],
    ['/totp/enable', { token: 123456 }, 'token'],
    ['/totp/enable', { token: '12345' }, 'token'],
    ['/totp/check', { token: '123456', totpNonce: 'zz' }, 'totpNonce'],
    ['/totp/check', { token: '1234567', totpNonce: '0'.repeat(40) }, 'token'],
  ])('%s refuses %o', async (path, body, field) => {
    const user = await fresh()
    const reply = await factor(user, 'POST', path, body)
    expect([reply.status, Object.keys(reply.body.details)]).toEqual([400, [field]])
  })

  test('keep the main password for the account as a whole', async () => {
    const user = await fresh()
    await withCodes(user)
    for (const scope of ['imap', 'pop3', 'smtp']) {
      const right = await login(user, { scope, token: false })
      expect([right.status, right.body.code]).toEqual([403, 'InvalidAuthScope'])
      const wrong = await login({ ...user, password: 'wrong' }, { scope, token: false })
      expect(wrong.body.code).toBe('AuthFailed')
    }
  })

  test('give a caller of role auth no token', async () => {
    const user = await fresh()
    const seed = await withCodes(user)
    const { token } = await service.teal.core.access.provision('checks logins', 'auth')
    const entered = await service.call(
      'POST',
      '/authenticate',
      { username: user.name, password: user.password, token: true },
      token,
    )
    expect(entered.body).toMatchObject({ success: true, require2fa: ['totp'] })
    expect(entered.body).not.toHaveProperty('token')
    const checked = await factor(
      user,
      'POST',
      '/totp/check',
      { token: codeOf(seed), totpNonce: await nonceOf(user) },
      token,
    )
    expect(checked.body).toEqual({ success: true })
  })
})

describe('the custom factor', () => {
  test('is a hint for the client: the token is given, protocols need application passwords', async () => {
    const user = await fresh()
    const mine = (await login(user)).body.token
    const other = (await login(user)).body.token
    expect((await factor(user, 'PUT', '/custom', {}, mine)).body).toEqual({ success: true })
    expect([await good(mine), await good(other)]).toEqual([200, 403])
    expect((await factor(user, 'PUT', '/custom')).body.code).toBe('CustomEnabled')
    expect((await login(user)).body).toMatchObject({ require2fa: ['custom'], token: expect.any(String) })
    expect((await login(user)).body).not.toHaveProperty('twoFactorNonce')
    expect((await login(user, { scope: 'imap', token: false })).body.code).toBe('InvalidAuthScope')
    expect((await factor(user, 'DELETE', '/custom')).body).toEqual({ success: true })
    expect((await factor(user, 'DELETE', '/custom')).body.code).toBe('CustomDisabled')
  })
})

async function withKey(user: User, key = new Authenticator('ES256', { counter: 1 }), token?: string) {
  const asked = await factor(
    user,
    'POST',
    '/webauthn/registration-challenge',
    { description: 'Key', origin, rpId },
    token,
  )
  const { challenge } = asked.body.registrationOptions
  const brought = key.register({ challenge, origin, rpId })
  const reply = await factor(user, 'POST', '/webauthn/registration-attestation', { challenge, rpId, ...brought }, token)
  expect(reply.body).toMatchObject({ success: true })
  return {
    key,
    credential: reply.body.response.id as string,
    challenge,
    reply: reply.body,
    options: asked.body.registrationOptions,
  }
}

async function answer(
  user: User,
  key: Authenticator,
  more: Record<string, unknown> = {},
  asking: Record<string, unknown> = {},
  quirks: Quirks = {},
) {
  const asked = await factor(user, 'POST', '/webauthn/authentication-challenge', { origin, rpId, ...asking })
  const { challenge } = asked.body.authenticationOptions
  const brought = { challenge, rpId, ...key.login({ challenge, origin, rpId }, quirks), ...more }
  return {
    brought,
    reply: await factor(user, 'POST', '/webauthn/authentication-assertion', brought),
    asked: asked.body,
  }
}

describe('security keys', () => {
  test('are registered, listed, used to finish a login and taken away, with hexadecimal values all along', async () => {
    const user = await fresh()
    const mine = (await login(user)).body.token
    const other = (await login(user)).body.token
    const { key, credential, options, reply } = await withKey(user, undefined, mine)
    expect([await good(mine), await good(other)]).toEqual([200, 403])
    expect(options).toMatchObject({
      challenge: expect.stringMatching(/^[0-9a-f]{128}$/),
      rp: { id: rpId },
      user: { id: user.id, name: `${user.name}@example.com` },
      attestation: 'none',
    })
    const rawId = key.id.toString('hex')
    const shown = { id: credential, rawId, description: 'Key', authenticatorAttachment: 'cross-platform' }
    expect(reply).toEqual({ success: true, ...shown, response: { success: true, ...shown } })
    expect((await service.call('GET', `/users/${user.id}/2fa/webauthn/credentials`)).body).toEqual({
      success: true,
      credentials: [shown],
    })

    const { body } = await login(user)
    expect(body).toMatchObject({ require2fa: ['webauthn'], twoFactorNonce: expect.any(String) })
    expect(body).not.toHaveProperty('totpNonce')
    const { twoFactorNonce } = body
    const {
      asked,
      reply: passed,
      brought,
    } = await answer(user, key, { twoFactorNonce, token: false }, { twoFactorNonce })
    expect(asked.authenticationOptions.allowCredentials).toEqual([{ rawId, type: 'public-key' }])
    expect(passed.body.response).toEqual({ authenticated: true, credential })
    expect(await good(passed.body.token)).toBe(200)
    const again = await factor(user, 'POST', '/webauthn/authentication-assertion', brought)
    expect([again.status, again.body.code]).toEqual([403, 'Invalid2faNonce'])

    const second = await withKey(user, new Authenticator('RS256'))
    expect(second.options.excludeCredentials).toEqual([
      { rawId, type: 'public-key', transports: ['usb', 'nfc', 'ble'] },
    ])
    const away = (id: string) => factor(user, 'DELETE', `/webauthn/credentials/${id}`)
    expect((await away(credential)).body).toEqual({ success: true, deleted: true })
    expect([(await away(credential)).status, (await away(credential)).body.code]).toEqual([404, 'CredentialsNotFound'])
    expect((await login(user)).body.require2fa).toEqual(['webauthn'])
    await away(second.credential)
    expect((await login(user)).body.token).toMatch(/./)
    const asks = await factor(user, 'POST', '/webauthn/authentication-challenge', { origin, rpId })
    expect([asks.status, asks.body.code]).toEqual([400, 'WebAuthnDisabled'])
  })

  test('alone give a token where one is asked for, and their counter must grow', async () => {
    const user = await fresh()
    const { key } = await withKey(user)
    expect((await answer(user, key)).reply.body).not.toHaveProperty('token')
    const touched = await answer(user, key, { token: true })
    expect(touched.asked.authenticationOptions.userVerification).toBe('required')
    expect([touched.reply.status, touched.reply.body.code]).toEqual([403, 'InvalidAssertion'])
    expect(touched.reply.body.error).toContain('does not say who used it')
    const verified = await answer(user, key, { token: true }, {}, { flags: 0x05 })
    expect(await good(verified.reply.body.token)).toBe(200)
    key.counter = 0
    const copied = (await answer(user, key)).reply
    expect([copied.status, copied.body.code]).toEqual([403, 'InvalidAssertion'])
  })

  test('are refused with a foreign challenge, origin, relying party, signature or key, and nothing of it is a 500', async () => {
    const [user, other] = [await fresh(), await fresh()]
    const { key, challenge: used } = await withKey(user)
    const foreign = await withKey(other)
    const strangers = new Authenticator('ES256')
    const ask = async () =>
      (await factor(user, 'POST', '/webauthn/authentication-challenge', { origin, rpId })).body.authenticationOptions
        .challenge
    const send = async (body: object) => {
      const { status, body: said } = await factor(user, 'POST', '/webauthn/authentication-assertion', body)
      return [status, said.code]
    }
    const signed = (challenge: string, quirks = {}, by = key) => ({
      challenge,
      ...by.login({ challenge, origin, rpId }, quirks),
    })
    for (const digits of [2, 64, 128, 2048])
      expect(await send(signed('a'.repeat(digits)))).toEqual([404, 'ChallengeNotFound'])
    expect((await send({ ...signed('aa'), challenge: 'a'.repeat(2050) }))[0]).toBe(400)
    expect(await send(signed(used))).toEqual([404, 'ChallengeNotFound'])
    const theirs = (await factor(other, 'POST', '/webauthn/authentication-challenge', { origin, rpId })).body
    expect(await send(signed(theirs.authenticationOptions.challenge))).toEqual([404, 'ChallengeNotFound'])
    expect(await send(signed(await ask(), { origin: 'https://evil.example' }))).toEqual([403, 'InvalidAssertion'])
    expect(await send(signed(await ask(), { rpId: 'evil.example' }))).toEqual([403, 'InvalidAssertion'])
    expect(await send({ ...signed(await ask()), rpId: 'evil.example' })).toEqual([403, 'InvalidAssertion'])
    expect(await send({ ...signed(await ask()), signature: '00'.repeat(70) })).toEqual([403, 'InvalidAssertion'])
    shiftClock(200_000)
    expect(await send(signed(await ask(), {}, strangers))).toEqual([404, 'CredentialsNotFound'])
    expect(await send(signed(await ask(), {}, foreign.key))).toEqual([404, 'CredentialsNotFound'])
    expect(await send({ ...signed(await ask()), clientDataJSON: Buffer.from('{').toString('hex') })).toEqual([
      403,
      'InvalidAssertion',
    ])
    const once = signed(await ask())
    expect((await send(once))[0]).toBe(200)
    expect(await send(once)).toEqual([404, 'ChallengeNotFound'])
    const old = await ask()
    shiftClock(3_900_000)
    expect(await send(signed(old))).toEqual([404, 'ChallengeNotFound'])
  })

  test('cannot be registered by a tampered or foreign answer', async () => {
    const user = await fresh()
    const ask = async () =>
      (await factor(user, 'POST', '/webauthn/registration-challenge', { description: 'Key', origin, rpId })).body
        .registrationOptions.challenge
    const send = async (body: object) => {
      const { status, body: said } = await factor(user, 'POST', '/webauthn/registration-attestation', body)
      return [status, said.code]
    }
    const key = new Authenticator('ES256')
    const made = (challenge: string, quirks = {}) => ({
      challenge,
      ...key.register({ challenge, origin, rpId }, quirks),
    })
    expect(await send(made('b'.repeat(128)))).toEqual([404, 'ChallengeNotFound'])
    expect(await send(made(await ask(), { origin: 'https://evil.example' }))).toEqual([400, 'InvalidAttestation'])
    expect(await send(made(await ask(), { rpId: 'evil.example' }))).toEqual([400, 'InvalidAttestation'])
    expect(await send({ ...made(await ask()), rpId: 'evil.example' })).toEqual([400, 'InvalidAttestation'])
    expect(await send({ ...made(await ask()), attestationObject: 'ff'.repeat(100) })).toEqual([
      400,
      'InvalidAttestation',
    ])
    expect(await send({ ...made(await ask()), rawId: 'aa'.repeat(32) })).toEqual([400, 'InvalidAttestation'])
    const once = made(await ask())
    expect(await send(once)).toEqual([200, undefined])
    expect(await send(once)).toEqual([404, 'ChallengeNotFound'])
    expect(await send(made(await ask()))).toEqual([400, 'InvalidAttestation'])
    for (const [body, field] of [
      [{ ...once, challenge: 'no hex' }, 'challenge'],
      [{ ...once, attestationObject: 'AQID-_' }, 'attestationObject'],
      [{ ...once, rawId: 7 }, 'rawId'],
      [{ ...once, clientDataJSON: '' }, 'clientDataJSON'],
    ] as const) {
      const { status, body: said } = await factor(user, 'POST', '/webauthn/registration-attestation', body)
      expect([status, Object.keys(said.details)]).toEqual([400, [field]])
    }
    const noPage = await factor(user, 'POST', '/webauthn/registration-challenge', {
      description: 'x',
      origin: 'nowhere',
    })
    expect(Object.keys(noPage.body.details)).toEqual(['origin'])
  })

  test('belong to the login they were asked for', async () => {
    const user = await fresh()
    const { key } = await withKey(user)
    const first = (await login(user)).body.twoFactorNonce
    const second = (await login(user)).body.twoFactorNonce
    const crossed = await answer(user, key, { twoFactorNonce: second }, { twoFactorNonce: first })
    expect([crossed.reply.status, crossed.reply.body.code]).toEqual([403, 'Invalid2faNonce'])
    const dropped = await answer(user, key, {}, { twoFactorNonce: first })
    expect(dropped.reply.body.code).toBe('Invalid2faNonce')
    const unknown = await factor(user, 'POST', '/webauthn/authentication-challenge', {
      origin,
      rpId,
      twoFactorNonce: '0'.repeat(40),
    })
    expect([unknown.status, unknown.body.code]).toEqual([403, 'Invalid2faNonce'])
    expect((await answer(user, key, { twoFactorNonce: second }, { twoFactorNonce: second })).reply.body.token).toMatch(
      /./,
    )
  })

  test('that answer wrongly are counted', async () => {
    const user = await fresh()
    const { key } = await withKey(user)
    const codes: string[] = []
    for (let at = 0; at < 7; at++) codes.push((await answer(user, key, { signature: '00'.repeat(70) })).reply.body.code)
    expect(codes).toEqual([...Array(6).fill('InvalidAssertion'), 'RateLimitedError'])
  })
})

describe('what ends second factors', () => {
  test('all of them go together, and a deleted key is an event', async () => {
    const user = await fresh()
    await withCodes(user)
    await withKey(user)
    expect((await login(user)).body.require2fa).toEqual(['totp', 'webauthn'])
    expect((await factor(user, 'DELETE', '')).body).toEqual({ success: true })
    expect((await login(user)).body).toMatchObject({ require2fa: false, token: expect.any(String) })
    await withKey(user)
    await service.call('PUT', `/users/${user.id}`, { disable2fa: true })
    expect((await login(user)).body.require2fa).toBe(false)
    expect((await factor({ ...user, id: 'f'.repeat(24) }, 'DELETE', '')).body.code).toBe('UserNotFound')
    const actions = (await service.call('GET', `/users/${user.id}/authlog`)).body.results.map(
      (entry: { action: string }) => entry.action,
    )
    for (const action of ['enable 2fa totp', 'register webauthn', 'disable 2fa', 'account created'])
      expect(actions).toContain(action)
  })
})

describe('an account nobody has', () => {
  const none = 'f'.repeat(24)
  const code = { token: '123456' }
  const page = { origin, description: 'x' }
  const registration = { challenge: 'a'.repeat(128), rawId: 'aa', clientDataJSON: 'aa', attestationObject: 'aa' }
  const shown = {
    challenge: 'a'.repeat(128),
    rawId: 'aa',
    clientDataJSON: 'aa',
    authenticatorData: 'aa',
    signature: 'aa',
  }
  test.each<[string, string, object | undefined]>([
    ['POST', `/users/${none}/2fa/totp/setup`, { issuer: 'x' }],
    ['POST', `/users/${none}/2fa/totp/enable`, code],
    ['POST', `/users/${none}/2fa/totp/check`, code],
    ['DELETE', `/users/${none}/2fa/totp`, undefined],
    ['PUT', `/users/${none}/2fa/custom`, {}],
    ['DELETE', `/users/${none}/2fa/custom`, undefined],
    ['DELETE', `/users/${none}/2fa`, undefined],
    ['GET', `/users/${none}/2fa/webauthn/credentials`, undefined],
    ['DELETE', `/users/${none}/2fa/webauthn/credentials/${none}`, undefined],
    ['POST', `/users/${none}/2fa/webauthn/registration-challenge`, page],
    ['POST', `/users/${none}/2fa/webauthn/registration-attestation`, registration],
    ['POST', `/users/${none}/2fa/webauthn/authentication-challenge`, { origin }],
    ['POST', `/users/${none}/2fa/webauthn/authentication-assertion`, shown],
    ['GET', `/users/${none}/authlog`, undefined],
    ['GET', `/users/${none}/authlog/${none}`, undefined],
    ['GET', `/users/${none}/asps`, undefined],
    ['POST', `/users/${none}/asps`, { description: 'x' }],
    ['GET', `/users/${none}/asps/${none}`, undefined],
    ['DELETE', `/users/${none}/asps/${none}`, undefined],
    ['POST', `/users/${none}/password/reset`, {}],
  ])('is unknown to %s %s', async (method, path, body) => {
    const reply = await service.call(method, path, body)
    expect([reply.status, reply.body.code]).toEqual([404, 'UserNotFound'])
  })

  test('and one of another role than the endpoint wants may not', async () => {
    const { token } = await service.teal.core.access.provision('reads mail', 'downloader')
    for (const [method, path] of [
      ['POST', `/users/${none}/2fa/totp/check`],
      ['GET', `/users/${none}/authlog`],
      ['GET', `/users/${none}/asps`],
      ['DELETE', `/users/${none}/2fa`],
    ] as const) {
      const reply = await service.call(method, path, method === 'POST' ? code : undefined, token)
      expect([reply.status, reply.body.code]).toEqual([403, 'MissingPrivileges'])
    }
  })
})

describe('a token that was stolen a while ago', () => {
  test('neither takes the second factor away nor changes the password nor makes other ways in, without the password', async () => {
    const user = await fresh()
    const token = (await login(user)).body.token
    expect((await factor(user, 'PUT', '/custom', {}, token)).status).toBe(200)
    shiftClock(16 * 60_000)
    const existingPassword = user.password
    const tries: [string, string, object][] = [
      ['DELETE', '/2fa', {}],
      ['DELETE', '/2fa/custom', {}],
      ['DELETE', '/2fa/totp', {}],
      ['DELETE', `/2fa/webauthn/credentials/${'f'.repeat(24)}`, {}],
      ['POST', '/2fa/totp/setup', { issuer: 'x' }],
      ['POST', '/2fa/webauthn/registration-challenge', { description: 'x', origin }],
      ['POST', '/asps', { description: 'x' }],
      ['PUT', '', { password: 'mine now' }],
      ['PUT', '', { disable2fa: true }],
    ]
    for (const [method, path, body] of tries) {
      const bare = await service.call(method, `/users/me${path}`, body, token)
      expect([path, bare.status, bare.body.code]).toEqual([path, 403, 'FreshLoginRequired'])
      const wrong = await service.call(method, `/users/me${path}`, { ...body, existingPassword: 'guess' }, token)
      expect([path, wrong.status, wrong.body.code]).toEqual([path, 403, 'AuthFail'])
    }
    expect((await service.call('PUT', '/users/me', { name: 'New' }, token)).status).toBe(200)
    expect((await service.call('POST', '/users/me/asps', { description: 'x', existingPassword }, token)).status).toBe(
      200,
    )
    expect((await service.call('PUT', '/users/me', { disable2fa: true, existingPassword }, token)).status).toBe(200)
    expect((await service.call('PUT', '/users/me', { password: 'mine', existingPassword }, token)).status).toBe(200)
    expect(await good(token)).toBe(200)
  })
})

describe('a token that was made on the command line', () => {
  test('is no fresh login, and stays when it logs out', async () => {
    const user = await fresh()
    const env = environmentOf(service.teal.config)
    const made = await runTeal(['token', 'create', '--role', 'user', '--user', user.id], env)
    const token = made.out.trim()
    expect(await good(token)).toBe(200)
    const change = (more: object) => service.call('PUT', '/users/me', { password: 'quite another one', ...more }, token)
    expect((await change({})).body.code).toBe('FreshLoginRequired')
    expect((await service.call('DELETE', '/authenticate', undefined, token)).status).toBe(200)
    expect(await good(token)).toBe(200)
    expect((await change({ existingPassword: user.password })).status).toBe(200)
    expect(await good(token)).toBe(200)
  })
})

describe('where second factors are not strict', () => {
  const lax = useTeal({ auth: { strict2fa: false } })

  test('the token comes at once and the code is checked beside it', async () => {
    const id = await lax.user('lax')
    settle()
    const { body } = await lax.call('POST', `/users/${id}/2fa/totp/setup`, { issuer: 'x' })
    await lax.call('POST', `/users/${id}/2fa/totp/enable`, { token: codeOf(body.seed) })
    const entered = await lax.call('POST', '/authenticate', { username: 'lax', password: 'secret of lax', token: true })
    expect(entered.body).toMatchObject({
      token: expect.any(String),
      totpNonce: expect.any(String),
      require2fa: ['totp'],
    })
    expect(entered.body).not.toHaveProperty('twoFactorNonce')
    const check = { token: codeOf(body.seed), totpNonce: entered.body.totpNonce }
    expect((await lax.call('POST', `/users/${id}/2fa/totp/check`, check)).body).toEqual({ success: true })
  })
})
