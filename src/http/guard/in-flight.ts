// Calls that are being answered, and who has to go where there are too many.
//
// Those who need no token have half of what there is. Where that is full, who has waited longest for the rest of a stranger's body goes, so
// that whoever sends bodies that never end keeps nobody out. One account has a part, whatever number of connections it has.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Call } from '../call.ts'

export class InFlight implements Iterable<Call> {
  readonly #max: number
  readonly #refuse: (call: Call, reason: Fault) => void
  /** Each with the account it counts for; '' for none. */
  readonly #calls = new Map<Call, string>()
  /** Those of strangers; the first is the oldest. */
  readonly #strange = new Set<Call>()
  readonly #accounts = new Map<string, number>()

  /** @param refuse answers one that has to go */
  constructor(max: number, refuse: (call: Call, reason: Fault) => void) {
    this.#max = max
    this.#refuse = refuse
  }

  get size(): number {
    return this.#calls.size
  }

  [Symbol.iterator](): IterableIterator<Call> {
    return this.#calls.keys()
  }

  /** False where there is no room for it. */
  enter(call: Call, isStrange: boolean): boolean {
    if (this.#calls.size >= this.#max / (isStrange ? 2 : 1) && !this.#displace()) return false
    this.#calls.set(call, '')
    if (isStrange) this.#strange.add(call)
    return true
  }

  /** Sends the stranger away who has waited longest for his body. False where all are being worked on. */
  #displace(): boolean {
    for (const call of this.#strange) {
      if (!call.awaitsBody) continue
      const reason = busy()
      call.abort(reason)
      this.#refuse(call, reason)
      this.leave(call)
      return true
    }
    return false
  }

  /** It is this account's. @throws Fault Overloaded where that has as many as it may */
  count(call: Call, account: string): void {
    const count = this.#accounts.get(account) ?? 0
    if (count >= this.#max * limits.http.accountShare) throw busy()
    if (!this.#calls.has(call)) return
    this.#calls.set(call, account)
    call.ownedBy(account)
    this.#accounts.set(account, count + 1)
  }

  /** Its work is over. */
  leave(call: Call): void {
    const account = this.#calls.get(call) ?? ''
    this.#calls.delete(call)
    this.#strange.delete(call)
    if (account === '') return
    const left = (this.#accounts.get(account) ?? 1) - 1
    if (left > 0) this.#accounts.set(account, left)
    else this.#accounts.delete(account)
  }
}

function busy(): Fault {
  return new Fault('Overloaded', { retryAfter: 1 })
}
