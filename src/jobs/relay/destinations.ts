// What is sent next: due targets, destination by destination, so that one domain with ten thousand messages or a host that
// hangs holds up nobody else.
//
// A destination is a domain, a relay or the origin of a URL. It has few transactions at once. When none of its hosts can be
// reached it rests, longer each time, and is then tried with one message. Claims are on disk before `claim` resolves.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Settings } from '#store/folder/settings.ts'
import {
  findOutbound,
  listTargets,
  type Outbound,
  outboundClaim,
  type Target,
  targetState,
} from '#store/sending/outbound.ts'
import {
  destinationsAfter,
  dueOfDestination,
  dueOfMessage,
  dueTargets,
  nextOfDestination,
  nextTargetDue,
} from '#store/sending/outbound-waiting.ts'
import type { Term } from '../loop.ts'
import { retryWaits } from '../returned/waits.ts'

/** Targets of one message that go out in one transaction. */
export interface RelayItem {
  readonly message: Outbound
  readonly targets: readonly Target[]
  readonly destination: string
}

interface Destination {
  inFlight: number
  /** Transactions at once: fewer after temporary refusals, one more with each message that is taken. */
  room: number
  /** Times in a row that no host was reached. */
  failures: number
  restUntil: number
}

export interface DestinationsOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly settings: Settings
  readonly relay: string
  /** Where nothing leaves the service: which destinations and targets are of this house. */
  readonly here?: Here | undefined
}

export interface Here {
  destination(name: string): Promise<boolean>
  target(target: Target): Promise<boolean>
}

const firstPage = 64
const relayDestination = 'relay'
const restsMax = 6

/** Transactions at once that a destination may have. */
function roomOf(name: string): number {
  return name === relayDestination ? 2 * limits.outbound.destinationInFlightMax : limits.outbound.destinationInFlightMax
}

function newDestination(name: string): Destination {
  return { inFlight: 0, failures: 0, restUntil: 0, room: roomOf(name) }
}

async function only(here: Here, targets: readonly Target[]): Promise<Target[]> {
  const found: Target[] = []
  for (const target of targets) if (await here.target(target)) found.push(target)
  return found
}

export class Destinations {
  readonly #options: DestinationsOptions
  /** Destinations with something in flight or a memory of failure. */
  readonly #destinations = new Map<string, Destination>()
  #cursor = ''
  #blocked = false

  constructor(options: DestinationsOptions) {
    this.#options = options
  }

  /** At most `room` transactions whose destinations have room, claimed. */
  async claim(room: number, at: number, under: Term): Promise<RelayItem[]> {
    const picked = new Map<string, { message: number; destination: string }>()
    const taken = new Map<string, number>()
    this.#blocked = false
    const { here } = this.#options
    if (here !== undefined) await this.#local(here, room, at, picked, taken)
    else await this.#anywhere(room, at, picked, taken)
    if (picked.size === 0) return []
    const items = await this.#gather([...picked.values()], at)
    return this.#take(items, at, under)
  }

