// A node's leases: it joins, renews all of them with one row, takes its fair share of shards that nobody serves, gives away what
// it has above that, and hands everything over when it leaves.
//
// Promises: whether a lease ran out is decided by the database's clock (functions.ts); this node believes in its own by a clock
// that only measures how long ago it asked for the renewal, and stops believing before the database does. Whatever it writes
// under a lease that is gone the database refuses (../engine/postgres/writer/functions.ts), so a node that slept may be wrong about
// what it has, but can do nothing with it.

import { after, clockCorrection, correctClock, monotonic, type Timer } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { postgresFault } from '../engine/postgres/session.ts'
import { LeaseConnection, type LeasePlace } from './lease-connection.ts'
import { leaseCount } from './shards.ts'
import { type NodeState, nodes } from './tables.ts'
import type { Tenancy } from './tenancy.ts'

/** Hears of shards that are no longer here, before those that are new. */
export interface LeaseListener {
  lost?(shards: readonly number[]): void
  /** What has to be done before anything new is served. */
  prepare?(): Promise<void>
  gained?(shards: readonly number[]): void
  /** Ends what goes on in shards that are about to be handed over; it is waited for, not for ever. */
  release?(shards: readonly number[]): Promise<void>
  /** Who has what is new: after each change, also of others' shards. */
  moved?(): void
}

export interface LeaseOptions extends LeasePlace {
  readonly log: Log
}

interface Look {
  readonly version: number
  readonly nodes: readonly (Omit<NodeState, 'renewedAt'> & { readonly leftMs: number })[]
  readonly leases: { readonly node: readonly number[]; readonly term: readonly number[] } | null
}

export class Leases implements Tenancy {
  /** Of this node, and of its writer. */
  readonly num: number
  readonly name: string
  /** Of these nodes together, as their database has it: of no others that use the same NATS. */
  readonly cluster: number
  /** There were no tables. */
  readonly made: boolean
  readonly #options: LeaseOptions
  readonly #incarnation: string
  readonly #listeners = new Set<LeaseListener>()
  /** Shard -> its term, of what this node has. */
  #held = new Map<number, number>()
  /** Shards that are being handed over. */
  readonly #released = new Set<number>()
  #owners: readonly number[] = []
  #terms: readonly number[] = []
  #nodes: readonly NodeState[] = []
  #seen = 0
  /** Of `monotonic`: until then this node may believe in what it has. */
  #until = 0
  readonly #connection: LeaseConnection
  #timer: Timer | undefined
  #expiry: Timer | undefined
  /** Beats one after the other. */
  #beating: Promise<void> = Promise.resolve()
  #closing = false
  #left = false
  #failing = false

  private constructor(options: LeaseOptions, joined: Joined) {
    this.#options = options
    this.name = options.name
    this.num = joined.num
    this.cluster = joined.cluster
    this.made = joined.connection.made
    this.#incarnation = joined.incarnation
    this.#connection = joined.connection
    this.#renewed(joined.at)
  }

  /** @throws Fault DataDirectoryInUse where another node has the name or a lone service the database, StorageUnavailable, DataMissing */
  static async join(options: LeaseOptions): Promise<Leases> {
    const incarnation = newId()
    const connection = await LeaseConnection.open(options)
    try {
      const at = monotonic()
      const join = 'SELECT pg_temp.teal_join($1, $2, $3, $4) AS num'
      const given = [options.name, incarnation, limits.cluster.leaseMs, leaseCount]
      const [joined] = await connection.ask<{ num: number }>(join, ...given)
      const [mark] = await connection.ask<{ value: number }>("SELECT value FROM meta WHERE key = 'cluster'")
      const [num, cluster] = [Number(joined?.num), Number(mark?.value)]
      const leases = new Leases(options, { connection, incarnation, at, num, cluster })
      await leases.beat()
      return leases
    } catch (error) {
      await connection.end()
      throw postgresFault(error) ?? error
    }
  }

  /** All nodes the database knows. */
  get nodes(): readonly NodeState[] {
    return this.#nodes
  }

  /** Shards this node has now. */
  get count(): number {
    return this.#believed() ? this.#held.size : 0
  }

  /** For how long this node may believe in what it has; where that is not above 0 it may not have heard of what others changed either. */
  get believedMs(): number {
    return this.#until - monotonic()
  }

  /** Whose a shard is, as far as is known here; 0: nobody's. */
  ownerOf(shard: number): number {
    return this.#owners[shard] ?? 0
  }

