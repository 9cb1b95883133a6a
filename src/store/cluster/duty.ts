// What one node at a time does for all: the loops that claim rows of queues, expiry, certificates.
//
// Promises: what is begun while it is ours has ended before another node begins, or for as long as a hand-over waits
// (limits.cluster.releaseMs); of a node that died nothing is waited for.

import type { Leases } from './leases.ts'
import { leaseOf, type Singleton } from './shards.ts'

export interface Duty {
  /** The how many-th time that a node has it, where it is this one and may begin something; undefined elsewhere. */
  readonly term: number | undefined
  /** Called when it becomes this node's. */
  onGain(begin: () => void): void
  /** Before it is handed over; nothing new begins any more. */
  onLeave(end: () => Promise<void>): void
  /** When it is gone, handed over or not: whoever has it may have begun. */
  onLose(end: () => void): void
}

export function dutyOf(leases: Leases, name: Singleton): Duty {
  const shard = leaseOf(name)
  return {
    get term() {
      return leases.termOf(shard)
    },
    onGain: begin => {
      leases.listen({ gained: shards => (shards.includes(shard) ? begin() : undefined) })
    },
    onLose: end => {
      leases.listen({ lost: shards => (shards.includes(shard) ? end() : undefined) })
    },
    onLeave: end => {
      leases.listen({ release: async shards => (shards.includes(shard) ? await end() : undefined) })
    },
  }
}

/** Whether another node does the work. */
export function isElsewhere(duty: Duty | undefined): boolean {
  return duty !== undefined && duty.term === undefined
}
