// A call that came to a front thread and is answered at home, where the actors and the settings of the process are: what of
// it crosses. All of it is data.
//
// What is long does not cross in one piece: the body of a request is asked for by home, the chunks and events of an answer by
// the front, each when the one before was taken, so that whoever is slow holds up nobody else and fills no memory.

import type { Headers } from '../answer.ts'
import type { Context, Endpoint, Request } from '../endpoint.ts'

/** What names an endpoint on all threads. */
export function nameOf({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${method} ${path}`
}

/** Read, checked and allowed: all that is left is to run it. */
export interface AskedCall
  extends Pick<Context<Record<string, unknown>>, 'input' | 'caller' | 'onlyUser' | 'onlyDomains'> {
  /** The front's: its body and its answer are asked for by it. */
  readonly number: number
  readonly endpoint: string
  readonly request: Omit<Request, 'header' | 'body' | 'stream'>
  /** Those that the endpoint reads. */
  readonly headers: Readonly<Record<string, string>>
}

export type AnsweredCall =
  | { readonly kind: 'plain'; readonly reply: unknown }
  | { readonly kind: 'json'; readonly status: number; readonly body: object; readonly headers: Headers }
  | {
      readonly kind: 'bytes'
      readonly status: number
      readonly headers: Headers
      readonly body: string | Uint8Array
    }
  | {
      readonly kind: 'chunks'
      readonly status: number
      readonly headers: Headers
      readonly length: number | undefined
    }
  | { readonly kind: 'events'; readonly greets: boolean; readonly retryMs: number | undefined }

/** The next piece of an answer; none where it has ended. */
export type Pulled = { readonly value: unknown } | null

/** Bytes of their own: with a part of a long piece of memory all of it would cross. */
export function alone(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}

/** What a front asks home for. */
export interface Home {
  ask(asked: AskedCall): Promise<AnsweredCall>
  pull(number: number): Promise<Pulled>
  /** Nobody wants the answer, or the rest of it: work on it ends as soon as it can. */
  leave(number: number): void
}

/** What home asks a front for. */
export interface Bodies {
  /** The next piece of a request's body; null where it has ended. */
  piece(number: number): Promise<Uint8Array | null>
  whole(number: number): Promise<Uint8Array>
  /** The rest of a body is wanted by nobody. */
  drop(number: number): void
}
