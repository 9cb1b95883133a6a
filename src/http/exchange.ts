// One request from its head to its answer, in the order of the design: route, caller, body within its cap, validation
// that names every bad field, grant, run, answer.
//
// Promises: every request gets exactly one answer or its connection is cut; what a stranger sees of our own mistakes is
// an id that is in the log; nothing of uWebSockets.js is touched here (wire.ts). Validation comes before privileges
// (api-semantics 1.3), but a caller with no right at all to a raw upload is refused before the bytes are read.

import { after, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { leaveAtOnce } from '#lib/process/link.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'
import { Binary, EventStream, eventBytes, Json } from './answer.ts'
import { Call, requestId, stranger } from './call.ts'
import type { Endpoint } from './endpoint.ts'
import { inSlices, inTurns, isLong, jsonLine, madeInTurns, once, withFirst } from './front/chunks.ts'
import { isWorthPacking, packed, packedHead } from './front/packed.ts'
import { whileKnown } from './front/still-known.ts'
import { type Caller, decide, filterInput, filterOutput, type Grant } from './guard/access.ts'
import { traceCall } from './guard/call-span.ts'
import { type Cors, corsHead, preflightHead } from './guard/cors.ts'
import { nobody, type Proxies, visitorOf } from './guard/forwarded.ts'
import { InFlight } from './guard/in-flight.ts'
import { pageHeader, pageToken } from './guard/session.ts'
import { shownToken } from './guard/token.ts'
import { refusePages } from './guard/visitor.ts'
import type { WrongTokens } from './guard/wrong-tokens.ts'
import { Held } from './input/body.ts'
import { bodyParser, parseQuery, type Tree } from './input/form.ts'
import { Problems } from './input/validate.ts'
import type { RequestCounters } from './request-counters.ts'
import { type Found, type Route, type Router, routerOf, type Target } from './router.ts'
import { headersText, headerText, jsonHead, plainHead, type Wire } from './wire.ts'

/** Tells who calls. `token` is null where none was sent. Throws InvalidToken for one that is not good. */
export type Identify = (token: string | null) => Caller | Promise<Caller>

export interface ExchangeOptions {
  /** Asked for with the first request: most services of tests never see one. */
  readonly endpoints: () => readonly Endpoint[]
  readonly identify: Identify
  /** Whether a user belongs to one of some domains; `wholly`: with all addresses, and with all domains it looks after. */
  readonly belongs?: (domains: readonly string[], user: string, wholly: boolean) => Promise<boolean>
  readonly log: Log
  readonly counters: RequestCounters
  readonly cors: Cors
  /** Default: no traces. */
  readonly tracer?: Tracer | undefined
  /** Where wrong tokens are told. Default: nowhere. */
  readonly wrongTokens?: Pick<WrongTokens, 'note'>
  /** Who is believed who is behind them. Default: nobody. */
  readonly proxies?: Proxies
  /** What strangers find here; the rest is there for the session of the page alone. Default: everything, for all. */
  readonly strangers?: ((endpoint: Endpoint) => boolean) | undefined
  /** Answers that their schema does not describe, and faults that are not declared, become errors (for tests). */
  readonly strict?: boolean
  /** Of what all threads together may have under way and in memory, the part of this one. Default: all. */
  readonly share?: number | undefined
}

/** The texts of these are repeated as `message` (api-semantics 1.6). */
const framework = new Set(['InvalidToken', 'ResourceNotFound', 'MethodNotAllowed', 'InvalidContent'])

export class Exchange {
  readonly #options: ExchangeOptions
  #made: Router<Target> | undefined
  readonly #held: Held
  /** Calls whose work has not ended; longer than their answers where a client left. */
  readonly #pending: InFlight
  #stopping = false
  #idle: (() => void) | null = null

  constructor(options: ExchangeOptions) {
    this.#options = options
    const { share = 1 } = options
    this.#held = new Held(limits.http.heldBytesMax * share)
    this.#pending = new InFlight(limits.http.inFlightMax * share, (call, fault) => this.#refuse(call, fault, true))
  }

  get pending(): number {
    return this.#pending.size
  }

  /** Takes one request. Never throws. Must be called before the request's head becomes invalid. */
  handle(wire: Wire): Call {
    const visitor = visitorOf(wire, this.#options.proxies ?? nobody)
    const call = new Call(wire, requestId(wire.header('x-request-id')), wire.header('origin'), visitor)
    const { tracer } = this.#options
    if (tracer !== undefined) call.trace = traceCall(tracer, wire.header('traceparent'))
    call.isOutside = this.#options.strangers !== undefined
    this.#made ??= routerOf(this.#options)
    const found = this.#shown(this.#made.find(wire.path), call)
    const target = found?.route.byMethod.get(wire.method)
    if (found === null || target === undefined) {
      this.#unrouted(call, found?.route ?? null)
      return call
    }
    if (this.#stopping) this.#refuse(call, new Fault('Stopping', { retryAfter: 1 }))
    else if (this.#pending.enter(call, target.endpoint.allow === 'public'))
      void this.#proceed(call, target, found.values)
    else this.#refuse(call, new Fault('Overloaded', { retryAfter: 1 }))
    return call
  }

  /** Refuses new requests, waits up to `ms` for those under way, then aborts what is left. */
  async stop(ms: number): Promise<void> {
    this.#stopping = true
    for (const call of this.#pending) if (call.isStream) call.abort(new Fault('Stopping'))
    const due = monotonic() + ms
    while (this.#pending.size > 0 && monotonic() < due) await this.#rest(due - monotonic())
    for (const call of this.#pending) {
      call.abort(new Fault('Stopping'))
      this.#refuse(call, new Fault('Stopping'), true)
    }
  }

  /** Answers requests whose time is up; called every `limits.http.sweepMs`. */
  sweep(time = monotonic()): void {
    for (const call of this.#pending) {
      if (call.done || call.deadline > time) continue
      const fault = new Fault(call.awaitsBody ? 'BodyTimedOut' : 'TimedOut')
      call.abort(fault)
      this.#refuse(call, fault, true)
    }
  }

  /** Hides what is not for strangers, as if it were not there, unless the page asks for it in a session. */
  #shown(found: Found<Target> | null, { wire, secure, method }: Call): Found<Target> | null {
    const { strangers } = this.#options
    if (strangers === undefined || found === null) return found
    const target = found.route.byMethod.get(method)
    const all = target === undefined ? [...found.route.byMethod.values()] : [target]
    if (all.some(({ endpoint }) => strangers(endpoint))) return found
    const isPublic = target === undefined || target.endpoint.allow === 'public'
    const opens = target !== undefined && opensToShow(target)
    return isPublic || pageToken(name => wire.header(name), { method, secure, opens }) === '' ? null : found
  }

  #rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = after(ms, resolve)
      this.#idle = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  /** Unknown path, wrong method, or a question of a browser before it calls (api-semantics 1.6, 1.9). */
  #unrouted(call: Call, route: Route<Target> | null): void {
    const { wire } = call
    if (route === null) {
      const text = `${wire.path.slice(0, 256)} does not exist`
      this.#refuse(call, new Fault('ResourceNotFound', { text }))
      return
    }
    call.route = route.path
    if (wire.method === 'OPTIONS') {
      const head = preflightHead(this.#options.cors, call.origin, wire.header('access-control-request-method'))
      if (head !== null) {
        this.#send(call, 204, plainHead(204, call.id) + head, '')
        return
      }
    }
    const text = `${wire.method.slice(0, 32)} is not allowed`
    this.#refuse(call, new Fault('MethodNotAllowed', { text }), false, headerText('Allow', route.allow))
  }

  /** Runs synchronously up to the first thing that has to be waited for. */
  async #proceed(call: Call, target: Target, values: readonly string[]): Promise<void> {
    try {
      const { endpoint } = target
      call.start(endpoint, this.#held, target.counters)
      const query = call.wire.query === '' ? null : parseQuery(call.wire.query)
      const caller = endpoint.allow === 'public' ? stranger : this.#identify(call, target, query)
      call.caller = caller instanceof Promise ? await caller : caller
      if (call.caller !== stranger) call.wire.recognised()
      if (call.caller.user !== null) this.#pending.count(call, call.caller.user)
      const known = target.userIndex === -1 ? values : ownName(values, target.userIndex, call.caller)

      if (call.raw) this.#early(call, target)
      const body = call.hasBody && !call.raw ? await this.#parameters(call) : null
      const problems = new Problems()
      const input = target.parameters.read(known, query, body, problems)
      problems.check()
      const grant = await this.#grant(call, target, known)
      if (grant !== null && endpoint.filterInput === true) filterInput(grant, input, target.parameters.kept)
      ownOrigin(call, input)
      call.begin(input)
      const running = endpoint.run(call)
      const result = running instanceof Promise ? await running : running
      if (call.done) return
      const answering = this.#answer(call, target, grant, result)
      if (answering !== null) await answering
    } catch (error) {
      if (error instanceof Fault && error.code === 'InvalidToken' && call.caller === stranger && call.token !== null)
        this.#options.wrongTokens?.note(call.token, call.address, call.route)
      this.#refuse(call, this.#declared(target, error))
    } finally {
      call.end()
      this.#pending.leave(call)
      if (this.#pending.size === 0) this.#idle?.()
    }
  }

  /** The token by the precedence of api-semantics 1.2, taken out of the query; then the session of the page. */
  #identify(call: Call, target: Target, query: Tree | null): Caller | Promise<Caller> {
    const header = (name: string) => call.wire.header(name)
    const shown = shownToken(header, query)
    // Where strangers call, a session is all that opens anything.
    const { method, secure } = call
    const asked = { method, secure, opens: opensToShow(target) }
    const token = shown === '' || call.isOutside ? pageToken(header, asked) : shown
    // The page is nobody where it has no session, also where others need no token.
    if (token === '' && (call.isOutside || header(pageHeader) !== '')) throw new Fault('InvalidToken')
    call.token = token === '' ? null : token
    const caller = this.#options.identify(call.token)
    if (!(caller instanceof Promise) && caller.tokenKind === 'open') refusePages(header, this.#options.cors.origins)
    return caller
  }

  /** Whoever has no right at all is not let to send a long body. */
  #early(call: Call, target: Target): void {
    const { allow } = target.endpoint
    if (allow === null || allow === 'public') return
    if (decide(call.caller, allow, call.caller.user, true) === null) throw new Fault('MissingPrivileges')
  }

  async #parameters(call: Call): Promise<Tree> {
    const parse = bodyParser(call.contentType, call.contentTypeLine)
    const body = await call.takeBody()
    return parse(body)
  }

  async #grant(call: Call, target: Target, values: readonly string[]): Promise<Grant | null> {
    const { allow, listing, domains, method } = target.endpoint
    if (allow === null || allow === 'public') return null
    const owner = target.userIndex === -1 ? null : (values[target.userIndex]?.toLowerCase() ?? null)
    const looksAfter = call.caller.domains ?? []
    const asked = domains === true && owner !== null && looksAfter.length > 0
    const reached = asked && (await this.#options.belongs?.(looksAfter, owner, method !== 'GET')) === true
    const grant = decide(call.caller, allow, owner, listing === true, domains === true ? reached : undefined)
    if (grant === null) throw new Fault('MissingPrivileges')
    if (grant.scope === 'own' && owner === null) call.onlyUser = call.caller.user
    if (grant.scope === 'domain') call.onlyDomains = call.caller.domains ?? []
    return grant
  }

  #answer(call: Call, target: Target, grant: Grant | null, result: unknown): Promise<void> | null {
    if (result instanceof Binary) {
      target.check?.bytes(result)
      return this.#binary(call, target.endpoint.allow !== 'public', result)
    }
    if (result instanceof EventStream) return this.#events(call, result)
    if (result instanceof Json) return this.#json(call, result.status, result.body, headersText(result.headers))
    let body = (result ?? {}) as Record<string, unknown>
    if (grant !== null && grant.hides !== null) body = filterOutput(grant, body)
    else target.check?.(body)
    return this.#json(call, 200, target.addsSuccess ? { success: true, ...body } : body, '')
  }

  #json(call: Call, status: number, body: object, more: string): Promise<void> | null {
    const head = jsonHead(status, call.id) + more
    if (isLong(body) && call.method === 'GET') return this.#long(call, status, head, body)
    const line = jsonLine(body)
    if (call.takesPacked && isWorthPacking(line))
      return packed(Buffer.from(line)).then(bytes => this.#send(call, status, head + packedHead, bytes))
    this.#send(call, status, head, line)
    return null
  }

  /** A list of long rows, which holds nobody up. */
  async #long(call: Call, status: number, head: string, body: object): Promise<void> {
    const key = String(call.input.user)
    const pieces = await inSlices(body, key)
    if (!call.takesPacked) {
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
      return this.#pipe(call, status, head, inTurns(pieces, key), length)
    }
    this.#send(call, status, head + packedHead, await packed(Buffer.concat(pieces)))
  }

  async #binary(call: Call, isMail: boolean, answer: Binary): Promise<void> {
    const { body, status } = answer
    const more = isMail && !('content-security-policy' in answer.headers) ? apart : ''
    const type = 'content-type' in answer.headers ? '' : headerText('content-type', 'application/octet-stream')
    const head = plainHead(status, call.id) + type + headersText(answer.headers) + more
    if (typeof body === 'string') return this.#send(call, status, head, body)
    if (body instanceof Uint8Array && body.length <= limits.body.chunkBytes) return this.#send(call, status, head, body)
    if (body instanceof Uint8Array) return this.#pipe(call, status, head, once(body), body.length)
    return this.#pipe(call, status, head, madeInTurns(body, String(call.input.user ?? '')), answer.length)
  }

  #events(call: Call, stream: EventStream): Promise<void> {
    const type = '\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no'
    call.isStream = true
    const chunks = eventBytes(stream, limits.http.eventIdleMs, call.signal)
    return this.#pipe(call, 200, plainHead(200, call.id) + type, chunks, undefined)
  }

  /** Streams. What fails before the first chunk is refused as usual; later the connection is cut. */
  async #pipe(
    call: Call,
    status: number,
    head: string,
    chunks: AsyncIterator<Uint8Array>,
    length: number | undefined,
  ): Promise<void> {
    call.deadline = Number.POSITIVE_INFINITY
    const first = await chunks.next()
    if (call.done || call.wire.gone) {
      await chunks.return?.()
      return
    }
    call.done = true
    call.dropBody()
    this.#count(call, status)
    const cors = call.origin === '' ? '' : corsHead(this.#options.cors, call.origin)
    leaveAtOnce()
    try {
      // Events end by themselves, and say why.
      const asks = call.caller !== stranger && !call.isStream
      const rest = asks ? whileKnown(call, chunks, this.#options.identify) : chunks
      await call.wire.pipe(head + cors, withFirst(first, rest), length, this.#stopping)
    } catch (error) {
      const wanted = !call.aborted
      call.wire.cut()
      if (wanted) this.#options.log.error({ error, id: call.id, route: call.route }, 'answer broke off')
    }
  }

  /** In strict mode a fault that the endpoint does not declare is our mistake. */
  #declared(target: Target, error: unknown): unknown {
    const isKnown = target.check === null || !(error instanceof Fault) || target.check.faults.has(error.code)
    return isKnown ? error : new Error(`The fault ${error.code} is not declared`, { cause: error })
  }

  #refuse(call: Call, error: unknown, close = false, more = ''): void {
    if (call.done) return
    const fault = error instanceof Fault ? error : new Fault('InternalError', { extra: { id: call.id } })
    if (!(error instanceof Fault) && !call.wire.gone) {
      this.#options.log.error({ error, id: call.id, method: call.method, route: call.route }, 'request failed')
    }
    const { code, details, extra, message } = fault
    const body = { error: message, code, details, ...extra, ...(framework.has(code) && { message }) }
    const retry = fault.retryAfter === undefined ? '' : headerText('Retry-After', Math.ceil(fault.retryAfter))
    const head = jsonHead(fault.status, call.id) + more + retry
    this.#send(call, fault.status, head, jsonLine(body), close)
  }

  #send(call: Call, status: number, head: string, body: string | Uint8Array, close = false): void {
    if (call.done) return
    call.done = true
    const cors = call.origin === '' ? '' : corsHead(this.#options.cors, call.origin)
    const tooMuch = call.dropBody()
    const strange = call.caller === stranger && call.wire.crowded
    // Sessions on other threads hear of a change before its reply is there.
    leaveAtOnce()
    call.wire.send(head + cors, body, close || tooMuch || strange || this.#stopping)
    this.#count(call, status)
  }

  #count(call: Call, status: number): void {
    const counters = call.counters ?? this.#options.counters.of(call.method, call.route)
    counters.count(status, monotonic() - call.started)
    if (call.trace === null) return
    const { method, route, address, secure, caller, id: requestId } = call
    const known = caller !== stranger
    call.trace({ method, route, status, address, secure, user: caller.user, known, requestId })
  }
}

/** What somebody sent us is opened as a page of nobody (ours has a session) and kept by no cache that others share. */
const apart = "\r\nContent-Security-Policy: default-src 'none'; sandbox\r\nCache-Control: private, no-cache"

/**
 * Whoever speaks for others (a web mail, an operator) says from where; a user is where the connection comes from, whatever
 * is stated, so that nobody has others' networks counted or writes their address into a log.
 */
function ownOrigin(call: Call, input: Record<string, unknown>): void {
  if (call.caller.user === null) return
  // Nothing that is only read is logged.
  if (call.method === 'GET' && input.ip === undefined && input.sess === undefined) return
  const { address } = call
  if (address === '') delete input.ip
  else input.ip = address
  input.sess = call.caller.session ?? ''
}

/** Whether what is answered is shown or kept by a browser itself, or followed as events: nothing that only our page reads. */
function opensToShow({ endpoint }: Target): boolean {
  return endpoint.replyType !== undefined
}

/** `me` becomes the caller's id where there is one. */
function ownName(values: readonly string[], index: number, caller: Caller): readonly string[] {
  if (values[index] !== 'me' || caller.user === null) return values
  return values.with(index, caller.user)
}
