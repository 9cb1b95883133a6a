// One definition per endpoint: what it takes, what it answers, who may call it. Everything else follows from it.
//
// `endpoint()` infers the types of `input` and of the answer from the schemas. The definition is data: exchange.ts
// reads, checks and answers by it, openapi.ts prints it. An endpoint file is a factory that takes just what it needs
// and returns a list of these; it never touches a socket.

import type { Static, TSchema } from 'typebox'
import type { FaultCode } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Binary, EventStream, Json } from './answer.ts'
import type { Allow, Caller } from './guard/access.ts'
import { pageNumber } from './schema.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type Fields = Readonly<Record<string, TSchema>>

type OptionalKey<F extends Fields> = {
  [K in keyof F]: F[K] extends { '~optional': true } ? K : never
}[keyof F]

type Flat<T> = { [K in keyof T]: T[K] } & {}

/** The value that a set of fields describes. A field with a default is always there. */
export type ValueOf<F extends Fields> = Flat<
  { -readonly [K in Exclude<keyof F, OptionalKey<F>>]: Static<F[K]> } & {
    -readonly [K in OptionalKey<F>]?: Static<F[K]>
  }
>

/** The one flat object of path, query and body, with who is behind the call. */
type InputOf<P extends Fields, Q extends Fields, B extends Fields> = Flat<
  ValueOf<P> & ValueOf<Q> & ValueOf<B> & { sess?: string; ip?: string }
>

/** What came in, as far as an endpoint may need it. */
export interface Request {
  readonly id: string
  readonly method: string
  /** As sent, without the query string. */
  readonly path: string
  /** The endpoint's template, `/users/:user`. */
  readonly route: string
  /** As sent, without the question mark. */
  readonly query: string
  /** The visitor's address as text: what trusted proxies say, else the peer's. */
  readonly address: string
  /** Whether TLS is spoken with the visitor, as far as is known. */
  readonly secure: boolean
  /** It came to where strangers call. */
  readonly isOutside: boolean
  /** The access token that was presented. */
  readonly token: string | null
  /** Media type of the body in lower case, without parameters; '' for none. */
  readonly contentType: string
  /** Whether the body was left unread for `body` or `stream`. */
  readonly raw: boolean
  /** Value of a header that the endpoint lists in `headers`; '' for none. */
  header(name: string): string
  /** The whole raw body, within the endpoint's cap. */
  body(): Promise<Buffer>
  /** The raw body as it arrives, within the endpoint's cap; the socket is paused while nobody takes. */
  stream(): AsyncIterable<Buffer>
}

export interface Context<Input> {
  readonly input: Input
  readonly caller: Caller
  /** The user to whose things the answer is limited, null for anybody's. Only `listing` endpoints see an id here. */
  readonly onlyUser: string | null
  /** The domains to whose things the call is limited, null for none. Only endpoints of `domains` see some. */
  readonly onlyDomains: readonly string[] | null
  /** Aborted when the client leaves, the time is up or the service stops. */
  readonly signal: AbortSignal
  readonly request: Request
}

type Answer<R extends Fields> = ValueOf<R> | Binary | EventStream | Json

/**
 * `json`: JSON, urlencoded and multipart, merged into the parameters. `raw`: bytes of any type, left to the endpoint.
 * `upload`: the first where the content type is one of those, the second where not.
 */
type BodyKind = 'json' | 'raw' | 'upload'

/** Bytes of whichever type, in the documentation (RFC 9110 12.5.1). */
export const anyType = '*/*'

export interface Definition<P extends Fields, Q extends Fields, B extends Fields, R extends Fields> {
  readonly method: Method
  /** `:name` stands for one segment. No trailing slash. */
  readonly path: string
  /** Group in the documentation. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** The grant needed; null: any valid token; `public`: no token is looked at. */
  readonly allow: Allow | null | 'public'
  /** A caller with an `own` grant may call this although the path names no user; see `onlyUser`. */
  readonly listing?: true
  /** Whoever looks after domains may call this for what belongs to them; `run` sees to it by `onlyDomains`. */
  readonly domains?: true
  /** Fields that the caller's grant does not take are dropped (api-semantics 1.3). */
  readonly filterInput?: true
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** Fields of the answer; `success: true` is put before them unless `success` is one of them. */
  readonly reply?: R
  /** Media type of an answer that has no fields: `anyType` where it is that of what was kept. */
  readonly replyType?: string
  /** What it may refuse with beside what every endpoint may. */
  readonly faults?: readonly FaultCode[]
  /** Unknown parameters are ignored instead of refused. */
  readonly open?: true
  readonly bodyKind?: BodyKind
  readonly bodyBytesMax?: number
  /** Request headers that `run` reads, in lower case. */
  readonly headers?: readonly string[]
  /** Time to answer, instead of the limit for all. */
  readonly answerMs?: number
  /**
   * Runs on front threads, too: it reads rows, asks the pools, and changes things by commands that cross (actors/crossings.ts). All
   * others run where the actors are.
   */
  readonly anywhere?: true
  run(
    context: Context<InputOf<P, Q, B>>,
  ): Answer<NoInfer<R>> | Promise<Answer<NoInfer<R>>> | (keyof R extends never ? void | Promise<void> : never)
}

/** An endpoint of any shape, as the front end sees it. */
export interface Endpoint extends Omit<Definition<Fields, Fields, Fields, Fields>, 'run'> {
  readonly params: Fields
  readonly query: Fields
  readonly body: Fields
  readonly reply: Fields
  readonly faults: readonly FaultCode[]
  readonly bodyKind: BodyKind
  readonly headers: readonly string[]
  run(context: Context<Record<string, unknown>>): unknown
}

/** Bytes of a body that an endpoint takes. */
export function bodyBytesMaxOf({ allow, bodyKind, bodyBytesMax }: Endpoint): number {
  if (bodyBytesMax !== undefined) return bodyBytesMax
  if (bodyKind !== 'json') return limits.http.uploadBytesMax
  return allow === 'public' ? limits.http.strangeBodyBytesMax : limits.http.bodyBytesMax
}

// biome-ignore lint/complexity/noBannedTypes: the empty set of fields
type None = {}

/** Defines an endpoint. Throws at start where the path and its parameters do not agree. */
export function endpoint<
  const P extends Fields = None,
  const Q extends Fields = None,
  const B extends Fields = None,
  const R extends Fields = None,
>(definition: Definition<P, Q, B, R>): Endpoint {
  const { params = {}, body = {}, reply = {}, faults = [], headers = [], path, method } = definition
  const named = path.split('/').filter(segment => segment.startsWith(':'))
  const missing = named.filter(segment => !(segment.slice(1) in params))
  if (missing.length > 0 || named.length !== Object.keys(params).length) {
    throw new Error(`${method} ${path}: the path and its params do not agree`)
  }
  const bodyKind = definition.bodyKind ?? 'json'
  const listing = method === 'GET' && 'results' in reply
  const query = listing ? { page: pageNumber, ...definition.query } : (definition.query ?? {})
  return { ...definition, params, query, body, reply, faults, headers, bodyKind } as Endpoint
}
