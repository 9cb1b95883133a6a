// Calls and words between nodes over a real nats-server: once only, whatever is lost on the way.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Broker, connectBroker } from '#cluster/broker.ts'
import { NodeLine, type Peer, Unanswered } from '#cluster/line.ts'
import { Fault } from '#lib/fault.ts'
import { makeLog } from '#lib/log.ts'
import { type Nats, startNats } from './nats.ts'

type Calls = {
  add: { input: number; reply: number }
  echo: { input: unknown; reply: unknown }
  wait: { input: undefined; reply: string }
  fail: { input: undefined; reply: never }
}
type Words = { note: number }

let nats: Nats
const closing: (() => Promise<void>)[] = []

beforeAll(async () => {
  nats = await startNats()
})
afterAll(() => nats.stop())
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A broker that loses what it is told to. */
class Lossy implements Broker {
  readonly #broker: Broker
  lose: (bytes: Uint8Array) => boolean = () => false
  lost = 0

  constructor(broker: Broker) {
    this.#broker = broker
  }

  get payloadMax() {
    return this.#broker.payloadMax
  }

  get connected() {
    return this.#broker.connected
  }

  publish(subject: string, bytes: Uint8Array): void {
    if (this.lose(bytes)) this.lost += 1
    else this.#broker.publish(subject, bytes)
  }

  subscribe(subject: string, hear: (bytes: Buffer) => void) {
    return this.#broker.subscribe(subject, hear)
  }

  close() {
    return this.#broker.close()
  }
}

class End {
  readonly peer: Peer
  readonly broker: Lossy
  readonly line: NodeLine<Calls, Words>
  sum = 0
  ended = 0
  notes: number[] = []
  missed = 0
  answer: (said: string) => void = () => {}

  constructor(num: number, broker: Broker) {
    this.peer = { num, incarnation: `${num}-${Math.random()}` }
    this.broker = new Lossy(broker)
    this.line = new NodeLine<Calls, Words>({
      broker: this.broker,
      prefix: 'teal.test',
      self: this.peer,
      side: () => ({
        calls: {
          add: number => {
            this.sum += number
            return this.sum
          },
          echo: input => input,
          wait: (_, signal) =>
            new Promise(done => {
              this.answer = done
              signal.addEventListener('abort', () => {
                this.ended += 1
                done('ended')
              })
            }),
          fail: () => {
            throw new Fault('OverQuotaError', { details: { why: 'full' } })
          },
        },
        words: { note: number => void this.notes.push(number) },
      }),
      missed: () => {
        this.missed += 1
      },
    })
  }

  static async open(num: number): Promise<End> {
    const end = new End(num, await connectBroker({ nats: nats.url, ca: '' }, `test ${num}`, makeLog('silent')))
    closing.push(() => end.broker.close())
    await end.line.listen()
    closing.push(() => end.line.close())
    return end
  }
}

let one: End
let other: End

beforeEach(async () => {
  one = await End.open(1)
  other = await End.open(2)
})

test('data, faults and large values cross as they are between threads', async () => {
  const data = {
    bytes: Buffer.from([0, 255]),
    map: new Map([['a', new Set([1])]]),
    nothing: undefined,
    none: null,
    at: new Date(5),
    list: [1.5, 2 ** 50, 'ß\u0000'],
  }
  expect(await one.line.call(other.peer, 'echo', data)).toEqual(data)
  // Half of a pair of surrogates, short and long, and a name that is an object's own.
  const halves = ['\ud800x', `${'long '.repeat(50)}\udc00`].map(half => `{"half":${JSON.stringify(half)}}`)
  for (const text of [...halves, '{"\\ud800":1}', '{"__proto__":{"own":1}}']) {
    for (const odd of [JSON.parse(text), new Map([['in', JSON.parse(text)]]), new Set([JSON.parse(text)])]) {
      const back = (await one.line.call(other.peer, 'echo', odd)) as Iterable<unknown>
      expect(back.constructor).toBe(odd.constructor)
      expect(JSON.stringify(Symbol.iterator in back ? [...back] : back)).toBe(
        JSON.stringify(Symbol.iterator in odd ? [...odd] : odd),
      )
    }
  }
  await expect(one.line.call(other.peer, 'fail', undefined)).rejects.toMatchObject({
    code: 'OverQuotaError',
    details: { why: 'full' },
  })
  const large = Buffer.alloc(5 * 1024 * 1024, 'abcdefg')
  const back = (await one.line.call(other.peer, 'echo', large)) as Buffer
  expect(large.equals(back)).toBe(true)
})

