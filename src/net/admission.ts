// Who may connect: one count of the connections of all listeners, and who has to go when there are too many.
//
// Whoever has not shown that he belongs here is a stranger. Strangers share half of what there is, of a listener and of the
// whole; where that is full the newcomer is let in and the longest idle of them goes, first of networks that have many, so
// that a thousand networks that only hold connections cannot keep anybody out; who is in the middle of something is spared for a
// minute, since a message of which a byte comes now and then holds a place, too. A connection that logged in is never sent
// away for another; one from a network that somebody logged in from, one that handed in a message and one through a proxy
// goes only after all strangers. Networks are bounded, too: an address and those around it (lib/network.ts).

import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { networksOf } from '#lib/network.ts'
import { Disconnected } from './disconnected.ts'

export interface AdmissionOptions {
  /** Connections of all listeners together. */
  readonly connectionsMax: number
  /** Whether an address is a proxy's, behind which everybody may be: it has no bound of its own. Default: none is. */
  readonly trusted?: (address: string) => boolean
  /** Whether an address is that of a proxy which says who is behind it (proxy-header.ts). Default: none is. */
  readonly announcing?: (address: string) => boolean
}

export interface GateOptions {
  /** Connections of this listener; half of all are the most any has. */
  readonly connectionsMax: number
  /** Connections from one network; the networks around it have some times as many, its strangers a part. */
  readonly perNetworkMax: number
  /** Connections that are open and hold no ticket. */
  readonly others?: () => number
}

/** The other side of a ticket. */
export interface Peer {
  /** Whether the other side is waited for with nothing under way (`idle`), or in the middle of something. */
  readonly waiting: 'idle' | 'midway' | false
  /** Room is needed: ends the connection at once. */
  displace(): void
}

/** The connections of one service. */
export class Admission {
  readonly connectionsMax: number
  readonly #trusted: (address: string) => boolean
  readonly #announcing: (address: string) => boolean
  readonly #gates = new Set<Gate>()
  /** Network that somebody logged in from -> when last (monotonic); the longest ago first. */
  readonly #known = new Map<string, number>()

  constructor({ connectionsMax, trusted = () => false, announcing = () => false }: AdmissionOptions) {
    this.connectionsMax = connectionsMax
    this.#trusted = trusted
    this.#announcing = announcing
  }

  /** The part of one listener. */
  gate(options: GateOptions): Gate {
    const gate = new Gate(this, options)
    this.#gates.add(gate)
    return gate
  }

  /** A listener has closed. */
  drop(gate: Gate): void {
    this.#gates.delete(gate)
  }

