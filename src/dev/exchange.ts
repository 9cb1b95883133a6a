// What a route of `teal dev` sees of a request and gives as an answer.
//
// Bodies are bounded, JSON is checked for its form, and what is wrong with a request is an `Unwelcome` with a status and a
// sentence; nothing here knows what is asked for.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { limits } from '#lib/limits.ts'

/** A refusal: status and what is said. */
export class Unwelcome extends Error {
  readonly status: number
  readonly code: string
  readonly more: object

  constructor(status: number, code: string, text: string, more: object = {}) {
    super(text)
    this.status = status
    this.code = code
    this.more = more
  }
}

export function invalid(text: string): Unwelcome {
  return new Unwelcome(400, 'Invalid', text)
}

export function missing(what: string): Unwelcome {
  return new Unwelcome(404, 'NotFound', `There is no ${what}`)
}

export interface Answer {
  readonly status?: number
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** Keeps the answer open: what `open` returns is called when the client has left or the service ends. */
export interface Streaming {
  readonly type: string
  open(send: (text: string) => void): () => void
}

export interface Call {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Parts of the path that the route names. */
  readonly params: Readonly<Record<string, string>>
  /** Without parameters, in lower case. */
  readonly type: string
  /** A field of the request, '' where it is absent. */
  header(name: string): string
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  body(): Promise<Buffer>
  /** An object; an empty one of no body. */
  object(): Promise<Readonly<Record<string, unknown>>>
}

export interface Route {
  readonly method: string
  /** `/mails/:id`; the last part may be `:name*` for all that follows. */
  readonly path: string
  run(call: Call): Promise<Answer | Streaming> | Answer | Streaming
}

export function json(value: unknown, status = 200): Answer {
  return { status, type: 'application/json', body: JSON.stringify(value) }
}

export function text(body: string, type = 'text/plain; charset=utf-8'): Answer {
  return { type, body }
}

/** Parts of a path that paramsOf a route's. */
export function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  const params: Record<string, string> = {}
  for (const [at, part] of wanted.entries()) {
    const value = given[at]
    if (value === undefined) return undefined
    if (!part.startsWith(':')) {
      if (part !== value) return undefined
    } else {
      const decoded = decode(value)
      if (decoded === undefined || decoded === '') return undefined
      params[part.slice(1)] = decoded
    }
  }
  return given.length === wanted.length ? params : undefined
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** Bytes of a request. @throws Unwelcome where there are too many */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request) {
    size += (piece as Buffer).length
    if (size > limits.dev.bodyBytesMax) throw new Unwelcome(413, 'TooLarge', 'That is larger than a mail may be')
    pieces.push(piece as Buffer)
  }
  return Buffer.concat(pieces)
}

export function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  if (bytes.length === 0) return {}
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch (error) {
    throw invalid(`The body is no JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('The body is no JSON object')
  return value as Record<string, unknown>
}

/** What every answer says: nothing here may be kept, guessed at, framed by others or told to them. */
const common = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-dns-prefetch-control': 'off',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const

const closed = "default-src 'none'; sandbox; frame-ancestors 'none'"

export function write(response: ServerResponse, { status = 200, type, headers, body }: Answer, head = false): void {
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, {
    ...{ ...common, 'content-security-policy': closed, ...headers },
    ...{ 'content-type': type, 'content-length': Buffer.byteLength(body) },
  })
  response.end(head ? undefined : body)
}

/** Begins an answer that goes on. */
export function writeOpen(response: ServerResponse, type: string): (text: string) => void {
  response.writeHead(200, { ...common, 'content-type': type })
  response.flushHeaders()
  return chunk => {
    // Who does not read what he asked for is let go; a page connects again by itself.
    if (response.writableLength > limits.dev.unreadBytesMax) response.destroy()
    else response.write(chunk)
  }
}
