// The talk with ACME servers that are hostile or broken: nothing is followed inside, nothing is read or waited for without end.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { acmeName } from '#lib/acme-name.ts'
import { limits } from '#lib/limits.ts'
import { Outward } from '#net/outward/outward.ts'
import { type AcmeRefusal, AcmeSession, acmeFailure } from '#net/tls/acme.ts'
import { Challenges } from '#net/tls/challenges.ts'
import { keyOf, newKey } from '../authority.ts'

type Route = (request: IncomingMessage, response: ServerResponse) => void

let server: Server
let base: string
let routes: Record<string, Route>
let calls: string[]
const stop = new AbortController()

const json = (body: unknown, headers: Record<string, string> = {}, status = 200): Route => {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'replay-nonce': 'n', ...headers })
    response.end(JSON.stringify(body))
  }
}

beforeEach(async () => {
  calls = []
  server = createServer((request, response) => {
    calls.push(request.url ?? '')
    const route = routes[request.url ?? '']
    if (route === undefined) response.writeHead(404).end()
    else route(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const names = ['newNonce', 'newAccount', 'newOrder']
  const list = Object.fromEntries(names.map(name => [name, `${base}/${name}`]))
  routes = {
    '/directory': json(list),
    '/newNonce': json(''),
    '/newAccount': json({ status: 'valid' }, { location: `${base}/account` }, 201),
    '/account': json({ status: 'valid' }),
  }
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

/** Does something with a session whose account is known, and gives what came of it. */
async function attempt(
  task: (session: AcmeSession) => Promise<unknown>,
  { allowPrivate = ['127.0.0.0/8'], signal = stop.signal, account = `${base}/account` as string | null } = {},
): Promise<{ word: string; text: string; error: unknown }> {
  const agent = new Outward({ allowPrivate }).agent({ connectionsMax: 2, answerBytesMax: limits.acme.answerBytesMax })
  const key = newKey().export({ type: 'pkcs8', format: 'pem' }).toString()
  expect(keyOf(key).asymmetricKeyType).toBe('ec')
  const binding = { bindingKeyId: '', bindingKey: '' }
  const session = new AcmeSession({
    agent,
    binding,
    directory: `${base}/directory`,
    key,
    account,
    userAgent: 'Teal/0',
    signal,
  })
  try {
    await task(session)
    return { word: '', text: '', error: undefined }
  } catch (error) {
    return { word: acmeFailure(error), text: String((error as Error).message), error }
  } finally {
    await agent.destroy()
  }
}

const begin = (session: AcmeSession) => session.begin('mail.teal.test')

describe('a session', () => {
  test('makes an account and an order', async () => {
    routes['/newOrder'] = json({ status: 'pending', authorizations: [] }, { location: `${base}/order` }, 201)
    expect(await attempt(session => session.account('a@teal.test', true), { account: null })).toMatchObject({
      word: '',
    })
    expect(await attempt(begin)).toMatchObject({ word: '' })
    expect(calls.at(-1)).toBe('/newOrder')
  })

  test('goes to no address inside, whoever names it', async () => {
    expect((await attempt(begin, { allowPrivate: [] })).word).toBe('blocked')
    expect(calls).toEqual([])
    for (const place of ['http://10.1.2.3/order', 'http://[::1]:1/order', 'http://169.254.169.254/latest']) {
      routes['/directory'] = json({ newNonce: `${base}/newNonce`, newOrder: place })
      expect([place, (await attempt(begin)).word]).toEqual([place, 'blocked'])
    }
  })

  test('follows no redirect and changes no protocol', async () => {
    routes['/newOrder'] = json({}, { location: `${base}/account` }, 307)
    expect((await attempt(begin)).word).toBe('server')
    expect(calls).not.toContain('/account')
    for (const place of ['https://127.0.0.1/x', 'file:///etc/passwd', 'nonsense', 7, `${base}/${'x'.repeat(3000)}`]) {
      routes['/directory'] = json({ newNonce: `${base}/newNonce`, newOrder: place })
      expect([place, (await attempt(begin)).word]).toEqual([place, 'server'])
    }
    routes['/directory'] = json({ newNonce: `${base}/newNonce`, newOrder: `${base}/newOrder` })
    routes['/newOrder'] = json({ status: 'pending' }, { location: '../x' }, 201)
    expect((await attempt(begin)).word).toBe('server')
  })

  test('reads no more than so much and waits no longer than so long', async () => {
    routes['/directory'] = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    }
    expect((await attempt(begin)).word).toBe('protocol')
    const most = limits.acme as { requestMs: number }
    const { requestMs } = most
    most.requestMs = 200
    try {
      const silent: Route = () => {}
      const slow: Route = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).write('{')
      for (const route of [silent, slow]) {
        routes['/directory'] = route
        expect((await attempt(begin)).word).toBe('timeout')
      }
    } finally {
      most.requestMs = requestMs
    }
  })

  test('ends at once with its signal, in the middle of a call and while it waits', async () => {
    const ended = new AbortController()
    routes['/directory'] = () => ended.abort(new Error('stopping'))
    expect((await attempt(begin, { signal: ended.signal })).text).toBe('stopping')
    expect((await attempt(begin, { signal: ended.signal })).text).toBe('stopping')
  })

  test('has words for what it is told, and no control characters in the log', async () => {
    const refusals: [status: number, type: string, word: string][] = [
      [429, 'rateLimited', 'rateLimited'],
      [403, 'rateLimited', 'rateLimited'],
      [400, 'rejectedIdentifier', 'rejected'],
      [403, 'externalAccountRequired', 'account'],
      [500, 'serverInternal', 'server'],
      [503, 'x y', 'server'],
    ]
    for (const [status, type, word] of refusals) {
      const detail = `first\nsecond\u001b[31m ${'long '.repeat(500)}`
      const problem = { type: `urn:ietf:params:acme:error:${type}`, detail }
      routes['/newOrder'] = json(problem, { 'retry-after': '120', 'content-type': 'application/problem+json' }, status)
      const { error, text, ...said } = await attempt(begin)
      expect([type, said.word]).toEqual([type, word])
      expect((error as AcmeRefusal).waitMs).toBe(120_000)
      expect(text).toMatch(/first second \[31m/)
      expect(text.length).toBeLessThanOrEqual(limits.acme.reasonLengthMax)
    }
  })

  test('waits for a moment as well as for seconds, and for no week or more', async () => {
    const waits: [header: string, least: number, most: number][] = [
      [new Date(Date.now() + 3_600_000).toUTCString(), 3_590_000, 3_600_000],
      ['999999999', limits.acme.retryAfterMsMax, limits.acme.retryAfterMsMax],
      [new Date(0).toUTCString(), 0, 0],
      ['soon', 0, 0],
    ]
    for (const [header, least, most] of waits) {
      routes['/newOrder'] = json({}, { 'retry-after': header }, 503)
      const { error } = await attempt(begin)
      expect((error as AcmeRefusal).waitMs).toBeGreaterThanOrEqual(least)
      expect((error as AcmeRefusal).waitMs).toBeLessThanOrEqual(most)
    }
  })

  test('takes no order of another kind and no answer that is none', async () => {
    const order = { url: `${base}/order`, authorizations: [`${base}/a`, `${base}/b`] }
    routes['/a'] = json({ status: 'valid', challenges: [] })
    routes['/b'] = routes['/a']
    expect((await attempt(session => session.prove(order as never, new Challenges()))).word).toBe('server')
    routes['/directory'] = (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"newNonce":')
    expect((await attempt(begin)).word).toBe('server')
    routes['/directory'] = json({})
    expect((await attempt(begin)).word).toBe('protocol')
  })

  test('answers no token without its form', async () => {
    routes['/a'] = json({
      status: 'pending',
      challenges: [{ type: 'http-01', status: 'pending', url: `${base}/c`, token: '../../../etc/passwd' }],
    })
    const order = { url: `${base}/order`, authorizations: [`${base}/a`] }
    expect((await attempt(session => session.prove(order as never, new Challenges()))).word).toBe('server')
    expect(calls).not.toContain('/c')
  })
})

test('challenges are answered while they are open, and bounded', () => {
  const challenges = new Challenges()
  const token = (index: number) => `token-number-${String(index).padStart(8, '0')}`
  for (let index = 0; index < limits.acme.challengesMax; index++) expect(challenges.open(token(index), 'x')).toBe(true)
  expect(challenges.open(token(limits.acme.challengesMax), 'x')).toBe(false)
  challenges.close(token(0))
  expect(challenges.answer(token(0))).toBeUndefined()
  expect(challenges.answer(token(1))).toBe('x')
})

test('names that can be fetched are whole host names of the public kind', () => {
  for (const name of ['mail.example.com', 'a.b', 'xn--jgeva-dua.example', '1.example'])
    expect(acmeName(name)).toBe(name)
  expect(acmeName('Mail.Jõgeva.EXAMPLE.')).toBe('mail.xn--jgeva-dua.example')
  for (const name of [
    '',
    'localhost',
    'a',
    '*.a.b',
    '10.0.0.1',
    '::1',
    'a..b',
    'a_b.example',
    'x.local',
    '-a.b',
    'a b.c',
  ])
    expect([name, acmeName(name)]).toEqual([name, undefined])
  expect(acmeName(`${'a.'.repeat(130)}b`)).toBeUndefined()
})
