// The state of one request while it is answered; also what an endpoint's `run` receives.
//
// Only what is needed is made: headers are copied where the endpoint lists them, a body is attached where there is one,
// an abort signal exists once somebody asks for it.

import { monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { bodyBytesMaxOf, type Context, type Endpoint, type Request } from './endpoint.ts'
import { takesPacked } from './front/packed.ts'
import type { Caller } from './guard/access.ts'
import type { traceCall } from './guard/call-span.ts'
import type { Visitor } from './guard/forwarded.ts'
import { Body, type Held, strangers, unbounded } from './input/body.ts'
import type { RouteCounters } from './request-counters.ts'
import type { Wire } from './wire.ts'

/** Stands where the caller is not known yet, or not asked for: a role that grants nothing without a user. */
export const stranger: Caller = { role: 'user', user: null, tokenKind: 'open' }

const noHeaders: ReadonlyMap<string, string> = new Map()

export class Call implements Context<Record<string, unknown>>, Request {
  readonly wire: Wire
  readonly id: string
  readonly origin: string
  readonly #visitor: Visitor
  readonly started = monotonic()
  route = 'unknown'
  /** Where it is counted; null where its route or method is unknown. */
  counters: RouteCounters | null = null
  /** Ends its span; null where nobody traces. */
  trace: ReturnType<typeof traceCall> | null = null
  caller: Caller = stranger
  onlyUser: string | null = null
  onlyDomains: readonly string[] | null = null
  isOutside = false
  token: string | null = null
  input: Record<string, unknown> = {}
  contentType = ''
  /** The content type as sent, with its parameters. */
  contentTypeLine = ''
  raw = false
  /** A long answer may be compressed. */
  takesPacked = false
  /** An answer has been started. */
  done = false
  /** The answer is an event stream, which ends only when somebody ends it. */
  isStream = false
  /** Monotonic time at which the call is given up. */
  deadline = Number.POSITIVE_INFINITY
  #answerMs: number = limits.http.requestMs
  #headers = noHeaders
  #bodyMs: number = limits.http.bodyMs
  #bodyBytesMax = 0
  /** Declared by the client; -1 for unknown. */
  #bodyLength = 0
  #body: Body | null = null
  #controller: AbortController | null = null
  #aborted: Error | null = null

  constructor(wire: Wire, id: string, origin: string, visitor: Visitor) {
    this.wire = wire
    this.id = id
    this.origin = origin
    this.#visitor = visitor
  }

  get request(): Request {
    return this
  }

  get method(): string {
    return this.wire.method
  }

  get path(): string {
    return this.wire.path
  }

  get query(): string {
    return this.wire.query
  }

  get address(): string {
    return this.#visitor.address ?? this.wire.address()
  }

  get secure(): boolean {
    return this.#visitor.secure
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted !== null) this.#controller.abort(this.#aborted)
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#aborted !== null
  }

  /** The client still has to send some of the body. */
  get awaitsBody(): boolean {
    return this.#body !== null && !this.#body.complete
  }

  get hasBody(): boolean {
    return this.#body !== null
  }

  /** Copies what the endpoint needs of the request's head. Throws UnsupportedMediaType, BodyTooLarge. */
  start(endpoint: Endpoint, held: Held, counters: RouteCounters): void {
    const { wire } = this
    this.takesPacked = takesPacked(name => wire.header(name))
    this.counters = wire.method === endpoint.method ? counters : null
    this.route = endpoint.path
    this.#answerMs = endpoint.answerMs ?? limits.http.requestMs
    this.deadline = this.started + this.#answerMs
    if (endpoint.headers.length > 0) {
      this.#headers = new Map(endpoint.headers.map(name => [name, wire.header(name)]))
    }
    if (wire.method === 'GET') return
    const declared = wire.header('content-length')
    if ((declared === '' || declared === '0') && wire.header('transfer-encoding') === '') return
    this.#attach(endpoint, declared, held)
  }

  #attach(endpoint: Endpoint, declared: string, held: Held): void {
    const { wire } = this
    this.contentTypeLine = wire.header('content-type')
    this.contentType = this.contentTypeLine.split(';', 1)[0]?.trim().toLowerCase() ?? ''
    const kind = endpoint.bodyKind
    this.raw = kind === 'raw' || (kind === 'upload' && !isTree(this.contentType))
    const isStrange = endpoint.allow === 'public'
    this.#bodyBytesMax = bodyBytesMaxOf(endpoint)
    this.#bodyLength = declared === '' ? -1 : Number(declared)
    if (isStrange) this.#bodyMs = limits.http.strangeBodyMs
    this.deadline = this.started + this.#bodyMs
    const encoding = wire.header('content-encoding')
    if (encoding !== '' && encoding !== 'identity') {
      throw new Fault('UnsupportedMediaType', { text: 'A compressed body is not supported' })
    }
    if (this.#bodyLength > this.#bodyBytesMax) throw new Fault('BodyTooLarge')
    this.#body = new Body(wire, held, this.#bodyBytesMax, isStrange ? strangers : unbounded)
    wire.receive(this.#body)
  }

  /** It is an account's. */
  ownedBy(account: string): void {
    if (this.#body !== null) this.#body.owner = account
  }

  /** The whole body for parameters. */
  async takeBody(): Promise<Buffer> {
    return this.#body === null ? Buffer.alloc(0) : this.#body.whole()
  }

  /** Input is good and `run` follows; from now on its time counts. */
  begin(input: Record<string, unknown>): void {
    this.input = input
    if (this.#body === null) return
    this.deadline = monotonic() + this.#answerMs + (this.awaitsBody ? this.#bodyMs : 0)
  }

  header(name: string): string {
    return this.#headers.get(name) ?? ''
  }

  async body(): Promise<Buffer> {
    return this.takeBody()
  }

  async *stream(): AsyncGenerator<Buffer> {
    if (this.#body !== null) yield* this.#body.stream()
  }

  /** Ends the work: nobody waits for it any more. */
  abort(reason: Error): void {
    if (this.#aborted !== null) return
    this.#aborted = reason
    this.#controller?.abort(reason)
    if (this.awaitsBody) this.#body?.fail(reason)
  }

  /** Throws away what is left of the body. True where so much is left that the connection is better closed. */
  dropBody(): boolean {
    const missing = this.#body?.complete === true ? 0 : this.#bodyLength - (this.#body?.received ?? 0)
    this.#body?.drop()
    return missing < 0 || missing > limits.http.discardBytesMax
  }

  /** The work is over: memory goes back. */
  end(): void {
    this.#body?.drop()
  }
}

function isTree(type: string): boolean {
  if (type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data') return true
  return type === 'application/json' || type.endsWith('+json')
}

const idPattern = /^[A-Za-z0-9._:+/=-]+$/

/** The client's id for the request where it is a sane one, else a new one. */
export function requestId(given: string): string {
  if (given === '' || given.length > limits.http.requestIdLengthMax || !idPattern.test(given)) return newId()
  return given
}
