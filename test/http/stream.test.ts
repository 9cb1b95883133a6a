// Long answers and long bodies: order, back-pressure, clients that leave, sources that fail, a service that stops.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Type from 'typebox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { monotonic, shiftClock, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { binary, eventStream, ranged, rangedHeaders, type StreamEvent } from '../../src/http/answer.ts'
import { anyType, endpoint } from '../../src/http/endpoint.ts'
import type { Caller } from '../../src/http/guard/access.ts'
import { int, text } from '../../src/http/schema.ts'
import { listenLocal } from '../../src/http/server.ts'
import { type Front, startFront } from './front.ts'
import { send, sendBytes } from './scenario.ts'

const mib = 1024 * 1024

/** What the endpoints did, for the tests to look at. */
let seen: {
  produced: number
  consumed: number
  ended: number
  aborted: unknown
  release: () => void
  held: Promise<void>
}
let front: Front

beforeEach(async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  seen = { produced: 0, consumed: 0, ended: 0, aborted: null, release: resolve, held: promise }
  front = await startFront(endpoints, { token: 'root' })
})
afterEach(async () => {
  seen.release()
  await front.close(0)
})

/** `count` chunks of `size` bytes, each filled with its number. */
async function* chunks(count: number, size: number): AsyncGenerator<Buffer> {
  try {
    for (let index = 0; index < count; index++) {
      seen.produced += size
      yield Buffer.alloc(size, index)
    }
    // What is cut in the same moment as it is written may never leave.
    await sleep(1)
  } finally {
    seen.ended += 1
  }
}

/** How many chunks that are work were made in each turn of the loop. */
const madeIn = new Map<number, number>()
let turn = 0

/** A chunk that takes longer than a slice. */
async function* worked(): AsyncGenerator<Buffer> {
  madeIn.set(turn, (madeIn.get(turn) ?? 0) + 1)
  for (const until = monotonic() + limits.pace.sliceMs + 1; monotonic() < until; );
  yield Buffer.alloc(1)
}

async function* broken(): AsyncGenerator<Buffer> {
  yield Buffer.from('so far so good')
  await sleep(20)
  throw new Error('the disk is gone')
}

async function* brokenAtOnce(): AsyncGenerator<Buffer> {
  await Promise.resolve()
  if (seen.produced === 0) throw new Fault('AttachmentNotFound')
  yield Buffer.alloc(0)
}

