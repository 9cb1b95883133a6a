// What an endpoint may return beside a plain object: another status, bytes, or a stream of events.
//
// These are descriptions; exchange.ts and server.ts put them on the wire, with back-pressure. A body given as an
// iterable is pulled only as fast as the client reads, and its iterator is closed when the client goes away.

import { sleep } from '#lib/clock.ts'
import { Fault, type FaultCode } from '#lib/fault.ts'

/** A field with several values stands in the answer several times. */
export type Headers = Readonly<Record<string, string | number | readonly string[] | undefined>>
export type Chunks = AsyncIterable<Uint8Array>

/** A JSON object with a status of its own; nothing is added to it. */
export class Json {
  readonly status: number
  readonly body: object
  readonly headers: Headers

  constructor(status: number, body: object, headers: Headers = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export interface BinaryOptions {
  /** 200 where absent. */
  readonly status?: number
  /** `content-type` is application/octet-stream where absent. Control characters in values become spaces. */
  readonly headers?: Headers
  readonly body: Uint8Array | string | Chunks
  /** Bytes that an iterable will give; without it the answer is chunked. */
  readonly length?: number
}

export class Binary {
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array | string | Chunks
  readonly length: number | undefined

  constructor(options: BinaryOptions) {
    this.status = options.status ?? 200
    this.headers = options.headers ?? {}
    this.body = options.body
    this.length = options.length
  }
}

/** An answer of bytes. */
export function binary(options: BinaryOptions): Binary {
  return new Binary(options)
}

export function json(status: number, body: object, headers: Headers = {}): Json {
  return new Json(status, body, headers)
}

/** What `run` gives, as a success; where it fails with `code`, the answer says so and its status does not (api-semantics 1.5). */
export async function toldInAnswer<const Code extends FaultCode, Done extends object>(
  code: Code,
  run: () => Promise<Done>,
): Promise<({ success: true } & Done) | { success: false; error: string; code: Code }> {
  try {
    return { success: true, ...(await run()) }
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== code) throw error
    return { success: false, error: error.message, code }
  }
}

export interface StreamEvent {
  /** Objects become JSON with two spaces; each line is a `data:` line. */
  readonly data: string | object
  /** Where a client resumes, in Last-Event-ID. */
  readonly id?: string
  readonly event?: string
}

/** Server-sent events (WHATWG HTML 9.2). */
export class EventStream {
  readonly source: AsyncIterable<StreamEvent>
  /** Whether a comment is sent at once, so that the client knows that the stream is open. */
  readonly greets: boolean
  /** What a client is asked to wait before it connects again. */
  readonly retryMs: number | undefined

