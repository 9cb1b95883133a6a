// How the domains that are sent to want to be sent to (MTA-STS, RFC 8461): asked for when a domain is first sent to, kept in
// the store until its end, so that an attacker who can block DNS or HTTPS now changes nothing of what was known before.
//
// Promises: what cannot be found out holds up no mail and takes away no policy that holds; a domain is asked about so often at
// most, and its questions are shared.

import type { Agent } from 'undici'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { elapsed, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Outward } from '#net/outward/outward.ts'
import { fetchPolicy, type MissedPolicy, policyId, type ResolveTxt } from '#net/tls/mta-sts.ts'
import type { Reader } from '#store/engine/reader.ts'
import { operation } from '#store/engine/write.ts'
import { findStsPolicy, type StsPolicyRow, stsPolicyPut, stsPolicySweep } from '#store/sending/sts-policy.ts'

export interface StsOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly outward: Outward
  /** Certificates to trust instead of the built-in ones, for tests. */
  readonly ca?: string
  readonly resolveTxt: ResolveTxt
  /** Hears of a policy that is announced and cannot be had. */
  readonly missed?: (domain: string, why: MissedPolicy) => void
  /** Instead of 443, for tests. */
  readonly port?: number
}

export class StsPolicies {
  readonly #options: StsOptions
  /** Domain -> when it is asked about again (monotonic). */
  readonly #asked = new Map<string, number>()
  readonly #asking = new Map<string, Promise<void>>()
  #agent: Agent | undefined

  constructor(options: StsOptions) {
    this.#options = options
  }

  /** Domains of which it is remembered when they are asked again. */
  get size(): number {
    return this.#asked.size
  }

  /** The policy of a domain (in ASCII) that holds now. Never throws. */
  async of(domain: string): Promise<StsPolicyRow | undefined> {
    if (domain.startsWith('[')) return undefined
    if ((this.#asked.get(domain) ?? 0) <= elapsed()) await this.#refresh(domain)
    return await findStsPolicy(this.#options.read, domain, now())
  }

  async close(): Promise<void> {
    await this.#agent?.destroy()
  }

  #refresh(domain: string): Promise<void> {
    let asking = this.#asking.get(domain)
    if (asking === undefined) {
      asking = this.#ask(domain)
        .catch(() => {})
        .finally(() => this.#asking.delete(domain))
      this.#asking.set(domain, asking)
    }
    return asking
  }

  async #ask(domain: string): Promise<void> {
    this.#remember(domain, limits.sts.failureMs)
    const { read, writer, resolveTxt, port } = this.#options
    const id = await policyId(domain, resolveTxt)
    this.#remember(domain, limits.sts.checkMs)
    const at = now()
    const known = await findStsPolicy(read, domain, at)
    // One from days that are still to come was fetched when the clock was wrong, and would hold too long.
    const old = known !== undefined && Math.abs(at - known.fetched) > limits.sts.refreshMs
    if (id === undefined || (known?.id === id && !old)) return
    const policy = await fetchPolicy(this.#client(), domain, port)
    // RFC 8461 3.3: what cannot be fetched leaves what is known.
    if ('flaw' in policy) {
      this.#options.missed?.(domain, policy)
      return this.#remember(domain, limits.sts.failureMs)
    }
    const { mode, mx, maxAgeMs } = policy
    // A clock that is ahead ends what holds: swept away is what ended so long ago that no certificate holds in that time.
    const before = at - limits.sts.ageMaxMs
    await writer.submit({
      operations: [
        operation(stsPolicyPut, { domain, id, mode, mx, fetched: at, expires: at + maxAgeMs }),
        operation(stsPolicySweep, { before, count: limits.sts.sweepRowsMax, rowsMax: limits.sts.rowsMax }),
      ],
      bytes: 1000,
    })
  }

  #remember(domain: string, ms: number): void {
    this.#asked.delete(domain)
    this.#asked.set(domain, elapsed() + ms)
    const [oldest] = this.#asked.keys()
    if (this.#asked.size > limits.sts.domainsMax && oldest !== undefined) this.#asked.delete(oldest)
  }

  #client(): Agent {
    const { outward, ca } = this.#options
    const how = { connectionsMax: 1, answerBytesMax: limits.sts.policyBytesMax }
    this.#agent ??= outward.agent({ ...how, ...(ca !== undefined && { ca }) })
    return this.#agent
  }
}
