// How much an account may send: recipients of a day, and at once. Before the day's limit is reached its owner is told, once; an account
// that suddenly sends far more than it ever did is held back until an operator has looked (RFC 6409 6.1 leaves such to the server).
//
// What is usual is the account's own: so many of its earlier days have had windows as busy. A new account has a ground alone, and nobody
// is held back below that. What was accepted is held and not lost; what is not is refused for now, so that the sender's program keeps it.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { composeServiceLetter } from '#mail/made/service-letter.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'
import { findPause, peakOf, peaksBefore } from '#store/sending/pause.ts'
import type { Actors } from '../kernel/system.ts'
import { keepersFor } from './forward-owner.ts'
import { notePace, pauseSending, warnSender } from './pausing.ts'
import { type LetterDeps, letterTo } from './service-letter.ts'

export interface AllowanceDeps extends LetterDeps {
  readonly system: Actors
  readonly settings: Settings
  /** Counters that may be lost (store/folder/cache.ts). */
  readonly counters: Counters
  readonly hostname: string
  /** Address of the account that has the postmaster's mail; '' leaves it to each domain's first. */
  readonly postmaster: string
  readonly log: Log
}

type Letter = Awaited<ReturnType<typeof letterTo>>

export class Allowance {
  readonly #deps: AllowanceDeps

  constructor(deps: AllowanceDeps) {
    this.#deps = deps
  }

  /** Recipients of a day. */
  dayMax({ options }: User): number {
    return options.limits?.recipients || this.#deps.settings.get('const:max:recipients')
  }

  /** @throws Fault SendingPaused */
  async refusePaused(user: string): Promise<void> {
    const pause = await findPause(this.#deps.system.read, user)
    if (pause === undefined || pause.resumed !== null) return
    if (pause.reason === 'burst') throw new Fault('SendingPaused')
    throw new Fault('SendingPaused', { text: 'This account is held back until the postmaster lets it go on' })
  }

  /**
   * Counts the recipients of one message, all or none.
   *
   * @throws Fault SendingPaused, RateLimitedError for too many in a day
   */
  async spend(user: User, count: number): Promise<void> {
    await this.refusePaused(user.id)
    const max = this.dayMax(user)
    const { allowed, ttlMs, used } = await this.#deps.counters.spend('recipients', user.id, limits.time.day, max, count)
    if (!allowed) throw tooMany(ttlMs)
    await this.#watch(user, count)
    if (used >= max * limits.allowance.warnPart) await this.#warn(user, used, max)
  }

  /** What is forwarded by hand, which has a number of a day of its own and reaches as many at once. @throws Fault SendingPaused */
  async forward(user: User, count: number): Promise<void> {
    await this.refusePaused(user.id)
    await this.#watch(user, count)
  }

  /** Looks whether it sends more at once than it does. @throws Fault SendingPaused */
  async #watch(user: User, count: number): Promise<void> {
    const { settings, counters, system } = this.#deps
    const setting = settings.get('const:sender:burst')
    if (setting <= 0) return
    const { burstMs, ownPart, notedFactor, knownMs, trustMs, usualDays } = limits.allowance
    const ground = Math.max(setting, Math.ceil(this.dayMax(user) * ownPart))
    const { used } = await counters.count('burst', user.id, burstMs, count)
    const factor = Math.max(1, settings.get('const:sender:burst_factor'))
    // What is less can make no difference.
    if (used < ground / factor) return
    const at = now()
    const day = at - (at % limits.time.day)
    const usual = (await peaksBefore(system.read, user.id, day, usualDays))[usualDays - 1] ?? 0
    const resumed = (await findPause(system.read, user.id))?.resumed ?? null
    const trusted = resumed !== null && at - resumed < trustMs
    // One message may have so many recipients, and is no burst by itself.
    const alone = used <= count && count <= settings.get('const:max:rcpt_to')
    if (used > Math.max(ground, factor * usual) && !alone && !trusted) {
      counters.remove('burst', user.id)
      await this.#pause(user, used, usual)
      throw new Fault('SendingPaused')
    }
    const known = await peakOf(system.read, user.id, day)
    if (used < known * notedFactor) return
    await this.#quietly(system.directory.run(notePace, { user: user.id, day, peak: used, before: at - knownMs }))
  }

  async #pause(user: User, recipients: number, usual: number): Promise<void> {
    const { system, log, hostname, postmaster } = this.#deps
    const keepers = await keepersFor(system.read, user.address, postmaster)
    const others = keepers.filter(id => id !== user.id).slice(0, limits.allowance.keepersMax)
    const admins = (await Promise.all(others.map(id => findUser(system.read, id)))).filter(one => one !== undefined)
    const minutes = limits.allowance.burstMs / limits.time.minute
    const before = usual === 0 ? 'has no such days behind it' : `usually has ${usual} at most`
    const said = `${user.address} wrote to ${recipients} recipients within ${minutes} minutes, and ${before}.`
    const own = [
      ...[
        said,
        'Nothing more is taken from this account until the postmaster lets it go on; what waits is held, not lost.',
      ],
      ...['', 'If this was not you, somebody else has your password: change it.'],
    ]
    const theirs = [
      ...[said, 'Nothing more is taken from it until you let it go on; what waits is held, not lost.', ''],
      ...['Look at what it sent:', `  teal queue list --user ${user.id}`, ''],
      ...['Let it go on, or remove what waits:', `  teal queue resume ${user.id}`, '  teal queue remove <id>'],
    ]
    const subject = `${user.address} is paused: it sends far more than usual`
    const letters = [await this.#letter(user.address, 'Sending is paused', own)]
    for (const { address } of admins) letters.push(await this.#letter(address, subject, theirs))
    try {
      const row = { user: user.id, reason: 'burst' as const, recipients, usual }
      const begun = await system.directory.run(pauseSending, {
        ...row,
        letters: letters.map(({ outgoing }) => outgoing),
      })
      if (begun)
        log.warn(
          { user: user.id, hostname, recipients, usual },
          'an account sends far more than usual: it is held back',
        )
    } finally {
      for (const { received } of letters) await received.discard()
    }
  }

  /** Once a day. */
  async #warn(user: User, used: number, allowed: number): Promise<void> {
    const { counters, system } = this.#deps
    if (!(await counters.mark('recipients-warned', user.id, limits.time.day))) return
    const lines = [
      `${user.address} has written to ${used} of the ${allowed} recipients that it may write to in a day.`,
      'What is more is refused until the day is over. If this was not you, somebody else has your password: change it.',
    ]
    const { outgoing, received } = await this.#letter(user.address, 'The limit of a day is near', lines)
    try {
      await this.#quietly(system.directory.run(warnSender, { user: user.id, used, allowed, letters: [outgoing] }))
    } finally {
      await received.discard()
    }
  }

  #letter(to: string, subject: string, lines: readonly string[]): Promise<Letter> {
    const message = composeServiceLetter({ hostname: this.#deps.hostname, to, subject, lines, now: now() })
    return letterTo(this.#deps, to, message)
  }

  /** What is no reason to refuse a message. */
  async #quietly(done: Promise<unknown>): Promise<void> {
    try {
      await done
    } catch (error) {
      this.#deps.log.warn({ error }, 'how much an account sends could not be noted')
    }
  }
}

export function tooMany(ttlMs: number): Fault {
  const text = 'As many recipients as there may be in a day have been written to'
  return new Fault('RateLimitedError', { text, ...(ttlMs > 0 && { retryAfter: Math.ceil(ttlMs / 1000) }) })
}
