// How many sessions an account has at all nodes together: counted at the node that has the account, which the others tell how many
// they have.
//
// Promises: with every node there, no account has more sessions than it may, wherever they begin at once. What is told is a sum and
// never a difference, with a number by which an older one is known, so it may be told again: when the account goes to another
// node, and when the one that has it forgot. Sessions of a node that is gone count no more. Until a node that has just taken an account over
// was told, and where the node that has it does not answer, each goes by what it knows.

import { type Places, SessionPlaces, tooManySessions } from '#actors/auth/session-places.ts'
import { after, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Leases } from '#store/cluster/leases.ts'
import { shardOf } from '#store/cluster/shards.ts'
import type { Peer } from './line.ts'
import type { Entering, Taken } from './protocol.ts'

export interface SharedPlacesOf {
  readonly leases: Pick<Leases, 'heldTermOf' | 'turnOf'>
  /** The node that has a shard; undefined where that is this one, or nobody. */
  readonly ownerOf: (shard: number) => Peer | undefined
  readonly enter: (peer: Peer, entering: Entering) => Promise<boolean>
  /** Resolves to accounts that are not there. */
  readonly tell: (peer: Peer, taken: readonly Taken[]) => Promise<readonly string[]>
  readonly ask: (peer: Peer, user: string) => Promise<number>
}

export class SharedPlaces implements Places {
  readonly #of: SharedPlacesOf
  readonly #own = new SessionPlaces()
  /** Process of another node -> account that is here -> what it said last. */
  readonly #theirs = new Map<string, Map<string, { readonly taken: number; readonly number: number }>>()
  /** Accounts of which another node is still to be told. */
  readonly #untold = new Set<string>()
  /** Shard -> its turn when whoever has it was last told. */
  readonly #turns = new Map<number, number>()
  #number = 0
  #timer: Timer | undefined
  #closed = false

  constructor(of: SharedPlacesOf) {
    this.#of = of
  }

  async count(user: string): Promise<number> {
    const peer = this.#homeOf(user)
    if (peer === undefined) return this.counted(user)
    return await this.#of.ask(peer, user).catch(() => this.#own.count(user))
  }

  async enter(user: string, max: number): Promise<void> {
    // It counts while it is asked about: who is refused leaves again.
    const taken = this.#own.take(user)
    const peer = this.#homeOf(user)
    let fits = (peer === undefined ? this.counted(user) : taken) <= max
    if (fits && peer !== undefined) {
      this.#number += 1
      fits = await this.#of.enter(peer, { user, taken, number: this.#number, max }).catch(() => {
        this.#tellLater(user)
        return true
      })
    }
    if (fits) return
    this.left(user)
    throw tooManySessions()
  }

  left(user: string): void {
    this.#own.left(user)
    if (this.#homeOf(user) !== undefined) this.#tellLater(user)
  }

  /** Sessions of an account, as far as is known here. */
  counted(user: string): number {
    let taken = this.#own.count(user)
    for (const theirs of this.#theirs.values()) taken += theirs.get(user)?.taken ?? 0
    return taken
  }

  /** A session of an account that is here begins at another node; false where that is one too many. */
  entering(peer: Peer, { user, taken, number, max }: Entering): boolean {
    // Where it went, whoever has it now is told when that is heard of.
    if (this.#of.leases.heldTermOf(shardOf(user)) === undefined) return true
    const others = this.counted(user) - (this.#theirs.get(peer.incarnation)?.get(user)?.taken ?? 0)
    if (others + taken > max) return false
    this.#note(peer, [user, taken, number])
    return true
  }

  /** Another node has so many sessions of accounts. @returns those that are not here */
  told(peer: Peer, all: readonly Taken[]): string[] {
    const elsewhere: string[] = []
    for (const one of all) {
      if (this.#of.leases.heldTermOf(shardOf(one[0])) === undefined) elsewhere.push(one[0])
      else this.#note(peer, one)
    }
    return elsewhere
  }

  /** Leases moved: whoever has an account now is told, and what is known of those that went away is not believed any more. */
  moved(): void {
    const { leases } = this.#of
    for (const theirs of this.#theirs.values()) {
      for (const user of theirs.keys()) if (leases.heldTermOf(shardOf(user)) === undefined) theirs.delete(user)
    }
    const turned = new Set<number>()
    for (const user of this.#own.users) {
      const shard = shardOf(user)
      if (leases.turnOf(shard) !== this.#turns.get(shard)) turned.add(shard)
      if (turned.has(shard)) this.#tellLater(user)
    }
    for (const shard of turned) this.#turns.set(shard, leases.turnOf(shard))
  }

  /** Another node may have forgotten what it was told. */
  forgotten(peer: Peer): void {
    for (const user of this.#own.users) if (this.#homeOf(user)?.num === peer.num) this.#tellLater(user)
  }

  /** A process of a node is gone, and its sessions with it. @returns whether it had told of any */
  gone({ incarnation }: Peer): boolean {
    return this.#theirs.delete(incarnation)
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  #homeOf(user: string): Peer | undefined {
    return this.#of.ownerOf(shardOf(user))
  }

  #note({ incarnation }: Peer, [user, taken, number]: Taken): void {
    const theirs = this.#theirs.get(incarnation) ?? new Map<string, { taken: number; number: number }>()
    this.#theirs.set(incarnation, theirs)
    if ((theirs.get(user)?.number ?? 0) > number) return
    if (taken > 0) theirs.set(user, { taken, number })
    else theirs.delete(user)
  }

  #tellLater(user: string, ms: number = limits.cluster.countsMs): void {
    if (this.#closed) return
    this.#untold.add(user)
    this.#timer ??= after(ms, () => {
      this.#timer = undefined
      this.#tell()
    })
  }

  #tell(): void {
    const peers = new Map<number, { readonly peer: Peer; readonly users: string[] }>()
    for (const user of this.#untold) {
      const peer = this.#homeOf(user)
      if (peer === undefined) continue
      const group = peers.get(peer.num) ?? { peer, users: [] }
      peers.set(peer.num, group)
      group.users.push(user)
    }
    // Of an account that is here nobody is told, and of one that nobody has its next node is, when it has it.
    this.#untold.clear()
    for (const { peer, users } of peers.values()) {
      for (let at = 0; at < users.length; at += limits.cluster.countsMax) {
        void this.#tellOf(peer, users.slice(at, at + limits.cluster.countsMax))
      }
    }
  }

  async #tellOf(peer: Peer, users: readonly string[]): Promise<void> {
    this.#number += 1
    const all = users.map((user): Taken => [user, this.#own.count(user), this.#number])
    const elsewhere = await this.#of.tell(peer, all).catch(() => users)
    for (const user of elsewhere) this.#tellLater(user, limits.cluster.beatMs)
  }
}
