// Questions to DNS as the engine's own resolver asks them: not through the system's file of hosts, and with an end.
//
// Where nobody said who is to be asked it is whom the system asks, which is looked up again now and then: a machine may move.

import { Resolver } from 'node:dns/promises'
import { monotonic } from '../clock.ts'
import { limits } from '../limits.ts'

/** @param servers addresses of who is asked, with or without a port; those of the system where there are none */
export function questions(servers: readonly string[]): {
  /** Rejects with an error that has a `code` where there is no answer. */
  readonly resolve: (name: string, type: string) => Promise<unknown>
  /** Who is asked. */
  readonly servers: readonly string[]
} {
  let resolver = resolverOf(servers)
  let until = monotonic() + limits.verify.resolverMs
  return {
    servers: resolver.getServers(),
    resolve: (name, type) => {
      if (monotonic() >= until) {
        resolver = resolverOf(servers)
        until = monotonic() + limits.verify.resolverMs
      }
      return resolver.resolve(name, type)
    },
  }
}

function resolverOf(servers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: limits.verify.questionMs, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  return resolver
}