  /** Open connections. */
  get size(): number {
    let size = 0
    for (const gate of this.#gates) size += gate.size
    return size
  }

  get strangers(): number {
    let strangers = 0
    for (const gate of this.#gates) strangers += gate.strangers
    return strangers
  }

  trusts(address: string): boolean {
    return this.#trusted(address)
  }

  /** Whether whoever connects from there says first who is behind him. */
  announces(address: string): boolean {
    return this.#announcing(address)
  }

  /** Somebody of that network logged in. */
  remember(network: string): void {
    if (network === '') return
    this.#known.delete(network)
    this.#known.set(network, monotonic())
    if (this.#known.size <= limits.net.knownMax) return
    const [oldest] = this.#known.keys()
    if (oldest !== undefined) this.#known.delete(oldest)
  }

  knows(network: string): boolean {
    const since = this.#known.get(network)
    return since !== undefined && monotonic() - since < limits.net.knownMs
  }

  /** Sends a connection away, at the listener that has the most to send. False where nobody can go. */
  displace(favoured: boolean): boolean {
    const gates = [...this.#gates].sort((a, b) => b.strangers - a.strangers)
    return gates.some(gate => gate.displace(false)) || (favoured && gates.some(gate => gate.displace(true)))
  }
}

/** The connections of one listener. */
export class Gate {
  readonly connectionsMax: number
  readonly #admission: Admission
  readonly #perNetworkMax: number
  readonly #others: () => number
  #tickets = 0
  /** Network -> its connections, and those of them that are strangers. */
  readonly #networks = new Map<string, { open: number; strange: number }>()
  /** Strangers by the network around them; who came first is first. */
  readonly #strangers = new Map<string, Set<Ticket>>()
  #strangerCount = 0
  readonly #favoured = new Set<Ticket>()

  constructor(admission: Admission, { connectionsMax, perNetworkMax, others = () => 0 }: GateOptions) {
    this.#admission = admission
    this.connectionsMax = Math.max(
      1,
      Math.min(connectionsMax, Math.ceil(admission.connectionsMax * limits.net.listenerShare)),
    )
    this.#perNetworkMax = perNetworkMax
    this.#others = others
  }

  get size(): number {
    return this.#tickets + this.#others()
  }

  get strangers(): number {
    return this.#strangerCount
  }

  /** Whether more than half is taken. */
  get pressed(): boolean {
    return this.size > this.connectionsMax / 2
  }

  /** Counts a connection, making room where that is needed. Undefined where it has to be refused. */
  admit(address: string): Ticket | undefined {
    const admission = this.#admission
    const networks = networksOf(address)
    const trusted = admission.trusts(address)
    const favoured = trusted || admission.knows(networks[0] ?? '')
    if (!trusted && !this.#fits(networks, favoured)) return undefined
    if (!favoured) {
      if (this.#strangerCount >= half(this.connectionsMax) && !this.displace(false)) return undefined
      if (admission.strangers >= half(admission.connectionsMax) && !admission.displace(false)) return undefined
    }
    if (this.size >= this.connectionsMax && !this.#makeRoom(favoured)) return undefined
    if (admission.size >= admission.connectionsMax && !admission.displace(favoured)) return undefined
    const ticket = new Ticket(this, trusted ? [] : networks, favoured ? 'favoured' : 'stranger')
    this.count(ticket, 1)
    return ticket
  }

  /** Sends the first that can go; of those who are no strangers only where `favoured`. False where nobody can. */
  displace(favoured: boolean): boolean {
    const victim = favoured ? first(this.#favoured) : this.#choose()
    if (victim === undefined) return false
    victim.displace()
    return true
  }

  /** For tickets. */
  count(ticket: Ticket, step: 1 | -1): void {
    this.#tickets += step
    for (const network of ticket.networks) this.#step(network, 'open', step)
    this.rank(ticket, step)
  }

  /** For tickets: one enters, or leaves, its rank. */
  rank(ticket: Ticket, step: 1 | -1): void {
    if (ticket.rank === 'favoured') {
      if (step === 1) this.#favoured.add(ticket)
      else this.#favoured.delete(ticket)
    }
    if (ticket.rank !== 'stranger') return
    this.#strangerCount += step
    for (const network of ticket.networks) this.#step(network, 'strange', step)
    const { around } = ticket
    const group = this.#strangers.get(around) ?? new Set()
    if (step === 1) this.#strangers.set(around, group.add(ticket))
    else if (group.delete(ticket) && group.size === 0) this.#strangers.delete(around)
  }

  /** For tickets. */
  remember(network: string): void {
    this.#admission.remember(network)
  }

  #makeRoom(favoured: boolean): boolean {
    return this.displace(false) || (favoured && this.displace(true))
  }

  #fits(networks: readonly string[], favoured: boolean): boolean {
    return networks.every((network, level) => {
      const { open, strange } = this.#networks.get(network) ?? { open: 0, strange: 0 }
      const most = this.#perNetworkMax * (limits.net.networkSteps[level] ?? 1)
      return open < most && (favoured || strange < Math.ceil(most * limits.net.strangerShare))
    })
  }

  #step(network: string, of: 'open' | 'strange', step: 1 | -1): void {
    const counts = this.#networks.get(network) ?? { open: 0, strange: 0 }
    counts[of] += step
    if (counts.open === 0 && counts.strange === 0) this.#networks.delete(network)
    else this.#networks.set(network, counts)
  }

  /** Among the networks that have been here longest the one with the most strangers, and of it the first. */
  #choose(): Ticket | undefined {
    let best: { ticket: Ticket; idle: boolean; size: number } | undefined
    let looked = 0
    for (const group of this.#strangers.values()) {
      if (looked++ >= limits.net.groupsLookedAt) break
      const ticket = first(group)
      if (ticket === undefined) continue
      const idle = ticket.waiting === 'idle'
      const better = best === undefined || (idle === best.idle ? group.size > best.size : idle)
      if (better) best = { ticket, idle, size: group.size }
    }
    return best?.ticket
  }
}

/** The place of one connection. */
export class Ticket {
  readonly networks: readonly string[]
  /** What strangers are put together by: the /24, of IPv6 the /48. */
  readonly around: string
  readonly #gate: Gate
  #rank: 'stranger' | 'favoured' | 'proven'
  #peer: Peer | undefined
  #lent = false
  #owing = false
  #displaced = false
  /** When it was let in, or did last what it is for (monotonic). */
  #since = monotonic()
  #released = false

  constructor(gate: Gate, networks: readonly string[], rank: 'stranger' | 'favoured') {
    this.#gate = gate
    this.networks = networks
    this.around = networks[1] ?? networks[0] ?? ''
    this.#rank = rank
  }

  get rank(): 'stranger' | 'favoured' | 'proven' {
    return this.#rank
  }

  get waiting(): Peer['waiting'] {
    const waiting = this.#peer?.waiting ?? false
    if (waiting === false) return this.#lent && this.#peer !== undefined ? 'idle' : false
    return monotonic() - this.#since > limits.net.midwayMs ? 'idle' : waiting
  }

  /** Whether the other side waits for one answer, and for nothing else. */
  get owing(): boolean {
    return this.#owing
  }

  /** Who goes where room is needed; a ticket without one stays. */
  hold(peer: Peer | undefined): void {
    this.#peer = peer
  }

  /**
   * While the other side is made to wait for this it has no more claim to its place than who waits idle.
   *
   * @param owing whether one answer is due to it, in whose place it may be told to go
   * @throws what `task` does; Disconnected where the place went to somebody else meanwhile: nobody hears what comes of it, so nothing may
   */
  async lend<Value>(task: Promise<Value>, owing = false): Promise<Value> {
    this.#lent = true
    this.#owing = owing
    try {
      const value = await task
      if (this.#displaced) throw new Disconnected()
      return value
    } finally {
      this.#lent = false
      this.#owing = false
    }
  }

  /** The connection did what it is for; among those that did, it is the last to go. */
  favour(): void {
    this.#since = monotonic()
    if (this.#rank !== 'proven') this.#move('favoured')
  }

  /** Somebody logged in. */
  prove(): void {
    if (!this.#released) this.#gate.remember(this.networks[0] ?? '')
    this.#move('proven')
  }

  /** The connection is gone. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#gate.count(this, -1)
  }

  displace(): void {
    const peer = this.#peer
    this.#displaced = true
    this.release()
    peer?.displace()
  }

  #move(rank: 'favoured' | 'proven'): void {
    if (this.#released) return
    this.#gate.rank(this, -1)
    this.#rank = rank
    this.#gate.rank(this, 1)
  }
}

/** What a connection does with its ticket. */
export type Place = Pick<Ticket, 'lend' | 'owing' | 'favour' | 'prove' | 'release'>

/** Stands for a ticket where nobody counts. */
export const untold: Place = { lend: task => task, owing: false, favour() {}, prove() {}, release() {} }

function half(count: number): number {
  return Math.ceil(count / 2)
}

/** The first that waits idle, else the first that waits for its peer at all. */
function first(tickets: ReadonlySet<Ticket>): Ticket | undefined {
  let midway: Ticket | undefined
  for (const ticket of tickets) {
    if (ticket.waiting === 'idle') return ticket
    if (ticket.waiting === 'midway') midway ??= ticket
  }
  return midway
}
