// The talk with an ACME server (RFC 8555): account, order, proof over HTTP, certificate.
//
// acme-client does the signing, nonces, requests and CSRs. Its own HTTP client is not used: that one goes to any address,
// follows redirects, waits as long as a server likes and repeats by itself. So its one function for calls is replaced in
// each instance by `#call`, which goes through the outward handle, follows nothing, and bounds answer and time; a version
// that has no such function is refused. One session is one attempt; every wait ends with its signal.

import assert from 'node:assert'
import type { Authorization, Client, Order } from 'acme-client'
import type { Agent } from 'undici'
import { after, now, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { acmeClient } from '#lib/process/lazy.ts'
import { type OutwardFailure, outwardFailure } from '../outward/outward.ts'
import type { Challenges } from './challenges.ts'

export type { Order } from 'acme-client'

/** Why there is no certificate: a small closed set, kept in rows and metrics. */
export type AcmeFailure =
  | OutwardFailure
  | 'account'
  | 'certificate'
  | 'challenge'
  | 'late'
  | 'rateLimited'
  | 'rejected'
  | 'server'
  | 'store'

/** What an ACME server said instead of yes. */
export class AcmeRefusal extends Error {
  readonly word: AcmeFailure
  /** 'badCSR' for `urn:ietf:params:acme:error:badCSR`; empty where it said none. */
  readonly kind: string
  /** How long it asked to be left alone. */
  readonly waitMs: number

  constructor(word: AcmeFailure, problem: unknown, waitMs = 0) {
    const { type, detail } = (typeof problem === 'object' && problem !== null ? problem : {}) as Record<string, unknown>
    const kind = /^urn:ietf:params:acme:error:(\w{1,64})$/.exec(String(type ?? ''))?.[1] ?? ''
    const text = typeof problem === 'string' ? problem : `${kind}: ${String(detail ?? 'no reason given')}`
    super(text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, limits.acme.reasonLengthMax))
    this.word = word
    this.kind = kind
    this.waitMs = waitMs
  }
}

/** The word for whatever ended an attempt. */
export function acmeFailure(error: unknown): AcmeFailure {
  if (error instanceof Fault) return 'store'
  return error instanceof AcmeRefusal ? error.word : outwardFailure(error)
}

export interface AcmeBinding {
  readonly bindingKeyId: string
  readonly bindingKey: string
}

export interface AcmeSessionOptions {
  /** From `Outward.agent`. */
  readonly agent: Agent
  readonly directory: string
  /** Key of the account in PEM. */
  readonly key: string
  /** Null where the account is not known to the server yet. */
  readonly account: string | null
  /** Binds a new account to one that the server knows (RFC 8555 7.3.4), where the id is not empty; the key in base64. */
  readonly binding: AcmeBinding
  readonly userAgent: string
  readonly signal: AbortSignal
}

export class AcmeSession {
  readonly #options: AcmeSessionOptions
  readonly #client: Client
  /** What the last answer said of when to ask again. */
  #waitMs = 0

