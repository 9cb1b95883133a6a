// Requests that two servers may read differently, and clients that keep a connection open with nothing: whichever front
// serves, what is doubtful never reaches an endpoint, and nobody holds a connection for long.

import { Buffer } from 'node:buffer'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Type from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { selfSigned } from '#net/tls/self-signed.ts'
import { binary, eventStream } from '../../src/http/answer.ts'
import { endpoint } from '../../src/http/endpoint.ts'
import { front as choice, type Front, startFront } from './front.ts'
import { sendBytes } from './scenario.ts'

const calls: string[] = []
const common = { tag: 'Test', allow: null, summary: 'Test' } as const

const endpoints = [
  endpoint({
    ...common,
    method: 'POST',
    path: '/take',
    bodyKind: 'raw',
    reply: { size: Type.Integer() },
    async run({ request }) {
      const { length } = await request.body()
      calls.push(`take ${length}`)
      return { size: length }
    },
  }),
  endpoint({
    ...common,
    method: 'GET',
    path: '/hidden',
    async run() {
      calls.push('hidden')
    },
  }),
  ...(['GET', 'POST'] as const).map(method =>
    endpoint({
      ...common,
      method,
      path: '/long',
      ...(method === 'POST' && { bodyKind: 'raw' as const }),
      replyType: 'application/octet-stream',
      run: async () => binary({ body: Buffer.alloc(4 * limits.body.chunkBytes, 'x') }),
    }),
  ),
  endpoint({
    ...common,
    method: 'GET',
    path: '/silent',
    run: ({ signal }) =>
      eventStream(
        (async function* () {
          yield { data: 'one' }
          await new Promise(resolve => signal.addEventListener('abort', resolve))
        })(),
      ),
  }),
]

let front: Front
/** Over TLS, by what the run was told and by Node's own. */
let secure: Record<string, Front>
const folder = mkdtempSync(join(tmpdir(), 'teal-http-'))
beforeAll(async () => {
  front = await startFront(endpoints)
  const tls = { initial: await selfSigned(folder, 'localhost'), named: new Map() }
  const own = await startFront(endpoints, { tls, choice: 'node:http' })
  secure = { [choice]: await startFront(endpoints, { tls }), own }
})
afterAll(async () => {
  await front.close(0)
  for (const one of Object.values(secure)) await one.close(0)
  rmSync(folder, { recursive: true, force: true })
})

const token = 'Host: x\r\nX-Access-Token: root\r\n'
const hidden = `GET /hidden HTTP/1.1\r\n${token}\r\n`

