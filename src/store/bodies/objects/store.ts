// The one place that speaks with an S3-compatible store: whole values in, ranges out, one at a time by name.
//
// Promises: `put` resolves when the store has said that it has the value; nothing is given that is not as long as was asked for.
// What is not to be had now, for whatever reason, is StorageUnavailable after a few tries, never an answer; only a store that
// knows the bucket and not the name says that something is missing. Keys are shown to nobody, in no text and no log.

import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Dispatcher, Pool } from 'undici'
import { monotonic, now, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { undici } from '#lib/process/lazy.ts'
import type { ObjectsPlace } from '../../folder/place.ts'
import { type Call, type Signer, signed } from './signature.ts'

/** A value that is there. */
interface Stored {
  readonly name: string
  readonly size: number
  /** When it came, by the store's clock. */
  readonly at: number
}

/** What is sent; made anew for each try. */
interface Content {
  readonly size: number
  /** SHA-256, hexadecimal: the store refuses what does not have it. */
  readonly hash: string
  open(): Readable | Uint8Array
}

/** What the store answered with instead of a value. */
class Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor({ method }: Call, status: number, code: string, text: string) {
    super(`the store of bodies.url answered a ${method} with ${[status, code, text].filter(Boolean).join(' ')}`)
    this.status = status
    this.code = code
  }
}

export class ObjectStore {
  readonly #signer: Signer
  readonly #origin: string
  /** Of the bucket, with what all names begin with: it ends in a slash. */
  readonly #bucket: string
  readonly #prefix: string
  /** A file of certificates; '' for the public ones. */
  readonly #ca: string
  #pool: Pool | undefined
  #waiting = 0

  constructor(place: ObjectsPlace) {
    const { origin, bucket, prefix } = addressOf(place)
    this.#signer = place
    this.#origin = origin
    this.#bucket = bucket
    this.#prefix = prefix
    this.#ca = place.ca ?? ''
  }

  /** @throws Fault StorageUnavailable, Overloaded */
  async put(name: string, { size, hash: bodyHash, open }: Content): Promise<void> {
    const headers = { 'content-length': String(size) }
    await this.#tried({ method: 'PUT', url: this.#urlOf(name), headers, bodyHash }, async call => {
      await this.#asked(call, drained, open())
    })
  }

  /** Bytes of a value; undefined where it is not there. @throws Fault StorageUnavailable, Overloaded */
  read(name: string, start: number, length: number): Promise<Buffer | undefined> {
    const headers = { range: `bytes=${start}-${start + length - 1}` }
    const call = { method: 'GET', url: this.#urlOf(name), headers } as const
    return this.#unlessMissing(call, one =>
      this.#asked(one, async answer => {
        // A store that does not know ranges would send all of it, one that counts otherwise another.
        const range = String(answer.headers['content-range'] ?? `bytes ${start}-`)
        const right = range.startsWith(`bytes ${start}-`) && Number(answer.headers['content-length']) === length
        if (answer.statusCode !== 206 || !right) {
          throw new Error(`the store of bodies.url gave other bytes than were asked for (${answer.statusCode})`)
        }
        const bytes = Buffer.from(await answer.body.arrayBuffer())
        if (bytes.length !== length) throw new Error('the store of bodies.url cut its answer short')
        return bytes
      }),
    )
  }

  /** How long a value is; undefined where it is not there. @throws Fault StorageUnavailable, Overloaded */
  sizeOf(name: string): Promise<number | undefined> {
    return this.#unlessMissing({ method: 'HEAD', url: this.#urlOf(name) }, call =>
      this.#asked(call, async answer => {
        await drained(answer)
        return Number(answer.headers['content-length'])
      }),
    )
  }

  /** One that is not there is passed over. @throws Fault StorageUnavailable, Overloaded */
  async remove(name: string): Promise<void> {
    await this.#unlessMissing({ method: 'DELETE', url: this.#urlOf(name) }, call => this.#asked(call, drained))
  }

  /** That it does all that is asked of it: takes a small value, gives it, lists and removes it. @throws Fault StorageUnavailable, Overloaded */
  async prove(): Promise<void> {
    const name = `probe-${newId()}`
    const bytes = Buffer.from(name)
    await this.put(name, { size: bytes.length, hash: hash('sha256', bytes, 'hex'), open: () => bytes })
    const found = await this.read(name, 0, bytes.length)
    await this.all().next()
    await this.remove(name)
    if (found?.equals(bytes) === true) return
    throw new Fault('StorageUnavailable', {
      cause: new Error('the store of bodies.url does not give what was put there'),
    })
  }

  /** All values, some hundred at a time. @throws Fault StorageUnavailable, Overloaded */
  async *all(): AsyncGenerator<Stored[]> {
    for (let next: string | undefined; ; ) {
      const url = new URL(this.#bucket, this.#origin)
      url.searchParams.set('list-type', '2')
      url.searchParams.set('prefix', this.#prefix)
      if (next !== undefined) url.searchParams.set('continuation-token', next)
      const text = await this.#tried({ method: 'GET', url }, call => this.#asked(call, limitedText))
      yield [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry = '']) => ({
        name: textOf(entry, 'Key').slice(this.#prefix.length),
        size: Number(textOf(entry, 'Size')),
        at: Date.parse(textOf(entry, 'LastModified')),
      }))
      if (textOf(text, 'IsTruncated') !== 'true') return
      next = textOf(text, 'NextContinuationToken')
      if (next === '') throw new Fault('StorageUnavailable', { cause: new Error('a list of bodies.url has no end') })
    }
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    await pool?.destroy()
  }

  #urlOf(name: string): URL {
    return new URL(`${this.#bucket}${this.#prefix}${name}`, this.#origin)
  }

  async #unlessMissing<Value>(call: Call, task: (call: Call) => Promise<Value>): Promise<Value | undefined> {
    return await this.#tried(call, async one => {
      try {
        return await task(one)
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 404) throw error
        // A bucket that is not there says nothing of what was in it; the answer to HEAD has no text, so it is asked for.
        if (error.code === 'NoSuchKey') return undefined
        if (one.method === 'HEAD' && (await this.#isMissing(one))) return undefined
        throw error
      }
    })
  }

  async #isMissing({ url }: Call): Promise<boolean> {
    try {
      await this.#asked({ method: 'GET', url, headers: { range: 'bytes=0-0' } }, drained)
      return false
    } catch (error) {
      if (error instanceof Refusal && error.code === 'NoSuchKey') return true
      throw error
    }
  }

  /** A few times, where another time may help. */
  async #tried<Value>(call: Call, task: (call: Call) => Promise<Value>): Promise<Value> {
    if (this.#waiting >= limits.objects.callsMax) throw new Fault('Overloaded')
    this.#waiting += 1
    const until = monotonic() + limits.objects.triesMs
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await task(call)
        } catch (cause) {
          if (cause instanceof Fault) throw cause
          const last = tries >= limits.objects.tries || monotonic() > until
          if (last || (cause instanceof Refusal && !isPassing(cause))) throw new Fault('StorageUnavailable', { cause })
          await sleep(limits.objects.againMs * 4 ** (tries - 1))
        }
      }
    } finally {
      this.#waiting -= 1
    }
  }

  async #asked<Value>(
    call: Call,
    take: (answer: Dispatcher.ResponseData) => Promise<Value>,
    body?: Readable | Uint8Array,
  ): Promise<Value> {
    const { callMs, silenceMs } = limits.objects
    const answer = await this.#connections().request({
      method: call.method,
      path: call.url.pathname + call.url.search,
      headers: signed(call, this.#signer, now()),
      body: body ?? null,
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
      signal: AbortSignal.timeout(callMs),
    })
    if (answer.statusCode >= 200 && answer.statusCode < 300) return await take(answer)
    const text = await limitedText(answer)
    throw new Refusal(call, answer.statusCode, textOf(text, 'Code'), saidOf(textOf(text, 'Message'), answer))
  }

  #connections(): Pool {
    this.#pool ??= new (undici().Pool)(this.#origin, {
      connections: limits.objects.connections,
      connect: { timeout: limits.objects.connectMs, ...(this.#ca !== '' && { ca: readFileSync(this.#ca, 'utf8') }) },
    })
    return this.#pool
  }
}

