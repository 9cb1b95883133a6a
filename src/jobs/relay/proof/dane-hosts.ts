// What proves a host that is sent to: its TLSA records (RFC 7672 2.2), where all of the way to them is proven by DNSSEC.
//
// A host without such records is sent to as before. One whose records cannot be looked up is not sent to for now: whoever
// keeps the answer away must not gain anything by it. Answers are remembered as long as they hold, some minutes at most.

import { elapsed } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Ask } from '#net/outward/names.ts'
import { type TlsaRecord, usableTlsa } from '#net/tls/dane.ts'

export interface HostProof {
  /** Whose records they are, and what the host is asked for (SNI). */
  readonly base: string
  /** Those that prove something; where there is none, what is sent is encrypted and no more. */
  readonly records: readonly TlsaRecord[]
}

/** Nobody could say what proves it. */
export class ProofUnknown extends Error {
  readonly host: string
  constructor(host: string, cause: unknown) {
    super(`TLSA records of ${host} could not be looked up`, { cause })
    this.host = host
  }
}

interface Known {
  readonly proof: HostProof | undefined
  readonly until: number
}

export class DaneHosts {
  readonly #ask: Ask
  readonly #port: number
  readonly #known = new Map<string, Known>()
  readonly #asking = new Map<string, Promise<HostProof | undefined>>()

  /** @param port on which hosts are sent to */
  constructor(ask: Ask, port: number) {
    this.#ask = ask
    this.#port = port
  }

  /** Hosts of which it is remembered what proves them. */
  get size(): number {
    return this.#known.size
  }

  /**
   * What proves a host that DNSSEC says takes a domain's mail; undefined where nothing does.
   *
   * @throws ProofUnknown
   */
  async of(host: string): Promise<HostProof | undefined> {
    const known = this.#known.get(host)
    if (known !== undefined && known.until > elapsed()) return known.proof
    let asking = this.#asking.get(host)
    if (asking === undefined) {
      asking = this.#look(host).finally(() => this.#asking.delete(host))
      this.#asking.set(host, asking)
    }
    return asking
  }

  async #look(host: string): Promise<HostProof | undefined> {
    try {
      const found = await this.#find(host)
      this.#known.delete(host)
      this.#known.set(host, found)
      const [oldest] = this.#known.keys()
      if (this.#known.size > limits.dane.hostsMax && oldest !== undefined) this.#known.delete(oldest)
      return found.proof
    } catch (error) {
      throw new ProofUnknown(host, error)
    }
  }

  async #find(host: string): Promise<Known> {
    const { bases, ttlMs } = await this.#bases(host)
    let until = elapsed() + ttlMs
    for (const base of bases) {
      const { secure, records, ttlMs: ttl } = await this.#ask(`_${this.#port}._tcp.${base}`, 'TLSA')
      until = Math.min(until, elapsed() + ttl)
      if (!secure || records.length === 0) continue
      const usable = records.slice(0, limits.dane.recordsMax).flatMap(({ data }) => usableTlsa(data) ?? [])
      return { proof: { base, records: usable }, until }
    }
    return { proof: undefined, until }
  }

  /** Names that may have records, the likelier first: only of hosts whose addresses are proven (RFC 7672 2.2.2). */
  async #bases(host: string): Promise<{ bases: readonly string[]; ttlMs: number }> {
    const asked = await Promise.allSettled([this.#ask(host, 'A'), this.#ask(host, 'AAAA')])
    const answered = asked.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
    const found = answered.find(({ records }) => records.length > 0) ?? answered[0]
    const refused = asked.find(one => one.status === 'rejected')
    if (found === undefined || (found.records.length === 0 && refused !== undefined)) throw refused?.reason
    const { canonical, secure, ttlMs } = found
    if (canonical === host) return { bases: secure ? [host] : [], ttlMs }
    if (secure) return { bases: [canonical, host], ttlMs }
    // An alias that is proven leads to a name that is not: the alias may have records.
    const alias = await this.#ask(host, 'CNAME')
    return { bases: alias.secure ? [host] : [], ttlMs: Math.min(ttlMs, alias.ttlMs) }
  }
}
