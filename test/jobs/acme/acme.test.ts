// Certificates by ACME against a server of its own: fetched, used by every listener, renewed, refused, cut off, gone on with.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ConfigPart } from '#config'
import { now, shiftClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { startTeal, type Teal } from '#service'
import { startChild } from '../../child.ts'
import { openAuthority } from '../../net/authority.ts'
import { Wire } from '../../net/wire.ts'
import { accessTo, type Body } from '../../running.ts'
import { openSubscriber } from '../outbox.ts'
import { AcmeServer, type Refusal } from './acme-server.ts'

const { minute, hour, day } = limits.time
const hostname = 'mx.teal.test'
const patience = { timeout: 20_000 }

const folder = mkdtempSync(join(tmpdir(), 'teal-acme-'))
const trusted = join(folder, 'root.pem')
let server: AcmeServer
let teal: Teal
let runs = 0
let dataDir = ''
const { call, at } = accessTo(() => teal)

beforeEach(async () => {
  server = await AcmeServer.open()
  writeFileSync(trusted, server.root)
  dataDir = join(folder, `data-${++runs}`)
})

afterEach(async () => {
  const problems = await teal.check()
  await teal.close()
  await server.down()
  shiftClock(0)
  expect(problems).toEqual([])
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Starts the service as an ACME client of the server, which finds its API. */
async function start(acme: NonNullable<ConfigPart['tls']>['acme'] = {}, more: ConfigPart = {}): Promise<void> {
  const settings = { enabled: true, directory: server.directory, ca: trusted, termsAgreed: true, ...acme }
  const network = { allowPrivate: ['127.0.0.0/8'] }
  teal = await startTeal({ dataDir, hostname, network, ...more, tls: { acme: settings } }, { strict: true })
  server.place = teal.listeners.acme ?? at('api')
}

/** The fingerprint of the certificate that a listener shows to a client that asks for `name`. */
async function shown(name: string | undefined = hostname, listener: 'imaps' | 'pop3s' | 'submissions' = 'imaps') {
  const wire = await Wire.openTls(at(listener), name === undefined ? {} : { servername: name })
  const { fingerprint256 } = wire.tls.getPeerCertificate()
  wire.close()
  return fingerprint256
}

/** The fingerprint of the certificate that was issued last for a name. */
const issued = (name = hostname) =>
  server.issued.findLast(one => one.checkHost(name) !== undefined)?.fingerprint256 ?? 'none'

/** Waits until IMAP shows the certificate that was issued last, it is the `count`th, and its attempt has ended. */
async function inUse(count = 1, name = hostname): Promise<void> {
  await expect.poll(() => server.issued.length, patience).toBe(count)
  await expect.poll(() => shown(name), patience).toBe(issued(name))
  await expect.poll(() => failures(name), patience).toEqual({ attempts: 0 })
}

const failures = (name: string) =>
  teal.core.read.one(
    'SELECT attempts FROM acme_order o JOIN certificate c ON c.id = certificate WHERE servername = ?',
    name,
  )

interface Row {
  due: number
  attempts: number
  failure: string | null
  url: string | null
}

const row = () => teal.core.read.one<Row>('SELECT due, attempts, failure, url FROM acme_order')

/** Waits until the attempt with this number has failed; gives what is known then. */
async function failed(attempts: number): Promise<Row> {
  await expect.poll(async () => (await row())?.failure !== null && (await row())?.attempts, patience).toBe(attempts)
  return (await row()) as Row
}

/** Moves the clock so far, and has the service look. */
let moved = 0
function pass(ms: number): void {
  moved = moved + ms
  shiftClock(moved)
  teal.core.kick()
}
beforeEach(() => {
  moved = 0
})

describe('a first certificate', () => {
  test('is in use everywhere at once, by name and by default, and its keys are sealed', async () => {
    await start({ email: 'admin@teal.test', http: '127.0.0.1:0' }, { api: { secure: true } })
    await inUse()
    const trust = { ca: server.root, rejectUnauthorized: true, servername: hostname }
    for (const listener of ['imaps', 'pop3s', 'submissions'] as const) {
      const wire = await Wire.openTls(at(listener), trust)
      expect([listener, wire.tls.authorized]).toEqual([listener, true])
      wire.close()
      expect(await shown(undefined, listener)).toBe(issued())
    }
    for (const listener of ['smtp', 'submission', 'lmtp'] as const) {
      const wire = await Wire.open(at(listener))
      await wire.reply()
      await wire.ask(listener === 'lmtp' ? 'LHLO client' : 'EHLO client')
      await wire.ask('STARTTLS')
      await wire.startTls(trust)
      expect([listener, wire.tls.authorized]).toEqual([listener, true])
      wire.close()
    }
    await expect.poll(() => overHttps(hostname), patience).toEqual([issued(), true])
    expect(await overHttps('other.teal.test')).toEqual([issued(), false])
    expect([...server.accounts.values()].map(({ contact }) => contact)).toEqual([['mailto:admin@teal.test']])
    const keys = await teal.core.read.all<{ key: string }>(
      'SELECT key FROM acme_account UNION SELECT key FROM certificate',
    )
    expect(keys).toHaveLength(2)
    for (const { key } of keys) expect(key).toMatch(/^\$wd01\$/)
    await expect.poll(() => row(), patience).toMatchObject({ attempts: 0, failure: null, url: null })
    const due = (await row())?.due ?? 0
    const end = server.issued[0]?.validToDate.getTime() ?? 0
    expect(due).toBeLessThanOrEqual(end - 30 * day)
    expect(due).toBeGreaterThanOrEqual(end - 33 * day - 1000)
  })

  test('comes for every name of the settings, with a key of the chosen kind, and is shown over the API', async () => {
    await start({ names: ['mail.teal.test', 'IMAP.teal.test'], keyType: 'rsa2048' })
    await inUse(2, 'imap.teal.test')
    await inUse(2, 'mail.teal.test')
    expect(server.issued.map(({ publicKey }) => publicKey.asymmetricKeyType)).toEqual(['rsa', 'rsa'])
    const { results } = (await call('GET', '/certs')).body
    const own = { acme: true, autogenerated: true, expires: expect.any(String) }
    expect(results).toMatchObject([
      { servername: 'imap.teal.test', altNames: ['imap.teal.test'], ...own },
      { servername: 'mail.teal.test', altNames: ['mail.teal.test'], ...own },
    ])
    expect(server.accounts.size).toBe(1)
    const metrics = await metricsOf(teal)
    expect(metrics).toMatch(/certificate_expires_timestamp_seconds\{name="mail\.teal\.test"\} \d{10}/)
    expect(metrics).toContain('acme_attempts_total{result="issued"} 2')
    expect(metrics).toContain('acme_failures{name="mail.teal.test"} 0')
  })

  test('comes from a server that wants accounts bound to what it knows already', async () => {
    server.binding = { id: 'customer 7', key: Buffer.from('a key of thirty-two bytes or so.').toString('base64url') }
    await start()
    expect((await failed(1)).failure).toBe('account')
    await teal.close()
    await start({ bindingKeyId: server.binding.id, bindingKey: server.binding.key })
    pass(13 * minute)
    await inUse()
  })

  test('is made with answers that take their time', async () => {
    server.processing = 1
    await start()
    await inUse()
  })

  async function overHttps(servername: string): Promise<[shown: string, authorized: boolean]> {
    const agent = new Agent({ ca: server.root, rejectUnauthorized: false, servername, maxCachedSessions: 0 })
    try {
      return await new Promise((resolve, reject) => {
        const asked = request(`${teal.url}/health`, { agent }, response => {
          const socket = response.socket as TLSSocket
          resolve([socket.getPeerCertificate().fingerprint256, socket.authorized])
          response.resume()
        })
        asked.on('error', reject)
        asked.end()
      })
    } finally {
      agent.destroy()
    }
  }
})

describe('renewal', () => {
  test('comes before the end, and the certificate before stays in use until then', async () => {
    await start()
    await inUse()
    const before = issued()
    pass(56 * day)
    server.refuse = name => (name === 'finalize' ? { status: 500, type: 'serverInternal' } : undefined)
    pass(5 * day)
    const { due } = await failed(1)
    expect(due).toBeLessThanOrEqual(now() + 12 * minute)
    expect(await shown()).toBe(before)
    expect(server.issued).toHaveLength(1)
    server.refuse = () => undefined
    pass(13 * minute)
    await inUse(2)
    await expect.poll(async () => (await row())?.attempts).toBe(0)
    expect(server.accounts.size).toBe(1)
  })

  test('is planned anew where it was tried while the clock was ahead', async () => {
    await start()
    await inUse()
    const planned = (await row())?.due ?? 0
    server.refuse = name => (name === 'newOrder' ? { status: 429, type: 'rateLimited' } : undefined)
    pass(400 * day)
    expect((await failed(1)).due).toBeGreaterThan(planned + 300 * day)
    await teal.close()
    pass(-400 * day)
    await start()
    await expect.poll(async () => (await row())?.due, patience).toBeLessThan(planned + 10 * day)
    expect(await row()).toMatchObject({ attempts: 0, failure: null })
  })

  test('of a short-lived certificate leaves a third of its life, and is never at once', async () => {
    server.validDays = 5
    await start()
    await inUse()
    await expect.poll(async () => (await row())?.attempts).toBe(0)
    const [made] = server.issued
    const [from, to] = [made?.validFromDate.getTime() ?? 0, made?.validToDate.getTime() ?? 0]
    const { due } = (await row()) as Row
    expect(due).toBeGreaterThanOrEqual(now() + limits.acme.renewMsMin - minute)
    expect(due).toBeLessThanOrEqual(Math.max(to - (to - from) / 3, now() + limits.acme.renewMsMin))
  })

  test('takes over what somebody else put in, when its time comes', async () => {
    await start({ names: ['mail.teal.test'] })
    await inUse(1, 'mail.teal.test')
    const { key, cert } = await (await openAuthority()).issue({ names: ['own.teal.test'] })
    const form = { servername: 'own.teal.test', privateKey: key, cert, acme: true }
    expect((await call('POST', '/certs', form)).status).toBe(200)
    const own = await shown('own.teal.test')
    const dues = () => teal.core.read.all<Row>('SELECT due, attempts FROM acme_order')
    await expect.poll(async () => (await dues()).length, patience).toBe(2)
    for (const { due, attempts } of await dues()) {
      expect(attempts).toBe(0)
      expect(due).toBeGreaterThan(now() + 50 * day)
    }
    pass(61 * day)
    await expect.poll(() => server.issued.length, patience).toBe(3)
    await expect.poll(() => shown('own.teal.test'), patience).not.toBe(own)
  })
})

describe('a server that refuses', () => {
  test('a nonce is asked again', async () => {
    server.badNonces = 3
    await start()
    await inUse()
    expect((await row())?.attempts ?? 0).toBeLessThanOrEqual(1)
    expect(server.count('newOrder')).toBeLessThanOrEqual(4)
  })

  test('because of its rates is left alone for as long as it says', async () => {
    const refusal: Refusal = { status: 429, type: 'rateLimited', retryAfter: String(5 * 3600) }
    server.refuse = name => (name === 'newOrder' ? refusal : undefined)
    await start()
    const { due } = await failed(1)
    expect(due).toBeGreaterThanOrEqual(now() + 5 * hour - minute)
    expect((await row())?.failure).toBe('rateLimited')
    server.refuse = () => undefined
    const before = server.calls.length
    pass(4 * hour)
    await call('GET', '/certs')
    expect(server.calls.length).toBe(before)
    pass(2 * hour)
    await inUse()
  })

  test('because of its rates without saying how long is left alone for an hour', async () => {
    server.refuse = name => (name === 'newAccount' ? { status: 429, type: 'rateLimited' } : undefined)
    await start()
    const { due } = await failed(1)
    expect(due).toBeGreaterThanOrEqual(now() + limits.acme.rateLimitedMs - minute)
  })

  test('a challenge is asked for another one, later each time', async () => {
    await start({}, {})
    await inUse()
    await call('POST', '/certs', { servername: 'gone.teal.test', acme: true })
    await expect.poll(() => server.issued.length, patience).toBe(2)
    server.place = { host: '127.0.0.1', port: 1 }
    const { id } = (await call('POST', '/certs', { servername: 'dark.teal.test', acme: true })).body
    const dark = () => teal.core.read.one<Row>('SELECT * FROM acme_order WHERE certificate = ?', id)
    await expect.poll(async () => (await dark())?.failure, patience).toBe('challenge')
    expect((await dark())?.url).toBeNull()
    const waits = limits.acme.retriesMs
    for (const [index, wait] of waits.slice(0, 3).entries()) {
      const { due = 0, attempts } = (await dark()) ?? {}
      expect(attempts).toBe(index + 1)
      expect(due).toBeGreaterThanOrEqual(now() + wait - minute)
      expect(due).toBeLessThanOrEqual(now() + 1.2 * wait)
      pass(1.2 * wait + 1)
      await expect.poll(dark, patience).toMatchObject({ attempts: index + 2, failure: 'challenge' })
    }
    expect(server.issued).toHaveLength(2)
    const metrics = await metricsOf(teal)
    expect(metrics).toContain('acme_attempts_total{result="challenge"} 4')
    expect(metrics).toContain('acme_failures{name="dark.teal.test"} 4')
    server.place = at('api')
    pass(1.2 * (waits[3] ?? 0) + 1)
    await expect.poll(async () => (await call('GET', `/certs/${id}`)).body.hasCert, patience).toBe(true)
  })

  test('a certificate of another name or of no use is not taken', async () => {
    server.other = 'evil.teal.test'
    await start()
    expect((await failed(1)).failure).toBe('certificate')
    expect(await shown()).not.toBe(issued())
    server.other = undefined
    pass(15 * minute)
    await inUse(2)
  })

  test('that never comes to an end is left in time, and the order kept', async () => {
    const most = limits.acme as { attemptMs: number }
    const { attemptMs } = most
    most.attemptMs = 1500
    server.processing = Number.POSITIVE_INFINITY
    try {
      await start()
      expect(await failed(1)).toMatchObject({ failure: 'late', url: expect.stringContaining('/order/') })
    } finally {
      most.attemptMs = attemptMs
    }
    server.processing = 0
    pass(13 * minute)
    await inUse()
    expect(server.orders.size).toBe(1)
  })

  test('that has forgotten the account gets it again', async () => {
    await start()
    await inUse()
    server.accounts.clear()
    pass(61 * day)
    expect((await failed(1)).failure).toBe('account')
    pass(15 * minute)
    await inUse(2)
    expect(server.accounts.size).toBe(1)
  })
})

describe('a server that is away', () => {
  test('at the start keeps nobody from starting, and is asked again', async () => {
    await server.down()
    await start()
    expect((await failed(1)).failure).toBe('refused')
    const own = await shown()
    expect((await call('GET', '/certs')).body.results).toMatchObject([{ servername: hostname, acme: true }])
    expect((await call('GET', '/health')).status).toBe(200)
    await server.up()
    await teal.close()
    await start()
    expect(await shown()).toBe(own)
    pass(13 * minute)
    await inUse()
  })

  test('inside is not talked to unless that is allowed', async () => {
    await start({}, { network: { allowPrivate: [] } })
    expect((await failed(1)).failure).toBe('blocked')
    expect(server.calls).toEqual([])
  })
})

describe('a restart', () => {
  test('in the middle of a challenge goes on with the same order and answers it again', async () => {
    let free = () => {}
    const held = new Promise<void>(resolve => {
      free = resolve
    })
    server.hold = async name => (name === 'challenge' ? held : undefined)
    await start()
    await expect.poll(() => server.count('challenge'), patience).toBe(1)
    expect(await row()).toMatchObject({ attempts: 1, failure: null, url: expect.stringContaining('/order/') })
    await teal.close()
    await start()
    await expect.poll(() => server.count('challenge'), patience).toBe(2)
    free()
    await inUse()
    expect(server.orders.size).toBe(1)
    expect(server.accounts.size).toBe(1)
  })

  test('while the certificate is made has its key still', async () => {
    let free = () => {}
    const held = new Promise<void>(resolve => {
      free = resolve
    })
    server.hold = async name => (name === 'finalize' ? held : undefined)
    await start()
    await expect.poll(() => server.count('finalize'), patience).toBe(1)
    await teal.close()
    free()
    await expect.poll(() => server.issued.length).toBe(1)
    await start()
    await inUse()
    expect(server.orders.size).toBe(1)
    expect(server.count('finalize')).toBe(1)
  })

  test('after it was killed goes on as well, with the names and the account it had', async () => {
    let free = () => {}
    const held = new Promise<void>(resolve => {
      free = resolve
    })
    server.hold = async name => (name === 'challenge' ? held : undefined)
    const env = {
      TEAL_HOSTNAME: hostname,
      TEAL_NETWORK_ALLOW_PRIVATE: '127.0.0.0/8',
      TEAL_TLS_ACME_ENABLED: 'true',
      TEAL_TLS_ACME_TERMS_AGREED: 'true',
      TEAL_TLS_ACME_DIRECTORY: server.directory,
      TEAL_TLS_ACME_CA: trusted,
      TEAL_TLS_ACME_HTTP: '127.0.0.1:0',
    }
    const child = await startChild(dataDir, env)
    await expect.poll(() => server.count('challenge'), patience).toBe(1)
    await child.end('SIGKILL')
    await start({ http: '127.0.0.1:0' })
    await expect.poll(() => server.count('challenge'), patience).toBe(2)
    free()
    await inUse()
    expect(server.orders.size).toBe(1)
    expect(server.accounts.size).toBe(1)
  })

  test('with an order that the server has lost begins another one', async () => {
    server.refuse = name => (name === 'finalize' ? { status: 503, type: 'serverInternal', retryAfter: '7' } : undefined)
    await start()
    const left = await failed(1)
    expect(left).toMatchObject({ failure: 'server', url: expect.stringContaining('/order/') })
    await teal.close()
    server.orders.clear()
    server.refuse = () => undefined
    await start()
    pass(13 * minute)
    await inUse()
    expect(server.orders.size).toBe(1)
  })
})

describe('the API', () => {
  beforeEach(async () => {
    await start()
    await inUse()
  })

  test('has a certificate fetched by asking for it, and it is there for the next handshake', async () => {
    const form = { servername: 'web.teal.test', acme: true, description: 'Web' }
    const made = (await call('POST', '/certs', form)).body
    expect(made).toMatchObject({ success: true, acme: true, altNames: [] })
    await expect.poll(async () => (await call('GET', `/certs/${made.id}`)).body.hasCert, patience).toBe(true)
    const { body } = await call('GET', `/certs/${made.id}`)
    expect(body).toMatchObject({ ...form, altNames: ['web.teal.test'], autogenerated: false })
    expect(body.fingerprint).not.toBe(made.fingerprint)
    expect(await shown('web.teal.test')).toBe(issued('web.teal.test'))
  })

  test('tells subscribers of a certificate that was fetched', async () => {
    const hook = await openSubscriber()
    try {
      await call('POST', '/webhooks', { type: ['cert.*'], url: hook.url })
      const { id } = (await call('POST', '/certs', { servername: 'web.teal.test', acme: true })).body
      await expect.poll(() => hook.taken.length, patience).toBe(2)
      const { fingerprint } = (await call('GET', `/certs/${id}`)).body
      const told = hook.taken.map(({ body }) => body)
      expect(told).toMatchObject([
        { ev: 'cert.created', cert: id, servername: 'web.teal.test' },
        { ev: 'cert.updated', cert: id, servername: 'web.teal.test', fingerprint },
      ])
    } finally {
      await hook.close()
    }
  })

  test('does not bring back what was deleted meanwhile', async () => {
    let free = () => {}
    const held = new Promise<void>(resolve => {
      free = resolve
    })
    server.hold = async () => held
    const { id } = (await call('POST', '/certs', { servername: 'web.teal.test', acme: true })).body
    await expect.poll(() => server.count('challenge'), patience).toBe(2)
    expect((await call('DELETE', `/certs/${id}`)).status).toBe(200)
    free()
    await expect.poll(() => server.issued.length, patience).toBe(2)
    await expect.poll(() => server.count('cert'), patience).toBe(2)
    const kept = (await call('POST', '/certs', { servername: 'last.teal.test', acme: true })).body
    await expect.poll(async () => (await call('GET', `/certs/${kept.id}`)).body.hasCert, patience).toBe(true)
    const { results } = (await call('GET', '/certs')).body
    expect(results.map((one: Body) => one.servername)).toEqual(['last.teal.test', hostname])
  })

  test('refuses names that cannot be fetched', async () => {
    for (const servername of ['*.teal.test', 'single', 'mail.localhost', '10.0.0.1', 'printer.local']) {
      const { status, body } = await call('POST', '/certs', { servername, acme: true })
      expect([servername, status, Object.keys(body.details)]).toEqual([servername, 400, ['servername']])
    }
    expect((await call('GET', '/certs')).body.total).toBe(1)
  })

  test('leaves wildcards alone that somebody else fetches', async () => {
    await teal.close()
    await start({ enabled: false })
    const { status, body } = await call('POST', '/certs', { servername: '*.wild.test', acme: true })
    expect([status, body.acme]).toEqual([200, true])
    await teal.close()
    await start()
    const next = (await call('POST', '/certs', { servername: 'next.teal.test', acme: true })).body
    await expect.poll(async () => (await call('GET', `/certs/${next.id}`)).body.hasCert, patience).toBe(true)
    expect([...server.orders.values()].map(({ name }) => name)).toEqual([hostname, 'next.teal.test'])
  })

  test('leaves a certificate alone that is not for ACME', async () => {
    const { key, cert } = await (await openAuthority()).issue({ names: [hostname] })
    await call('POST', '/certs', { servername: hostname, privateKey: key, cert })
    const own = await shown()
    await teal.close()
    await start()
    pass(61 * day)
    const { id } = (await call('POST', '/certs', { servername: 'next.teal.test', acme: true })).body
    await expect.poll(async () => (await call('GET', `/certs/${id}`)).body.hasCert, patience).toBe(true)
    expect(await shown()).toBe(own)
    expect(server.issued).toHaveLength(2)
  })
})

describe('challenges', () => {
  const token = 'abcdefghijklmnopqrstuvwxyz012345'
  const garbage = [
    'x',
    '../../root-token',
    '..%2f..%2froot-token',
    '%2e%2e/%2e%2e/root-token',
    'a%00b',
    '%ff',
    `${'a'.repeat(5000)}`,
    `${token}/`,
    `${token}x`,
    '__proto__',
    '',
  ]

  /** Sends a path as it is. */
  async function ask(where: { host: string; port: number }, path: string, more = 'Host: x.test\r\n', method = 'GET') {
    const wire = await Wire.open(where)
    wire.send(`${method} ${path} HTTP/1.1\r\n${more}Connection: close\r\n\r\n`)
    await wire.closed()
    const [head = '', body = ''] = wire.unread.split('\r\n\r\n')
    wire.close()
    return { status: Number(head.split(' ')[1]), body, head }
  }

  beforeAll(() => expect(limits.acme.tokenLengthMin).toBeLessThan(token.length))

  test('are answered by both front ends without a token while they are open, and nothing else is', async () => {
    await start({ http: '127.0.0.1:0' })
    await inUse()
    const path = `/.well-known/acme-challenge/${token}`
    const fronts = [at('api'), at('acme')]
    for (const front of fronts) expect((await ask(front, path)).status).toBe(404)
    expect(teal.core.acme.challenges.open(token, 'the answer')).toBe(true)
    expect(teal.core.acme.challenges.open('../../etc', 'the answer')).toBe(false)
    const found = await fetch(`${teal.url}/.well-known/acme-challenge/${token}`)
    expect([found.status, await found.text()]).toEqual([200, 'the answer'])
    for (const front of fronts) {
      expect(await ask(front, path)).toMatchObject({ status: 200, body: 'the answer' })
      // As a proxy sends it, with whatever else is in it.
      const proxied = 'Host: 10.0.0.1:8080\r\nX-Forwarded-For: 1.2.3.4\r\nX-Access-Token: nonsense\r\n'
      expect((await ask(front, `${path}`, proxied)).body).toBe('the answer')
      for (const one of garbage) {
        const { status, body } = await ask(front, `/.well-known/acme-challenge/${one}`)
        expect([one, status]).toEqual([one, 404])
        expect(body).not.toContain('the answer')
      }
      expect((await ask(front, path, undefined, 'POST')).status).toBe(405)
    }
    teal.core.acme.challenges.close(token)
    for (const front of fronts) expect((await ask(front, path)).status).toBe(404)
  })

  test('have a listener of their own that sends everything else to HTTPS', async () => {
    await start({ http: '127.0.0.1:0' })
    await inUse()
    const front = at('acme')
    const location = async (path: string, host: string) =>
      /^location: (.*)$/im.exec((await ask(front, path, host)).head.replaceAll('\r', ''))?.[1]
    expect(await location('/a/b?c=d', 'Host: Mail.Teal.Test:80\r\n')).toBe('https://mail.teal.test/a/b?c=d')
    expect(await location('/', 'Host: 10.0.0.1\r\n')).toBe('https://10.0.0.1/')
    expect(await location('//evil.test/', 'Host: a/b@c\r\n')).toBe(`https://${hostname}//evil.test/`)
    expect((await ask(front, 'http://evil.test/')).status).toBe(400)
    expect((await ask(front, '/users', undefined, 'DELETE')).status).toBe(405)
    expect((await ask(front, '/', `Host: x\r\nLong: ${'x'.repeat(limits.acme.headBytesMax)}\r\n`)).status).toBe(431)
  })
})

async function metricsOf({ url, rootToken }: Pick<Teal, 'url' | 'rootToken'>): Promise<string> {
  return (await fetch(`${url}/metrics`, { headers: { 'x-access-token': rootToken } })).text()
}
