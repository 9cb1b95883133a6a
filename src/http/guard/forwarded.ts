// Who is behind a proxy, by the header in which that says so: X-Forwarded-For, or Forwarded (RFC 7239).
//
// A header is anybody's to write, so a trusted peer alone is believed, and of what the header holds only as much as trusted
// ones have added: read from its end, the first address that is not theirs is the visitor's. The one header is read that
// the configuration names, since a proxy passes on the other as a stranger wrote it. What cannot be read ends the
// reading: the visitor is then where it came from at last, which is never what a stranger chose.

import ipaddr from 'ipaddr.js'
import { limits } from '#lib/limits.ts'

export type ForwardedHeader = 'none' | 'X-Forwarded-For' | 'Forwarded'

export interface Proxies {
  /** In which header they say it. */
  readonly header: ForwardedHeader
  trusts(address: string): boolean
  /** Called where a trusted peer says who is behind it and no header is to be read. */
  onUnread?(address: string): void
}

/** No proxies. */
export const nobody: Proxies = { header: 'none', trusts: () => false }

/** One request, as far as it matters here. */
export interface Arrival {
  /** Whether it came over TLS. */
  readonly secure: boolean
  /** The peer's. */
  address(): string
  /** Header in lower case; the first of several, '' for none. */
  header(name: string): string
  /** All of them, in order. */
  headers(name: string): readonly string[]
}

export interface Visitor {
  /** Undefined: the peer itself. */
  readonly address: string | undefined
  /** Whether TLS was spoken with the visitor, as far as is known. */
  readonly secure: boolean
}

const direct: Visitor = { address: undefined, secure: false }
const directSecure: Visitor = { address: undefined, secure: true }

/** Who sent a request. Looks at addresses only where a header asks for it. */
export function visitorOf(arrival: Arrival, proxies: Proxies): Visitor {
  const { header } = proxies
  const name = header === 'none' ? 'x-forwarded-for' : header.toLowerCase()
  // An empty field of a stranger's may stand before that of the proxy.
  const said = arrival.header(name) !== '' || (header !== 'none' && arrival.headers(name).length > 1)
  const scheme = arrival.header('x-forwarded-proto') !== ''
  if ((!said && !scheme) || !proxies.trusts(arrival.address())) return arrival.secure ? directSecure : direct
  if (said && header === 'none') proxies.onUnread?.(arrival.address())
  const hops = said && header !== 'none' ? hopsOf(header, arrival.headers(name).join(',')) : []
  const { address, proto } = farthest(hops, arrival.address(), proxies)
  const outside = proto ?? arrival.headers('x-forwarded-proto').join(',').split(',').at(-1) ?? ''
  return { address, secure: arrival.secure || outside.trim().toLowerCase() === 'https' }
}

interface Hop {
  /** Undefined where none is named that can be read. */
  readonly address: string | undefined
  readonly proto: string | undefined
}

/** The first that is not trusted, from the peer on. */
function farthest(hops: Iterable<Hop>, peer: string, proxies: Proxies): Hop {
  let found: Hop = { address: peer, proto: undefined }
  let seen = 0
  for (const hop of hops) {
    if (hop.address === undefined || seen++ >= limits.http.proxyHopsMax) break
    found = hop
    if (!proxies.trusts(found.address ?? '')) break
  }
  return found
}

/** The last is first. */
function* hopsOf(header: Exclude<ForwardedHeader, 'none'>, text: string): Generator<Hop> {
  let end = text.length
  while (end >= 0) {
    const comma = header === 'Forwarded' ? commaBefore(text, end) : text.lastIndexOf(',', end - 1)
    const element = text.slice(comma + 1, end).trim()
    // An empty element of a list is none (RFC 9110 5.6.1.2).
    if (element !== '')
      yield header === 'Forwarded' ? pairsOf(element) : { address: nodeAddress(element), proto: undefined }
    end = end === 0 ? -1 : comma
  }
}

/** The last comma before `end` that stands in no quotes: from the end on, so that nothing before can swallow what came later. */
function commaBefore(text: string, end: number): number {
  let quoted = false
  for (let at = end - 1; at >= 0; at--) {
    if (text[at] === '"' && !isEscaped(text, at)) quoted = !quoted
    else if (text[at] === ',' && !quoted) return at
  }
  return -1
}

function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text[before - 1] === '\\') before -= 1
  return (at - before) % 2 === 1
}

const pair = /\s*([!#$%&'*+.^_`|~\w-]+)=(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)")\s*(?:;|$)/y

/** One element of Forwarded (RFC 7239 4): names in any case, each at most once. */
function pairsOf(element: string): Hop {
  const found = new Map<string, string>()
  pair.lastIndex = 0
  while (pair.lastIndex < element.length) {
    const [, name = '', token, quoted = ''] = pair.exec(element) ?? []
    if (name === '' || found.has(name.toLowerCase())) return { address: undefined, proto: undefined }
    found.set(name.toLowerCase(), token ?? quoted.replace(/\\(.)/g, '$1'))
  }
  return { address: nodeAddress(found.get('for') ?? ''), proto: found.get('proto') }
}

/** `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`, a zone or not, in the form in which addresses are compared. */
function nodeAddress(node: string): string | undefined {
  const [, six, four = node] = /^(?:\[([^\]]+)\](?::\w{1,16})?|([\d.]+)(?::\w{1,16})?)$/.exec(node) ?? []
  // The zone (RFC 4007 11) says which wire of the proxy's it was.
  const [text = ''] = (six ?? four).split('%', 1)
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return six === undefined ? text : undefined
  return text.includes(':') && ipaddr.IPv6.isValid(text) ? ipaddr.process(text).toString() : undefined
}
