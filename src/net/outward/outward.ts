// The way out: every connection that goes where a user or an operator points (webhooks, HTTP forwards, relays, MX hosts).
//
// A name is resolved once for each connection, every address it has is checked, and the connection is made to one of those that
// may be reached, so that a name that answers differently the second time gains nothing (DNS rebinding), and one that also has an
// address of somebody's own network is reached by its others. Private ranges are reachable only where `network.allowPrivate` lists them.
// Nothing else in the service may connect to a host that a stranger chose.

import { lookup as systemLookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Agent, buildConnector as BuildConnector } from 'undici'
import { after } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { undici } from '#lib/process/lazy.ts'

export type { Socket } from 'node:net'

/** The addresses of a host name, as text; rejects where there are none. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** Why nothing could be exchanged: a small closed set, kept in rows and metrics. */
export type OutwardFailure =
  | 'blocked'
  | 'unresolved'
  | 'refused'
  | 'unreachable'
  | 'reset'
  | 'tls'
  | 'timeout'
  | 'protocol'

/** The name or address leads inside. */
export class Blocked extends Error {
  readonly code = 'EBLOCKED'
  constructor(host: string) {
    super(`${host} is not a public address`)
  }
}

/** The name leads nowhere. */
class Unresolved extends Error {
  readonly code = 'ENOTFOUND'
  constructor(host: string, cause?: unknown) {
    super(`${host} has no address`, { cause })
  }
}

class DialTimedOut extends Error {
  readonly code = 'ETIMEDOUT'
}

export interface OutwardOptions {
  /** Ranges (CIDR) that may be reached although they are private. */
  readonly allowPrivate: readonly string[]
  /** Name servers that are asked; those of the system where there is none. */
  readonly dnsServers?: readonly string[]
  /** Instead of DNS, for tests. */
  readonly resolve?: Resolve
}

export interface DialOptions {
  readonly host: string
  readonly port: number
  /** Time for name and connection together. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  readonly localAddress?: string
}

export interface AgentOptions {
  /** Connections to one origin at once. */
  readonly connectionsMax: number
  /** Bytes of a response body before it is cut off with an error. */
  readonly answerBytesMax: number
  /** Certificates to trust instead of the built-in ones, in PEM. */
  readonly ca?: string
}

export class Outward {
  readonly #allowed: [ipaddr.IPv4 | ipaddr.IPv6, number][]
  readonly #resolve: Resolve

  constructor(options: OutwardOptions) {
    this.#allowed = options.allowPrivate.map(range => ipaddr.parseCIDR(range))
    this.#resolve = options.resolve ?? (host => resolveHost(host, options.dnsServers ?? []))
  }

  /** Whether a connection to this address may be made: it is public, or in an allowed range. */
  permits(address: string): boolean {
    const text = address.split('%', 1)[0] ?? ''
    if (!ipaddr.isValid(text)) return false
    const parsed = inner(ipaddr.parse(text))
    if (parsed === undefined) return false
    return this.#isAllowed(parsed) || isPublic(parsed)
  }

  /** Whether this address is one of the private ones that may be reached. */
  permitsPrivate(address: string): boolean {
    const text = address.split('%', 1)[0] ?? ''
    const parsed = ipaddr.isValid(text) ? inner(ipaddr.parse(text)) : undefined
    return parsed !== undefined && this.#isAllowed(parsed)
  }

