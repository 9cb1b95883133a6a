// One webhook call over HTTP: what is sent, and what its answer means.
//
// POST with the event as flat JSON (api-semantics 9.3) and the headers of the Standard Webhooks convention: webhook-id,
// webhook-timestamp and, where the subscription has a secret, webhook-signature over id, timestamp and body. The whole
// call, redirects and answer included, has one deadline. Redirects are followed on the same host only, again as POST. Of
// an answer only the status counts: little of its body is read, and none of it is kept.

import { createHmac } from 'node:crypto'
import type { Agent } from 'undici'
import { after, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { type Outward, type OutwardFailure, outwardFailure } from '#net/outward/outward.ts'

/** Why a delivery failed: a small closed set, kept in its row. */
type Failure = OutwardFailure | 'status' | 'redirect' | 'rejected' | 'target'

export interface Outcome {
  /** Null: it arrived. */
  readonly failure: Failure | null
  /** Status of the answer (HTTP or SMTP), where there was one. */
  readonly status: number | null
  /** How long the endpoint asked to be left alone. */
  readonly waitMs?: number
  /** The endpoint wants no more of this subscription (410). */
  readonly gone?: true
}

/** What is delivered. */
export interface Post {
  /** `<24 hexadecimal digits>:<n>`, the same for every attempt. */
  readonly id: string
  readonly name: string
  /** When it happened. */
  readonly at: number
  /** Flat JSON with id, time and ev. */
  readonly json: string
}

/** How a delivery reaches its target; one for each kind of URL. */
export interface Caller {
  call(url: URL, secret: string | null, post: Post, signal: AbortSignal): Promise<Outcome>
  close(): Promise<void>
}

export interface HttpCallerOptions {
  readonly outward: Outward
  /** Time for one call. */
  readonly timeoutMs: number
  readonly userAgent: string
  /** Certificates to trust besides the built-in ones. */
  readonly ca?: string
}

export class HttpCaller implements Caller {
  readonly #options: HttpCallerOptions
  /** Made by the first call: most services have no webhook. */
  #agent: Agent | undefined

  constructor(options: HttpCallerOptions) {
    this.#options = options
  }

  async call(url: URL, secret: string | null, post: Post, signal: AbortSignal): Promise<Outcome> {
    const { timeoutMs } = this.#options
    const ended = new AbortController()
    const onStop = () => ended.abort(signal.reason)
    const timer = after(timeoutMs, () => ended.abort(new CallTimedOut('no answer in time')))
    signal.addEventListener('abort', onStop, { once: true })
    try {
      return await this.#follow(url, secret, post, ended.signal)
    } catch (error) {
      return { failure: outwardFailure(error), status: null }
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', onStop)
    }
  }

  async close(): Promise<void> {
    await this.#agent?.destroy()
  }

  #client(): Agent {
    const { outward, ca } = this.#options
    const { connectionsMax, answerBytesMax } = limits.webhook
    this.#agent ??= outward.agent({ connectionsMax, answerBytesMax, ...(ca !== undefined && { ca }) })
    return this.#agent
  }

  async #follow(url: URL, secret: string | null, post: Post, signal: AbortSignal): Promise<Outcome> {
    let target = url
    for (let hops = 0; ; hops++) {
      const { status, location, retryAfter } = await this.#request(target, url, secret, post, signal)
      if (status >= 200 && status < 300) return { failure: null, status }
      if (status < 300 || status >= 400) return refusal(status, retryAfter)
      const next = location === '' || !URL.canParse(location, target.href) ? undefined : new URL(location, target)
      const followed = redirects.has(status) && hops < limits.webhook.redirectsMax
      if (!followed || next === undefined || !sameHost(target, next)) return { failure: 'redirect', status }
      target = next
    }
  }

  async #request(target: URL, named: URL, secret: string | null, post: Post, signal: AbortSignal) {
    const answer = await this.#client().request({
      origin: target.origin,
      path: target.pathname + target.search,
      method: 'POST',
      headers: this.#headers(named, secret, post),
      body: post.json,
      signal,
    })
    const header = (name: string) => String(answer.headers[name] ?? '')
    const result = { status: answer.statusCode, location: header('location'), retryAfter: header('retry-after') }
    try {
      await answer.body.dump({ limit: limits.webhook.answerBytesMax, signal })
    } catch {
      // The status has been said; a body that is too long, breaks off or never ends says no more.
    }
    return result
  }

  #headers(url: URL, secret: string | null, post: Post): Record<string, string> {
    const timestamp = String(Math.floor(now() / 1000))
    return {
      'content-type': 'application/json',
      accept: '*/*',
      'user-agent': this.#options.userAgent,
      'webhook-id': post.id,
      'webhook-timestamp': timestamp,
      ...(secret !== null && { 'webhook-signature': signature(secret, post.id, timestamp, post.json) }),
      ...(url.username + url.password !== '' && { authorization: basic(url) }),
    }
  }
}

/** `v1,<base64>`: HMAC-SHA256 of `id.timestamp.body`; a secret written `whsec_<base64>` stands for those bytes. */
export function signature(secret: string, id: string, timestamp: string, body: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret)
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

class CallTimedOut extends Error {
  readonly code = 'ETIMEDOUT'
}

/** Of these the request is sent again as it was; 303 asks for another one and so is a failure. */
const redirects: ReadonlySet<number> = new Set([301, 302, 307, 308])

function refusal(status: number, retryAfter: string): Outcome {
  if (status === 410) return { failure: 'status', status, gone: true }
  const seconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : 0
  const waitMs = Math.min(seconds * 1000, limits.webhook.retryAfterMsMax)
  return { failure: 'status', status, ...(waitMs > 0 && { waitMs }) }
}

/** Credentials and event stay with the host they were meant for; only a step up to TLS may change the port. */
function sameHost(from: URL, to: URL): boolean {
  if (from.hostname !== to.hostname) return false
  if (from.protocol === to.protocol) return from.port === to.port
  return from.protocol === 'http:' && to.protocol === 'https:' && to.port === ''
}

function basic(url: URL): string {
  const plain = (text: string) => {
    try {
      return decodeURIComponent(text)
    } catch {
      return text
    }
  }
  return `Basic ${Buffer.from(`${plain(url.username)}:${plain(url.password)}`).toString('base64')}`
}