/** What another moment may change; a wrong key or bucket it does not. */
function isPassing({ status, code }: Refusal): boolean {
  return status >= 500 || status === 429 || status === 408 || code === 'RequestTimeout' || code === 'SlowDown'
}

/** Where calls go: the name of the bucket is in the path, at Amazon's in the host where it can be. */
function addressOf({ url, region }: ObjectsPlace): { origin: string; bucket: string; prefix: string } {
  const { protocol, host, origin, pathname } = new URL(url)
  const names = pathname.split('/').filter(name => name !== '')
  const prefixOf = (rest: readonly string[]) => rest.map(name => `${name}/`).join('')
  if (protocol !== 's3:') {
    return { origin, bucket: `/${names[0]}/`, prefix: prefixOf(names.slice(1)) }
  }
  const amazon = `s3.${region}.amazonaws.com`
  const prefix = prefixOf(names)
  if (host.includes('.')) return { origin: `https://${amazon}`, bucket: `/${host}/`, prefix }
  return { origin: `https://${host}.${amazon}`, bucket: '/', prefix }
}

/** What a store says of its refusal, such as which region is right; and where it would have been asked instead, which is not followed. */
function saidOf(message: string, { headers: { location } }: Dispatcher.ResponseData): string {
  const said = message.replace(/[^\x20-\x7e]+/g, ' ').slice(0, limits.objects.saidMax)
  return [said === '' ? '' : `(${said})`, location === undefined ? '' : `(it is at ${location})`].join(' ').trim()
}

async function drained(answer: Dispatcher.ResponseData): Promise<void> {
  await answer.body.dump()
}

/** A list has a thousand names at most. */
async function limitedText({ body }: Dispatcher.ResponseData): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > limits.objects.listBytesMax) throw new Error('the store of bodies.url says more than is listened to')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The text of the first element of that name; '' where there is none. */
function textOf(xml: string, element: string): string {
  const [, text = ''] = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml) ?? []
  return text.replace(/&(?:#(\d+)|(\w+));/g, (whole, number: string | undefined, name: string | undefined) =>
    number === undefined ? (entities[name ?? ''] ?? whole) : String.fromCodePoint(Number(number)),
  )
}