  constructor(source: AsyncIterable<StreamEvent>, greets: boolean, retryMs?: number) {
    this.source = source
    this.greets = greets
    this.retryMs = retryMs
  }
}

/**
 * A stream of server-sent events. `source` is pulled as fast as the client reads; its iterator's `return` is called
 * when the client leaves or the service stops, so a waiting `next` must end with the call's signal.
 */
export function eventStream(
  source: AsyncIterable<StreamEvent>,
  options: { greets?: boolean; retryMs?: number } = {},
): EventStream {
  return new EventStream(source, options.greets ?? true, options.retryMs)
}

/**
 * An empty line says nothing (WHATWG HTML 9.2.6). Behind each event it is a chunk of its own: uWebSockets.js ends a chunk only as the next
 * begins, and clients that wait for that end (urllib3) would hear of an event with the one after it.
 */
const emptyLine = Buffer.from('\n')

/** The bytes of an event stream: events as they come, a comment after each silence (api-semantics 10.11). */
export async function* eventBytes(stream: EventStream, idleMs: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const iterator = stream.source[Symbol.asyncIterator]()
  let idle = 0
  const comment = () => [Buffer.from(`: idling ${++idle}\n\n`), emptyLine]
  try {
    if (stream.greets) yield* comment()
    if (stream.retryMs !== undefined) yield* [Buffer.from(`retry: ${stream.retryMs}\n\n`), emptyLine]
    let next = iterator.next()
    for (;;) {
      const result = await firstOf(next, idleMs, signal)
      if (signal.aborted || result?.done === true) return
      if (result === null) {
        yield* comment()
        continue
      }
      idle = 0
      yield* [Buffer.from(formatEvent(result.value)), emptyLine]
      next = iterator.next()
    }
  } finally {
    // A source that waits in `next` cannot be made to return; it ends with the call's signal.
    iterator.return?.()?.then(undefined, () => undefined)
  }
}

/** What `next` settles to, or null after `ms` or when `signal` is aborted. */
async function firstOf<T>(next: Promise<T>, ms: number, signal: AbortSignal): Promise<T | null> {
  const timer = new AbortController()
  const end = () => timer.abort(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  try {
    const silence = sleep(ms, timer.signal).then(
      () => null,
      () => null,
    )
    return await Promise.race([next, silence])
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    signal.removeEventListener('abort', end)
    timer.abort()
  }
}

function formatEvent(event: StreamEvent): string {
  const data = typeof event.data === 'string' ? event.data : JSON.stringify(event.data, null, 2)
  const lines = data.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
  const head = event.event === undefined ? '' : `event: ${event.event.replace(/[\r\n]/g, ' ')}\n`
  const tail = event.id === undefined ? '' : `id: ${event.id.replace(/[\r\n\0]/g, '')}\n`
  return `${head}${lines.join('')}${tail}\n`
}

export interface RangeSource {
  /** Bytes of the whole content. */
  readonly size: number
  readonly headers?: Headers
  /** Strong validator without quotes, if there is one. */
  readonly etag?: string
  /** The bytes from `start` up to but not including `end`. */
  open(start: number, end: number): Uint8Array | Chunks
}

/** Headers that `ranged` reads. */
export const rangedHeaders = ['range', 'if-range', 'if-none-match'] as const

/**
 * A download that honours a single byte range (RFC 9110 14): 206 with the part, 416 where it lies outside, the whole
 * where the header is absent, has several ranges, or is not understood. 304 where the client has it already.
 */
export function ranged(header: (name: (typeof rangedHeaders)[number]) => string, source: RangeSource): Binary {
  const { size } = source
  const headers: Record<string, string | number | undefined> = { ...source.headers, 'accept-ranges': 'bytes' }
  if (source.etag !== undefined) headers.etag = `"${source.etag}"`
  if (isKnown(header('if-none-match'), headers.etag)) return binary({ status: 304, headers, body: '' })
  const ifRange = header('if-range')
  const fresh = ifRange === '' || ifRange === headers.etag
  const wanted = fresh ? parseRange(header('range'), size) : null
  if (wanted === null) return binary({ headers, body: source.open(0, size), length: size })
  const [start, end] = wanted
  if (start >= end) throw new Fault('RangeNotSatisfiable', { extra: { size } })
  headers['content-range'] = `bytes ${start}-${end - 1}/${size}`
  return binary({ status: 206, headers, body: source.open(start, end), length: end - start })
}

/** Whether the client says that it has what this tag stands for (RFC 9110 13.1.2). @param line If-None-Match */
export function isKnown(line: string, tag: string | number | undefined): boolean {
  if (tag === undefined) return false
  return line.split(',').some(one => ['*', tag].includes(one.trim().replace(/^W\//, '')))
}

/** First byte and end of a range; start >= end where it cannot be met; null where there is none to honour. */
function parseRange(range: string, size: number): [number, number] | null {
  const match = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(range)
  if (match === null) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  if (first === '') return [Math.max(size - Number(last), 0), Number(last) === 0 ? 0 : size]
  if (last !== '' && Number(last) < Number(first)) return null
  return [Number(first), last === '' ? size : Math.min(Number(last) + 1, size)]
}
