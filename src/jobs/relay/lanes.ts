// What is sent next: due targets, lane by lane, so that one domain with ten thousand messages or a host that hangs holds
// up nobody else.
//
// A lane is a domain, a relay or the origin of a URL. It has few transactions at once. When none of its hosts can be
// reached it rests, longer each time, and is then tried with one message. Claims are on disk before `claim` resolves.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Settings } from '#store/folder/settings.ts'
import {
  dueOfLane,
  dueOfMessage,
  dueTargets,
  findOutbound,
  lanesAfter,
  listTargets,
  nextOfLane,
  nextTargetDue,
  type Outbound,
  outboundClaim,
  type Target,
  targetState,
} from '#store/sending/outbound.ts'
import { retryWaits } from './results.ts'

/** Targets of one message that go out in one transaction. */
export interface RelayItem {
  readonly message: Outbound
  readonly targets: readonly Target[]
  readonly lane: string
}

interface Lane {
  inFlight: number
  /** Transactions at once: fewer after temporary refusals, one more with each message that is taken. */
  room: number
  /** Times in a row that no host was reached. */
  failures: number
  restUntil: number
}

export interface LaneOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly settings: Settings
  readonly relay: string
  /** Where nothing leaves the service: which lanes and targets are of this house. */
  readonly here?: Here | undefined
}

export interface Here {
  lane(name: string): Promise<boolean>
  target(target: Target): Promise<boolean>
}

const firstPage = 64
const relayLane = 'relay'
const restsMax = 6

/** Transactions at once that a lane may have. */
function roomOf(name: string): number {
  return name === relayLane ? 2 * limits.outbound.laneInFlightMax : limits.outbound.laneInFlightMax
}

function newLane(name: string): Lane {
  return { inFlight: 0, failures: 0, restUntil: 0, room: roomOf(name) }
}

async function only(here: Here, targets: readonly Target[]): Promise<Target[]> {
  const found: Target[] = []
  for (const target of targets) if (await here.target(target)) found.push(target)
  return found
}

export class RelayLanes {
  readonly #options: LaneOptions
  /** Lanes with something in flight or a memory of failure. */
  readonly #lanes = new Map<string, Lane>()
  #cursor = ''
  #blocked = false

  constructor(options: LaneOptions) {
    this.#options = options
  }

  /** At most `room` transactions whose lanes have room, claimed. */
  async claim(room: number, at: number): Promise<RelayItem[]> {
    const picked = new Map<string, { message: number; lane: string }>()
    const taken = new Map<string, number>()
    this.#blocked = false
    const { here } = this.#options
    if (here !== undefined) await this.#local(here, room, at, picked, taken)
    else await this.#anywhere(room, at, picked, taken)
    if (picked.size === 0) return []
    const items = await this.#gather([...picked.values()], at)
    return this.#take(items, at)
  }

