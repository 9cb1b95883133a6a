// Who may try: failures counted for each account and each network, in windows that begin with the first failure and live
// in the cache, so that they outlast a restart (specification, Limits; api-semantics 2.6).
//
// A network from which an account was entered lately, by a whole login with every factor, has counts of wrong passwords of
// its own for that account, so a stranger who guesses cannot lock the owner out; an application password makes its network
// known for application passwords alone. Wrong factors count for the account, wherever they come from, and codes of logins over
// weeks as well; apart from those, since no password is needed, a security key alone and codes of a token that finish no login.
// Failures count for the networks they come from, too; networks trusted by configuration are left out of that.

import { limits } from '#lib/limits.ts'
import { networkOf, networksOf, rangesOf } from '#lib/network.ts'
import type { Cache } from '#store/folder/cache.ts'
import { type Gate, Gates } from './gates.ts'

/**
 * What is tried at one account: `factor` is what finishes a login, a security key or, as `login code`, a one-time code; `key` a
 * security key without a password before it, `code` a one-time code that finishes no login, of whoever is in already.
 */
export type AttemptKind = Counted | 'login code'

/** What is counted by itself. */
type Counted = 'password' | 'asp' | 'factor' | 'key' | 'code'

/** By what an account was entered. */
export type Entry = 'password' | 'asp'

export interface Subject {
  /** Id of the account, or for a name nobody has the name in its compared form. */
  readonly account: string
  /** Address the attempt comes from; empty where it is not known. */
  readonly ip: string
  /** Of the account: what is counted over weeks begins anew with a new password. */
  readonly authVersion?: number
}

/** An attempt that may go on. One of these is called, once. */
export interface Attempt {
  /** It was right: failures counted so far are forgotten. */
  succeeded(): void
  failed(): void
  /** Neither: nothing is counted. */
  withdrawn(): void
}

const { passwordFailuresMax, passwordMs, factorFailuresMax, factorMs, waitingMax } = limits.attempts

const windows = {
  password: { max: passwordFailuresMax, ms: passwordMs },
  asp: { max: passwordFailuresMax, ms: passwordMs },
  factor: { max: factorFailuresMax, ms: factorMs },
  key: { max: factorFailuresMax, ms: factorMs },
  code: { max: factorFailuresMax, ms: factorMs },
} as const

export class Attempts {
  readonly #cache: Cache
  readonly #gates: Gates
  readonly #trusts: (address: string) => boolean

  /** @param trusted ranges in CIDR form whose failures are counted for accounts only */
  constructor(cache: Cache, trusted: readonly string[] = []) {
    this.#cache = cache
    this.#gates = new Gates(cache)
    this.#trusts = rangesOf(trusted)
  }

