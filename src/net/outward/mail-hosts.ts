// Which hosts take the mail of a domain (RFC 5321 5.1): its MX records in the order of preference, or the domain itself.
//
// An answer is remembered for some minutes. That a domain takes no mail at all is an answer, too; that nobody could say is
// not. Addresses of the hosts are looked up and checked by whoever connects (outward.ts).

import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { now } from '#lib/clock.ts'
import { jitter } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'

interface MxRecord {
  readonly exchange: string
  readonly priority: number
}

/** MX records of a domain; rejects with code ENOTFOUND or ENODATA where there are none. */
export type ResolveMx = (domain: string) => Promise<readonly MxRecord[]>

/** Nobody takes mail for the domain, now or later. */
export class NoMailHost extends Error {
  readonly status: number
  constructor(domain: string, text: string, status = 550) {
    super(`${text}: ${domain}`)
    this.status = status
  }
}

export class MailHosts {
  readonly #resolve: ResolveMx
  readonly #known = new Map<string, { hosts: readonly string[] | NoMailHost; until: number }>()

  constructor(resolve: ResolveMx = resolveMx) {
    this.#resolve = resolve
  }

  /**
   * Host names or addresses to try, in order, limits.outbound.hostsMax at most.
   *
   * @param domain in ASCII, or an address literal in brackets
   * @throws NoMailHost; other errors mean that nobody could say
   */
  async find(domain: string): Promise<readonly string[]> {
    const literal = /^\[(?:ipv6:)?([^\]]+)\]$/i.exec(domain)?.[1]
    if (literal !== undefined) {
      if (isIP(literal) === 0) throw new NoMailHost(domain, '5.1.2 Not an address')
      return [literal]
    }
    const known = this.#known.get(domain)
    const found = known !== undefined && known.until > now() ? known.hosts : await this.#ask(domain)
    if (found instanceof NoMailHost) throw found
    return found
  }

  async #ask(domain: string): Promise<readonly string[] | NoMailHost> {
    const hosts = await this.#hosts(domain)
    this.#known.delete(domain)
    this.#known.set(domain, { hosts, until: now() + limits.outbound.routeMs })
    const [oldest] = this.#known.keys()
    if (this.#known.size > limits.outbound.routesMax && oldest !== undefined) this.#known.delete(oldest)
    return hosts
  }

  async #hosts(domain: string): Promise<readonly string[] | NoMailHost> {
    let records: readonly MxRecord[]
    try {
      records = await this.#resolve(domain)
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === 'ENOTFOUND') return new NoMailHost(domain, '5.1.2 There is no such domain')
      // Without MX records the domain's own address counts (RFC 5321 5.1).
      if (code === 'ENODATA') return [domain]
      throw error
    }
    // RFC 7505: a lone MX of "." says that the domain takes no mail.
    const named = records.filter(({ exchange }) => exchange !== '' && exchange !== '.')
    if (records.length > 0 && named.length === 0) return new NoMailHost(domain, '5.1.10 The domain takes no mail', 556)
    if (named.length === 0) return [domain]
    const mixed = named.map(record => ({ ...record, order: jitter() }))
    mixed.sort((one, other) => one.priority - other.priority || one.order - other.order)
    return mixed.slice(0, limits.outbound.hostsMax).map(({ exchange }) => exchange.replace(/\.$/, '').toLowerCase())
  }
}

async function resolveMx(domain: string): Promise<readonly MxRecord[]> {
  // RFC 6761 6.3: never asked for.
  if (domain === 'localhost' || domain.endsWith('.localhost')) return []
  return new Resolver({ timeout: limits.outward.resolveMs, tries: 2 }).resolveMx(domain)
}
