// Who may try: failures counted for each account and each network, in windows that begin with the first failure and live
// in the cache, so that they outlast a restart (specification, Limits; api-semantics 2.6).
//
// A network from which an account was entered lately has a count of its own for that account, so a stranger who guesses
// cannot lock the owner out. Names nobody has are counted like accounts. Attempts that are being checked count as if they
// had failed: where as many are under way as may still fail, the next one waits for their outcome. An attempt that is
// refused is held back for a moment, which is what keeps guessing without pause from costing others anything.

import { after } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { networkOf } from '#lib/network.ts'
import type { Cache } from '#store/cache.ts'

/** What is counted: failures of one kind at one account. */
export type AttemptKind = 'password' | 'asp' | 'factor'

export interface Subject {
  /** Id of the account, or for a name nobody has the name in its compared form. */
  readonly account: string
  /** Address the attempt comes from; empty where it is not known. */
  readonly ip: string
}

/** An attempt that may go on. One of these is called, once. */
export interface Attempt {
  /** It was right: failures counted so far are forgotten. */
  succeeded(): void
  failed(): void
  /** Neither: nothing is counted. */
  withdrawn(): void
}

const windows = {
  password: { max: limits.attempts.passwordFailuresMax, ms: limits.attempts.passwordMs },
  asp: { max: limits.attempts.passwordFailuresMax, ms: limits.attempts.passwordMs },
  factor: { max: limits.attempts.factorFailuresMax, ms: limits.attempts.factorMs },
} as const

export class Attempts {
  readonly #cache: Cache
  /** Counter -> attempts that are being checked. */
  readonly #checking = new Map<string, number>()
  /** Counter -> those that wait for an outcome. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #held = new Map<string, number>()
  #heldTotal = 0

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /**
   * Begins an attempt, once it may go on.
   *
   * @throws Fault RateLimitedError with the time that is left, after a moment
   */
  async begin(kind: AttemptKind, subject: Subject): Promise<Attempt> {
    const network = networkOf(subject.ip)
    const known = network !== '' && this.knows(subject.account, network)
    const id = known ? `${subject.account} ${network}` : subject.account
    const name = `${kind}:${id}`
    const { max, ms } = windows[kind]
    for (;;) {
      const counted = this.#cache.counted(kind, id)
      if (counted.used >= max) return this.#refuse(subject.account, counted.ttlMs)
      if (network !== '' && !known && !isLocal(network)) {
        const spread = this.#cache.counted('network', network)
        if (spread.used >= limits.attempts.networkFailuresMax) return this.#refuse(subject.account, spread.ttlMs)
      }
      const checking = this.#checking.get(name) ?? 0
      if (counted.used + checking < max) {
        this.#checking.set(name, checking + 1)
        break
      }
      await this.#outcome(name, subject.account, ms)
    }
    let over = false
    const end = () => {
      if (over) return false
      over = true
      this.#ended(name)
      return true
    }
    return {
      succeeded: () => {
        this.#cache.remove(kind, id)
        end()
      },
      failed: () => {
        this.#cache.count(kind, id, ms)
        if (network !== '' && !isLocal(network)) this.#cache.count('network', network, limits.attempts.networkMs)
        end()
      },
      withdrawn: () => void end(),
    }
  }

  /**
   * For an answer that needs no check: `isRight` is asked where attempts are not refused now, and where it says yes,
   * failures counted so far are forgotten.
   */
  recalled(kind: AttemptKind, { account, ip }: Subject, isRight: () => boolean): boolean {
    const network = networkOf(ip)
    const known = network !== '' && this.knows(account, network)
    const id = known ? `${account} ${network}` : account
    const { used } = this.#cache.counted(kind, id)
    if (used >= windows[kind].max || !isRight()) return false
    if (used > 0) this.#cache.remove(kind, id)
    return true
  }

  /** Remembers that the account was entered from there. */
  entered({ account, ip }: Subject): void {
    const network = networkOf(ip)
    if (network === '') return
    const { knownMs, knownRefreshMs } = limits.attempts
    const kept = this.#cache.look('known', `${account} ${network}`)
    if (kept !== undefined && kept.ttlMs > knownMs - knownRefreshMs) return
    this.#cache.keep('known', `${account} ${network}`, 1, knownMs)
  }

  /** Whether the account was entered from this network lately. */
  knows(account: string, network: string): boolean {
    return this.#cache.look('known', `${account} ${network}`) !== undefined
  }

  /**
   * Counts a question about a name without a password.
   *
   * @param asker tells callers apart that give no address
   * @throws Fault RateLimitedError
   */
  async asked(ip: string, asker: string): Promise<{ missed(): void }> {
    const { namesMax, namesUnplacedMax, namesMs } = limits.attempts
    const network = networkOf(ip)
    const id = network === '' ? `by ${asker}` : network
    const { used, ttlMs } = this.#cache.counted('names', id)
    if (used >= (network === '' ? namesUnplacedMax : namesMax)) return this.#refuse(id, ttlMs)
    return { missed: () => void this.#cache.count('names', id, namesMs) }
  }

  #ended(name: string): void {
    const checking = (this.#checking.get(name) ?? 1) - 1
    if (checking > 0) this.#checking.set(name, checking)
    else this.#checking.delete(name)
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    this.#waiting.delete(name)
    for (const wake of waiting) wake()
  }

  /** Resolves when one of those that are being checked has its outcome. @throws Fault RateLimitedError */
  async #outcome(name: string, account: string, ms: number): Promise<void> {
    const waiting = this.#waiting.get(name) ?? []
    if (waiting.length >= limits.attempts.waitingMax) return this.#refuse(account, ms)
    await new Promise<void>(resolve => {
      waiting.push(resolve)
      this.#waiting.set(name, waiting)
    })
  }

  /** @throws Fault RateLimitedError, after a moment where not too many are held back already */
  async #refuse(account: string, ttlMs: number): Promise<never> {
    const { refusalMs, heldMax, heldPerAccountMax } = limits.attempts
    const held = this.#held.get(account) ?? 0
    if (this.#heldTotal < heldMax && held < heldPerAccountMax) {
      this.#held.set(account, held + 1)
      this.#heldTotal += 1
      await new Promise<void>(resolve => after(refusalMs, resolve))
      this.#heldTotal -= 1
      const left = (this.#held.get(account) ?? 1) - 1
      if (left > 0) this.#held.set(account, left)
      else this.#held.delete(account)
    }
    throw new Fault('RateLimitedError', { retryAfter: Math.max(1, Math.ceil(ttlMs / 1000)) })
  }
}

/** Tests, proxies and web mail on the same machine come from here: no network of strangers. */
function isLocal(network: string): boolean {
  return network.startsWith('127.') || network === '::1'
}