  /**
   * Begins an attempt, once it may go on.
   *
   * @throws Fault RateLimitedError with the time that is left, after a moment
   */
  async begin(kind: AttemptKind, subject: Subject): Promise<Attempt> {
    const counted = kind === 'login code' ? 'factor' : kind
    const first: Gate = { kind: counted, id: this.#counter(counted, subject), ...windows[counted], waitingMax }
    const own = kind === 'login code' ? [first, this.#lasting(subject)] : [first]
    const known = this.#knows(subject, kind === 'asp' ? 'asp' : 'password')
    const spread = this.#networks(subject.ip)
    const passage = await this.#gates.enter(known ? own : [...own, ...spread], subject.account)
    return {
      succeeded: () => {
        this.#cache.remove(first.kind, first.id)
        passage.end([])
      },
      failed: () => passage.end([...own, ...spread]),
      withdrawn: () => passage.end([]),
    }
  }

  /**
   * For an answer that needs no check: `isRight` is asked where attempts are not refused now, and where it says yes,
   * failures counted so far are forgotten.
   */
  recalled(kind: Entry, subject: Subject, isRight: () => boolean): boolean {
    const id = this.#counter(kind, subject)
    const { used } = this.#cache.counted(kind, id)
    if (used >= windows[kind].max || !isRight()) return false
    if (used > 0) this.#cache.remove(kind, id)
    return true
  }

  /** Remembers that the account was entered from there, every factor shown. */
  entered(by: Entry, { account, ip }: Subject): void {
    const network = networkOf(ip)
    if (network === '') return
    const { knownMs, knownRefreshMs, knownMax } = limits.attempts
    const kind = knownKind[by]
    const id = `${account} ${network}`
    const kept = this.#cache.look(kind, id)
    if (kept !== undefined && kept.ttlMs > knownMs - knownRefreshMs) return
    this.#cache.keepAmong(account, knownMax, [kind, id, 1, knownMs])
  }

  /**
   * Whose turn a check takes: those from known networks, strangers, and those whose address is not told take turns; within
   * them networks do, wide ones first, and within a network accounts.
   */
  turnKey(by: Entry, subject: Subject): readonly string[] {
    const networks = networksOf(subject.ip)
    const group = networks.length === 0 ? 'unplaced' : this.#knows(subject, by) ? 'known' : 'strange'
    return [group, ...networks.toReversed(), subject.account]
  }

  /**
   * Counts a question about a name without a password.
   *
   * @param asker tells callers apart that give no address
   * @throws Fault RateLimitedError
   */
  async asked(ip: string, asker: string): Promise<{ answered(): void; missed(): void }> {
    const { namesMax, namesUnplacedMax, namesMs: ms, networkSteps, networkWaitingMax } = limits.attempts
    const gates: Gate[] = networksOf(ip).map((id, at) => {
      return { kind: 'names', id, max: namesMax * (networkSteps[at] ?? 1), ms, waitingMax: networkWaitingMax }
    })
    if (gates.length === 0) {
      gates.push({ kind: 'names', id: `by ${asker}`, max: namesUnplacedMax, ms, waitingMax: networkWaitingMax })
    }
    const passage = await this.#gates.enter(gates, gates[0]?.id ?? '')
    return { answered: () => passage.end([]), missed: () => passage.end(gates) }
  }

  /**
   * Wrong codes of logins over weeks, of whoever has the password and patience: a right one does not clear it, since that is the
   * owner's. A network that is known has a count of its own, so the owner comes in, and ends it for all by another password.
   */
  #lasting(subject: Subject): Gate {
    const { codeFailuresMax: max, codeMs: ms } = limits.attempts
    const place = this.#knows(subject, 'password') ? ` ${networkOf(subject.ip)}` : ''
    return { kind: 'codes', id: `${subject.account} ${subject.authVersion ?? 0}${place}`, max, ms, waitingMax }
  }

  /** Under which id failures of this kind are counted. */
  #counter(kind: Counted, subject: Subject): string {
    if (kind === 'factor' || !this.#knows(subject, kind === 'asp' ? 'asp' : 'password')) return subject.account
    return `${subject.account} ${networkOf(subject.ip)}`
  }

  /** A login with everything makes a network known for application passwords as well. */
  #knows({ account, ip }: Subject, by: Entry): boolean {
    const network = networkOf(ip)
    if (network === '') return false
    const is = (entry: Entry) => this.#cache.look(knownKind[entry], `${account} ${network}`) !== undefined
    return is('password') || (by === 'asp' && is('asp'))
  }

  #networks(ip: string): Gate[] {
    if (this.#trusts(ip)) return []
    const { networkFailuresMax, networkMs: ms, networkSteps, networkWaitingMax } = limits.attempts
    return networksOf(ip).map((id, at) => {
      return {
        kind: 'network',
        id,
        max: networkFailuresMax * (networkSteps[at] ?? 1),
        ms,
        waitingMax: networkWaitingMax,
      }
    })
  }
}

const knownKind = { password: 'home', asp: 'asp home' } as const
