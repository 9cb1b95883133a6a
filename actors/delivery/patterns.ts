// Trying the expressions of an account's filters on a message, on a thread that is killed when one takes too long.
//
// All expressions of a message are one task. When it is killed, the marks it left say which expression was running: that one
// counts as not matching and its filter is blamed; the others keep their answers or are tried again. Messages of one
// account take turns, so that a hostile expression is met by one message at a time and is disabled before many have waited;
// an account that has many of them rests, longer each time: its expressions then count as not matching without being tried.

import { monotonic, within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { askState } from '#lib/pattern.ts'
import type { Ask } from '#mail/filter/filter.ts'
import type { Patterns } from '#pool'

export interface Tried {
  /** For each ask; undefined where it took too long or there was no time left. */
  readonly answers: readonly (boolean | undefined)[]
  /** Asks that were running when their time was over. */
  readonly guilty: readonly number[]
}

/** To run, and to wait. */
type Time = Readonly<Record<'deadlineMs' | 'waitMs', number>>

const doublesMax = 10

export class PatternRunner {
  readonly #patterns: Patterns
  readonly #log: Log
  /** Account -> its last message's turn. */
  readonly #turns = new Map<string, Promise<unknown>>()
  /** Account -> how often a thread was killed for it lately, and until when it rests. */
  readonly #kills = new Map<string, { count: number; until: number }>()

  constructor(patterns: Patterns, log: Log) {
    this.#patterns = patterns
    this.#log = log
  }

  /**
   * Answers every ask within limits.filter.patternsMs and the start of a thread, where the machine has time; never throws.
   */
  async run(user: string, asks: readonly Ask[], banned: (ask: Ask) => boolean): Promise<Tried> {
    const until = monotonic() + limits.filter.patternsMs * limits.pool.starvedFactor
    const before = this.#turns.get(user)
    const turn = this.#afterTurn(before, until, () => this.#try(user, asks, banned, until))
    const ended = turn.then(() => {
      if (this.#turns.get(user) === ended) this.#turns.delete(user)
    })
    this.#turns.set(user, ended)
    return turn
  }

  async #afterTurn(before: Promise<unknown> | undefined, until: number, task: () => Promise<Tried>): Promise<Tried> {
    if (before !== undefined) {
      const wait = Math.max(1, until - monotonic())
      await within(wait, before, () => new Fault('TimedOut')).catch(() => {})
    }
    return task()
  }

  async #try(user: string, asks: readonly Ask[], banned: (ask: Ask) => boolean, until: number): Promise<Tried> {
    const answers: (boolean | undefined)[] = asks.map(() => undefined)
    const guilty: number[] = []
    let open = asks.map((_, at) => at).filter(at => !banned(asks[at] as Ask))
    let leftMs: number = limits.filter.patternsMs
    while (open.length > 0) {
      const waitMs = until - monotonic()
      const deadlineMs = Math.min(limits.filter.patternMs, leftMs)
      if (waitMs < 1 || deadlineMs < 1 || this.#rests(user)) break
      const marks = new SharedArrayBuffer(open.length)
      const failure = await this.#task(
        user,
        open.map(at => asks[at] as Ask),
        marks,
        { deadlineMs, waitMs },
      )
      const states = new Uint8Array(marks)
      const waiting: number[] = []
      let running: number | undefined
      for (const [place, at] of open.entries()) {
        const state = states[place]
        if (state === askState.yes || state === askState.no) answers[at] = state === askState.yes
        else if (state === askState.running) running = at
        else waiting.push(at)
      }
      if (running !== undefined && failure) {
        guilty.push(running)
        this.#noteKill(user)
      }
      if (failure) leftMs -= deadlineMs
      // Nothing ran: the thread has no time for us.
      if (failure && running === undefined) break
      open = waiting
    }
    return { answers, guilty }
  }

  #rests(user: string): boolean {
    const kills = this.#kills.get(user)
    if (kills === undefined) return false
    const at = monotonic()
    // Long quiet: it starts anew.
    if (at > kills.until + 2 * limits.filter.restMsMax) this.#kills.delete(user)
    return kills.until > at
  }

  #noteKill(user: string): void {
    const { killsFree, restMs, restMsMax, cachedMax } = limits.filter
    const count = (this.#kills.get(user)?.count ?? 0) + 1
    const rest = count <= killsFree ? 0 : Math.min(restMsMax, restMs * 2 ** Math.min(count - killsFree - 1, doublesMax))
    this.#kills.delete(user)
    this.#kills.set(user, { count, until: monotonic() + rest })
    const [oldest] = this.#kills.keys()
    if (this.#kills.size > cachedMax && oldest !== undefined) this.#kills.delete(oldest)
  }

  /** Whether it failed; what was found out is in the marks. */
  async #task(user: string, asks: readonly Ask[], marks: SharedArrayBuffer, time: Time): Promise<boolean> {
    try {
      const task = { asks: asks.map(({ pattern, texts }) => ({ pattern, texts })), marks }
      await this.#patterns.each(task, { turnKey: user, ...time })
      return false
    } catch (error) {
      if (!(error instanceof Fault)) this.#log.warn({ error }, 'expressions of filters could not be tried')
      return true
    }
  }
}