  /** The how many-th time it is that somebody has a shard, as far as is known here. */
  turnOf(shard: number): number {
    return this.#terms[shard] ?? 0
  }

  /** How many shards each node has, as far as is known here. */
  get shares(): ReadonlyMap<number, number> {
    const shares = new Map<number, number>()
    for (const node of this.#owners) shares.set(node, (shares.get(node) ?? 0) + 1)
    return shares
  }

  termOf(shard: number): number | undefined {
    return this.#believed() && !this.#released.has(shard) ? this.#held.get(shard) : undefined
  }

  /** The term under which work on a shard that is under way may end here, also while the shard is handed over. */
  heldTermOf(shard: number): number | undefined {
    return this.#believed() ? this.#held.get(shard) : undefined
  }

  holds(shard: number, term: number): boolean {
    return this.#believed() && this.#held.get(shard) === term
  }

  listen(listener: LeaseListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Looks at once, behind a beat that is under way; for who has heard that something moved, and for the time itself. */
  beat(): Promise<void> {
    this.#timer?.cancel()
    this.#beating = this.#beating
      .then(() => (this.#closing ? undefined : this.#beat()))
      .catch((error: unknown) => {
        if (!this.#failing) this.#options.log.warn({ error }, 'leases could not be renewed')
        this.#failing = true
      })
      .finally(() => {
        this.#timer?.cancel()
        if (!this.#closing) this.#timer = after(limits.cluster.beatMs, () => void this.beat())
      })
    return this.#beating
  }

  /** Hands everything over and takes nothing any more; resolves when others may serve it. */
  async leave(): Promise<void> {
    if (this.#left) return
    this.#left = true
    this.#closing = true
    this.#timer?.cancel()
    await this.#beating
    try {
      const own = [this.num, this.#incarnation]
      await this.#connection.ask(`UPDATE ${nodes} SET leaving = 1 WHERE num = $1 AND incarnation = $2`, ...own)
      await this.#handOver([...this.#held.keys()])
      // Whatever its lease says it takes part no more; what it was asked it still answers.
      await this.#connection.ask('SELECT pg_temp.teal_part($1, $2)', ...own)
    } catch (error) {
      const text = 'shards could not be handed over; others take them when the leases have run out'
      this.#options.log.warn({ error }, text)
    }
    this.#expiry?.cancel()
    this.#lose([...this.#held.keys()])
    await this.#connection.end()
  }

  /** As of Sequence. */
  async blocks(least: Readonly<Record<string, number>>, count: number): Promise<Readonly<Record<string, number>>> {
    const text = 'SELECT pg_temp.teal_blocks($1, $2) AS firsts'
    const row = await this.first<{ firsts: string }>(text, JSON.stringify(least), count)
    return JSON.parse(row?.firsts ?? '{}') as Record<string, number>
  }

  /** The first row of a statement, on the connection of the leases. @throws Fault StorageUnavailable, or what PostgreSQL says */
  async first<Row>(text: string, ...values: readonly unknown[]): Promise<Row | undefined> {
    const [row] = await this.#connection.ask<Row>(text, ...values)
    return row
  }

  /** This process of this node. */
  get incarnation(): string {
    return this.#incarnation
  }

  async #beat(): Promise<void> {
    const at = monotonic()
    if (!(await this.#renew())) return this.#replaced()
    // It had not run out meanwhile, so nobody took anything: whatever the rest of the beat waits for.
    if (this.#believed()) this.#renewed(at)
    const above = await this.#balance()
    const begin = await this.#look()
    // Where it had, only now: what it had before may be somebody else's by now.
    this.#renewed(at)
    begin()
    if (above > 0) await this.#handOver([...this.#held.keys()].slice(-above))
    this.#failing = false
  }

  /** Another node's batch may be in the way, for a moment: then it is tried with the next beat. */
  async #balance(): Promise<number> {
    try {
      const { forgetMs, answerMs, withdrawnMs } = limits.cluster
      const text = 'SELECT pg_temp.teal_balance($1, $2, $3, $4) AS above'
      const row = await this.first<{ above: number }>(text, this.num, forgetMs, answerMs, withdrawnMs)
      return Number(row?.above ?? 0)
    } catch (error) {
      if ((error as { code?: string }).code === '55P03') return 0
      throw error
    }
  }

  /** @returns what tells those who listen of what is new here, once this node may believe in it */
  async #look(): Promise<() => void> {
    const row = await this.first<{ seen: string }>('SELECT pg_temp.teal_look($1) AS seen', this.#seen)
    const { version, nodes: all, leases } = JSON.parse(row?.seen ?? 'null') as Look
    this.#nodes = all.map(({ leftMs, ...node }) => ({
      ...node,
      renewedAt: monotonic() + leftMs - limits.cluster.leaseMs,
    }))
    if (leases === null) return () => {}
    this.#owners = leases.node
    this.#terms = leases.term
    const held = new Map<number, number>()
    leases.node.forEach((node, shard) => {
      if (node === this.num) held.set(shard, leases.term[shard] ?? 0)
    })
    const lost = [...this.#held].filter(([shard, term]) => held.get(shard) !== term).map(([shard]) => shard)
    const gained = [...held].filter(([shard, term]) => this.#held.get(shard) !== term).map(([shard]) => shard)
    for (const shard of lost) {
      this.#held.delete(shard)
      this.#released.delete(shard)
    }
    if (lost.length > 0) for (const { lost: hear } of this.#listeners) hear?.(lost)
    if (gained.length > 0) for (const { prepare: wait } of this.#listeners) await wait?.()
    this.#held = held
    this.#seen = version
    return () => {
      if (gained.length > 0) for (const { gained: hear } of this.#listeners) hear?.(gained)
      for (const { moved } of this.#listeners) moved?.()
    }
  }

  async #handOver(shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return
    for (const shard of shards) this.#released.add(shard)
    try {
      const ending = Promise.allSettled([...this.#listeners].map(({ release }) => release?.(shards)))
      await this.#believeUntil(ending)
      await this.#connection.ask('SELECT pg_temp.teal_hand_over($1, $2)', this.num, shards)
      const begin = await this.#look()
      begin()
    } finally {
      // What could not be handed over is served on.
      for (const shard of shards) this.#released.delete(shard)
    }
  }

  /** Work that is to end may take longer than what is left of the leases. */
  async #believeUntil(ending: Promise<unknown>): Promise<void> {
    const until = monotonic() + limits.cluster.releaseMs
    const ended = ending.then(() => true)
    while (monotonic() < until) {
      const pause = new Promise<false>(resolve => after(limits.cluster.beatMs, () => resolve(false)))
      if (await Promise.race([ended, pause])) return
      const at = monotonic()
      if ((await this.#renew()) && this.#believed()) this.#renewed(at)
    }
  }

  async #renew(): Promise<boolean> {
    const at = monotonic()
    const text = 'SELECT pg_temp.teal_renew($1, $2, $3) AS time'
    const row = await this.first<{ time: number | null }>(text, this.num, this.#incarnation, limits.cluster.leaseMs)
    const time = row?.time ?? null
    if (time === null) return false
    this.#keepTime(Number(time), monotonic() - at)
    return true
  }

  /** All nodes go by one clock, for what one of them has written down others do: the database's. */
  #keepTime(time: number, tookMs: number): void {
    if (!correctClock(time, tookMs, limits.cluster.clockMs)) return
    const seconds = Math.round(clockCorrection() / 1000)
    const text = seconds === 0 ? 'the clock of this machine is right again' : 'the clock of this machine is off'
    this.#options.log.warn({ correctedBySeconds: seconds }, `${text}: this node goes by the clock of the database`)
  }

  #believed(): boolean {
    return monotonic() < this.#until
  }

  #renewed(at: number): void {
    this.#until = at + limits.cluster.leaseMs - limits.cluster.marginMs
    this.#expiry?.cancel()
    this.#expiry = after(this.#until - monotonic() + 1, () => {
      this.#options.log.error('the database was not to be had until the leases of this node had run out')
      this.#lose([...this.#held.keys()])
      // What it still has is learned anew.
      this.#seen = 0
    })
  }

  #lose(shards: readonly number[]): void {
    this.#held = new Map()
    this.#released.clear()
    if (shards.length > 0) for (const { lost } of this.#listeners) lost?.(shards)
  }

  /** Another process has the name: there is nothing this one may do. */
  #replaced(): void {
    this.#options.log.fatal({ node: this.name }, 'another process has taken the name of this node')
    this.#closing = true
    this.#until = 0
    this.#expiry?.cancel()
    this.#lose([...this.#held.keys()])
  }
}

interface Joined {
  readonly connection: LeaseConnection
  readonly incarnation: string
  readonly num: number
  readonly cluster: number
  readonly at: number
}
