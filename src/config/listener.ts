// The keys that every listener has in its section of the configuration: whether it runs, where, and for how many.
//
// A protocol puts further keys of its own beside these (src/imap/keys.ts for example).

import { address, count, flag, port } from './kinds.ts'

const loopback = '127.0.0.1'

/** What bounds the connections of a listener where nothing else is configured. */
interface Most {
  readonly sessionsMax: number
  readonly sessionsPerNetworkMax: number
}

/** @param what is served, as it stands in the explanations */
export function listener(portInitial: number, what: string, most: Most) {
  return {
    enabled: flag(true, `Whether ${what} is served`),
    host: address(loopback, `Address ${what} listens on`),
    port: port(portInitial, `Port ${what} listens on; 0 takes a free one`),
    maxOpen: count(
      most.sessionsMax,
      1,
      1_000_000,
      `Connections open at once to ${what}, as far as descriptors reach (ulimit -n)`,
    ),
    maxOpenPerNetwork: count(
      most.sessionsPerNetworkMax,
      1,
      1_000_000,
      'The same from one IPv4 address or IPv6 /64 that is no proxy (network.proxies); a quarter before a login or message',
    ),
  }
}
