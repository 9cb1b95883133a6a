// The network an address belongs to, as far as guessing is counted: an IPv4 address is one, of IPv6 the /64 is, since
// whoever has one address of that has all of them.

import ipaddr from 'ipaddr.js'

const known = new Map<string, string>()
const knownMax = 5000

/** The network of an address as text; empty for an empty address or none. */
export function networkOf(address: string): string {
  if (address === '') return ''
  const before = known.get(address)
  if (before !== undefined) return before
  const network = work(address)
  if (known.size >= knownMax) known.clear()
  known.set(address, network)
  return network
}

function work(address: string): string {
  if (!ipaddr.isValid(address)) return ''
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.toString()
  return network === '::1'
    ? network
    : `${parsed.parts
        .slice(0, 4)
        .map(part => part.toString(16))
        .join(':')}::/64`
}
