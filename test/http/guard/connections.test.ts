// How many may connect to the API: half-sent requests, many networks, and who gets in all the same.

import { mkdtempSync, rmSync } from 'node:fs'
import { request as askSecurely } from 'node:https'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { HttpConnections } from '#http/guard/connections.ts'
import { sleep } from '#lib/clock.ts'
import { rangesOf } from '#lib/network.ts'
import { Admission } from '#net/admission.ts'
import { selfSigned } from '#net/tls/self-signed.ts'
import { endpoint } from '../../../src/http/endpoint.ts'
import { text } from '../../../src/http/schema.ts'
import { crowd } from '../../net/crowd.ts'
import { type Front, startFront } from '../front.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const hello = endpoint({
  method: 'GET',
  path: '/hello',
  tag: 'Test',
  summary: 'Says hello',
  description: 'Says hello.',
  allow: 'users.read',
  query: {},
  reply: { text: text() },
  run: () => ({ text: 'hello' }),
})

interface World extends Front {
  readonly port: number
  readonly refused: () => number
}

async function start(connectionsMax: number, perNetworkMax: number, secure = false): Promise<World> {
  let refused = 0
  const admission = new Admission({ connectionsMax: Number.POSITIVE_INFINITY, trusted: rangesOf(['127.0.0.1/32']) })
  const bounds = { admission, connectionsMax, perNetworkMax, onRefused: () => void refused++ }
  const folder = mkdtempSync(join(tmpdir(), 'teal-http-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  const tls = secure ? { tls: { initial: await selfSigned(folder, 'localhost'), named: new Map() } } : {}
  const front = await startFront([hello], { bounds, ...tls })
  closers.push(() => front.close(0))
  return { ...front, port: Number(new URL(front.url).port), refused: () => refused }
}

const half = 'GET /hello HTTP/1.1\r\nHost: x\r\n'
const whole = (token: string) => `${half}X-Access-Token: ${token}\r\n\r\n`

/** A connection from `localAddress`; `ask` sends a request and gives the status line, empty where there is no answer. */
function client(port: number, localAddress: string) {
  const socket: Socket = connect({ host: '127.0.0.1', port, localAddress })
  closers.push(() => socket.destroy())
  let closed = false
  let heard = ''
  let wake = () => {}
  socket.on('data', chunk => {
    heard += chunk.toString('latin1')
    wake()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
    wake()
  })
  return {
    get closed() {
      return closed
    },
    async ask(token: string): Promise<string> {
      heard = ''
      socket.write(whole(token))
      while (!closed && !heard.includes('\r\n\r\n')) await new Promise<void>(resolve => (wake = resolve))
      return heard.split('\r\n', 1)[0] ?? ''
    },
    async end(): Promise<void> {
      while (!closed) await new Promise<void>(resolve => (wake = resolve))
    },
  }
}

describe('half-sent requests', () => {
  test('of a thousand networks take half the room, and the oldest go for whoever comes next', async () => {
    const { port, refused } = await start(100, 10)
    const held = await crowd({ port }, 1000, half)
    closers.push(() => held.close())
    while (held.open > 50) await sleep(5)
    expect(refused()).toBe(950)
    const user = client(port, '127.99.0.1')
    expect(await user.ask('root')).toBe('HTTP/1.1 200 OK')
    const more = await crowd({ port }, 1000, half)
    closers.push(() => more.close())
    expect(await user.ask('root')).toBe('HTTP/1.1 200 OK')
    // From where a good token came there is room beyond that of strangers.
    for (let count = 0; count < 9; count++) expect(await client(port, '127.99.0.1').ask('root')).toMatch(/ 200 /)
  })

  test('of one network are bounded, those through a proxy are not', async () => {
    const { port, refused } = await start(1000, 8)
    const one = Array.from({ length: 5 }, () => client(port, '127.5.0.1'))
    await Promise.all(one.slice(2).map(made => made.end()))
    expect([one[0]?.closed, one[1]?.closed, refused()]).toEqual([false, false, 3])
    const proxied = Array.from({ length: 50 }, () => client(port, '127.0.0.1'))
    for (const made of proxied) expect(await made.ask('root')).toMatch(/ 200 /)
    expect(refused()).toBe(3)
  })

  test('over TLS are counted and sent away as well', async () => {
    const { port, refused } = await start(40, 10, true)
    const held = await crowd({ port }, 300, '\x16\x03\x01\x02\x00\x01')
    closers.push(() => held.close())
    while (held.open > 20) await sleep(5)
    expect(refused()).toBeGreaterThan(0)
    const status = await new Promise((resolve, reject) => {
      const how = { port, path: '/hello', rejectUnauthorized: false, localAddress: '127.99.0.1', agent: false } as const
      const request = askSecurely({ ...how, headers: { 'x-access-token': 'root' } }, response => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', reject)
      request.end()
    })
    expect(status).toBe(200)
  })
})

describe('answered strangers', () => {
  test('keep their connection while there is room, and lose it with the answer when half is taken', async () => {
    const { port } = await start(20, 100)
    const early = client(port, '127.7.0.1')
    expect(await early.ask('none')).toMatch(/ 403 | 401 /)
    expect(await early.ask('none')).toMatch(/ 403 | 401 /)
    const held = await crowd({ port }, 10, half)
    closers.push(() => held.close())
    const user = client(port, '127.0.0.1')
    expect(await user.ask('root')).toMatch(/ 200 /)
    expect(await early.ask('none')).toMatch(/ 403 | 401 /)
    await early.end()
    expect(await user.ask('root')).toMatch(/ 200 /)
  })
})

test('what closes, with a request or without, is counted no more', async () => {
  const { port, refused } = await start(1000, 400)
  for (let round = 0; round < 3; round++) {
    const silent = Array.from({ length: 50 }, () => client(port, '127.8.0.1'))
    const spoken = Array.from({ length: 20 }, () => client(port, '127.9.0.1'))
    for (const made of spoken) expect(await made.ask('root')).toMatch(/ 200 /)
    while (closers.length > 2) await closers.pop()?.()
    await Promise.all([...silent, ...spoken].map(made => made.end()))
  }
  expect(refused()).toBe(0)
  const admission = new Admission({ connectionsMax: 10 })
  const connections = new HttpConnections({ admission, connectionsMax: 10, perNetworkMax: 10 })
  const gone = connections.opened('10.0.0.1', () => {})
  expect([connections.open, admission.size, connections.watching]).toEqual([1, 1, true])
  gone?.()
  connections.closed()
  expect([connections.open, admission.size, connections.watching]).toEqual([0, 0, false])
  connections.close()
})
