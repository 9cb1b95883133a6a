// A service behind proxies: who is behind them is who is logged, counted and limited, over HTTP as over mail.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { proxyHeader } from '../net/announcement.ts'
import type { Body } from '../running.ts'
import { front } from './front.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-proxied-'))
const file = join(root, 'teal.log')
const other = join(root, 'announced.log')
let headers: Teal
let announced: Teal
beforeAll(async () => {
  headers = await startTeal(
    { api: { port: 0, front }, network: { forwarded: 'X-Forwarded-For' }, log: { level: 'info', file } },
    { strict: true },
  )
  announced = await startTeal(
    {
      api: { port: 0, front, proxyProtocol: true },
      web: { enabled: true, port: 0, api: true, proxyProtocol: true },
      network: { proxyProtocol: ['127.0.0.0/8'], forwarded: 'X-Forwarded-For' },
      tls: {
        acme: {
          enabled: true,
          http: '127.0.0.1:0',
          directory: 'https://127.0.0.1:9/x',
          termsAgreed: true,
          names: ['mx.example.com'],
        },
      },
      log: { level: 'info', file: other },
    },
    { strict: true },
  )
})
afterAll(async () => {
  for (const teal of [headers, announced]) {
    expect(await teal.check()).toEqual([])
    await teal.close()
  }
  rmSync(root, { recursive: true, force: true })
})

interface Ask {
  /** What the proxy says first. */
  readonly first?: Buffer
  /** In how many writes it says so. */
  readonly pieces?: number
  readonly tls?: boolean
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: object
}