  async #anywhere(
    room: number,
    at: number,
    picked: Map<string, { message: number; destination: string }>,
    taken: Map<string, number>,
  ): Promise<void> {
    for (const page of [firstPage, limits.outbound.aheadMax]) {
      const due = await dueTargets(this.#options.read, at, page)
      this.#pick(due, room, at, picked, taken)
      if (picked.size >= room || due.length < page) break
      this.#blocked = true
    }
    if (this.#blocked && picked.size < room) await this.#walk(room, at, picked, taken)
  }

  async #local(
    here: Here,
    room: number,
    at: number,
    picked: Map<string, { message: number; destination: string }>,
    taken: Map<string, number>,
  ): Promise<void> {
    for await (const name of this.#localDestinations(here)) {
      const due = await dueOfDestination(this.#options.read, name, at, limits.outbound.aheadMax)
      this.#pick(await only(here, due), room, at, picked, taken)
      if (picked.size >= room) return
    }
  }

  async *#localDestinations(here: Here): AsyncGenerator<string> {
    const { read } = this.#options
    const { destinationsMax } = limits.outbound
    let after = ''
    for (let more = true; more; ) {
      const names = await destinationsAfter(read, after, destinationsMax)
      for (const name of names) if (await here.destination(name)) yield name
      after = names.at(-1) ?? ''
      more = names.length === destinationsMax
    }
  }

  /** When to look again: not at once where everything that is due waits for its destination. */
  async next(): Promise<number | null> {
    const { read, here } = this.#options
    const at = now()
    if (here !== undefined) return this.#nextHere(here, at)
    const due = await nextTargetDue(read)
    if (due === null || due > at) return due
    const rests = [...this.#destinations.values()].map(({ restUntil }) => restUntil).filter(until => until > at)
    return Math.min(at + limits.loop.retryMs, ...rests)
  }

  /** What is due already and was not taken has no recipient here; there may be one later. */
  async #nextHere(here: Here, at: number): Promise<number | null> {
    const moments: number[] = []
    for await (const name of this.#localDestinations(here)) {
      const due = await nextOfDestination(this.#options.read, name)
      if (due !== null) moments.push(due > at ? due : at + limits.outbound.restMs)
    }
    return moments.length === 0 ? null : Math.min(...moments)
  }

  /** Rests go on as long as they would have, now that the clock was put back by `ms`. */
  clockBack(ms: number): void {
    for (const destination of this.#destinations.values()) destination.restUntil -= ms
  }

  /** A transaction of the destination is over. */
  release(name: string): void {
    const destination = this.#destinations.get(name)
    if (destination === undefined) return
    destination.inFlight -= 1
    if (destination.inFlight <= 0 && destination.failures === 0 && destination.room >= roomOf(name))
      this.#destinations.delete(name)
  }

  /** Destinations of which something is remembered. */
  get size(): number {
    return this.#destinations.size
  }

  /** Destinations with fewer transactions at once than they may have. */
  get slowed(): number {
    return [...this.#destinations].filter(([name, { room }]) => room < roomOf(name)).length
  }

  /** What came of a transaction: taken, put off by who answered (4xx), another answer, or none. */
  report(name: string, how: 'taken' | 'busy' | 'answered' | 'unreached'): void {
    const destination = this.#destinations.get(name) ?? newDestination(name)
    if (how !== 'unreached') {
      destination.failures = 0
      destination.restUntil = 0
      if (how === 'busy') destination.room = Math.max(1, Math.floor(destination.room / 2))
      if (how === 'taken') destination.room = Math.min(roomOf(name), destination.room + 1)
      if (destination.inFlight <= 0 && destination.room >= roomOf(name)) this.#destinations.delete(name)
      else this.#keep(name, destination)
      return
    }
    const at = now()
    // Several transactions that fail together are one failure.
    if (destination.restUntil > at) return
    destination.failures += 1
    // No longer than a first retry: a short schedule means that somebody wants to know soon.
    const longest = retryWaits(this.#options.settings.get('const:sender:defer_times'))[0] ?? limits.outbound.restMs
    destination.restUntil =
      at + Math.min(longest, limits.outbound.restMs * 2 ** Math.min(destination.failures - 1, restsMax))
    this.#destinations.set(name, destination)
  }

  /** What was learned of a destination is forgotten where there are too many. */
  #keep(name: string, destination: Destination): void {
    this.#destinations.set(name, destination)
    if (this.#destinations.size <= limits.outbound.destinationsKeptMax) return
    for (const [oldest, { inFlight }] of this.#destinations) {
      if (inFlight > 0 || oldest === name) continue
      this.#destinations.delete(oldest)
      return
    }
  }

  #pick(
    due: readonly Target[],
    room: number,
    at: number,
    picked: Map<string, { message: number; destination: string }>,
    taken: Map<string, number>,
  ): void {
    for (const target of due) {
      if (picked.size >= room) return
      const destination = this.#destinationOf(target)
      const key = `${target.message} ${destination}`
      if (picked.has(key)) continue
      const used = taken.get(destination) ?? 0
      if (used >= this.#free(destination, at)) continue
      taken.set(destination, used + 1)
      picked.set(key, { message: target.message, destination })
    }
  }

  /** Goes round the destinations from where it stopped the last time. */
  async #walk(
    room: number,
    at: number,
    picked: Map<string, { message: number; destination: string }>,
    taken: Map<string, number>,
  ): Promise<void> {
    const names = await destinationsAfter(this.#options.read, this.#cursor, limits.outbound.destinationsMax)
    this.#cursor = names.length < limits.outbound.destinationsMax ? '' : (names.at(-1) ?? '')
    for (const name of names) {
      if (picked.size >= room) return
      const free = this.#free(name, at) - (taken.get(name) ?? 0)
      if (free > 0) this.#pick(await dueOfDestination(this.#options.read, name, at, free), room, at, picked, taken)
    }
  }

  #destinationOf({ kind, destination }: Target): string {
    // A relay of the account's own goes before that of the service.
    const own = kind !== 'mail' || destination.includes('://')
    return own || this.#options.relay === '' ? destination : relayDestination
  }

  #free(name: string, at: number): number {
    const destination = this.#destinations.get(name)
    if (destination === undefined) return roomOf(name)
    if (destination.restUntil > at) return 0
    return (destination.failures > 0 ? 1 : destination.room) - destination.inFlight
  }

  async #gather(picked: readonly { message: number; destination: string }[], at: number): Promise<RelayItem[]> {
    const { read, here } = this.#options
    const items: RelayItem[] = []
    for (const { message: num, destination } of picked) {
      const message = await findOutbound(read, num)
      if (message === undefined || message.body === null) continue
      const all = await dueOfMessage(read, num, at)
      const due = here === undefined ? all : await only(here, all)
      const targets = due
        .filter(target => this.#destinationOf(target) === destination)
        .slice(0, limits.outbound.recipientsMax)
      if (targets.length > 0) items.push({ message, targets, destination })
    }
    return items
  }

  /** Puts the attempts on disk and leaves out what was cancelled meanwhile. */
  async #take(items: readonly RelayItem[], at: number, under: Term): Promise<RelayItem[]> {
    const { read, writer, settings } = this.#options
    const waits = retryWaits(settings.get('const:sender:defer_times'))
    const claims = items.map(({ message, targets }) => {
      const wait = waits[Math.min(targets[0]?.attempts ?? 0, waits.length - 1)] ?? limits.outbound.restMs
      return { message: message.num, seqs: targets.map(({ seq }) => seq), due: at + wait }
    })
    await writer.write(outboundClaim, { claims, at }, under)
    const claimed: RelayItem[] = []
    for (const { message, targets, destination } of items) {
      const seqs = new Set(targets.map(({ seq }) => seq))
      const now_ = await listTargets(read, message.num)
      const mine = now_.filter(
        ({ seq, state, tried }) => seqs.has(seq) && state === targetState.sending && tried === at,
      )
      if (mine.length === 0) continue
      const known = this.#destinations.get(destination) ?? newDestination(destination)
      known.inFlight += 1
      this.#destinations.set(destination, known)
      claimed.push({ message, targets: mine, destination })
    }
    return claimed
  }
}
