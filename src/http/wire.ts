// What the exchange needs of a connection, whichever front it comes through (front/), and the heads of answers.
//
// A head is the status with all headers but the length, as one text: one call into native code instead of one for each
// header. Whatever is put into a head from outside goes through `headerText` first.

import type { Headers } from './answer.ts'
import type { Body } from './input/body.ts'

export interface Wire {
  readonly method: string
  /** As sent, percent-encoded. */
  readonly path: string
  /** As sent, without the question mark; '' for none. */
  readonly query: string
  /** Whether the client has gone; nothing can be sent any more. */
  readonly gone: boolean
  /** So many connections are open that a stranger's is to be closed after its answer. */
  readonly crowded: boolean
  /** The caller has shown a good token. */
  recognised(): void
  /** Whether it is TLS that is spoken with the peer. */
  readonly secure: boolean
  /** A header in lower case, the first of several, '' for none. Only before the first await. */
  header(name: string): string
  /** All headers of that name, in order. Only before the first await. */
  headers(name: string): readonly string[]
  /** The peer's, or what a trusted proxy said with the PROXY protocol. */
  address(): string
  /** Feeds the request's body into `body`. Only before the first await. */
  receive(body: Body): void
  pause(): void
  resume(): void
  /** Sends a whole answer, whose bytes are taken before it returns. `close` ends the connection after it. */
  send(head: string, body: string | Uint8Array, close: boolean): void
  /** Sends chunks as fast as the client reads. Resolves when all is sent or the client has gone; rejects as the source does. */
  pipe(head: string, chunks: AsyncIterator<Uint8Array>, length: number | undefined, close: boolean): Promise<void>
  /** Cuts the connection in the middle of an answer. */
  cut(): void
}

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Found',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

export function statusLine(status: number): string {
  return `${status} ${reasons[status] ?? 'Unknown'}`
}

const jsonHeads = new Map<number, string>()

const common = '\r\nServer: Teal\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: '

/** The head of a JSON answer. `id` must be fit for a header. */
export function jsonHead(status: number, id: string): string {
  let head = jsonHeads.get(status)
  if (head === undefined) {
    const type = 'Content-Type: application/json; charset=utf-8'
    head = `${statusLine(status)}\r\n${type}\r\nCache-Control: no-store${common}`
    jsonHeads.set(status, head)
  }
  return head + id
}

/** The head of any other answer. */
export function plainHead(status: number, id: string): string {
  return `${statusLine(status)}${common}${id}`
}

/** One header to be appended to a head. */
export function headerText(name: string, value: string | number): string {
  return `\r\n${name}: ${String(value).replace(/[\u0000-\u001f\u007f]+/g, ' ')}`
}

/** Those of an answer. */
export function headersText(headers: Headers): string {
  let text = ''
  for (const [name, value] of Object.entries(headers)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) text += headerText(name, one)
  }
  return text
}
