// The ways to a domain: which hosts take its mail, and what each has to prove before anything is sent to it.
//
// DANE goes before MTA-STS (RFC 8461 2): a host with TLSA records is held to them and to nothing else, unless none of them can prove
// anything and a policy is enforced. Where neither says anything, mail goes encrypted if it can. What must be proven and cannot be looked up puts mail off and never refuses it.

import { limits } from '#lib/limits.ts'
import type { Metrics } from '#lib/metrics.ts'
import { askNames, askResolver, hasAddress, MailHosts, NoMailHost, type ResolveMx } from '#net/outward/mail-hosts.ts'
import type { Names } from '#net/outward/names.ts'
import { tlsaText } from '#net/tls/dane.ts'
import { namesHost } from '#net/tls/mta-sts.ts'
import type { StsPolicyRow } from '#store/sending/sts-policy.ts'
import { requireTlsMissing } from './host/sayable.ts'
import { DaneHosts, ProofUnknown } from './proof/dane-hosts.ts'
import type { DomainPolicy, PassedOver } from './proof/domain-policy.ts'
import type { StsPolicies } from './proof/sts-policies.ts'
import { type Demand, hostRoute, type RouteOptions } from './route.ts'
import type { MailRoute } from './smtp-client.ts'

export interface WaysOptions extends RouteOptions {
  readonly names: Names
  readonly policies: StsPolicies
  /** Whether TLSA records are heeded. */
  readonly dane: boolean
  /** Instead of name servers, for tests. */
  readonly resolveMx?: ResolveMx
  readonly metrics?: Metrics
  /** Hears of hosts that must not be sent to, where there is no other; of others sessions tell. */
  readonly flawed?: (host: PassedOver) => void
}

/** Why a host must not be sent to, and what is told of it. */
interface Barred {
  readonly obstacle: string
  readonly told?: PassedOver
}

/** Hosts of the domain that may be sent to, in order; or why there is none for now. */
export interface FoundWays {
  readonly ways: readonly MailRoute[]
  readonly obstacle: string
}

export class Ways {
  readonly #options: WaysOptions
  readonly #hosts: MailHosts
  readonly #dane: DaneHosts | undefined

