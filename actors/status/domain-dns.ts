// What DNS says of a domain that has mail here: its records beside those it needs, and whether its policy lets this host send.
//
// The command line and the API ask by the same functions. For the API what was said is remembered for a moment, and few domains are asked of at
// once, so that a page with many of them is no flood.

import { Resolver } from 'node:dns/promises'
import type { Config } from '#config'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { remember } from '#lib/memoize.ts'
import { mailVerifiers } from '#lib/process/lazy.ts'
import { Queue } from '#lib/queue.ts'
import { domainToAscii } from '#mail/address/address.ts'
import { dnsTxt } from '#mail/crypt/dkim.ts'
import { isPublic, ownAddresses } from '#net/outward/own-addresses.ts'
import { lookUp } from '#net/outward/records.ts'
import { findDkimFor } from '#store/domains/dkim.ts'
import { keyState, keysOf } from '#store/domains/signing-key.ts'
import type { Reader } from '#store/engine/reader.ts'
import { judge, type KeyRecord, type Wanted, wantedRecords } from './domain-records.ts'

export interface Found extends Wanted {
  /** What is there; null where nobody answered. */
  readonly found: readonly string[] | null
}

/** Asks for each record. @param servers as of `lookUp` */
export function lookUpAll(wanted: readonly Wanted[], servers: readonly string[]): Promise<Found[]> {
  return Promise.all(
    wanted.map(async record => ({ ...record, found: await lookUp(record.name, record.kind, servers) })),
  )
}

export interface PolicyQuestion {
  readonly domain: string
  readonly hostname: string
  readonly addresses: readonly string[]
  readonly servers: readonly string[]
}

const askMs = 3000

/** What the domain's policy says of mail from each address (RFC 7208 2.6): `pass`, `fail`, ... `temperror` where nobody said. */
export function policyOf({ domain, hostname, addresses, servers }: PolicyQuestion) {
  const asked = new Resolver({ timeout: askMs, tries: 2 })
  if (servers.length > 0) asked.setServers(servers)
  const { spf } = mailVerifiers()
  const resolver = (name: string, type: string) => asked.resolve(name, type)
  return Promise.all(
    addresses.map(async ip => {
      const question = { ip, helo: hostname, sender: `postmaster@${domain}`, mta: hostname, resolver }
      const result = (await spf(question as never).catch(() => undefined))?.status.result ?? 'temperror'
      return { ip, result }
    }),
  )
}

export interface DomainStatus {
  readonly checked: number
  readonly records: readonly (Found & { readonly state: ReturnType<typeof judge> })[]
  readonly policy: readonly { readonly ip: string; readonly result: string }[]
}

export class DomainDns {
  readonly #config: Config
  readonly #read: Reader
  readonly #known = new Map<string, { readonly at: number; readonly status: Promise<DomainStatus> }>()
  readonly #waiting = new Queue<() => void>(limits.domain.statusWaitingMax)
  #inFlight = 0

  constructor(config: Config, read: Reader) {
    this.#config = config
    this.#read = read
  }

  /**
   * What DNS says of a domain, which need not be here yet.
   *
   * @param again whether it is asked now, unless it was a moment ago
   * @throws Fault Overloaded where many wait already
   */
  status(domain: string, again = false): Promise<DomainStatus> {
    const { statusMs, statusRememberedMax } = limits.domain
    const known = this.#known.get(domain)
    if (known !== undefined && now() - known.at < (again ? askMs : statusMs)) return known.status
    const status = this.#asked(domain)
    remember(this.#known, domain, { at: now(), status }, statusRememberedMax)
    status.catch(() => this.#known.delete(domain))
    return status
  }

  async #asked(domain: string): Promise<DomainStatus> {
    await this.#turn()
    try {
      const { hostname, network } = this.#config
      const servers = network.dnsServers
      const name = domainToAscii(domain)
      const wanted = wantedRecords(this.#config, name, await keyRecords(this.#read, domain))
      const addresses = ownAddresses().filter(isPublic)
      const [found, policy] = await Promise.all([
        lookUpAll(wanted, servers),
        addresses.length === 0 ? [] : policyOf({ domain: name, hostname, addresses, servers }),
      ])
      return { checked: now(), records: found.map(one => ({ ...one, state: judge(one, one.found) })), policy }
    } finally {
      // Whoever waited takes the place.
      const next = this.#waiting.shift()
      if (next === undefined) this.#inFlight -= 1
      else next()
    }
  }

  async #turn(): Promise<void> {
    if (this.#inFlight < limits.domain.statusInFlightMax) {
      this.#inFlight += 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      if (!this.#waiting.push(resolve)) reject(new Fault('Overloaded', { retryAfter: 1 }))
    })
  }
}

/** The key that was put in by hand, or those that the domain has without being asked and may sign with. */
async function keyRecords(read: Reader, domain: string): Promise<KeyRecord[]> {
  const own = await findDkimFor(read, domain)
  if (own !== undefined) return [dnsTxt(domain, own.selector, own.public)]
  const keys = await keysOf(read, domain)
  return keys.filter(({ state }) => state !== keyState.retired).map(key => dnsTxt(domain, key.selector, key.public))
}
