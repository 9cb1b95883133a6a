// What an account can have made again and again: so much of it is kept, and the rest goes, so that what others count on stays.

import { type IncomingHttpHeaders, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { Authenticator } from '../../../lib/secret/authenticator.ts'
import { useTeal } from '../../../running.ts'

const service = useTeal({ auth: { strict2fa: true } })
afterEach(() => shiftClock(0))

const origin = 'https://mail.example.com'
const rpId = 'example.com'

/** Asks for the page's session as a browser does: the headers of one are not to be set in fetch. */
async function page(
  method: string,
  more: Record<string, string>,
  body?: object,
): Promise<{ headers: IncomingHttpHeaders; body: unknown }> {
  const { host, port } = service.at('api')
  const own = { origin: `http://${host}:${port}`, 'sec-fetch-site': 'same-origin', 'x-teal-page': '1' }
  const headers = { ...own, 'content-type': 'application/json', 'user-agent': 'Mozilla/5.0 Firefox/130.0', ...more }
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path: '/session', method, headers }, answer => {
      json(answer).then(said => resolve({ headers: answer.headers, body: said }), reject)
    })
    asked.once('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

test('logins of one account: the last ones hold, and whoever stays is not ended by one that takes a token for each request', async () => {
  const id = await service.user('anna')
  await service.user('bert')
  const as = (username: string) => ({ username, password: `secret of ${username}` })
  const login = async (username: string): Promise<string> =>
    (await service.call('POST', '/authenticate', { ...as(username), token: true })).body.token
  const good = async (token: string) => (await service.call('GET', '/authenticated', undefined, token)).status === 200
  const other = await login('bert')
  const signedIn = await page('POST', {}, as('anna'))
  const [cookie = ''] = (signedIn.headers['set-cookie']?.[0] ?? '').split(';')
  const comesBack = await login('anna')
  shiftClock(2 * limits.token.extendMs)
  expect(await good(comesBack)).toBe(true)
  shiftClock(4 * limits.token.extendMs)
  const first = await login('anna')
  const { ofAccountMax } = limits.token
  const tokens: string[] = []
  while (tokens.length < ofAccountMax - 1) tokens.push(await login('anna'))
  expect(await good(first)).toBe(true)
  tokens.push(await login('anna'))
  expect(await good(first)).toBe(false)
  for (const token of [tokens[0], tokens.at(-1), other, comesBack]) expect(await good(token ?? '')).toBe(true)
  expect((await page('GET', { cookie })).body).toMatchObject({ signedIn: true, user: { id } })
})

test('challenges of one account: the last ones can be answered', async () => {
  const anna = await service.user('asked')
  const bert = await service.user('quiet')
  const ask = async (id: string): Promise<string> =>
    (await service.call('POST', `/users/${id}/2fa/webauthn/registration-challenge`, { description: 'k', origin, rpId }))
      .body.registrationOptions.challenge
  const answer = async (id: string, challenge: string) => {
    const body = { challenge, ...new Authenticator('ES256').register({ challenge, origin, rpId }) }
    const { status, body: said } = await service.call(
      'POST',
      `/users/${id}/2fa/webauthn/registration-attestation`,
      body,
    )
    return status === 200 ? 'registered' : said.code
  }
  const theirs = await ask(bert)
  const first = await ask(anna)
  const others: string[] = []
  for (let count = 0; count < limits.webauthn.challengesMax; count++) others.push(await ask(anna))
  expect(await answer(anna, first)).toBe('ChallengeNotFound')
  expect(await answer(anna, others[0] ?? '')).toBe('registered')
  expect(await answer(anna, others.at(-1) ?? '')).toBe('registered')
  expect(await answer(bert, theirs)).toBe('registered')
})

test('logins that wait for a second factor: the last ones can be finished', async () => {
  const id = await service.user('waits')
  const key = new Authenticator('ES256')
  const call = async (path: string, body: object) =>
    (await service.call('POST', `/users/${id}/2fa/webauthn${path}`, body)).body
  const { registrationOptions } = await call('/registration-challenge', { description: 'k', origin, rpId })
  const { challenge } = registrationOptions
  await call('/registration-attestation', { challenge, ...key.register({ challenge, origin, rpId }) })
  const login = async (): Promise<string> =>
    (await service.call('POST', '/authenticate', { username: 'waits', password: 'secret of waits', token: true })).body
      .twoFactorNonce
  const first = await login()
  const nonces: string[] = []
  for (let count = 0; count < limits.credential.noncesMax; count++) nonces.push(await login())
  const asked = (nonce: string | undefined) =>
    call('/authentication-challenge', { origin, rpId, twoFactorNonce: nonce })
  expect((await asked(first)).code).toBe('Invalid2faNonce')
  expect((await asked(nonces[0])).success).toBe(true)
})

test('entries of the log whose time is over: none is left, however many there were', async () => {
  const id = await service.user('logged')
  const { credentials, read } = service.teal.core
  const { num } = (await read.one<{ num: number }>('SELECT num FROM "user" WHERE id = ?', id)) ?? { num: 0 }
  const count = async () =>
    (await read.one<{ n: number }>('SELECT count(*) AS n FROM authlog WHERE "user" = ?', num))?.n ?? 0
  for (let at = 0; at < 2 * limits.authLog.sweepRowsMax; at++)
    await credentials.authLog.add(num, {
      action: 'authentication',
      result: 'success',
      ip: `10.0.${at >> 8}.${at & 255}`,
    })
  await credentials.authLog.flush()
  expect(await count()).toBeGreaterThan(limits.authLog.sweepRowsMax)
  shiftClock(31 * limits.time.day)
  await credentials.authLog.sweep()
  expect(await count()).toBe(0)
})