async function* events(signal: AbortSignal): AsyncGenerator<StreamEvent> {
  try {
    yield { data: { command: 'EXISTS', uid: 1 }, id: 'aaa' }
    yield { data: 'two\nlines', event: 'note' }
    await new Promise<void>((resolve, reject) => {
      seen.held.then(resolve)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    yield { data: 'released' }
  } finally {
    seen.ended += 1
  }
}

const content = Buffer.from('0123456789')
const common = { tag: 'Test', allow: null, summary: 'Test' } as const

const endpoints = [
  endpoint({
    ...common,
    method: 'GET',
    path: '/bytes/:kind',
    replyType: anyType,
    params: { kind: text() },
    query: { count: int({ default: 3 }), size: int({ default: 10 }) },
    faults: ['AttachmentNotFound'],
    run({ input: { kind, count, size } }) {
      const headers = { 'content-type': 'text/x-test', 'content-disposition': 'a\r\nX-Evil: yes' }
      if (kind === 'chunked') return binary({ headers, body: chunks(count, size) })
      if (kind === 'sized') return binary({ headers, body: chunks(count, size), length: count * size })
      if (kind === 'short') return binary({ headers, body: chunks(count, size), length: count * size + 1 })
      if (kind === 'long') return binary({ headers, body: chunks(count, size), length: count * size - 1 })
      if (kind === 'whole') return binary({ body: Buffer.alloc(size, 7) })
      if (kind === 'text') return binary({ status: 201, body: 'text' })
      if (kind === 'empty') return binary({ body: chunks(0, 0), length: 0 })
      if (kind === 'nothing') return binary({ body: chunks(0, 0) })
      if (kind === 'worked') return binary({ body: worked() })
      if (kind === 'broken') return binary({ body: broken() })
      return binary({ body: brokenAtOnce() })
    },
  }),
  endpoint({
    ...common,
    method: 'GET',
    path: '/range',
    replyType: anyType,
    headers: rangedHeaders,
    faults: ['RangeNotSatisfiable'],
    run: ({ request }) =>
      ranged(name => request.header(name), {
        size: content.length,
        etag: 'v1',
        open: (start, end) => content.subarray(start, end),
      }),
  }),
  endpoint({
    ...common,
    method: 'GET',
    path: '/events',
    run: ({ signal }) => eventStream(events(signal)),
  }),
  endpoint({
    ...common,
    method: 'POST',
    path: '/raw',
    bodyKind: 'raw',
    bodyBytesMax: 64 * mib,
    reply: { size: Type.Integer(), sum: Type.Integer() },
    async run({ request }) {
      let sum = 0
      for await (const chunk of request.stream()) {
        if (seen.consumed === 0) await seen.held
        seen.consumed += chunk.length
        for (const byte of chunk) sum += byte
      }
      return { size: seen.consumed, sum }
    },
  }),
  endpoint({
    ...common,
    method: 'POST',
    path: '/ignore',
    bodyKind: 'raw',
    run: () => undefined,
  }),
  endpoint({
    ...common,
    method: 'GET',
    path: '/slow',
    answerMs: 1,
    async run({ signal }) {
      signal.addEventListener('abort', () => {
        seen.aborted = signal.reason
      })
      await seen.held
    },
  }),
  endpoint({
    ...common,
    method: 'GET',
    path: '/wait',
    async run() {
      seen.produced += 1
      await seen.held
    },
  }),
]

const get = (path: string, headers: Record<string, string> = {}) =>
  send(front, 'GET', path, undefined, { 'x-access-token': 'root', ...headers })

/** Waits until `ready` says so; fails by the test's own time limit. */
async function until(ready: () => boolean): Promise<void> {
  while (!ready()) await sleep(5)
}

function connect(request: string): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(front.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  return new Promise(resolve => socket.write(request, () => resolve(socket)))
}

const head = (method: string, path: string, more = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Access-Token: root\r\n${more}\r\n`

describe('answers of bytes', () => {
  test('chunked and sized', async () => {
    const expected = Buffer.concat([0, 1, 2].map(value => Buffer.alloc(10, value))).toString()
    const chunked = await get('/bytes/chunked')
    expect(chunked).toMatchObject({ status: 200, text: expected })
    expect(chunked.headers.get('content-length')).toBe(null)
    expect(chunked.headers.get('content-type')).toBe('text/x-test')
    expect(chunked.headers.get('x-evil')).toBe(null)
    expect(chunked.headers.get('x-request-id')).toMatch(/./)
    const sized = await get('/bytes/sized')
    expect(sized.text).toBe(expected)
    expect(sized.headers.get('content-length')).toBe('30')
  })

  test('whole, text and empty ones', async () => {
    const whole = await get(`/bytes/whole?size=${3 * limits.body.chunkBytes + 5}`)
    expect(whole.text.length).toBe(3 * limits.body.chunkBytes + 5)
    expect(whole.headers.get('content-type')).toBe('application/octet-stream')
    expect(await get('/bytes/text')).toMatchObject({ status: 201, text: 'text' })
    expect((await get('/bytes/empty')).headers.get('content-length')).toBe('0')
    expect(await get('/bytes/nothing')).toMatchObject({ status: 200, text: '' })
  })

  test('a large one arrives whole, by either way', async () => {
    for (const kind of ['sized', 'chunked']) {
      const response = await fetch(`${front.url}/bytes/${kind}?count=200&size=${mib / 4}`, {
        headers: { 'x-access-token': 'root' },
      })
      const body = new Uint8Array(await response.arrayBuffer())
      expect(body.length).toBe(50 * mib)
      for (let index = 0; index < 200; index++) expect(body[(index * mib) / 4]).toBe(index)
    }
  })

  test.each(['sized', 'chunked'])(
    '%s: a reader that reads nothing holds the source back, and its leaving ends it',
    async kind => {
      const socket = await connect(head('GET', `/bytes/${kind}?count=4000&size=${mib / 4}`))
      socket.pause()
      await until(() => seen.produced > 0)
      let before = -1
      while (before !== seen.produced) {
        before = seen.produced
        await sleep(100)
      }
      expect(seen.produced).toBeLessThan(100 * mib)
      socket.destroy()
      await until(() => seen.ended === 1)
      await until(() => front.exchange.pending === 0)
    },
  )

  test('many at once, each of them work, are made a few in each turn of the loop', async () => {
    let counting: NodeJS.Immediate | undefined
    const count = () => {
      turn += 1
      counting = setImmediate(count)
    }
    count()
    await Promise.all(Array.from({ length: 40 }, () => get('/bytes/worked')))
    clearImmediate(counting)
    expect([...madeIn.values()].reduce((sum, made) => sum + made)).toBe(40)
    expect(Math.max(...madeIn.values())).toBeLessThan(5)
  })

  test('a source that fails later cuts the connection and is logged', async () => {
    const received = await sendBytes(front, head('GET', '/bytes/broken'))
    expect(received).toContain('so far so good')
    expect(received).not.toContain('\r\n0\r\n')
    expect(received).not.toContain('disk')
    expect(JSON.stringify(front.lines)).toContain('the disk is gone')
  })

  test('a source that fails at once is refused as usual', async () => {
    expect(await get('/bytes/brokenAtOnce')).toMatchObject({ status: 404, json: { code: 'AttachmentNotFound' } })
  })

  test('one that gives less than announced is cut; more is not sent', async () => {
    const short = await sendBytes(front, head('GET', '/bytes/short'))
    expect(short).toContain('Content-Length: 31\r\n')
    expect(JSON.stringify(front.lines)).toContain('ended 1 bytes early')
    expect((await get('/bytes/long')).text).toHaveLength(29)
  })
})

describe('ranges', () => {
  test.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=7-99', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['', 200, '0123456789', null],
    ['bytes=4-2', 200, '0123456789', null],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
    ['bytes=-', 200, '0123456789', null],
  ])('%s', async (range, status, body, contentRange) => {
    const reply = await get('/range', { range })
    expect([reply.status, reply.text, reply.headers.get('content-range')]).toEqual([status, body, contentRange])
    expect(reply.headers.get('accept-ranges')).toBe('bytes')
  })

  test.each(['bytes=10-', 'bytes=-0', 'bytes=99-100'])('%s lies outside', async range => {
    expect(await get('/range', { range })).toMatchObject({
      status: 416,
      json: { code: 'RangeNotSatisfiable', size: 10 },
    })
  })

  test('only of the version that the client knows', async () => {
    expect((await get('/range', { range: 'bytes=0-0', 'if-range': '"v1"' })).status).toBe(206)
    expect((await get('/range', { range: 'bytes=0-0', 'if-range': '"v0"' })).status).toBe(200)
  })
})

describe('events', () => {
  test('their form, a greeting, and the end of the source', async () => {
    setTimeoutRelease()
    const reply = await get('/events')
    expect(reply.headers.get('content-type')).toBe('text/event-stream')
    expect(reply.headers.get('cache-control')).toBe('no-cache')
    expect(reply.text).toBe(
      ': idling 1\n\n\n' +
        'data: {\ndata:   "command": "EXISTS",\ndata:   "uid": 1\ndata: }\nid: aaa\n\n\n' +
        'event: note\ndata: two\ndata: lines\n\n\n' +
        'data: released\n\n\n',
    )
  })

  test('a client that leaves ends the source', async () => {
    const socket = await connect(head('GET', '/events'))
    await new Promise(resolve => socket.once('data', resolve))
    socket.destroy()
    await until(() => seen.ended === 1 && front.exchange.pending === 0)
  })

  test('a service that stops ends the stream properly', async () => {
    const reading = sendBytes(front, head('GET', '/events'), 2000)
    await until(() => front.exchange.pending === 1)
    await sleep(50)
    await front.close(2000)
    expect(await reading).toMatch(/\r\n0\r\n\r\n$/)
  })

  function setTimeoutRelease(): void {
    void sleep(50).then(() => seen.release())
  }
})

describe('bodies', () => {
  test('are handed over as they arrive, and wait while nobody takes', async () => {
    const body = Buffer.alloc(20 * mib, 1)
    const posting = send(front, 'POST', '/raw', body, {
      'x-access-token': 'root',
      'content-type': 'application/octet-stream',
    })
    await sleep(200)
    expect(seen.consumed).toBe(0)
    seen.release()
    expect(await posting).toMatchObject({ status: 200, json: { size: body.length, sum: body.length } })
  })

  test('chunked ones too', async () => {
    seen.release()
    const chunk = `10000\r\n${'\x01'.repeat(0x10000)}\r\n`
    const received = await sendBytes(
      front,
      `${head('POST', '/raw', 'Transfer-Encoding: chunked\r\n')}${chunk.repeat(20)}0\r\n\r\n`,
    )
    expect(received).toContain(`"size": ${20 * 0x10000}`)
  })

  test('one that nobody takes is thrown away and the connection goes on', async () => {
    const post = head('POST', '/ignore', 'Content-Length: 3000000\r\n') + 'x'.repeat(3_000_000)
    const received = await sendBytes(front, post + head('GET', '/range'), 1000)
    expect(received.match(/^HTTP\/1\.1 \d+|^0123456789/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', '0123456789'])
  })

  test('a client that leaves in the middle ends the work', async () => {
    seen.release()
    const socket = await connect(`${head('POST', '/raw', 'Content-Length: 1000\r\n')}abc`)
    await until(() => seen.consumed === 3)
    socket.destroy()
    await until(() => front.exchange.pending === 0)
  })

  test('a length over the cap closes the connection when the rest is long', async () => {
    const received = await sendBytes(front, `${head('POST', '/raw', `Content-Length: ${1024 * mib}\r\n`)}abc`)
    expect(received).toMatch(/^HTTP\/1\.1 413 [\s\S]*Connection: close/)
  })
})

describe('time and load', () => {
  test('what takes too long is answered and aborted', async () => {
    const slow = get('/slow')
    await until(() => front.exchange.pending === 1)
    await sleep(20)
    front.exchange.sweep()
    expect(await slow).toMatchObject({ status: 503, json: { code: 'TimedOut' } })
    await until(() => seen.aborted !== null)
    expect(seen.aborted).toMatchObject({ code: 'TimedOut' })
    expect(front.exchange.pending).toBe(1)
    seen.release()
    await until(() => front.exchange.pending === 0)
  })

  test('a body that takes too long to arrive', async () => {
    const reading = sendBytes(front, `${head('POST', '/raw', 'Content-Length: 1000\r\n')}abc`, 1000)
    await until(() => front.exchange.pending === 1)
    front.exchange.sweep(monotonic() + limits.http.bodyMs + limits.http.requestMs)
    const received = await reading
    expect(received).toMatch(/^HTTP\/1\.1 408 /)
    expect(received).toContain('BodyTimedOut')
  })

  test('a client that leaves aborts the work', async () => {
    const socket = await connect(head('GET', '/slow'))
    await until(() => front.exchange.pending === 1)
    socket.destroy()
    await until(() => seen.aborted !== null)
  })

  test('more requests at once than allowed get a busy answer', async () => {
    const socket = await connect(head('GET', '/wait').repeat(1))
    const sockets = [socket]
    for (let index = 1; index < limits.http.inFlightMax; index++) sockets.push(await connect(head('GET', '/wait')))
    await until(() => front.exchange.pending === limits.http.inFlightMax)
    expect(await get('/range')).toMatchObject({ status: 503, json: { code: 'Overloaded' } })
    seen.release()
    await until(() => front.exchange.pending === 0)
    expect((await get('/range')).status).toBe(200)
    for (const one of sockets) one.destroy()
  })

  test('a stop lets requests under way end and refuses new ones', async () => {
    const kept = await connect(head('GET', '/range'))
    await new Promise(resolve => kept.once('data', resolve))
    const waiting = get('/wait')
    await until(() => front.exchange.pending === 1)
    const closing = front.close(5000)
    await expect(get('/range')).rejects.toThrow()
    kept.write(head('GET', '/range'))
    const [refusal] = (await new Promise<Buffer[]>(resolve => kept.once('data', data => resolve([data])))) as [Buffer]
    expect(refusal.toString()).toMatch(/^HTTP\/1\.1 503 [\s\S]*"Stopping"/)
    seen.release()
    expect((await waiting).status).toBe(200)
    await closing
  })

  test('a stop ends what does not end by itself', async () => {
    const waiting = get('/wait')
    await until(() => front.exchange.pending === 1)
    await front.close(10)
    expect(await waiting).toMatchObject({ status: 503, json: { code: 'Stopping' } })
  })

  test('a port in use', async () => {
    const { listenHttp } = await import('../../src/http/server.ts')
    const port = Number(new URL(front.url).port)
    await expect(listenHttp(front.exchange, { host: '127.0.0.1', port })).rejects.toThrow(String(port))
  })
})

test.each(['/bytes/chunked?count=400&size=262144', '/bytes/sized?count=400&size=262144'])(
  '%s ends with the token of whoever asked for it, however slowly it is read',
  async path => {
    await front.close(0)
    let isEnded = false
    const identify = (): Caller => {
      if (isEnded) throw new Fault('InvalidToken')
      return { role: 'root', user: null, tokenKind: 'provisioned' }
    }
    front = await startFront(endpoints, { identify })
    const socket = await connect(head('GET', path))
    let received = 0
    socket.on('data', data => {
      received += data.length
    })
    await until(() => received > 0)
    socket.pause()
    isEnded = true
    shiftClock(limits.http.askAgainMs)
    socket.resume()
    await once(socket, 'close')
    shiftClock(0)
    // What was on its way may arrive; nothing is made any more.
    expect(received).toBeLessThan(50 * mib)
    await until(() => seen.ended === 1)
    expect(front.lines).toEqual([])
  },
)

test('an answer in chunks over the socket of commands is whole, however late it is taken', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'teal-stream-'))
  const local = await listenLocal(front.exchange, join(dir, 'socket'))
  const [count, size] = [200, 16_384]
  const path = `/bytes/chunked?count=${count}&size=${size}&accessToken=root`
  const where = { socketPath: join(dir, 'socket'), path }
  const answer = await new Promise<IncomingMessage>(resolve => void request(where, resolve).end())
  // Until the socket is full.
  for (let before = -1; seen.produced > before; await sleep(50)) before = seen.produced
  expect(seen.produced).toBeLessThan(count * size)
  const taken = await answer.toArray()
  expect(Buffer.concat(taken)).toEqual(Buffer.concat(Array.from({ length: count }, (_, at) => Buffer.alloc(size, at))))
  await local.close(0)
  rmSync(dir, { recursive: true })
})