/** What comes back on a connection of its own; '' for one that was cut. */
function ask(teal: Teal, { first = Buffer.alloc(0), pieces = 1, tls = false, ...form }: Ask): Promise<string> {
  const { host, port } = teal.listeners[tls ? 'web' : 'api'] ?? { host: '', port: 0 }
  const { method = 'GET', path, headers: more = {}, body } = form
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = { host: 'localhost', connection: 'close', 'x-access-token': teal.rootToken, ...more }
  const typed = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': text.length }
  const head = Object.entries({ ...lines, ...typed }).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise(resolve => {
    let received = ''
    const raw = connect({ host, port, noDelay: true })
    const size = Math.max(1, Math.ceil(first.length / pieces))
    for (let at = 0; at < first.length; at += size) raw.write(first.subarray(at, at + size))
    const socket = tls ? connectTls({ socket: raw, rejectUnauthorized: false }) : raw
    raw.on('error', () => {})
    socket.on('error', () => {})
    socket.on('data', data => {
      received += data.toString()
    })
    raw.on('close', () => resolve(received))
    socket.write(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${text}`)
  })
}

async function asked(teal: Teal, form: Ask): Promise<Body> {
  const answer = await ask(teal, form)
  expect(answer).toMatch(/^HTTP\/1\.1 /)
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
}

/** Makes an account and gives its id with a token of its own. */
async function account(teal: Teal, first?: Buffer): Promise<{ id: string; token: string }> {
  const login = { username: 'anna', password: 'secret of anna' }
  const begun = first === undefined ? {} : { first }
  const form = { ...login, address: 'anna@example.com' }
  const { id } = await asked(teal, { ...begun, method: 'POST', path: '/users', body: form })
  const { token } = await asked(teal, {
    ...begun,
    method: 'POST',
    path: '/authenticate',
    body: { ...login, token: true },
  })
  return { id, token }
}

/** Addresses of the failed logins in the log. */
const failed = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line.includes('"login-failed"'))
    .map(line => (JSON.parse(line) as Body).ip as string)

const guess = { name: 'x', existingPassword: 'wrong', ip: '203.0.113.2' }

test('a wrong password over HTTP is logged, and limited, where the visitor is', async () => {
  const { id, token } = await account(headers)
  const more = { 'x-access-token': token, 'x-forwarded-for': '203.0.113.1, 192.0.2.7' }
  const filter = { name: 'x', query: { from: 'x' }, action: { seen: true } }
  await asked(headers, { method: 'POST', path: '/users/me/filters', headers: more, body: filter })
  const code = async (from: string) => {
    const more = { 'x-access-token': token, 'x-forwarded-for': `203.0.113.1, ${from}` }
    return (await asked(headers, { method: 'PUT', path: '/users/me', headers: more, body: guess })).code
  }
  for (let at = 0; at < 12; at++) expect(await code('192.0.2.7')).toBe('AuthFail')
  expect(await code('192.0.2.7')).toBe('RateLimitedError')
  const { results } = await asked(headers, { path: `/users/${id}/authlog` })
  expect(JSON.stringify(results)).toContain('"192.0.2.7"')
  expect(JSON.stringify(results)).not.toContain('203.0.113')
  expect(new Set(failed(file))).toEqual(new Set(['192.0.2.7']))
})

describe('the PROXY protocol before HTTP', () => {
  const four = proxyHeader(1, 0x11, [192, 0, 2, 7, 127, 0, 0, 1, 0x1f, 0x90, 0, 25])
  let token = ''
  beforeAll(async () => {
    token = (await account(announced, four)).token
  })

  test.each<[string, Buffer, string]>([
    ['version 1', Buffer.from('PROXY TCP4 198.51.100.1 127.0.0.1 4000 443\r\n'), '198.51.100.1'],
    ['version 1 of IPv6', Buffer.from('PROXY TCP6 2001:db8::5 ::1 4000 443\r\n'), '2001:db8::5'],
    ['version 2', four, '192.0.2.7'],
    ['version 2, a look at our health', proxyHeader(0, 0, []), '127.0.0.1'],
  ])('%s', async (_what, first, address) => {
    for (const [tls, pieces] of [
      [false, 1],
      [false, 7],
      [true, 1],
      [true, 7],
    ] as const) {
      const before = failed(other).length
      const more = { 'x-access-token': token }
      const form = { first, pieces, tls, method: 'PUT', path: '/users/me', headers: more, body: guess }
      expect(await asked(announced, form)).toMatchObject({
        code: expect.stringMatching(/^(AuthFail|RateLimitedError)$/),
      })
      expect(failed(other).slice(before)).toEqual([address])
    }
  })

  test('whom the proxy calls a proxy may say who is behind it', async () => {
    const before = failed(other).length
    const first = Buffer.from('PROXY TCP4 127.0.0.9 127.0.0.1 4000 443\r\n')
    const more = { 'x-access-token': token, 'x-forwarded-for': '198.51.100.77' }
    await asked(announced, { first, tls: true, method: 'PUT', path: '/users/me', headers: more, body: guess })
    const lied = { first: four, method: 'PUT', path: '/users/me', headers: more, body: guess }
    await asked(announced, lied)
    expect(failed(other).slice(before)).toEqual(['198.51.100.77', '192.0.2.7'])
  })

  test.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['a wrong family', Buffer.from('PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n')],
    ['no end', Buffer.from(`PROXY TCP4 ${'1'.repeat(200)}`)],
  ])('a proxy that says %s is cut off', async (_what, first) => {
    for (const tls of [false, true]) expect(await ask(announced, { first, tls, path: '/healthz' })).toBe('')
  })

  test('holds on the port for challenges of ACME, too', async () => {
    expect(announced.listeners.acme).toBeDefined()
    const { host, port } = announced.listeners.acme ?? { host: '', port: 0 }
    const text = await new Promise<string>(resolve => {
      let received = ''
      const socket = connect(port, host)
      socket.on('error', () => {})
      socket.on('data', data => {
        received += data.toString()
      })
      socket.on('close', () => resolve(received))
      socket.write(Buffer.concat([four, Buffer.from('GET /x HTTP/1.1\r\nHost: example.com\r\n\r\n')]))
    })
    expect(text).toMatch(/^HTTP\/1\.1 301 [\s\S]*https:\/\/example\.com\/x/)
  })
})

test('a service ends while a proxy has still to say who is behind it', async () => {
  const teal = await startTeal({
    api: { port: 0, front, proxyProtocol: true },
    network: { proxyProtocol: ['127.0.0.0/8'] },
  })
  const { host, port } = teal.listeners.api ?? { host: '', port: 0 }
  const socket = connect(port, host)
  socket.on('error', () => {})
  const closed = new Promise(resolve => socket.on('close', resolve))
  await new Promise(resolve => socket.on('connect', resolve))
  socket.write('PROXY')
  await teal.close()
  await closed
})
