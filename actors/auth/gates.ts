// Counters that let so many failures through within a window, those that are being checked counted as if they had failed.
//
// Promises: never do more pass than may still fail, however many come at once; where as many are under way, the next one
// waits for an outcome, in order, and who comes past that bound is refused; nobody waits at a gate where nothing is under
// way. Where nodes count together each lets its part of them through, so that nobody has to be asked: what more may pass is what
// has begun elsewhere before an outcome was heard. Failures live in the cache and outlast a restart. Who is refused is held back for
// a moment, so that asking without pause costs the asker and not the service.

import { after } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Cache } from '#store/folder/cache.ts'

/** One counter: what is counted, and how many failures in how many milliseconds. */
export interface Gate {
  readonly kind: string
  readonly id: string
  readonly max: number
  readonly ms: number
  /** Attempts that may wait for an outcome. */
  readonly waitingMax: number
}

/** Somebody on the way through. Ends once; later calls change nothing. */
export interface Passage {
  /** @param counts gates at which it counts as a failure */
  end(counts: readonly Gate[]): void
}

export class Gates {
  readonly #cache: Cache
  /** Gate -> attempts that are being checked. */
  readonly #checking = new Map<string, number>()
  /** Gate -> those that wait for an outcome, first come first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #held = new Map<string, number>()
  #heldTotal = 0

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /**
   * Passes all the gates, or none.
   *
   * @param who on whose account refusals are held back
   * @throws Fault RateLimitedError with the time that is left, after a moment
   */
  async enter(gates: readonly Gate[], who: string): Promise<Passage> {
    let woken: Gate | undefined
    for (;;) {
      const shut = gates.find(gate => this.#used(gate) >= gate.max)
      const busy = shut ?? gates.find(gate => this.#room(gate) <= 0)
      // The place that was kept for this one is another's, since it does not take it.
      if (woken !== undefined && busy !== undefined && busy !== woken) this.#wake(woken)
      if (shut !== undefined) return this.refuse(who, this.#cache.counted(shut.kind, shut.id).ttlMs)
      if (busy === undefined) break
      await this.#outcome(busy, who)
      woken = busy
    }
    for (const gate of gates) this.#checking.set(nameOf(gate), this.#underWay(gate) + 1)
    if (woken !== undefined) this.#wake(woken)
    return { end: once(counts => this.#end(gates, counts)) }
  }

  /** @throws Fault RateLimitedError, after a moment where not too many are held back already */
  async refuse(who: string, ttlMs: number): Promise<never> {
    const { refusalMs, heldMax, heldPerAccountMax } = limits.attempts
    const held = this.#held.get(who) ?? 0
    if (this.#heldTotal < heldMax && held < heldPerAccountMax) {
      this.#held.set(who, held + 1)
      this.#heldTotal += 1
      await new Promise<void>(resolve => after(refusalMs, resolve))
      this.#heldTotal -= 1
      const left = (this.#held.get(who) ?? 1) - 1
      if (left > 0) this.#held.set(who, left)
      else this.#held.delete(who)
    }
    throw new Fault('RateLimitedError', { retryAfter: Math.max(1, Math.ceil(ttlMs / 1000)) })
  }

  #end(gates: readonly Gate[], counts: readonly Gate[]): void {
    for (const { kind, id, ms } of counts) this.#cache.count(kind, id, ms)
    for (const gate of gates) {
      const checking = this.#underWay(gate) - 1
      if (checking > 0) this.#checking.set(nameOf(gate), checking)
      else this.#checking.delete(nameOf(gate))
    }
    for (const gate of gates) this.#wake(gate)
  }

  #used({ kind, id }: Gate): number {
    return this.#cache.counted(kind, id).used
  }

  #underWay(gate: Gate): number {
    return this.#checking.get(nameOf(gate)) ?? 0
  }

  /** How many more may pass here; one always where none is under way and not all have failed. */
  #room(gate: Gate): number {
    const left = Math.max(0, gate.max - this.#used(gate))
    return Math.max(Math.floor(left / this.#cache.sharers()), Math.min(1, left)) - this.#underWay(gate)
  }

  /** As many as may pass now; all where none may any more, to be refused. */
  #wake(gate: Gate): void {
    const name = nameOf(gate)
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    const free = this.#used(gate) >= gate.max ? waiting.length : this.#room(gate)
    const called = waiting.splice(0, Math.max(0, free))
    if (waiting.length === 0) this.#waiting.delete(name)
    for (const wake of called) wake()
  }

  /** Resolves when there may be room. @throws Fault RateLimitedError */
  async #outcome(gate: Gate, who: string): Promise<void> {
    const name = nameOf(gate)
    const waiting = this.#waiting.get(name) ?? []
    if (waiting.length >= gate.waitingMax) return this.refuse(who, gate.ms)
    await new Promise<void>(resolve => {
      waiting.push(resolve)
      this.#waiting.set(name, waiting)
    })
  }
}

function nameOf({ kind, id }: Gate): string {
  return `${kind}:${id}`
}

function once(task: (counts: readonly Gate[]) => void): (counts: readonly Gate[]) => void {
  let done = false
  return counts => {
    if (done) return
    done = true
    task(counts)
  }
}
