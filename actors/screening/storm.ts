// How many messages an account takes in an hour, where it has a number of its own: so a storm of them ends at the door and not in a folder.
//
// A stranger hears of it at RCPT. Between that and the end of a message others may arrive, as many as there are sessions, so what counts
// is asked once more, with the counting, before a message is stored: a place is taken first and given back where nothing came of it.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { User } from '#store/accounts/users.ts'
import type { Counters } from '#store/folder/counters.ts'

const kind = 'received'

interface Outcome {
  readonly stored: { readonly duplicate: boolean } | null
}

export class Storms {
  readonly #counters: Counters

  constructor(counters: Counters) {
    this.#counters = counters
  }

  /** @throws Fault DeliveryRateExceeded where it has taken as many as it may */
  async refuse(account: User): Promise<void> {
    const max = allowedTo(account)
    if (max === 0) return
    const { used } = await this.#counters.counted(kind, account.id)
    if (used >= max) throw new Fault('DeliveryRateExceeded')
  }

  /** Stores a message, which counts where it is new to the account. @throws Fault DeliveryRateExceeded, and what storing throws */
  async counting<Settled extends Outcome>(account: User, store: () => Promise<Settled>): Promise<Settled> {
    const { receivedWindowMs } = limits.user
    const max = allowedTo(account)
    if (max > 0) {
      const { allowed } = await this.#counters.spend(kind, account.id, receivedWindowMs, max)
      if (!allowed) throw new Fault('DeliveryRateExceeded')
    }
    let arrived = false
    try {
      const settled = await store()
      arrived = settled.stored !== null && !settled.stored.duplicate
      return settled
    } finally {
      if (max > 0 && !arrived) void this.#counters.count(kind, account.id, receivedWindowMs, -1)
      if (max === 0 && arrived) void this.#counters.count(kind, account.id, receivedWindowMs)
    }
  }
}

function allowedTo({ options }: User): number {
  return options.limits?.receivedMax ?? 0
}
