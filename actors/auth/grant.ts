// What a live session or stream may still do: the one place that decides it, whatever opened it and whatever protocol it is.
//
// A grant is kept from the login on. It ends with what gave it: the account (disabled, suspended, deleted), its version (a
// changed or reset password, a first factor), a scope that is closed, an application password that is taken away or over,
// a token that is revoked or over, an operator who ends all sessions. Whoever holds one is told at the commit that ends it,
// by time within a second, and may ask before anything that must not happen afterwards.

import { every, now, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { aspOpens } from '#lib/secret/asp.ts'
import { aspStanding, type Standing, standingOf, tokenStanding } from '#store/accounts/standing.ts'
import type { Reader } from '#store/engine/reader.ts'
import { Recent } from '#store/mailboxes/recent.ts'
import type { Actors } from '../kernel/system.ts'

/** What somebody came in with. */
export type Grant =
  | {
      readonly kind: 'login'
      /** Id of the account. */
      readonly user: string
      readonly scope: string
      /** The account's version at the login. */
      readonly authVersion: number
      /** Id of the application password; null for a password of the account. */
      readonly asp: string | null
    }
  | {
      readonly kind: 'token'
      /** Id of the account that is looked at, which need not be the token's. */
      readonly user: string
      /** Hash of the token; null where it has no row, or none was needed. */
      readonly token: string | null
    }

export interface Held {
  /** Why it ended; undefined while it is good. Asks. */
  readonly ended: string | undefined
  /** @throws Fault SessionEnded */
  check(): void
  /** Nobody needs to be told any more. */
  release(): void
}

/** Decides until when a grant is good without a commit, or why it is over. */
type Verdict = { readonly until: number } | { readonly reason: string }

export class Grants {
  readonly #system: Actors
  readonly #live = new Set<Live>()
  readonly #sweeper: Timer
  readonly #ground: Ground

  /** @param commits as of Recent: with it, what an account allows is read once for many sessions */
  constructor(system: Actors, commits?: () => number) {
    this.#system = system
    const { read } = system
    const standings = commits && new Recent<Standing | undefined>(commits)
    const load = (user: string) => standingOf(read, user)
    this.#ground = {
      read,
      account: user => (standings === undefined ? load(user) : standings.getNow(user, () => load(user))),
      drop: live => this.#live.delete(live),
    }
    this.#sweeper = every(limits.session.sweepMs, () => {
      for (const live of this.#live) live.sweep()
    })
  }

  /**
   * Keeps a grant; its bearer is told once when it ends, with the reason as a sentence without its point.
   *
   * @throws Fault SessionEnded where it has ended since it was given
   */
  hold(grant: Grant, bearer: Bearer): Held {
    const live = new Live(this.#ground, grant, bearer)
    live.unguard = this.#system
      .handle(grant.user)
      .guard(reason => (reason === undefined ? live.ask() : live.end(reason)))
    this.#live.add(live)
    try {
      live.check()
    } catch (error) {
      live.release()
      throw error
    }
    return live
  }

  /** Sessions and streams that go on. */
  get size(): number {
    return this.#live.size
  }

  close(): void {
    this.#sweeper.cancel()
  }
}

/** Whoever came in with a grant. */
export interface Bearer {
  ended(reason: string): void
}

/** What all that are held stand on. */
interface Ground {
  readonly read: Reader
  readonly account: Account
  drop(live: Live): void
}

/** One that is held: ten thousand sessions have one each, so it has no functions of its own. */
class Live implements Held {
  /** Nobody has to ask for it any more. */
  unguard: (() => void) | undefined
  readonly #ground: Ground
  readonly #grant: Grant
  readonly #bearer: Bearer
  #reason: string | undefined
  #until = 0
  #told = false

  constructor(ground: Ground, grant: Grant, bearer: Bearer) {
    this.#ground = ground
    this.#grant = grant
    this.#bearer = bearer
  }

  get ended(): string | undefined {
    if (this.#reason === undefined && (this.#restless || now() >= this.#until)) this.#look()
    return this.#reason
  }

  check(): void {
    const reason = this.ended
    if (reason !== undefined) throw new Fault('SessionEnded', { text: reason })
  }

  /** Something it may stand on was changed. */
  ask(): void {
    if (this.#reason === undefined) this.#look()
    this.#tell()
  }

  sweep(): void {
    if (this.ended !== undefined) this.#tell()
  }

  end(reason: string): void {
    this.#reason ??= reason
    this.#tell()
  }

  release(): void {
    this.#told = true
    this.unguard?.()
    this.#ground.drop(this)
  }

  /** Another process may end it, too: nobody is told of that, so it is looked at all the time. */
  get #restless(): boolean {
    return this.#grant.kind === 'token' && this.#grant.token !== null
  }

  #look(): void {
    const verdict = judge(this.#ground.read, this.#ground.account, this.#grant)
    if ('reason' in verdict) this.#reason = verdict.reason
    else this.#until = verdict.until
  }

  #tell(): void {
    if (this.#reason === undefined || this.#told) return
    this.release()
    this.#bearer.ended(this.#reason)
  }
}

type Account = (user: string) => Standing | undefined

function judge(read: Reader, accountOf: Account, grant: Grant): Verdict {
  const account = accountOf(grant.user)
  if (account === undefined || account.deleted) return { reason: 'The account was deleted' }
  if (grant.kind === 'token') return judgeToken(read, accountOf, grant.token, account.open)
  if (account.disabled) return { reason: 'The account was disabled' }
  if (account.suspended) return { reason: 'The account was suspended' }
  if (account.closed) return { reason: 'The domain was disabled' }
  const { scope, asp } = grant
  if (account.disabledScopes.includes(scope)) return { reason: 'This way into the account was closed' }
  if (account.authVersion !== grant.authVersion) return { reason: 'The password was changed' }
  if (asp !== null) return judgeAsp(read, asp, scope)
  return account.factors && scope !== 'master' ? { reason: 'A second factor was switched on' } : { until: Infinity }
}

function judgeAsp(read: Reader, id: string, scope: string): Verdict {
  const asp = aspStanding(read, id)
  if (asp === undefined || !aspOpens(asp.scopes, scope)) return { reason: 'The application password was taken away' }
  const until = asp.expires ?? Infinity
  return now() >= until ? { reason: 'The application password is over its time' } : { until }
}

/** A token of an operator looks at accounts that are closed, too. */
function judgeToken(read: Reader, accountOf: Account, hash: string | null, open: boolean): Verdict {
  if (hash === null) return { until: Infinity }
  const token = tokenStanding(read, hash)
  if (token === undefined) return { reason: 'The token was ended' }
  if (now() > token.ends) return { reason: 'The token is over its time' }
  if (token.user === null) return { until: token.ends }
  const owner = accountOf(token.user)
  const good = open && owner?.open === true && owner.authVersion <= token.authVersion
  return good ? { until: token.ends } : { reason: 'The token was ended' }
}
