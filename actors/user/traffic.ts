// What an account moves in a day, in bytes, counted under the names of its limits.
//
// Counters of the cache: a crash forgets the last moments of them. Where the counters are another thread's, what was moved is
// gathered and the sum remembered for a moment, as long as not half of what is allowed is used up: whoever is far from the
// limit is not asked about for each message, and near it every byte is known at once.

import { after, monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Counters } from '#store/folder/counters.ts'

export type TrafficKind = 'imapUpload' | 'imapDownload' | 'pop3Download'

export interface Traffic {
  /** Bytes that may still be moved of `max` in the day that began with the first; not above 0 where there are none. */
  left(kind: TrafficKind, user: string, max: number): number | Promise<number>
  count(kind: TrafficKind, user: string, bytes: number): void
}

type CountersOf = Pick<Counters, 'counted' | 'count'>

/** Beside the counters. */
export class CountedTraffic implements Traffic {
  readonly #cache: CountersOf

  constructor(cache: CountersOf) {
    this.#cache = cache
  }

  left(kind: TrafficKind, user: string, max: number): number | Promise<number> {
    const count = this.#cache.counted(kind, user)
    return count instanceof Promise ? count.then(({ used }) => max - used) : max - count.used
  }

  count(kind: TrafficKind, user: string, bytes: number): void {
    void this.#cache.count(kind, user, limits.time.day, bytes)
  }
}

/** What is known of one counter. */
interface Tally {
  readonly kind: TrafficKind
  readonly user: string
  used: number
  max: number
  /** Monotonic time until which `used` is believed. */
  until: number
  /** Of `used`, what the counter has not heard of. */
  untold: number
}

/** On another thread than the counters. */
export class GatheredTraffic implements Traffic {
  readonly #counters: CountersOf
  readonly #tallies = new Map<string, Tally>()
  #planned = false

  constructor(counters: CountersOf) {
    this.#counters = counters
  }

  left(kind: TrafficKind, user: string, max: number): number | Promise<number> {
    const tally = this.#tallies.get(keyOf(kind, user))
    if (tally === undefined || tally.used * 2 > max || tally.until <= monotonic()) return this.#ask(kind, user, max)
    tally.max = max
    return max - tally.used
  }

  count(kind: TrafficKind, user: string, bytes: number): void {
    const tally = this.#tallies.get(keyOf(kind, user))
    if (tally === undefined) {
      this.#tell(kind, user, bytes)
      return
    }
    tally.used += bytes
    tally.untold += bytes
    if (tally.used * 2 > tally.max) this.#settle(tally)
    else this.#plan()
  }

  /** Tells what was gathered, for whoever closes it. */
  flush(): void {
    for (const tally of this.#tallies.values()) this.#settle(tally)
  }

  async #ask(kind: TrafficKind, user: string, max: number): Promise<number> {
    const key = keyOf(kind, user)
    const before = this.#tallies.get(key)
    // What is said first is heard first.
    if (before !== undefined) this.#settle(before)
    const { used } = await this.#counters.counted(kind, user)
    if (this.#tallies.size >= limits.front.talliesMax) this.#forget()
    // What was moved while this was asked is counted in the next answer at the latest.
    const untold = this.#tallies.get(key)?.untold ?? 0
    const tally = { kind, user, max, used: used + untold, untold, until: monotonic() + limits.front.tallyMs }
    this.#tallies.set(key, tally)
    return max - used
  }

  #tell(kind: TrafficKind, user: string, bytes: number): void {
    void Promise.resolve(this.#counters.count(kind, user, limits.time.day, bytes)).catch(() => {})
  }

  #settle(tally: Tally): void {
    if (tally.untold === 0) return
    this.#tell(tally.kind, tally.user, tally.untold)
    tally.untold = 0
  }

  #plan(): void {
    if (this.#planned) return
    this.#planned = true
    after(limits.front.tallyMs / 4, () => {
      this.#planned = false
      this.flush()
    })
  }

  #forget(): void {
    this.flush()
    this.#tallies.clear()
  }
}

function keyOf(kind: TrafficKind, user: string): string {
  return `${kind} ${user}`
}
