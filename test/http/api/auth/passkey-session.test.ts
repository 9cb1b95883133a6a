// Signing in with a passkey alone: nothing is said of who is here, and nothing opens but a fresh answer of a verified owner, once, for this page.

import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { startTeal } from '#service'
import { Authenticator, type Quirks } from '../../../lib/secret/authenticator.ts'
import { type Body, useTeal } from '../../../running.ts'

const service = useTeal({ api: { port: 0, accessControl: { enabled: true } } })
const rpId = 'localhost'
const verified = 0x05

afterEach(() => shiftClock(0))

const pageOrigin = () => `http://localhost:${service.at('api').port}`

interface Answer {
  readonly status: number
  readonly body: Body
  readonly cookie: string
}

/** A call as the page makes it: browsers set these headers, `fetch` does not let others do so. */
function send(
  method: string,
  path: string,
  body: object,
  origin = pageOrigin(),
  headers: Record<string, string> = {},
  { host, port } = service.at('api'),
): Promise<Answer> {
  const all = { origin, 'sec-fetch-site': 'same-origin', 'x-teal-page': '1', 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const asking = request({ host, port, path, method, headers: { ...all, ...headers } }, response => {
      let said = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        said += part
      })
      response.on('end', () => {
        const cookie = response.headers['set-cookie']?.[0] ?? ''
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(said), cookie })
      })
    })
    asking.on('error', reject)
    asking.end(JSON.stringify(body))
  })
}

let count = 0

async function owner() {
  count += 1
  const name = `passkey${count}`
  const id = await service.user(name)
  const key = new Authenticator('ES256')
  const form = { origin: pageOrigin(), rpId, description: 'Laptop', authenticatorAttachment: 'platform' }
  const path = `/users/${id}/2fa/webauthn`
  const asked = await service.call('POST', `${path}/registration-challenge`, form)
  const { challenge } = asked.body.registrationOptions
  const made = key.register({ challenge, origin: pageOrigin(), rpId })
  const done = await service.call('POST', `${path}/registration-attestation`, { challenge, rpId, ...made })
  expect(done.body).toMatchObject({ success: true })
  return { id, name, key, path, credential: done.body.id as string }
}

async function ask(origin?: string): Promise<string> {
  return (await send('POST', '/session/passkey-challenge', {}, origin)).body.authenticationOptions.challenge
}

const handleOf = (id: string) => Buffer.from(id).toString('hex')

function shown(key: Authenticator, id: string, challenge: string, quirks: Quirks = {}) {
  const answer = key.login({ challenge, origin: pageOrigin(), rpId }, { flags: verified, ...quirks })
  return { challenge, ...answer, userHandle: handleOf(id) }
}

const outcome = ({ status, body }: Answer) => [status, body.code]

test('whoever has one is in, without a name and a password, and the question is the same for everybody', async () => {
  const { id, key, name } = await owner()
  const asked = await send('POST', '/session/passkey-challenge', {})
  const { authenticationOptions: options } = asked.body
  expect(options).toMatchObject({ rpId, userVerification: 'required', allowCredentials: [] })
  expect(options.challenge).toMatch(/^[0-9a-f]{128}$/)
  const entered = await send('POST', '/session/passkey', shown(key, id, options.challenge))
  expect(entered.body).toMatchObject({ success: true, signedIn: true, user: { id, username: name }, role: 'user' })
  const token = /^teal=([0-9a-f]{40});/.exec(entered.cookie)?.[1]
  expect((await service.call('GET', '/users/me', undefined, token)).body.id).toBe(id)
  const log = (await service.call('GET', `/users/${id}/authlog`)).body.results
  expect(log).toContainEqual(
    expect.objectContaining({ action: 'check 2fa webauthn', result: 'success', protocol: 'Web' }),
  )
})

test('an answer serves once, also where two come at once, and not for long', async () => {
  const { id, key } = await owner()
  const twice = shown(key, id, await ask())
  const both = await Promise.all([send('POST', '/session/passkey', twice), send('POST', '/session/passkey', twice)])
  expect(both.map(outcome).toSorted()).toEqual([
    [200, undefined],
    [404, 'ChallengeNotFound'],
  ])
  expect(outcome(await send('POST', '/session/passkey', twice))).toEqual([404, 'ChallengeNotFound'])
  const old = shown(key, id, await ask())
  shiftClock(limits.webauthn.passkeyMs + 1000)
  expect(outcome(await send('POST', '/session/passkey', old))).toEqual([404, 'ChallengeNotFound'])
})