  #isAllowed(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
    return this.#allowed.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits))
  }

  /**
   * The addresses of a host (name or literal, with or without brackets) that may be reached.
   *
   * @throws Blocked when none of them may; an error with code ENOTFOUND when there is none
   */
  async addresses(host: string): Promise<readonly string[]> {
    const name = host.replace(/^\[(.*)\]$/, '$1')
    const found = isIP(name) === 0 ? (await this.#resolve(name)).slice(0, limits.outward.addressesMax) : [name]
    if (found.length === 0) throw new Unresolved(host)
    const permitted = found.filter(address => this.permits(address))
    if (permitted.length === 0) throw new Blocked(host)
    return permitted
  }

  /** `addresses` in the form node:net and node:tls take; they do not call it for literal addresses. */
  readonly lookup: LookupFunction = (host, options, done) => {
    this.addresses(host).then(
      found => {
        const all = found.map(address => ({ address, family: isIP(address) }))
        const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0)
        const fitting = family === 0 ? all : all.filter(entry => entry.family === family)
        const [first] = fitting
        if (first === undefined) done(new Unresolved(host), '', 0)
        else if (options.all === true) done(null, fitting)
        else done(null, first.address, first.family)
      },
      (error: unknown) => done(error as Error, '', 0),
    )
  }

  /**
   * A TCP connection to a checked address of `host`; TLS is for the caller to add.
   *
   * @throws what `outwardFailure` has a word for
   */
  async dial(options: DialOptions): Promise<Socket> {
    const { host, port, signal, timeoutMs = limits.outward.connectMs } = options
    signal?.throwIfAborted()
    const name = host.replace(/^\[(.*)\]$/, '$1')
    if (isIP(name) !== 0 && !this.permits(name)) throw new Blocked(host)
    return new Promise((resolve, reject) => {
      const { localAddress } = options
      // From an address only those of its own family are reached.
      const from = localAddress === undefined ? {} : { localAddress, family: isIP(localAddress) }
      const socket = connect({ host: name, port, lookup: this.lookup, ...patience, ...from })
      const settle = (error: Error | null) => {
        timer.cancel()
        signal?.removeEventListener('abort', onAbort)
        socket.off('error', settle)
        if (error === null) return resolve(socket)
        socket.on('error', () => {})
        socket.destroy()
        reject(error)
      }
      const onAbort = () => settle(signal?.reason instanceof Error ? signal.reason : new DialTimedOut('stopped'))
      const timer = after(timeoutMs, () => settle(new DialTimedOut(`no connection to ${host} in time`)))
      signal?.addEventListener('abort', onAbort, { once: true })
      socket.once('connect', () => settle(null))
      socket.on('error', settle)
    })
  }

  /** An HTTP client that reaches checked addresses only. Close it when it is no longer needed. */
  agent(options: AgentOptions): Agent {
    const { Agent, buildConnector } = undici()
    const build = buildConnector({
      allowH2: false,
      timeout: limits.outward.connectMs,
      lookup: this.lookup,
      ...{ autoSelectFamily: true, ...patience },
      ...(options.ca !== undefined && { ca: options.ca }),
    } as BuildConnector.BuildOptions)
    const connector: BuildConnector.connector = (target, done) => {
      const name = target.hostname.replace(/^\[(.*)\]$/, '$1')
      if (isIP(name) !== 0 && !this.permits(name)) return done(new Blocked(name), null)
      build({ ...target, hostname: name }, done)
    }
    return new Agent({
      connect: connector,
      allowH2: false,
      connections: options.connectionsMax,
      pipelining: 1,
      maxResponseSize: options.answerBytesMax,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }
}

/** An address that answers late is given up for the next one, which may be out of reach. */
const patience = { autoSelectFamilyAttemptTimeout: limits.outward.addressMs }

/** The word for an error of `dial`, of the agent or of TLS. */
export function outwardFailure(error: unknown): OutwardFailure {
  let at = error as { code?: unknown; cause?: unknown; errors?: unknown[] } | null | undefined
  for (let depth = 0; typeof at === 'object' && at !== null && depth < 5; depth++) {
    const word = typeof at.code === 'string' ? wordOf(at.code) : undefined
    if (word !== undefined) return word
    at = (at.errors?.[0] ?? at.cause) as typeof at
  }
  return 'protocol'
}

function wordOf(code: string): OutwardFailure | undefined {
  const known = words[code]
  if (known !== undefined) return known
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|EPROTO$|HOSTNAME_MISMATCH|ETLS)/.test(code)) return 'tls'
  return undefined
}

const words: Readonly<Record<string, OutwardFailure>> = {
  EBLOCKED: 'blocked',
  ENOTFOUND: 'unresolved',
  ENODATA: 'unresolved',
  EAI_AGAIN: 'unresolved',
  EDNS: 'unresolved',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENETDOWN: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EACCES: 'unreachable',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
}

/** Addresses that carry another one inside are judged by that one; undefined where that cannot be said. */
function inner(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (address instanceof ipaddr.IPv4) return address
  const bytes = address.toByteArray()
  const last = () => new ipaddr.IPv4(bytes.slice(12))
  // ::ffff:0:0/96 (RFC 4291 2.5.5.2) and the compatible form ::/96, of which :: and ::1 are addresses of their own.
  if (bytes.slice(0, 10).every(byte => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff) return last()
  if (bytes.slice(0, 12).every(byte => byte === 0) && bytes[12] !== 0) return last()
  // NAT64, 64:ff9b::/96 (RFC 6052): how hosts without IPv4 reach it.
  if (address.match(nat64, 96)) return last()
  return address
}

const nat64 = ipaddr.IPv6.parse('64:ff9b::')
const globalUnicast = ipaddr.IPv6.parse('2000::')
/** Public in form, but the inside of a provider's network: it answers with the secrets of the machine. */
const metadata: ReadonlySet<string> = new Set(['168.63.129.16'])

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast' || metadata.has(address.toString())) return false
  return address instanceof ipaddr.IPv4 || address.match(globalUnicast, 3)
}

/** Lookups of the operating system that may run at once: each holds a thread of the pool that also serves files. */
const systemLookupsMax = 1
let systemLookups = 0
const waiting: (() => void)[] = []

/**
 * Addresses by DNS, both families; where DNS has nothing, what the operating system knows (its hosts file, search
 * domains). `localhost` is loopback without asking anybody (RFC 6761 6.3).
 */
async function resolveHost(host: string, servers: readonly string[]): Promise<readonly string[]> {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (isLocalhost(name)) return ['127.0.0.1', '::1']
  const resolver = new Resolver({ timeout: limits.outward.resolveMs, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = [four, six].flatMap(result => (result.status === 'fulfilled' ? result.value : []))
  return found.length > 0 ? found : lookupBySystem(name)
}

function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

async function lookupBySystem(name: string): Promise<readonly string[]> {
  if (waiting.length >= limits.outward.lookupsWaitingMax) throw new Unresolved(name)
  if (systemLookups >= systemLookupsMax) await new Promise<void>(resolve => waiting.push(resolve))
  systemLookups += 1
  try {
    return await new Promise((resolve, reject) => {
      systemLookup(name, { all: true }, (error, found) => {
        if (error !== null) reject(new Unresolved(name, error))
        else resolve(found.map(entry => entry.address))
      })
    })
  } finally {
    systemLookups -= 1
    waiting.shift()?.()
  }
}
