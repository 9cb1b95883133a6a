// Into which shard an account falls, and what else has one node at a time. Both are for ever: rows of leases, and nodes of other
// versions beside this one, go by these numbers.

import { crc32 } from 'node:zlib'

/** Shards of accounts. */
const shardCount = 1024

/**
 * What runs once for all nodes, each with a lease of its own behind those of accounts: the directory, the loops that claim rows
 * of queues (mail on its way out, webhooks, tasks: one writes what the others read), expiry, certificates.
 */
const singletons = ['directory', 'queue', 'expiry', 'acme'] as const

export type Singleton = (typeof singletons)[number]

/** Leases there are. */
export const leaseCount = shardCount + singletons.length

/** The shard of an account, by its id. */
export function shardOf(account: string): number {
  return crc32(account) % shardCount
}

export function leaseOf(name: Singleton): number {
  return shardCount + singletons.indexOf(name)
}
