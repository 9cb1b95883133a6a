// What a live session or stream may still do: the one place that decides it, whatever opened it and whatever protocol it is.
//
// A grant is kept from the login on. It ends with what gave it: the account (disabled, suspended, deleted), its version (a
// changed or reset password, a first factor), a scope that is closed, an application password that is taken away or over,
// a token that is revoked or over, an operator who ends all sessions. Whoever holds one is told at the commit that ends it,
// by time within a second, and may ask before anything that must not happen afterwards. Where commits of other nodes may not have been
// heard of, who asks has it looked up.

import { every, monotonic, now, type Timer } from '#lib/clock.ts'
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
  ended(): Promise<string | undefined>
  /** Answers at once where nothing has to be asked for it. @throws Fault SessionEnded */
  check(): void | Promise<void>
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

  /**
   * @param doubts another number when something may have ended of which nobody tells, and with each call while that is so (Changes.doubts)
   * @param commits as of Recent: with it, what an account allows is read once for many sessions
   */
  constructor(system: Actors, doubts: () => number, commits?: () => number) {
    this.#system = system
    const { read } = system
    const standings = commits && new Recent<Standing | undefined>(commits)
    const load = (user: string) => standingOf(read, user)
    this.#ground = {
      ...{ read, doubts },
      account: user => (standings === undefined ? load(user) : standings.get(user, () => load(user))),
      drop: live => this.#live.delete(live),
    }
    this.#sweeper = every(limits.session.sweepMs, () => {
      // What cannot be read now is asked for again a moment later.
      for (const live of this.#live) live.sweep().catch(() => undefined)
    })
  }

  /**
   * Keeps a grant; its bearer is told once when it ends, with the reason as a sentence without its point.
   *
   * @throws Fault SessionEnded where it has ended since it was given
   */
  async hold(grant: Grant, bearer: Bearer): Promise<Held> {
    const live = new Live(this.#ground, grant, bearer)
    const { known, leave } = this.#system
      .handle(grant.user)
      .guard(reason => (reason === undefined ? live.ask() : live.end(reason)))
    live.unguard = leave
    this.#live.add(live)
    try {
      // An end of all sessions leaves no row: whoever is let in has to hear of it from then on. What ended before is found.
      await known
      await live.check()
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
  /** @param late it was over by then, nobody knows for how long */
  ended(reason: string, late: boolean): void
}

/** What all that are held stand on. */
interface Ground {
  readonly read: Reader
  readonly doubts: () => number
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
  /** Doubts when it was looked up. */
  #doubts = 0
  #lookedAt = 0
  #told = false

  constructor(ground: Ground, grant: Grant, bearer: Bearer) {
    this.#ground = ground
    this.#grant = grant
    this.#bearer = bearer
  }

  async ended(): Promise<string | undefined> {
    if (this.#isDue) await this.#look()
    return this.#reason
  }

  check(): void | Promise<void> {
    if (this.#isDue) return this.#look().then(() => this.#require())
    this.#require()
  }

  /** Something it may stand on was changed. */
  async ask(): Promise<void> {
    if (this.#reason === undefined) await this.#look()
    this.#tell()
  }

  /** Nobody asks for it now: while there are doubts it is looked up now and then. */
  async sweep(): Promise<void> {
    const due = this.#isOver || (this.#isDue && monotonic() - this.#lookedAt >= limits.session.doubtedMs)
    if (due) await this.#look()
    if (this.#reason !== undefined) this.#tell(true)
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

  get #isOver(): boolean {
    return this.#reason === undefined && (this.#restless || now() >= this.#until)
  }

  get #isDue(): boolean {
    return this.#reason === undefined && (this.#isOver || this.#ground.doubts() !== this.#doubts)
  }

  #require(): void {
    if (this.#reason !== undefined) throw new Fault('SessionEnded', { text: this.#reason })
  }

  async #look(): Promise<void> {
    this.#lookedAt = monotonic()
    // Before it is read: what comes up meanwhile is another one.
    const doubts = this.#ground.doubts()
    const verdict = await judge(this.#ground.read, this.#ground.account, this.#grant)
    // Of two looks at once the one that found an end is right: nothing that ended goes on.
    if ('reason' in verdict) this.#reason ??= verdict.reason
    else {
      this.#until = verdict.until
      this.#doubts = doubts
    }
  }

  #tell(late = false): void {
    if (this.#reason === undefined || this.#told) return
    this.release()
    this.#bearer.ended(this.#reason, late)
  }
}

type Account = (user: string) => Promise<Standing | undefined>

async function judge(read: Reader, accountOf: Account, grant: Grant): Promise<Verdict> {
  const account = await accountOf(grant.user)
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

async function judgeAsp(read: Reader, id: string, scope: string): Promise<Verdict> {
  const asp = await aspStanding(read, id)
  if (asp === undefined || !aspOpens(asp.scopes, scope)) return { reason: 'The application password was taken away' }
  const until = asp.expires ?? Infinity
  return now() >= until ? { reason: 'The application password is over its time' } : { until }
}

/** A token of an operator looks at accounts that are closed, too. */
async function judgeToken(read: Reader, accountOf: Account, hash: string | null, open: boolean): Promise<Verdict> {
  if (hash === null) return { until: Infinity }
  const token = await tokenStanding(read, hash)
  if (token === undefined) return { reason: 'The token was ended' }
  if (now() > token.ends) return { reason: 'The token is over its time' }
  if (token.user === null) return { until: token.ends }
  const owner = await accountOf(token.user)
  const good = open && owner?.open === true && owner.authVersion <= token.authVersion
  return good ? { until: token.ends } : { reason: 'The token was ended' }
}
