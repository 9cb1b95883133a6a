// The networks an address belongs to, as far as guessing is counted: an IPv4 address is one and its /24 the next; of IPv6
// the /64 is one, since whoever has one address of that has all of them, and the /48 and the /32 are the next, since
// providers give those away, too.

import ipaddr from 'ipaddr.js'
import { remember } from './memoize.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

const known = new Map<string, readonly string[]>()
const knownMax = 5000
const nowhere: readonly string[] = []

/** The network of an address as text; empty for an empty address or none. */
export function networkOf(address: string): string {
  return networksOf(address)[0] ?? ''
}

/** The networks of an address, narrowest first; none for an empty address or none. */
export function networksOf(address: string): readonly string[] {
  if (address === '') return nowhere
  const before = known.get(address)
  if (before !== undefined) return before
  const networks = work(address)
  if (known.size >= knownMax) known.clear()
  known.set(address, networks)
  return networks
}

/** Ranges in CIDR form as a question about an address. */
export function rangesOf(ranges: readonly string[]): (address: string) => boolean {
  const parsed = ranges.map(range => {
    const [base, bits] = ipaddr.parseCIDR(range)
    return base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96
      ? ([base.toIPv4Address(), bits - 96] as const)
      : ([base, bits] as const)
  })
  if (parsed.length === 0) return () => false
  const within = (address: string) => {
    if (!ipaddr.isValid(address)) return false
    const one: Address = ipaddr.process(address)
    return parsed.some(([base, bits]) => base.kind() === one.kind() && one.match(base, bits))
  }
  // The same addresses are asked about at each connection and each login.
  const answers = new Map<string, boolean>()
  return address => {
    const answer = answers.get(address) ?? within(address)
    if (!answers.has(address)) remember(answers, address, answer, knownMax)
    return answer
  }
}

function work(address: string): readonly string[] {
  if (!ipaddr.isValid(address)) return nowhere
  const parsed = ipaddr.process(address)
  const text = parsed.toString()
  if (parsed instanceof ipaddr.IPv4) return [text, `${parsed.octets.slice(0, 3).join('.')}.0/24`]
  return text === '::1' ? [text] : [64, 48, 32].map(bits => prefix(parsed, bits))
}

function prefix({ parts }: ipaddr.IPv6, bits: number): string {
  const words = parts.slice(0, bits / 16).map(part => part.toString(16))
  return `${words.join(':')}::/${bits}`
}