test('each call is carried out once, whichever message is lost', async () => {
  // Every third message of each is lost, also pieces and questions.
  for (const { broker } of [one, other]) {
    let number = 0
    broker.lose = () => ++number % 3 === 0
  }
  const calls: Promise<unknown>[] = []
  for (let at = 0; at < 30; at++) {
    calls.push(one.line.call(other.peer, 'add', 1))
    if (at % 3 === 0) await Promise.race([calls.at(-1), new Promise(resolve => setTimeout(resolve, 5))])
  }
  const sums = await Promise.all(calls)
  expect(new Set(sums).size).toBe(30)
  expect(other.sum).toBe(30)
  expect(one.broker.lost + other.broker.lost).toBeGreaterThan(3)
  expect(one.line.open).toBe(0)
})

test('who waits no longer ends what he asked for, over there too', async () => {
  const abort = new AbortController()
  const waiting = one.line.call(other.peer, 'wait', undefined, { signal: abort.signal })
  const heard = expect(waiting).rejects.toMatchObject({ code: 'TimedOut' })
  await one.line.call(other.peer, 'add', 0)
  abort.abort()
  await heard
  await expect.poll(() => other.ended).toBe(1)
  await expect(one.line.call(other.peer, 'wait', undefined, { ms: 100 })).rejects.toMatchObject({ code: 'TimedOut' })
  await expect.poll(() => other.ended).toBe(2)
})

test('what takes long is asked after and waited for', async () => {
  const waiting = one.line.call(other.peer, 'wait', undefined)
  let asked = 0
  one.broker.lose = () => {
    asked += 1
    return false
  }
  await expect.poll(() => asked).toBeGreaterThan(1)
  other.answer('at last')
  expect(await waiting).toBe('at last')
})

test('a node that is gone answers nothing, and who asked hears that nobody knows', async () => {
  const waiting = one.line.call(other.peer, 'wait', undefined)
  const heard = expect(waiting).rejects.toBeInstanceOf(Unanswered)
  await one.line.call(other.peer, 'add', 0)
  one.line.gone(other.peer)
  await heard
})

test('words arrive in order, and one that is lost is missed, also the last', async () => {
  for (const note of [1, 2, 3]) one.line.tell(other.peer, 'note', note)
  await one.line.call(other.peer, 'add', 0)
  expect(other.notes).toEqual([1, 2, 3])
  expect(other.missed).toBe(0)
  one.broker.lose = () => true
  one.line.tell(other.peer, 'note', 4)
  await expect.poll(() => one.broker.lost).toBe(1)
  one.broker.lose = () => false
  await expect.poll(() => other.missed).toBe(1)
  one.line.tell(other.peer, 'note', 5)
  await expect.poll(() => other.notes).toEqual([1, 2, 3, 5])
  expect(other.missed).toBe(1)
})

test('a last word is missed also where what says that it was said is lost with it', async () => {
  await one.line.call(other.peer, 'add', 0)
  one.broker.lose = () => true
  one.line.tell(other.peer, 'note', 1)
  await expect.poll(() => one.broker.lost).toBe(2)
  one.broker.lose = () => false
  await expect.poll(() => other.missed).toBe(1)
})

test('what is asked while the server is gone is answered when it is there again', async () => {
  await nats.kill()
  const calls = Promise.all([1, 2, 3].map(number => one.line.call(other.peer, 'add', number)))
  await nats.start()
  await calls
  expect(other.sum).toBe(6)
})