  constructor(options: WaysOptions) {
    const { names, resolveMx, dane, port, hostname } = options
    this.#options = options
    this.#hosts =
      resolveMx === undefined
        ? new MailHosts(askNames(names.ask), hostname, host => hasAddress(names.ask, host))
        : new MailHosts(askResolver(resolveMx), hostname)
    this.#dane = dane ? new DaneHosts(names.ask, port) : undefined
    options.metrics?.remembers('mail-hosts', () => this.#hosts.size)
    options.metrics?.remembers('tlsa', () => this.#dane?.size ?? 0)
    options.metrics?.remembers('mta-sts', () => options.policies.size)
  }

  /**
   * @param domain in ASCII
   * @throws NoMailHost; other errors mean that nobody could say
   */
  async to(domain: string, demand: Demand): Promise<FoundWays> {
    if (domain === '') throw new NoMailHost(domain, '5.1.2 Not a domain')
    const { hosts, secure } = await this.#hosts.find(domain)
    if (demand === 'any') {
      return { ways: hosts.map(host => hostRoute(host, 'opportunistic', this.#options)), obstacle: '' }
    }
    const policy = await this.#options.policies.of(domain)
    this.#options.metrics?.policies.labels(policy?.mode ?? 'none').inc()
    const ways: MailRoute[] = []
    let obstacle = ''
    let passed: PassedOver[] = []
    for (const host of hosts) {
      const dane = secure ? await this.#proven(domain, host) : undefined
      const instead = policy?.mode === 'enforce' ? unusable(dane) : undefined
      if (instead !== undefined) passed.push(instead)
      const way = dane === undefined || instead !== undefined ? this.#plain(domain, host, policy) : dane
      const found = demand === 'proven' ? this.#protected(way, domain, host, { secure, row: policy }) : way
      if ('obstacle' in found) {
        // What may pass goes before what will not.
        obstacle = obstacle.startsWith('4') ? obstacle : found.obstacle
        if (found.told !== undefined) passed.push(found.told)
      } else {
        ways.push({ ...found, before: passed })
        passed = []
      }
    }
    const last = ways.pop()
    if (last === undefined) for (const one of passed) this.#options.flawed?.(one)
    else ways.push({ ...last, after: passed })
    return { ways, obstacle }
  }

  /** Whether it is certain that none of the hosts of a domain has an address. Rejects where nobody could say. */
  leadNowhere(domain: string): Promise<boolean> {
    return this.#hosts.leadNowhere(domain)
  }

  /** The way to a host with TLSA records, or why it must not be taken; undefined where there are no records. */
  async #proven(domain: string, host: string): Promise<MailRoute | Barred | undefined> {
    const { metrics } = this.#options
    try {
      const proof = await this.#dane?.of(host)
      if (proof === undefined) return undefined
      const { base, records } = proof
      const strings = records.slice(0, limits.tlsReport.stringsMax).map(tlsaText)
      const policy: DomainPolicy = { kind: 'tlsa', domain, strings, hosts: [] }
      metrics?.policies.labels(records.length > 0 ? 'dane' : 'dane-unusable').inc()
      const flaw = { flaw: 'tlsa-invalid', reason: 'no usable TLSA record' } as const
      const dane = { records, servername: base, names: [...new Set([domain, host, base])] }
      return { ...hostRoute(host, 'encrypted', this.#options), dane, policy, ...(records.length === 0 && { flaw }) }
    } catch (error) {
      if (!(error instanceof ProofUnknown)) throw error
      const policy: DomainPolicy = { kind: 'tlsa', domain, strings: [], hosts: [] }
      metrics?.policies.labels('dane-unknown').inc()
      const reason = 'TLSA records could not be looked up'
      return { obstacle: `4.7.5 ${error.message}`, told: { policy, host, flaw: 'dnssec-invalid', reason } }
    }
  }

  /**
   * The way of mail with REQUIRETLS: a host that DNSSEC or a policy says is the domain's, proven by TLSA records or its
   * certificate (RFC 8689 4.2.1); a policy in testing names hosts as surely as one that is enforced.
   */
  #protected(
    way: MailRoute | Barred,
    domain: string,
    host: string,
    { secure, row }: { readonly secure: boolean; readonly row: StsPolicyRow | undefined },
  ): MailRoute | Barred {
    if ('obstacle' in way) return way
    if (way.dane !== undefined && way.dane.records.length > 0) return way
    const sts = row !== undefined && row.mode !== 'none' && namesHost(row.mx, host) ? stsPolicy(domain, row) : undefined
    if (!secure && sts === undefined) return { obstacle: requireTlsMissing }
    return { ...hostRoute(host, 'required', this.#options), ...(sts !== undefined && { policy: sts }) }
  }

  /** The way to a host without; only over TLS that proves it, and if the policy names it, where one is enforced (RFC 8461 5). */
  #plain(domain: string, host: string, row: StsPolicyRow | undefined): MailRoute | Barred {
    const none: DomainPolicy = { kind: 'no-policy-found', domain, strings: [], hosts: [] }
    const policy = row === undefined || row.mode === 'none' ? none : stsPolicy(domain, row)
    const way = (tls: 'required' | 'opportunistic') => ({ ...hostRoute(host, tls, this.#options), policy })
    if (row === undefined || row.mode === 'none') return way('opportunistic')
    const flaw = { flaw: 'validation-failure', reason: 'not named by the policy' } as const
    const named = namesHost(row.mx, host)
    if (row.mode === 'testing') return { ...way('opportunistic'), ...(named ? { looksOnly: true } : { flaw }) }
    if (named) return way('required')
    const obstacle = '4.7.5 No host of the domain is named by its MTA-STS policy'
    return { obstacle, told: { policy, host, ...flaw } }
  }
}

/** What is told of a host of whose records none can prove it: what else its domain enforces holds then (RFC 7672 2.2, RFC 8461 2). */
function unusable(way: MailRoute | Barred | undefined): PassedOver | undefined {
  if (way === undefined || 'obstacle' in way || way.flaw === undefined || way.policy === undefined) return undefined
  return { policy: way.policy, host: way.host, ...way.flaw }
}

/** As reports have it (RFC 8460 4.4). */
function stsPolicy(domain: string, { mode, mx, expires, fetched }: StsPolicyRow): DomainPolicy {
  const age = Math.round((expires - fetched) / limits.time.second)
  const strings = ['version: STSv1', `mode: ${mode}`, ...mx.map(host => `mx: ${host}`), `max_age: ${age}`]
  const { stringsMax } = limits.tlsReport
  return { kind: 'sts', domain, strings: strings.slice(0, stringsMax), hosts: mx.slice(0, stringsMax) }
}
