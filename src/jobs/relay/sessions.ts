// Sessions with other mail servers, kept for the next message to the same place.
//
// A session carries one message at a time, so many messages at most, and is closed after a while without work or when
// anything went wrong in it. Making one has its time, and so has every transaction.

import { after, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Outward } from '#net/outward/outward.ts'
import type { PassedOver } from './proof/domain-policy.ts'
import {
  type MailEnvelope,
  MailFailed,
  type MailRoute,
  type MailSent,
  MailSession,
  type SessionFacts,
} from './smtp-client.ts'

interface Kept {
  readonly session: MailSession
  readonly stop: AbortController
  messages: number
  idle: Timer | undefined
}

/** The connection could not be made: nothing of a message was sent, and another host may be tried. */
export class NotConnected extends Error {
  readonly failed: MailFailed
  constructor(failed: MailFailed) {
    super(failed.message, { cause: failed })
    this.failed = failed
  }
}

type Told = (route: Pick<MailRoute, 'host' | 'policy'>, facts: SessionFacts) => void

export class RelaySessions {
  readonly #outward: Outward
  readonly #idle = new Map<string, Kept[]>()
  #count = 0
  #closed = false

  readonly #told: Told

  /** @param told hears of each session that was made, or was not */
  constructor(outward: Outward, told: Told = () => {}) {
    this.#outward = outward
    this.#told = told
  }

  /** Connections that are kept without work. */
  get idle(): number {
    return this.#count
  }

  /**
   * Sends one message over a kept session or a new one.
   *
   * @param message makes the bytes; called again where a kept session turns out to be dead
   * @throws NotConnected, MailFailed
   */
  async send(
    route: MailRoute,
    envelope: MailEnvelope,
    message: () => Buffer | NodeJS.ReadableStream,
    signal: AbortSignal,
  ): Promise<MailSent> {
    const key = keyOf(route)
    const kept = this.#take(key)
    if (kept !== undefined) {
      try {
        return await this.#transact(key, kept, envelope, message, signal)
      } catch (error) {
        // The other side may have closed while nobody used it, or does so now.
        if (!(error instanceof MailFailed && error.sessionOver) || signal.aborted) throw error
      }
    }
    return this.#transact(key, await this.#reach(route, signal), envelope, message, signal)
  }

  /** Closes what nobody uses. */
  close(): void {
    this.#closed = true
    for (const all of this.#idle.values()) for (const kept of all) this.#end(kept)
    this.#idle.clear()
    this.#count = 0
  }

  /** Encrypted if it can be: where TLS is offered and fails, without (RFC 7435 3), which anybody on the way could bring about as well. */
  async #reach(route: MailRoute, signal: AbortSignal): Promise<Kept> {
    this.#passOver(route.before)
    try {
      return await this.#open(route, signal)
    } catch (error) {
      this.#passOver(route.after)
      const broken = error instanceof NotConnected && error.failed.failure === 'tls' && !signal.aborted
      if (!broken || route.tls !== 'opportunistic' || route.auth !== undefined) throw error
      // What was wrong is told already.
      const { policy: _, ...plain } = route
      return await this.#open({ ...plain, tls: 'none' }, signal)
    }
  }

  #passOver(hosts: readonly PassedOver[] = []): void {
    for (const { policy, host, flaw, reason } of hosts)
      this.#told({ policy, host }, { flaw, reason, local: '', remote: '' })
  }

  async #open(route: MailRoute, signal: AbortSignal): Promise<Kept> {
    const stop = new AbortController()
    const onStop = () => stop.abort(signal.reason)
    // A host that says a byte of its answer now and then is silent at no time.
    const timer = after(limits.outbound.sessionMs, onStop)
    signal.addEventListener('abort', onStop, { once: true })
    try {
      const session = await MailSession.open(this.#outward, route, stop.signal)
      this.#told(route, session.facts)
      return { session, stop, messages: 0, idle: undefined }
    } catch (error) {
      if (!(error instanceof MailFailed)) throw error
      this.#told(route, error.facts)
      throw new NotConnected(error)
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', onStop)
    }
  }

  async #transact(
    key: string,
    kept: Kept,
    envelope: MailEnvelope,
    message: () => Buffer | NodeJS.ReadableStream,
    signal: AbortSignal,
  ): Promise<MailSent> {
    const onStop = () => kept.stop.abort(signal.reason)
    const timer = after(limits.outbound.transactionMs, onStop)
    signal.addEventListener('abort', onStop, { once: true })
    try {
      kept.messages += 1
      const sent = await kept.session.send(envelope, message())
      this.#keep(key, kept)
      return sent
    } catch (error) {
      this.#end(kept)
      throw error
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', onStop)
    }
  }

  #take(key: string): Kept | undefined {
    const all = this.#idle.get(key)
    for (let kept = all?.pop(); kept !== undefined; kept = all?.pop()) {
      this.#count -= 1
      kept.idle?.cancel()
      if (all?.length === 0) this.#idle.delete(key)
      if (kept.session.open) return kept
      this.#end(kept)
    }
    return undefined
  }

  #keep(key: string, kept: Kept): void {
    const worn = kept.messages >= limits.outbound.connectionMessagesMax || !kept.session.open
    if (this.#closed || worn || this.#count >= limits.outbound.connectionsMax) {
      this.#end(kept)
      return
    }
    const all = this.#idle.get(key) ?? []
    all.push(kept)
    this.#idle.set(key, all)
    this.#count += 1
    kept.idle = after(limits.outbound.connectionIdleMs, () => {
      const at = all.indexOf(kept)
      if (at < 0) return
      all.splice(at, 1)
      this.#count -= 1
      if (all.length === 0) this.#idle.delete(key)
      this.#end(kept)
    })
  }

  #end(kept: Kept): void {
    kept.idle?.cancel()
    kept.session.close()
  }
}

/** Who shares sessions: the same host, proven in the same way, for the same login. */
function keyOf({ host, port, tls, dane, looksOnly, auth, localAddress }: MailRoute): string {
  const proof = dane?.records.map(({ usage, selector, data }) => `${usage}${selector}${data.toString('base64')}`) ?? []
  const names = dane?.names ?? []
  return JSON.stringify([host, port, tls, looksOnly, proof, names, auth?.user, auth?.pass, localAddress])
}