test('a question is known wherever the same keys are: after a new start, and at another node', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'teal-passkey-'))
  const page = 'https://mail.example.com'
  const garbage = { rawId: 'aa', clientDataJSON: 'aa', authenticatorData: 'aa', signature: 'aa', userHandle: 'aa' }
  const during = async <Value>(task: (at: { host: string; port: number }) => Promise<Value>) => {
    const teal = await startTeal({ dataDir, threads: 0, api: { port: 0 } })
    try {
      return await task(teal.listeners.api ?? { host: '', port: 0 })
    } finally {
      await teal.close()
    }
  }
  try {
    const asked = await during(at => send('POST', '/session/passkey-challenge', {}, page, {}, at))
    const { challenge } = asked.body.authenticationOptions
    const shown = { challenge, ...garbage }
    const said = await during(at => send('POST', '/session/passkey', shown, page, {}, at))
    expect(outcome(said)).toEqual([403, 'InvalidAssertion'])
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('nothing else opens, and what is said tells nobody who has an account or a key', async () => {
  const { id, key } = await owner()
  const other = await owner()
  const none = await service.user('keyless')
  const refused = [403, 'InvalidAssertion']
  const texts = new Set<string>()
  const tries: [string, string, Quirks, Authenticator][] = [
    ['nobody verified', id, { flags: 0x01 }, key],
    ['another origin', id, { origin: 'https://evil.example' }, key],
    ['another relying party', id, { rpId: 'evil.example' }, key],
    ['a key that is not registered', id, {}, new Authenticator('ES256')],
    ['somebody else’s key', id, {}, other.key],
    ['no such account', '0'.repeat(24), {}, key],
    ['an account without keys', none, {}, key],
    ['no id at all', '!', {}, key],
  ]
  for (const [what, user, quirks, by] of tries) {
    const answer = await send('POST', '/session/passkey', shown(by, user, await ask(), quirks))
    expect([what, ...outcome(answer)]).toEqual([what, ...refused])
    expect(answer.cookie).toBe('')
    texts.add(answer.body.error)
  }
  expect([...texts]).toHaveLength(1)
  const unknown = 'a'.repeat(128)
  expect(outcome(await send('POST', '/session/passkey', shown(key, id, unknown)))).toEqual([404, 'ChallengeNotFound'])
})

test('a question that another page asked, or that belongs to a login, opens nothing; no other site is answered', async () => {
  const { id, key, path } = await owner()
  const elsewhere = await ask('https://sub.localhost')
  expect(outcome(await send('POST', '/session/passkey', shown(key, id, elsewhere)))).toEqual([404, 'ChallengeNotFound'])
  const form = { origin: pageOrigin(), rpId, authenticatorAttachment: 'platform' }
  const { challenge } = (await service.call('POST', `${path}/authentication-challenge`, form)).body
    .authenticationOptions
  expect(outcome(await send('POST', '/session/passkey', shown(key, id, challenge)))).toEqual([404, 'ChallengeNotFound'])
  const mine = await ask()
  const brought = {
    challenge: mine,
    ...key.login({ challenge: mine, origin: pageOrigin(), rpId }, { flags: verified }),
  }
  const there = await service.call('POST', `${path}/authentication-assertion`, { ...brought, rpId, token: true })
  expect([there.status, there.body.code]).toEqual([404, 'ChallengeNotFound'])
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'x-teal-page': '' },
    { origin: '', 'sec-fetch-site': 'none' },
  ]
  for (const headers of foreign) {
    expect(outcome(await send('POST', '/session/passkey-challenge', {}, pageOrigin(), headers))).toEqual([
      403,
      'ForeignPage',
    ])
    expect(outcome(await send('POST', '/session/passkey', brought, pageOrigin(), headers))[0]).toBeGreaterThanOrEqual(
      400,
    )
  }
})

test('an account that is closed is closed for its passkey, and one that is taken away opens nothing', async () => {
  const { id, key } = await owner()
  await service.call('PUT', `/users/${id}`, { disabled: true })
  expect(outcome(await send('POST', '/session/passkey', shown(key, id, await ask())))).toEqual([
    403,
    'InvalidAssertion',
  ])
  const gone = await owner()
  await service.call('DELETE', `${gone.path}/credentials/${gone.credential}`)
  expect(outcome(await send('POST', '/session/passkey', shown(gone.key, gone.id, await ask())))).toEqual([
    403,
    'InvalidAssertion',
  ])
})

test('whoever guesses is held up', async () => {
  const { id } = await owner()
  const codes: string[] = []
  for (let round = 0; round <= limits.attempts.factorFailuresMax; round++) {
    const wrong = shown(new Authenticator('ES256'), id, await ask())
    codes.push((await send('POST', '/session/passkey', wrong)).body.code)
  }
  expect(codes.at(0)).toBe('InvalidAssertion')
  expect(codes.at(-1)).toBe('RateLimitedError')
})
