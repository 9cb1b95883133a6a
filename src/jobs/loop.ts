// The one way in which work that waits in rows gets done: deliveries, queued mail, removals, audits.
//
// A loop takes what is due (`claim`, which has put the attempt on disk when it answers), works on a bounded number of
// items at once, and sleeps until the next one is due or somebody kicks it. One timer, one kick, one claim at a time: a
// kick during a claim means another claim after it, never two at once. Closing takes nothing new, waits for what is in
// flight and cuts it off when that takes too long. A crash costs an item one more try, since its attempt is on disk.

import { after, elapsed, now, onAdvance, sleep, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { type Duty, isElsewhere } from '#store/cluster/duty.ts'
import { LostLease } from '#store/cluster/tenancy.ts'

/** The how many-th time that a node has the work; undefined where it is always this one's. */
export type Term = number | undefined

export interface Work<Item> {
  /** For the log. */
  readonly name: string
  /**
   * Called before the first claim, and where nodes share the work before the first one after another node may have done
   * it: nothing that was begun here goes on, and what is remembered of rows may be untrue.
   */
  begin?(under: Term): Promise<void>
  /**
   * The machine's clock was put back: what waits for a while goes on waiting for as long as it would have, and not until a
   * moment of the clock that was ahead. What waits for a moment that somebody chose keeps it. Called before `begin` as well,
   * since rows may be of a process whose clock was ahead (store/upkeep/clock-back.ts).
   *
   * @param ms by how much, for what is remembered; 0 before `begin`
   */
  clockBack?(ms: number, under: Term): Promise<void> | void
  /**
   * Takes at most `room` items that are due at `at` (milliseconds since 1970); their attempt and their next time are on
   * disk when this resolves. No items: nothing is due. It is not called again before it has settled.
   *
   * @param under what is written because of rows that are read here says so: once another node may have changed them it is refused
   */
  claim(room: number, at: number, under: Term): Promise<readonly Item[]>
  /** Works on one item and sees to it that the result is recorded. `signal` ends when the service cannot wait longer. */
  run(item: Item, signal: AbortSignal): Promise<void>
  /** When the next item is due; null where only a kick can bring one. Asked after a claim that took nothing. */
  next(): Promise<number | null> | number | null
}

export type LoopMetrics = Pick<Metrics, 'loopItems' | 'loopBusy'>

export interface LoopOptions {
  readonly inFlightMax: number
  /** Items that take longer than `afterMs` give up their place to others, so many at once: who is slow holds up nobody else. */
  readonly late?: { readonly afterMs: number; readonly max: number }
  readonly log: Log
  /** Where it is seen what the loop does. */
  readonly metrics?: LoopMetrics | undefined
  /** Where one node at a time does the work. */
  readonly duty?: Duty | undefined
  /** How long `close` waits before it cuts off what is in flight. */
  readonly drainMs?: number
}

export class Loop<Item> {
  readonly #work: Work<Item>
  readonly #options: LoopOptions
  #stop = new AbortController()
  readonly #done: { inc(): void } | undefined
  readonly #brokeOff: { inc(): void } | undefined
  readonly #busy: { set(value: number): void } | undefined
  #inFlight = 0
  /** Those in flight that have taken long. */
  readonly #late = new Set<Item>()
  #claiming = false
  #again = false
  #closing = false
  #failing = false
  /** Under which it has begun. */
  #begun: { readonly under: Term } | undefined
  /** How far the wall clock is ahead of the time that goes by. */
  #ahead = now() - elapsed()
  #timer: Timer | undefined
  #idle: (() => void)[] = []
  readonly #deaf = onAdvance(() => this.kick())

  /** Starts at the first kick. */
  constructor(work: Work<Item>, options: LoopOptions) {
    this.#work = work
    this.#options = options
    const { loopItems, loopBusy } = options.metrics ?? {}
    this.#done = loopItems?.labels(work.name, 'done')
    this.#brokeOff = loopItems?.labels(work.name, 'broke-off')
    this.#busy = loopBusy?.labels(work.name)
    this.#busy?.set(0)
    options.duty?.onGain(() => this.kick())
    options.duty?.onLeave(() => this.#leave())
    // What this node went on with when it was thought dead is done by another one by now.
    options.duty?.onLose(() => void this.#cutOff(() => this.#landed()))
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Something may be due now. Cheap, and may be called any number of times. */
  kick(): void {
    // Whoever's it is hears when it becomes ours; a hand-over that failed is found a little later.
    if (isElsewhere(this.#options.duty)) {
      this.#wake(limits.loop.pollMs)
      return
    }
    this.#again = true
    if (!this.#claiming && !this.#closing) void this.#turn()
  }

  /** Takes nothing new, waits for what is in flight, cuts it off after `drainMs`. */
  async close(): Promise<void> {
    this.#closing = true
    this.#deaf()
    this.#timer?.cancel()
    const late = after(this.#options.drainMs ?? limits.loop.drainMs, () => this.#stop.abort(new Error('stopping')))
    await this.#quiet()
    late.cancel()
  }

  /** Another node is to have the work: what is in flight has some time, and is cut off before that node begins. */
  async #leave(): Promise<void> {
    await this.#cutOff(() => this.#quiet())
  }

  async #cutOff(quiet: () => Promise<void>): Promise<void> {
    const late = after(limits.cluster.cutOffMs, () => {
      this.#stop.abort(new Error('another node does the work'))
      this.#stop = new AbortController()
    })
    await quiet()
    late.cancel()
  }

  /** What was begun before another node had the work ends first: then nobody is at what looks begun. */
  async #begin(under: Term): Promise<void> {
    if (this.#begun !== undefined && this.#begun.under === under) return
    if (this.#begun !== undefined) await this.#cutOff(() => this.#landed())
    await this.#work.clockBack?.(0, under)
    await this.#work.begin?.(under)
    this.#begun = { under }
  }

  /** A clock that goes a little slower than the time that goes by was not put back. */
  async #followClock(under: Term): Promise<void> {
    const ahead = now() - elapsed()
    const back = this.#ahead - ahead
    if (back <= 0) this.#ahead = ahead
    if (back <= limits.loop.clockMs) return
    await this.#work.clockBack?.(back, under)
    this.#ahead = ahead
  }

  async #turn(): Promise<void> {
    this.#claiming = true
    this.#timer?.cancel()
    try {
      while (this.#again && !this.#closing) {
        this.#again = false
        const { duty } = this.#options
        if (isElsewhere(duty)) break
        const under = duty?.term
        await this.#begin(under)
        await this.#followClock(under)
        if (this.#closing) break
        const room = this.#room()
        if (room <= 0) break
        const items = await this.#work.claim(room, now(), under)
        for (const item of items) void this.#run(item)
        if (items.length > 0) this.#again = true
      }
      this.#failing = false
      await this.#schedule()
    } catch (error) {
      // Another node does the work: this one hears when it is to.
      if (error instanceof LostLease) return this.#wake(limits.loop.pollMs)
      if (!this.#failing) this.#options.log.warn({ error, loop: this.#work.name }, 'a loop could not take its work')
      this.#failing = true
      this.#wake(limits.loop.retryMs)
    } finally {
      this.#claiming = false
      if (this.#inFlight === 0) this.#release()
    }
    if (this.#again && !this.#failing && !this.#closing && this.#room() > 0) this.kick()
  }

  #room(): number {
    const { inFlightMax, late } = this.#options
    return inFlightMax - this.#inFlight + Math.min(this.#late.size, late?.max ?? 0)
  }

  #tooLong(item: Item): void {
    this.#late.add(item)
    this.kick()
  }

  async #run(item: Item): Promise<void> {
    const { late } = this.#options
    const timer = late && after(late.afterMs, () => this.#tooLong(item))
    this.#inFlight += 1
    this.#busy?.set(this.#inFlight)
    try {
      await this.#work.run(item, this.#stop.signal)
      this.#done?.inc()
    } catch (error) {
      this.#brokeOff?.inc()
      this.#options.log.error(
        { error, loop: this.#work.name },
        'an item of a loop broke off; it is tried again when due',
      )
    } finally {
      timer?.cancel()
      this.#late.delete(item)
      this.#inFlight -= 1
      this.#busy?.set(this.#inFlight)
      if (this.#inFlight === 0) this.#release()
      if (!this.#failing) this.kick()
    }
  }

  async #schedule(): Promise<void> {
    // Nothing more can be taken before something ends, and that is heard of.
    if (this.#room() <= 0) return this.#wake(limits.loop.pollMs)
    const due = await this.#work.next()
    this.#wake(due === null ? limits.loop.pollMs : Math.min(Math.max(due - now(), 1), limits.loop.pollMs))
  }

  #wake(ms: number): void {
    if (this.#closing) return
    this.#timer?.cancel()
    this.#timer = after(ms, () => this.kick())
  }

  async #quiet(): Promise<void> {
    while (this.#claiming || this.#inFlight > 0) await new Promise<void>(resolve => this.#idle.push(resolve))
  }

  async #landed(): Promise<void> {
    while (this.#inFlight > 0) await new Promise<void>(resolve => this.#idle.push(resolve))
  }

  #release(): void {
    const idle = this.#idle
    this.#idle = []
    for (const resolve of idle) resolve()
  }
}

/**
 * Runs `task` until it succeeds or `signal` ends, with a pause after each failure: for results that must be recorded.
 *
 * @throws what is no fault of the world: trying again would not help, and the item is tried again when due
 */
export async function persist(task: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    try {
      await task()
      return true
    } catch (error) {
      if (signal.aborted) return false
      if (!(error instanceof Fault)) throw error
      try {
        await sleep(limits.loop.retryMs, signal)
      } catch {
        return false
      }
    }
  }
}