describe('never reach an endpoint', () => {
  test.each([
    [
      'a length and a coding',
      `POST /take HTTP/1.1\r\n${token}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX`,
    ],
    ['two lengths', `POST /take HTTP/1.1\r\n${token}Content-Length: 5\r\nContent-Length: 0\r\n\r\n${hidden}`],
    [
      'two lengths and a whole call',
      `POST /take HTTP/1.1\r\n${token}Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello${hidden}`,
    ],
    ['two hosts and a whole call', `GET /take HTTP/1.1\r\nHost: y\r\n${token}\r\n${hidden}`],
    [
      'a coding of two and a whole call',
      `POST /take HTTP/1.1\r\n${token}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${hidden}`,
    ],
    ['a length with a sign', `POST /take HTTP/1.1\r\n${token}Content-Length: +5\r\n\r\nhello`],
    ['a length below nothing', `POST /take HTTP/1.1\r\n${token}Content-Length: -5\r\n\r\nhello`],
    ['a length in another base', `POST /take HTTP/1.1\r\n${token}Content-Length: 0x5\r\n\r\nhello`],
    [
      'a length past all numbers',
      `POST /take HTTP/1.1\r\n${token}Content-Length: 99999999999999999999999\r\n\r\nhello`,
    ],
    ['a name with a space behind', `POST /take HTTP/1.1\r\n${token}Content-Length : 5\r\n\r\nhello`],
    [
      'a head line that is folded',
      `POST /take HTTP/1.1\r\n${token}X-A: b\r\n Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\nhello`,
    ],
    ['another coding', `POST /take HTTP/1.1\r\n${token}Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
    [
      'a chunk without a size',
      `POST /take HTTP/1.1\r\n${token}Transfer-Encoding: chunked\r\n\r\nZ\r\nhello\r\n0\r\n\r\n`,
    ],
    ['a bare CR', `POST /take HTTP/1.1\r\n${token}X-A: b\rContent-Length: 5\r\n\r\n`],
    ['a NUL', `POST /take HTTP/1.1\r\n${token}X-A: b\0c\r\nContent-Length: 5\r\n\r\nhello`],
    ['no host', 'GET /hidden HTTP/1.1\r\nX-Access-Token: root\r\n\r\n'],
    ['two hosts and no body', `GET /hidden HTTP/1.1\r\nHost: y\r\n${token}\r\n`],
    ['two hosts', `POST /take HTTP/1.1\r\nHost: y\r\n${token}Content-Length: 5\r\n\r\nhello`],
    ['another protocol', `GET /hidden HTTP/2.0\r\n${token}\r\n`],
    ['a tunnel', `CONNECT /hidden HTTP/1.1\r\n${token}\r\n`],
  ])('%s', async (_, bytes) => {
    calls.length = 0
    const received = await sendBytes(front, bytes)
    expect(received).not.toMatch(/^HTTP\/1\.1 2/)
    expect(calls).toEqual([])
    expect(await sendBytes(front, hidden)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('is no second call, whatever somebody in front takes it for: after a body in chunks', () => {
  const take = `POST /take HTTP/1.1\r\n${token}Transfer-Encoding: chunked\r\n\r\n`
  test.each([
    // A field of the name X to whoever stands in front (RFC 9112 7.1.2), of which two bytes were taken for a line's end.
    ['a trailer field', '5\r\nhello\r\n0\r\nX:'],
    ['a chunk that ends otherwise', '5\r\nhelloXX0\r\n\r\n'],
    ['a last chunk that ends in a bare LF', '5\r\nhello\r\n0\n\r\n'],
    ['a size that ends in a bare LF', '5\nhello\r\n0\r\n\r\n'],
    ['a size that ends in a bare CR', '5\rhello\r\n0\r\n\r\n'],
  ])('%s', async (_, end) => {
    calls.length = 0
    await sendBytes(front, `${take}${end}${hidden}`, 50)
    // Nor where it comes when the first was answered, and whether or not anybody wanted the body.
    await sendAfterAnswer(`${take}${end}`, hidden)
    for (const line of ['POST /nowhere', 'GET /long'])
      await sendBytes(front, `${line} HTTP/1.1\r\n${token}Transfer-Encoding: chunked\r\n\r\n${end}${hidden}`, 50)
    expect(calls).not.toContain('hidden')
    expect(await sendBytes(front, hidden)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each([
    ['', 'POST /take', /^HTTP\/1\.1 200 [\s\S]*"size": 5/],
    [' of a call whose answer is long', 'POST /long', /^HTTP\/1\.1 200 [\s\S]*x{1000}/],
    [' of a call that has none', 'GET /hidden', /^HTTP\/1\.1 200 /],
    [' of a call that wants no answer', 'HEAD /hidden', /^HTTP\/1\.1 \d+ /],
  ])('the body itself is taken%s', async (_, line, answer) => {
    const bytes = `${line} HTTP/1.1\r\n${token}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`
    expect(await sendBytes(front, bytes, 100)).toMatch(answer)
  })
})

/** Sends `rest` on a connection on which `first` was answered. */
function sendAfterAnswer(first: string, rest: string): Promise<void> {
  return new Promise(resolve => {
    const socket = connect(Number(new URL(front.url).port), '127.0.0.1', () => socket.write(first))
    socket.setTimeout(100, () => socket.destroy())
    socket.once('data', () => socket.write(rest))
    socket.on('data', () => {})
    socket.on('error', () => {})
    socket.on('close', () => resolve())
  })
}

/** What the other side says on a connection on which `bytes` were sent, once it closes it. */
function held(bytes: string | Buffer, at = front): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1', () => socket.write(bytes))
    socket.on('data', data => {
      text += data.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
  })
}

describe.concurrent('are not kept', () => {
  const post = (headers: string) => `POST /take HTTP/1.1\r\n${token}${headers}\r\n`
  test.each([
    ['who says nothing', ''],
    ['who sends half a head', 'GET /hidden HTTP/1.1\r\nHos'],
    ['who sends half a body', `${post('Content-Length: 100\r\n')}half`],
    ['who sends half of a body in chunks', `${post('Transfer-Encoding: chunked\r\n')}5\r\nhel`],
    ['who is answered and says no more', hidden],
  ])('%s', async (_, bytes) => {
    expect(await held(bytes)).not.toMatch(/HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 200/)
  })

  test.each([
    ['nothing', ''],
    ['half of a TLS record', Buffer.from('160301', 'hex')],
  ])('who was to begin TLS and says %s', async (_, bytes) => {
    expect(await Promise.all(Object.values(secure).map(one => held(bytes, one)))).toEqual(['', ''])
  })

  test('an event stream is, however silent', async () => {
    const ended = held(`GET /silent HTTP/1.1\r\n${token}\r\n`)
    expect(await Promise.race([ended, sleep(limits.http.idleMs * 1.4).then(() => 'kept')])).toBe('kept')
  })
})

test('the front that was asked for is the one that serves', () => {
  expect(front.serves).toBe(choice === 'auto' ? 'uWebSockets.js' : choice)
})

test('many requests at once on one connection are answered in order, or the connection ends', async () => {
  const received = await sendBytes(
    front,
    `${hidden.repeat(20)}POST /take HTTP/1.1\r\n${token}Content-Length: 5\r\n\r\nhello`,
  )
  const statuses = received.match(/^HTTP\/1\.1 \d+/gm) ?? []
  expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 200']))
  if (statuses.length === 21) expect(received).toContain('"size": 5')
  expect(await sendBytes(front, hidden.repeat(2000))).not.toMatch(/HTTP\/1\.1 [45]/)
  expect(await sendBytes(front, hidden)).toMatch(/^HTTP\/1\.1 200 /)
  expect(front.exchange.pending).toBe(1)
})
