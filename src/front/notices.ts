// What home tells one front of the changes of accounts, and what it does when the front does not come along: it stops telling
// each change and keeps, for every folder, that something happened to it.
//
// Promises: what waits for a slow front is bounded by the folders its sessions watch; no folder that changed goes untold;
// views read what is new from the rows by change number, so that such a summary shows them the truth as each change would have.

import type { Change } from '#actors/kernel/change.ts'
import { limits } from '#lib/limits.ts'

type Tell = (user: string, change: Change) => void

export class Notices {
  readonly #tell: Tell
  /** Told, and not confirmed. */
  #unheard = 0
  /** Account -> what it is still to be told. */
  readonly #behind = new Map<string, Map<string, Change>>()

  constructor(tell: Tell) {
    this.#tell = tell
  }

  /** Accounts whose changes are kept as a summary. */
  get behind(): number {
    return this.#behind.size
  }

  add(user: string, change: Change): void {
    // No protocol of mail shows counters by themselves.
    if (change.kind === 'counters') return
    if (this.#unheard < limits.front.noticesMax && !this.#behind.has(user)) this.#say(user, change)
    else this.#keep(user, change)
  }

  /** The front has heard so many. */
  heard(count: number): void {
    this.#unheard -= count
    if (this.#unheard > limits.front.noticesMax / 2) return
    for (const user of [...this.#behind.keys()]) this.catchUp(user)
  }

  /** Tells what is left of an account: its next reply must not overtake it. */
  catchUp(user: string): void {
    const kept = this.#behind.get(user)
    if (kept === undefined) return
    this.#behind.delete(user)
    for (const change of kept.values()) this.#say(user, change)
  }

  /** Nobody there watches the account any more. */
  forget(user: string): void {
    this.#behind.delete(user)
  }

  #say(user: string, change: Change): void {
    this.#unheard += 1
    this.#tell(user, change)
  }

  #keep(user: string, change: Change): void {
    const kept = this.#behind.get(user) ?? new Map<string, Change>()
    this.#behind.set(user, kept)
    const what = change.kind === 'mailbox' ? change.what : ''
    const key = `${change.mailbox} ${change.kind} ${what}`
    const repeated = kept.delete(key)
    kept.set(key, change)
    // One change of flags that stands for several must not be taken for all there is: a view then looks for itself.
    if (change.kind === 'flags' && repeated) {
      const exists = `${change.mailbox} exists `
      kept.delete(exists)
      kept.set(exists, { ...change, kind: 'exists', idate: 0, size: 0 })
    }
  }
}