  async #anywhere(
    room: number,
    at: number,
    picked: Map<string, { message: number; lane: string }>,
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
    picked: Map<string, { message: number; lane: string }>,
    taken: Map<string, number>,
  ): Promise<void> {
    for await (const name of this.#localLanes(here)) {
      const due = await dueOfLane(this.#options.read, name, at, limits.outbound.aheadMax)
      this.#pick(await only(here, due), room, at, picked, taken)
      if (picked.size >= room) return
    }
  }

  async *#localLanes(here: Here): AsyncGenerator<string> {
    const { read } = this.#options
    const { lanesMax } = limits.outbound
    let after = ''
    for (let more = true; more; ) {
      const names = await lanesAfter(read, after, lanesMax)
      for (const name of names) if (await here.lane(name)) yield name
      after = names.at(-1) ?? ''
      more = names.length === lanesMax
    }
  }

  /** When to look again: not at once where everything that is due waits for its lane. */
  async next(): Promise<number | null> {
    const { read, here } = this.#options
    const at = now()
    if (here !== undefined) return this.#nextHere(here, at)
    const due = await nextTargetDue(read)
    if (due === null || due > at) return due
    const rests = [...this.#lanes.values()].map(({ restUntil }) => restUntil).filter(until => until > at)
    return Math.min(at + limits.loop.retryMs, ...rests)
  }

  /** What is due already and was not taken has no recipient here; there may be one later. */
  async #nextHere(here: Here, at: number): Promise<number | null> {
    const moments: number[] = []
    for await (const name of this.#localLanes(here)) {
      const due = await nextOfLane(this.#options.read, name)
      if (due !== null) moments.push(due > at ? due : at + limits.outbound.restMs)
    }
    return moments.length === 0 ? null : Math.min(...moments)
  }

  /** A transaction of the lane is over. */
  release(name: string): void {
    const lane = this.#lanes.get(name)
    if (lane === undefined) return
    lane.inFlight -= 1
    if (lane.inFlight <= 0 && lane.failures === 0 && lane.room >= roomOf(name)) this.#lanes.delete(name)
  }

  /** Lanes with fewer transactions at once than they may have. */
  get slowed(): number {
    return [...this.#lanes].filter(([name, { room }]) => room < roomOf(name)).length
  }

  /** What came of a transaction: taken, put off by who answered (4xx), another answer, or none. */
  report(name: string, how: 'taken' | 'busy' | 'answered' | 'unreached'): void {
    const lane = this.#lanes.get(name) ?? newLane(name)
    if (how !== 'unreached') {
      lane.failures = 0
      lane.restUntil = 0
      if (how === 'busy') lane.room = Math.max(1, Math.floor(lane.room / 2))
      if (how === 'taken') lane.room = Math.min(roomOf(name), lane.room + 1)
      if (lane.inFlight <= 0 && lane.room >= roomOf(name)) this.#lanes.delete(name)
      else this.#keep(name, lane)
      return
    }
    const at = now()
    // Several transactions that fail together are one failure.
    if (lane.restUntil > at) return
    lane.failures += 1
    // No longer than a first retry: a short schedule means that somebody wants to know soon.
    const longest = retryWaits(this.#options.settings.get('const:sender:defer_times'))[0] ?? limits.outbound.restMs
    lane.restUntil = at + Math.min(longest, limits.outbound.restMs * 2 ** Math.min(lane.failures - 1, restsMax))
    this.#lanes.set(name, lane)
  }

  /** What was learned of a lane is forgotten where there are too many. */
  #keep(name: string, lane: Lane): void {
    this.#lanes.set(name, lane)
    if (this.#lanes.size <= limits.outbound.lanesKeptMax) return
    for (const [oldest, { inFlight }] of this.#lanes) {
      if (inFlight > 0 || oldest === name) continue
      this.#lanes.delete(oldest)
      return
    }
  }

  #pick(
    due: readonly Target[],
    room: number,
    at: number,
    picked: Map<string, { message: number; lane: string }>,
    taken: Map<string, number>,
  ): void {
    for (const target of due) {
      if (picked.size >= room) return
      const lane = this.#laneOf(target)
      const key = `${target.message} ${lane}`
      if (picked.has(key)) continue
      const used = taken.get(lane) ?? 0
      if (used >= this.#free(lane, at)) continue
      taken.set(lane, used + 1)
      picked.set(key, { message: target.message, lane })
    }
  }

  /** Goes round the lanes from where it stopped the last time. */
  async #walk(
    room: number,
    at: number,
    picked: Map<string, { message: number; lane: string }>,
    taken: Map<string, number>,
  ): Promise<void> {
    const names = await lanesAfter(this.#options.read, this.#cursor, limits.outbound.lanesMax)
    this.#cursor = names.length < limits.outbound.lanesMax ? '' : (names.at(-1) ?? '')
    for (const name of names) {
      if (picked.size >= room) return
      const free = this.#free(name, at) - (taken.get(name) ?? 0)
      if (free > 0) this.#pick(await dueOfLane(this.#options.read, name, at, free), room, at, picked, taken)
    }
  }

  #laneOf({ kind, lane }: Target): string {
    return kind === 'mail' && this.#options.relay !== '' ? relayLane : lane
  }

  #free(name: string, at: number): number {
    const lane = this.#lanes.get(name)
    if (lane === undefined) return roomOf(name)
    if (lane.restUntil > at) return 0
    return (lane.failures > 0 ? 1 : lane.room) - lane.inFlight
  }

  async #gather(picked: readonly { message: number; lane: string }[], at: number): Promise<RelayItem[]> {
    const { read, here } = this.#options
    const items: RelayItem[] = []
    for (const { message: num, lane } of picked) {
      const message = await findOutbound(read, num)
      if (message === undefined || message.body === null) continue
      const all = await dueOfMessage(read, num, at)
      const due = here === undefined ? all : await only(here, all)
      const targets = due.filter(target => this.#laneOf(target) === lane).slice(0, limits.outbound.recipientsMax)
      if (targets.length > 0) items.push({ message, targets, lane })
    }
    return items
  }

  /** Puts the attempts on disk and leaves out what was cancelled meanwhile. */
  async #take(items: readonly RelayItem[], at: number): Promise<RelayItem[]> {
    const { read, writer, settings } = this.#options
    const waits = retryWaits(settings.get('const:sender:defer_times'))
    const claims = items.map(({ message, targets }) => {
      const wait = waits[Math.min(targets[0]?.attempts ?? 0, waits.length - 1)] ?? limits.outbound.restMs
      return { message: message.num, seqs: targets.map(({ seq }) => seq), due: at + wait }
    })
    await writer.write(outboundClaim, { claims, at })
    const claimed: RelayItem[] = []
    for (const { message, targets, lane } of items) {
      const seqs = new Set(targets.map(({ seq }) => seq))
      const now_ = await listTargets(read, message.num)
      const mine = now_.filter(
        ({ seq, state, tried }) => seqs.has(seq) && state === targetState.sending && tried === at,
      )
      if (mine.length === 0) continue
      const known = this.#lanes.get(lane) ?? newLane(lane)
      known.inFlight += 1
      this.#lanes.set(lane, known)
      claimed.push({ message, targets: mine, lane })
    }
    return claimed
  }
}
