// What those who serve accounts know of leases: whether an account is theirs, and under which term.

import { Fault } from '#lib/fault.ts'

export interface Tenancy {
  /** The term under which work on a shard may begin here; undefined where it may not. Costs nothing. */
  termOf(shard: number): number | undefined
  /** The term of what is under way, also while the shard is handed over. */
  heldTermOf(shard: number): number | undefined
  /** Whether a shard is still this node's under that term, also while it is handed over: what was begun may be answered. */
  holds(shard: number, term: number): boolean
}

/** Another node has the account, or will have: nothing was done, and whoever asked may ask there. */
export class LostLease extends Fault {
  readonly shard: number

  constructor(shard: number) {
    super('StorageUnavailable', { text: 'Another node of this service has the account now, try again' })
    this.shard = shard
  }
}
