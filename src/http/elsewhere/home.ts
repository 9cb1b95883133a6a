// The calls of one front thread, answered where the actors are.
//
// Promises: an endpoint cannot tell that its call came over a line; what a front does not want any more, or takes with it when
// it goes, ends here; of an answer no more is made than was asked for, but for what fills one piece.

import { Buffer } from 'node:buffer'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Binary, EventStream, Json } from '../answer.ts'
import type { Context, Endpoint, Request } from '../endpoint.ts'
import { type AnsweredCall, type AskedCall, alone, type Bodies, type Home, nameOf, type Pulled } from './crossing.ts'

export type FindEndpoint = (name: string) => Endpoint | undefined

/** @param endpoints asked for with the first call */
export function endpointsByName(endpoints: () => readonly Endpoint[]): FindEndpoint {
  let known: Map<string, Endpoint> | undefined
  return name => {
    known ??= new Map(endpoints().map(endpoint => [nameOf(endpoint), endpoint]))
    return known.get(name)
  }
}

/** An answer that is taken piece by piece. */
interface Answer {
  next(): Promise<Pulled>
  end(): void
}

export class Answering implements Home {
  readonly #find: FindEndpoint
  readonly #bodies: Bodies
  /** Endpoints that work on an answer. */
  readonly #running = new Map<number, AbortController>()
  readonly #open = new Map<number, Answer>()

  /** @param bodies of the requests, as the front has them */
  constructor(find: FindEndpoint, bodies: Bodies) {
    this.#find = find
    this.#bodies = bodies
  }

  async ask(asked: AskedCall): Promise<AnsweredCall> {
    const endpoint = this.#find(asked.endpoint)
    if (endpoint === undefined) throw new Error(`nobody answers ${asked.endpoint} here`)
    const { number } = asked
    const over = new AbortController()
    this.#running.set(number, over)
    try {
      const result = await endpoint.run(new Asked(asked, this.#bodies, over.signal))
      const answer = answerOf(result, () => over.abort(new Fault('TimedOut')))
      if (answer !== undefined && over.signal.aborted) answer.end()
      else if (answer !== undefined) this.#open.set(number, answer)
      return answered(result)
    } finally {
      this.#running.delete(number)
    }
  }

  async pull(number: number): Promise<Pulled> {
    const answer = this.#open.get(number)
    if (answer === undefined) throw new Fault('TimedOut')
    try {
      const pulled = await answer.next()
      if (pulled === null) this.#open.delete(number)
      return pulled
    } catch (error) {
      this.leave(number)
      throw error
    }
  }

  leave(number: number): void {
    this.#running.get(number)?.abort(new Fault('TimedOut'))
    const answer = this.#open.get(number)
    this.#open.delete(number)
    answer?.end()
  }

  /** The front is gone. */
  end(): void {
    for (const number of [...this.#running.keys(), ...this.#open.keys()]) this.leave(number)
  }
}

function answered(result: unknown): AnsweredCall {
  if (result instanceof Json) return { kind: 'json', ...result }
  if (result instanceof EventStream) return { kind: 'events', greets: result.greets, retryMs: result.retryMs }
  if (!(result instanceof Binary)) return { kind: 'plain', reply: result }
  const { status, headers, body, length } = result
  return isWhole(body)
    ? { kind: 'bytes', status, headers, body: typeof body === 'string' ? body : alone(body) }
    : { kind: 'chunks', status, headers, length }
}

function isWhole(body: Binary['body']): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}

/** What is left to be taken of an answer; undefined where it crosses as it is. */
function answerOf(result: unknown, over: () => void): Answer | undefined {
  if (result instanceof EventStream) {
    const events = result.source[Symbol.asyncIterator]()
    const next = async () => {
      const { done, value } = await events.next()
      return done === true ? null : { value }
    }
    return { next, end: endOf(events, over) }
  }
  if (!(result instanceof Binary) || isWhole(result.body)) return undefined
  const chunks = result.body[Symbol.asyncIterator]()
  return { next: gathered(chunks), end: endOf(chunks, over) }
}

/** A source that waits in `next` cannot be made to return; it ends with its signal. */
function endOf(source: AsyncIterator<unknown>, over: () => void): () => void {
  return () => {
    over()
    source.return?.().then(undefined, () => {})
  }
}

/** Chunks together until they are worth the way; what fails after some of them fails behind them. */
function gathered(chunks: AsyncIterator<Uint8Array>): () => Promise<Pulled> {
  let ended = false
  let failure: { readonly error: unknown } | undefined
  return async () => {
    const parts: Uint8Array[] = []
    let length = 0
    while (!ended && failure === undefined && length < limits.body.chunkBytes) {
      try {
        const { done, value } = await chunks.next()
        if (done === true) ended = true
        else {
          parts.push(value)
          length += value.length
        }
      } catch (error) {
        failure = { error }
      }
    }
    const [first] = parts
    if (first !== undefined) return { value: parts.length === 1 ? alone(first) : alone(Buffer.concat(parts, length)) }
    if (failure !== undefined) throw failure.error
    return null
  }
}

/** A call as an endpoint sees it. */
class Asked implements Context<Record<string, unknown>>, Request {
  readonly input: Record<string, unknown>
  readonly caller: AskedCall['caller']
  readonly onlyUser: string | null
  readonly onlyDomains: readonly string[] | null
  readonly signal: AbortSignal
  readonly id: string
  readonly method: string
  readonly path: string
  readonly route: string
  readonly query: string
  readonly address: string
  readonly secure: boolean
  readonly isOutside: boolean
  readonly token: string | null
  readonly contentType: string
  readonly raw: boolean
  readonly #number: number
  readonly #headers: Readonly<Record<string, string>>
  readonly #bodies: Bodies

  constructor(
    { number, request, input, headers, caller, onlyUser, onlyDomains }: AskedCall,
    bodies: Bodies,
    signal: AbortSignal,
  ) {
    this.#number = number
    this.#headers = headers
    this.#bodies = bodies
    // Files of a form have lost what makes them buffers on their way.
    this.input = request.contentType === 'multipart/form-data' ? (revived(input) as Record<string, unknown>) : input
    this.caller = caller
    this.onlyUser = onlyUser
    this.onlyDomains = onlyDomains
    this.signal = signal
    this.id = request.id
    this.method = request.method
    this.path = request.path
    this.route = request.route
    this.query = request.query
    this.address = request.address
    this.secure = request.secure
    this.isOutside = request.isOutside
    this.token = request.token
    this.contentType = request.contentType
    this.raw = request.raw
  }

  get request(): Request {
    return this
  }

  header(name: string): string {
    return this.#headers[name] ?? ''
  }

  async body(): Promise<Buffer> {
    return bufferOf(await this.#bodies.whole(this.#number))
  }

  async *stream(): AsyncGenerator<Buffer> {
    let over = false
    try {
      for (;;) {
        const piece = await this.#bodies.piece(this.#number)
        if (piece === null) {
          over = true
          return
        }
        yield bufferOf(piece)
      }
    } finally {
      if (!over) this.#bodies.drop(this.#number)
    }
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function revived(value: unknown): unknown {
  if (value instanceof Uint8Array) return bufferOf(value)
  if (Array.isArray(value)) return value.map(revived)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, revived(one)]))
}
