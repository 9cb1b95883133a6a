// Who is let in at the door of a stranger's mail: how much comes from one network, how many wrong names it tries, and whether
// mail that looks suspicious has to come a second time (greylisting, RFC 6647).
//
// Promises: nobody is refused for good here. Counts are of networks (/24, /64, names of the IPv6 ones around that as well), and of domains
// that hosts are named in, and lie in the cache of the data directory, where they are bounded and pass; when they are lost, somebody has
// to come once more. Networks that are no strangers are not asked.

import { createHash } from 'node:crypto'
import { now, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Metrics } from '#lib/metrics.ts'
import { networksOf } from '#lib/network.ts'
import type { Count, Counters } from '#store/folder/counters.ts'

export interface DoorOptions {
  readonly counters: Counters
  /** Whether mail of suspicious hosts has to come twice. */
  readonly greylist: boolean
  /** Messages of one network in an hour; 0: any number. */
  readonly messagesMax: number
  /** Messages of all hosts whose names are below one registered domain, in an hour; 0: any number. */
  readonly organizationMessagesMax: number
  readonly metrics: Metrics
}

/** What of a message counts for the door. */
export interface AtDoor {
  readonly ip: string
  /** The registered domain of its name. */
  readonly organization?: string | undefined
  readonly from: string
  readonly to: readonly string[]
  /** Points that were found against its host. */
  readonly suspicion: number
}

export class Door {
  readonly #options: DoorOptions
  /** Networks of which little is known against them, and until when they are not asked for again. */
  readonly #quiet = new Map<string, number>()

  constructor(options: DoorOptions) {
    this.#options = options
    options.metrics.remembers('quiet-networks', () => this.#quiet.size)
  }

  /** Before a message of this host. @throws Fault NetworkBusy, TooManyUnknown */
  async enter(ip: string): Promise<void> {
    const { counters, messagesMax } = this.#options
    const networks = networksAround(ip)
    const [network] = networks
    if (network === undefined) return
    if ((this.#quiet.get(network) ?? 0) <= now()) {
      const counts = await Promise.all(networks.map(one => counters.counted('unknown recipients', one)))
      if (await this.#isBeyond(networks, counts, 0)) return this.#refuse('unknown', 'TooManyUnknown')
      this.#keepQuiet(network, most(counts))
    }
    if (messagesMax === 0) return
    const { allowed } = await counters.spend('network messages', network, limits.time.hour, messagesMax)
    if (!allowed) return this.#refuse('messages', 'NetworkBusy')
  }

  /** A network that brings one message after the other is looked up once in a while, unless it is near its bound. */
  #keepQuiet(network: string, used: number): void {
    const { networkUnknownMax, networkQuietMs, networksQuietMax } = limits.smtp
    this.#quiet.delete(network)
    if (used * 2 >= networkUnknownMax) return
    this.#quiet.set(network, now() + networkQuietMs)
    const [oldest] = this.#quiet.keys()
    if (this.#quiet.size > networksQuietMax && oldest !== undefined) this.#quiet.delete(oldest)
  }

  /** After a wrong name: whoever tries many waits longer for each answer. @throws Fault TooManyUnknown */
  async unknown(ip: string, errors: number): Promise<void> {
    const networks = networksAround(ip)
    if (networks.length === 0) return
    const { counters } = this.#options
    const { hour } = limits.time
    const counts = await Promise.all(networks.map(one => counters.count('unknown recipients', one, hour)))
    const { tarpitFrom, tarpitMs, tarpitMaxMs } = limits.smtp
    const over = Math.max(errors, most(counts) / 2) - tarpitFrom
    if (over >= 0) await sleep(Math.min(tarpitMaxMs, tarpitMs * (over + 1)))
    if (await this.#isBeyond(networks, counts, 1)) this.#refuse('unknown', 'TooManyUnknown')
  }

  /**
   * Whether one of these networks tried its number of wrong names and so many more. A name that mail was taken for stands for a wrong one:
   * who brings the mail of very many people brings what some of them write wrong.
   */
  async #isBeyond(networks: readonly string[], counts: readonly Count[], more: 0 | 1): Promise<boolean> {
    for (const [at, network] of networks.entries()) {
      const over = (counts[at]?.used ?? 0) - unknownMax(at) - more
      if (over >= 0 && (await this.#options.counters.counted('known recipients', network)).used <= over) return true
    }
    return false
  }

  /** After a message was taken for so many names, which is counted where wrong ones are near their bound. */
  async took(ip: string, names: number): Promise<void> {
    const { counters } = this.#options
    const networks = networksAround(ip)
    if (networks.some(one => (this.#quiet.get(one) ?? 0) > now())) return
    for (const [at, network] of networks.entries()) {
      const { used } = await counters.counted('unknown recipients', network)
      if (used * 2 >= unknownMax(at)) await counters.count('known recipients', network, limits.time.hour, names)
    }
  }

  /** When a message has come. @throws Fault NetworkBusy; Greylisted where it has to come again */
  async suspect({ ip, organization, from, to, suspicion }: AtDoor): Promise<void> {
    const { counters, greylist, organizationMessagesMax: most } = this.#options
    if (organization !== undefined && most > 0) {
      const { allowed } = await counters.spend('organization messages', organization, limits.time.hour, most)
      if (!allowed) this.#refuse('messages', 'NetworkBusy')
    }
    const [network = ''] = networksAround(ip)
    const { greylistFrom, greylistMs, greylistWindowMs, greylistKeptMs } = limits.smtp
    if (!greylist || network === '' || suspicion < greylistFrom) return
    const pair = digest(network, from.slice(from.lastIndexOf('@') + 1).toLowerCase())
    if ((await counters.counted('greylist passed', pair)).used > 0) return
    const { used, ttlMs } = await counters.count('greylist', digest(network, from, ...to.toSorted()), greylistWindowMs)
    if (used > 1 && greylistWindowMs - ttlMs >= greylistMs) {
      await counters.count('greylist passed', pair, greylistKeptMs)
      return
    }
    this.#refuse('greylisted', 'Greylisted')
  }

  #refuse(reason: 'unknown' | 'messages' | 'greylisted', code: 'TooManyUnknown' | 'NetworkBusy' | 'Greylisted'): never {
    this.#options.metrics.turnedAway.labels(reason).inc()
    throw new Fault(code)
  }
}

/** The /24 of an IPv4 address; of IPv6 the /64, and what is around it. */
function networksAround(ip: string): readonly string[] {
  const networks = networksOf(ip)
  const four = networks.find(one => one.endsWith('/24'))
  return four === undefined ? networks : [four]
}

/** Wrong names of a network: of the smallest around an address, of the next, of the largest. */
function unknownMax(at: number): number {
  return limits.smtp.networkUnknownMax * (limits.net.networkSteps[at] ?? 1)
}

/** What has been counted, as if it were of the smallest. */
function most(counts: readonly Count[]): number {
  return Math.max(...counts.map(({ used }, at) => (used * limits.smtp.networkUnknownMax) / unknownMax(at)))
}

function digest(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 22)
}