  constructor(options: AcmeSessionOptions) {
    this.#options = options
    const { directory, key, account, binding } = options
    const external = { kid: binding.bindingKeyId, hmacKey: binding.bindingKey }
    this.#client = new (acmeClient().Client)({
      ...{ directoryUrl: directory, accountKey: key },
      ...(account !== null && { accountUrl: account }),
      ...(external.kid !== '' && { externalAccountBinding: external }),
    })
    const { http } = this.#client as unknown as { http?: { request?: unknown } }
    assert(typeof http?.request === 'function', 'acme-client makes its calls in a way of its own')
    http.request = (url: string, method: string, { data }: { data?: object } = {}) => this.#call(url, method, data)
  }

  /** Makes the account, or brings what the server knows of it up to date. @returns its address */
  async account(email: string, termsAgreed: boolean): Promise<string> {
    const contact = email === '' ? [] : [`mailto:${email}`]
    await this.#client.createAccount({ termsOfServiceAgreed: termsAgreed, contact })
    return checkUrl(this.#client.getAccountUrl())
  }

  async begin(name: string): Promise<Order> {
    return checked(await this.#client.createOrder({ identifiers: [{ type: 'dns', value: name }] }))
  }

  /** The order as it is now. */
  async find(url: string): Promise<Order> {
    return checked(await this.#client.getOrder({ url } as Order))
  }

  /** Shows that the name of an order is ours; `challenges` answers meanwhile. @throws AcmeRefusal `challenge` */
  async prove(order: Order, challenges: Challenges): Promise<void> {
    const [authorization, ...more] = await this.#client.getAuthorizations(order)
    if (authorization === undefined || more.length > 0) throw new AcmeRefusal('server', 'an order of another kind')
    if (authorization.status === 'valid') return
    const challenge = authorization.challenges.find(one => one.type === 'http-01')
    if (authorization.status !== 'pending' || challenge === undefined) throw refused(authorization)
    const answer = await this.#client.getChallengeKeyAuthorization(challenge)
    if (!challenges.open(challenge.token, answer))
      throw new AcmeRefusal('server', 'a token without its form, or too many of them')
    try {
      await challenges.share?.(challenge.token, answer)
      if (challenge.status === 'pending') await this.#client.completeChallenge(challenge)
      const one = { authorizations: [authorization.url] } as Order
      const look = async () => (await this.#client.getAuthorizations(one))[0] ?? authorization
      const settled = await this.#until(look, ['pending'])
      if (settled.status !== 'valid') throw refused(settled)
    } finally {
      challenges.close(challenge.token)
      void challenges.share?.(challenge.token, null)
    }
  }

  /** Hands in the request for a certificate and waits until it is made. @throws AcmeRefusal `rejected` */
  async finish(order: Order, csr: string): Promise<Order> {
    const look = () => this.find(order.url)
    const ready = await this.#until(look, ['pending', 'processing'])
    if (ready.status === 'ready') await this.#client.finalizeOrder(ready, csr)
    const settled = await this.#until(look, ['pending', 'ready', 'processing'])
    if (settled.status !== 'valid') throw new AcmeRefusal('rejected', settled.error ?? 'the order is not valid')
    return settled
  }

  /** The certificate of a valid order with its chain, in PEM. */
  async certificate(order: Order): Promise<string> {
    const text: unknown = await this.#client.getCertificate(order)
    if (typeof text !== 'string') throw new AcmeRefusal('server', 'no certificate where one was promised')
    return text
  }

  async #until<T extends { status: string }>(look: () => Promise<T>, pending: readonly string[]): Promise<T> {
    const { pollMs, pollMsMax } = limits.acme
    for (let wait: number = pollMs; ; wait = Math.min(2 * wait, pollMsMax)) {
      const found = await look()
      if (!pending.includes(found.status)) return found
      await sleep(Math.min(Math.max(this.#waitMs, wait), pollMsMax), this.#options.signal)
    }
  }

  /** What acme-client calls for every request; it looks at status, headers and data of the result. */
  async #call(url: string, method: string, data: object | undefined) {
    const { agent, directory, userAgent, signal } = this.#options
    const target = new URL(checkUrl(url))
    if (target.protocol !== new URL(directory).protocol) throw new AcmeRefusal('server', 'an address of another kind')
    const ended = new AbortController()
    const onStop = () => ended.abort(signal.reason)
    const timer = after(limits.acme.requestMs, () => ended.abort(new CallTimedOut('no answer in time')))
    signal.addEventListener('abort', onStop, { once: true })
    try {
      signal.throwIfAborted()
      const answer = await agent.request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: method.toUpperCase() as 'GET' | 'HEAD' | 'POST',
        headers: { 'content-type': 'application/jose+json', 'user-agent': userAgent, accept: '*/*' },
        ...(data !== undefined && { body: JSON.stringify(data) }),
        signal: ended.signal,
      })
      const text = await answer.body.text()
      const headers = Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
      )
      return this.#judge(answer.statusCode, headers, text)
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', onStop)
    }
  }

  #judge(status: number, headers: Record<string, string | undefined>, text: string) {
    const isJson = text !== '' && /^application\/(problem\+)?json\b/i.test(headers['content-type'] ?? '')
    const data: unknown = isJson ? parse(text) : text
    this.#waitMs = retryAfter(headers['retry-after'])
    if (status >= 200 && status < 300) return { status, headers, data }
    const refusal = new AcmeRefusal(wordOf(status, data), isJson ? data : `status ${status}`, this.#waitMs)
    // acme-client tries again with the nonce that came along (RFC 8555 6.5).
    if (refusal.kind === 'badNonce' && status === 400) return { status, headers, data }
    throw refusal
  }
}

/** The request for a certificate for one name, in PEM. */
export async function certificateRequest(name: string, key: string): Promise<string> {
  const [, csr] = await acmeClient().crypto.createCsr({ altNames: [name] }, key)
  return csr.toString()
}

class CallTimedOut extends Error {
  readonly code = 'ETIMEDOUT'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AcmeRefusal('server', 'an answer that cannot be read')
  }
}

function checked(order: Order): Order {
  checkUrl(order.url)
  return order
}

function checkUrl(url: unknown): string {
  const good = typeof url === 'string' && url.length <= limits.acme.urlLengthMax && URL.canParse(url)
  if (!good) throw new AcmeRefusal('server', 'an address that is none')
  return url
}

function refused({ challenges, status }: Authorization): AcmeRefusal {
  const reason = challenges?.find(({ error }) => error !== undefined)?.error
  return new AcmeRefusal('challenge', reason ?? `the name could not be proven: ${status}`)
}

const accountKinds: ReadonlySet<string> = new Set([
  'accountDoesNotExist',
  'externalAccountRequired',
  'invalidContact',
  'unsupportedContact',
  'userActionRequired',
])

function wordOf(status: number, data: unknown): AcmeFailure {
  const { kind } = new AcmeRefusal('server', data)
  if (kind === 'rateLimited' || status === 429) return 'rateLimited'
  if (accountKinds.has(kind)) return 'account'
  return status >= 500 || status < 400 ? 'server' : 'rejected'
}

/** Seconds, or a moment (RFC 9110 10.2.3), as milliseconds from now; 0 where it is neither. */
function retryAfter(header: string | undefined): number {
  if (header === undefined) return 0
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), limits.acme.retryAfterMsMax) : 0
}
