// Calls the API as anybody could, with the page's session: typed by method and path from the service's own document.
//
// A refusal is thrown as `Refusal`, with the service's word for it and what is wrong with which field. A session that has
// ended is told to whoever listens; nothing here asks anybody else than the host the page came from.

import type { Calls } from './api.ts'

export type CallName = keyof Calls
export type Reply<N extends CallName> = Calls[N]['reply']

// biome-ignore lint/complexity/noBannedTypes: the empty object
type None = {}
type Needed<T> = { [K in keyof T]-?: None extends Pick<T, K> ? never : K }[keyof T]
/** A part that has nothing, or nothing that must be there, may be left out. */
type Part<Name extends string, T> = [T] extends [undefined]
  ? { [K in Name]?: undefined }
  : [Needed<T>] extends [never]
    ? { [K in Name]?: T }
    : { [K in Name]: T }

export type CallInput<N extends CallName> = Part<'params', Calls[N]['params']> &
  Part<'query', Calls[N]['query']> &
  Part<'body', Calls[N]['body']> & { readonly signal?: AbortSignal | undefined }

type Loose = {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** What the service refused, or `Unreachable` where it did not answer. */
export class Refusal extends Error {
  readonly code: string
  readonly status: number
  /** Field -> what is wrong with it. */
  readonly details: Readonly<Record<string, string>>

  constructor(status: number, code: string, text: string, details: Readonly<Record<string, string>> = {}) {
    super(text)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** What is true of every call of the page; the service counts its cookie for no other (src/http/guard/session.ts). */
const own = { 'X-Teal-Page': '1' }

let onSignedOut = (): void => {}

/** Hears that the session is over. */
export function watchSession(heard: () => void): void {
  onSignedOut = heard
}

/**
 * Asks the service.
 *
 * @throws Refusal
 */
export async function call<N extends CallName>(
  name: N,
  ...[input]: None extends CallInput<N> ? [CallInput<N>?] : [CallInput<N>]
): Promise<Reply<N>> {
  const { body, signal } = (input ?? {}) as Loose
  const isBlob = body instanceof Blob
  const headers = { ...own, ...(body !== undefined && !isBlob && { 'Content-Type': 'application/json' }) }
  const [method] = name.split(' ', 1)
  const sent = body === undefined ? {} : { body: isBlob ? body : JSON.stringify(body) }
  const response = await answered(fetch(address(name, (input ?? {}) as Loose), { method, headers, signal, ...sent }))
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  if (response.ok) return (isJson ? await response.json() : await response.blob()) as Reply<N>
  throw await refusal(response, isJson)
}

/** The address of a call, for a link or a download: the browser sends the session along. */
export function addressOf<N extends CallName>(
  name: N,
  ...[input]: None extends CallInput<N> ? [CallInput<N>?] : [CallInput<N>]
): string {
  return address(name, (input ?? {}) as Loose)
}

function address(name: string, { params = {}, query = {} }: Loose): string {
  const path = name
    .slice(name.indexOf(' ') + 1)
    .replaceAll(/:(\w+)/g, (_, key: string) => encodeURIComponent(String(params[key])))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) search.append(key, String(one))
    else if (value !== undefined) search.append(key, String(value))
  }
  return search.size === 0 ? path : `${path}?${search}`
}

async function answered(asking: Promise<Response>): Promise<Response> {
  try {
    return await asking
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Refusal(0, 'Unreachable', 'The service does not answer')
  }
}

/** What a status says by itself: what stands before the service speaks while the service is away. */
export function unsaid(status: number): string {
  return [502, 503, 504].includes(status) ? 'Unreachable' : 'InternalError'
}

async function refusal(response: Response, isJson: boolean): Promise<Refusal> {
  type Said = { code?: string; error?: string; details?: Record<string, string> }
  const {
    code = unsaid(response.status),
    error = response.statusText,
    details,
  } = (isJson ? await response.json() : {}) as Said
  // Codes of a second factor are refused in the same word, by calls that answer 400.
  if (code === 'InvalidToken' && response.status === 403 && !response.url.includes('/session')) onSignedOut()
  return new Refusal(response.status, code, error, details)
}

/** The service does not answer, or only that it is busy. */
export function isAway(error: unknown): boolean {
  return error instanceof Refusal && (error.code === 'Unreachable' || error.status === 503)
}

/** It is another matter in a while, or for who signs in again. */
export function isPassing(error: unknown): boolean {
  return isAway(error) || (error instanceof Refusal && (error.code === 'InvalidToken' || error.status === 429))
}
