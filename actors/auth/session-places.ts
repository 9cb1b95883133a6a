// How many sessions each account has at once, over all listeners and threads: one count, kept where the actors live.

import { Fault } from '#lib/fault.ts'

export class SessionPlaces {
  readonly #taken = new Map<string, number>()

  /** Sessions of an account. */
  count(user: string): number {
    return this.#taken.get(user) ?? 0
  }

  /** A session of an account begins. @throws Fault TooManySessions where it has `max` already */
  enter(user: string, max: number): void | Promise<void> {
    const taken = this.count(user)
    if (taken >= max) throw new Fault('TooManySessions', { text: 'Too many sessions of this account' })
    this.#taken.set(user, taken + 1)
  }

  /** A session that had entered has ended. */
  left(user: string): void {
    const taken = this.count(user) - 1
    if (taken > 0) this.#taken.set(user, taken)
    else this.#taken.delete(user)
  }
}
