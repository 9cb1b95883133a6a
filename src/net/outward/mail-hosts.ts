// Which hosts take the mail of a domain (RFC 5321 5.1): its MX records in the order of preference, or the domain itself.
//
// An answer is remembered for some minutes. That a domain takes no mail at all is an answer, too; that nobody could say is
// not. Addresses of the hosts are looked up and checked by whoever connects (outward.ts).

import { isIP } from 'node:net'
import { elapsed } from '#lib/clock.ts'
import { jitter } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Ask } from './names.ts'

interface MxRecord {
  readonly exchange: string
  readonly priority: number
}

/** MX records of a domain; rejects with code ENOTFOUND or ENODATA where there are none. */
export type ResolveMx = (domain: string) => Promise<readonly MxRecord[]>

/** MX records, whether the domain exists, whether it leads anywhere (where that is known), and whether DNSSEC proves the records. */
type AskMx = (
  domain: string,
) => Promise<{ records: readonly MxRecord[]; exists: boolean; leads?: boolean; secure: boolean }>

/** Where the mail of a domain goes. */
export interface FoundHosts {
  readonly hosts: readonly string[]
  /** Whether DNSSEC proves that these are the hosts. */
  readonly secure: boolean
}

/** Nobody takes mail for the domain, now or later. */
export class NoMailHost extends Error {
  readonly status: number
  constructor(domain: string, text: string, status = 550) {
    super(`${text}: ${domain}`)
    this.status = status
  }
}

export class MailHosts {
  readonly #ask: AskMx
  readonly #own: string
  readonly #reaches: ((host: string) => Promise<boolean>) | undefined
  readonly #known = new Map<string, { found: FoundHosts | NoMailHost; until: number }>()

  /**
   * @param own name of this service
   * @param reaches whether there may be an address behind a name; nobody knows where it is absent
   */
  constructor(ask: AskMx, own = '', reaches?: (host: string) => Promise<boolean>) {
    this.#ask = ask
    this.#own = own.toLowerCase()
    this.#reaches = reaches
  }

  /** Domains whose hosts are remembered. */
  get size(): number {
    return this.#known.size
  }

  /**
   * Host names or addresses to try, in order, limits.outbound.hostsMax at most.
   *
   * @param domain in ASCII, or an address literal in brackets
   * @throws NoMailHost; other errors mean that nobody could say
   */
  async find(domain: string): Promise<FoundHosts> {
    const literal = /^\[(?:ipv6:)?([^\]]+)\]$/i.exec(domain)?.[1]
    if (literal !== undefined) {
      if (isIP(literal) === 0) throw new NoMailHost(domain, '5.1.2 Not an address')
      return { hosts: [literal], secure: false }
    }
    const known = this.#known.get(domain)
    const found = known !== undefined && known.until > elapsed() ? known.found : await this.#look(domain)
    if (found instanceof NoMailHost) throw found
    return found
  }

  /** Whether it is certain that none of its hosts has an address (RFC 5321 5.1). @throws as `find` */
  async leadNowhere(domain: string): Promise<boolean> {
    const { hosts } = await this.find(domain)
    const reaches = await Promise.all(
      hosts.map(async host => isIP(host) !== 0 || ((await this.#reaches?.(host)) ?? true)),
    )
    return !reaches.includes(true)
  }

  async #look(domain: string): Promise<FoundHosts | NoMailHost> {
    const { records, exists, leads = true, secure } = await this.#ask(domain)
    const hosts = hostsOf(domain, records, { exists, leads }, this.#own)
    const found = hosts instanceof NoMailHost ? hosts : { hosts, secure }
    this.#known.delete(domain)
    this.#known.set(domain, { found, until: elapsed() + limits.outbound.routeMs })
    const [oldest] = this.#known.keys()
    if (this.#known.size > limits.outbound.routesMax && oldest !== undefined) this.#known.delete(oldest)
    return found
  }
}

function hostsOf(
  domain: string,
  records: readonly MxRecord[],
  { exists, leads }: { readonly exists: boolean; readonly leads: boolean },
  own: string,
): readonly string[] | NoMailHost {
  if (!exists) return new NoMailHost(domain, '5.1.2 There is no such domain')
  const all = records.map(({ exchange, priority }) => ({ host: exchange.replace(/\.$/, '').toLowerCase(), priority }))
  // RFC 7505: a lone MX of "." says that the domain takes no mail.
  const named = all.filter(({ host }) => host !== '')
  if (records.length > 0 && named.length === 0) return new NoMailHost(domain, '5.1.10 The domain takes no mail', 556)
  // Without MX records the domain's own address counts (RFC 5321 5.1).
  if (named.length === 0 && !leads) return new NoMailHost(domain, '5.4.4 The domain has no mail host and no address')
  if (named.length === 0) named.push({ host: domain, priority: 0 })
  // RFC 5321 5.1: mail that we do not know would come back for ever from us, and from hosts that hand it on to us.
  const ours = Math.min(...named.filter(({ host }) => host === own).map(({ priority }) => priority))
  const others = named.filter(({ priority }) => priority < ours)
  if (others.length === 0) return new NoMailHost(domain, '5.4.6 Leads back here')
  const mixed = others.map(record => ({ ...record, order: jitter() }))
  mixed.sort((one, other) => one.priority - other.priority || one.order - other.order)
  return mixed.slice(0, limits.outbound.hostsMax).map(({ host }) => host)
}

/** Asks name servers. */
export function askNames(ask: Ask): AskMx {
  return async domain => {
    // RFC 6761 6.3: never asked for.
    if (domain === 'localhost' || domain.endsWith('.localhost')) return { records: [], exists: true, secure: false }
    const { records, exists, secure } = await ask(domain, 'MX')
    const found = records.map(({ data, target }) => ({ exchange: target, priority: data.readUInt16BE(0) }))
    const leads = found.length > 0 || !exists || (await hasAddress(ask, domain))
    return { records: found, exists, leads, secure }
  }
}

/** Whether there may be an address behind a name: only that there is none of either family says that there is not. */
export async function hasAddress(ask: Ask, name: string): Promise<boolean> {
  const asked = await Promise.allSettled([ask(name, 'A'), ask(name, 'AAAA')])
  return asked.some(one => one.status === 'rejected' || one.value.records.length > 0 || one.value.canonical !== name)
}

/** Asks somebody of whom it is not known how he knows. */
export function askResolver(resolve: ResolveMx): AskMx {
  return async domain => {
    try {
      return { records: await resolve(domain), exists: true, secure: false }
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === 'ENOTFOUND' || code === 'ENODATA') return { records: [], exists: code === 'ENODATA', secure: false }
      throw error
    }
  }
}
