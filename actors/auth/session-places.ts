// How many sessions each account has at once, over all listeners and threads: one count, kept where the actors live.

import { Fault } from '#lib/fault.ts'

/** The count, whoever keeps it: this service alone, or several nodes together (src/cluster/shared-places.ts). */
export interface Places {
  /** Sessions of an account. */
  count(user: string): number | Promise<number>
  /** A session of an account begins. @throws Fault TooManySessions where it has `max` already */
  enter(user: string, max: number): void | Promise<void>
  /** A session that had entered has ended. */
  left(user: string): void
}

export class SessionPlaces implements Places {
  readonly #taken = new Map<string, number>()

  count(user: string): number {
    return this.#taken.get(user) ?? 0
  }

  enter(user: string, max: number): void {
    if (this.count(user) >= max) throw tooManySessions()
    this.take(user)
  }

  left(user: string): void {
    const taken = this.count(user) - 1
    if (taken > 0) this.#taken.set(user, taken)
    else this.#taken.delete(user)
  }

  /** A session begins that is not to be refused here. @returns how many the account has with it */
  take(user: string): number {
    const taken = this.count(user) + 1
    this.#taken.set(user, taken)
    return taken
  }

  /** Accounts that have sessions. */
  get users(): Iterable<string> {
    return this.#taken.keys()
  }
}

export function tooManySessions(): Fault {
  return new Fault('TooManySessions', { text: 'Too many sessions of this account' })
}
