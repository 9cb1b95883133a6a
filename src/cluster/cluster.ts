// This node among others: where each account is, what is asked there and answered here, and what all have to know before
// somebody is answered.
//
// Promises: a command runs where its account has its lease, once; while nobody has it the command waits, for as long as a
// take-over takes. What others keep in memory of rows that changed they have let go of before whoever changed them is answered;
// a node that does not answer is waited for until its leases have run out.

import type { Guard } from '#actors/kernel/actor.ts'
import type { Change } from '#actors/kernel/change.ts'
import type { JobUnit, JobWriter } from '#actors/kernel/job-writer.ts'
import type { ActorSystem, Elsewhere, Guarding } from '#actors/kernel/system.ts'
import { after, every, monotonic, now, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Side } from '#lib/process/link.ts'
import type { Challenges } from '#net/tls/challenges.ts'
import { answerInsert, keptAnswer } from '#store/cluster/answered.ts'
import type { Leases } from '#store/cluster/leases.ts'
import { leaseOf, shardOf } from '#store/cluster/shards.ts'
import type { ClusterState } from '#store/cluster/state.ts'
import type { NodeState } from '#store/cluster/tables.ts'
import { LostLease } from '#store/cluster/tenancy.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import type { Changes, Watched } from '#store/engine/watched.ts'
import { operation } from '#store/engine/write.ts'
import type { Cache } from '#store/folder/cache.ts'
import type { Settings } from '#store/folder/settings.ts'
import { answers } from './answers.ts'
import type { Broker } from './broker.ts'
import { Followers } from './followers.ts'
import { Following, homeless, type Source, type Told } from './following.ts'
import { NodeLine, type Peer } from './line.ts'
import { once } from './once.ts'
import type { NodeCalls, NodeWords, Ran } from './protocol.ts'
import { type SharedCounters, type Strict, shareCache } from './shared-cache.ts'
import { SharedPlaces } from './shared-places.ts'

export interface ClusterOf {
  readonly broker: Broker
  readonly leases: Leases
  readonly system: ActorSystem
  /** What of the rows that this node keeps in memory was changed. */
  readonly changes: Changes
  /** Tells of the tables that a batch may have changed, before anybody is told that it is on disk. */
  readonly onCommit: (announce: (changed: readonly Watched[]) => Promise<void>) => void
  readonly sequence: Sequence
  readonly settings: Settings
  readonly read: Reader
  readonly jobWriter: JobWriter
  readonly cache: Cache
  readonly challenges: Challenges
  /** Has the loops of jobs look for work. */
  readonly kick: () => void
}

export class Cluster implements Elsewhere {
  readonly leases: Leases
  readonly #of: ClusterOf
  readonly #line: NodeLine<NodeCalls, NodeWords>
  readonly #following: Following
  readonly #followers: Followers
  readonly counters: SharedCounters
  readonly places: SharedPlaces
  readonly #rereads: Timer
  #kicking: Timer | undefined
  /** A setting that another node told is not told again. */
  #applying = false
  readonly #doubts: Timer
  #doubted = false
  readonly #opened = Promise.withResolvers<void>()

  private constructor(of: ClusterOf) {
    this.#of = of
    this.leases = of.leases
    this.#line = new NodeLine<NodeCalls, NodeWords>({
      ...{ broker: of.broker, prefix: `teal.${of.leases.cluster}`, self: of.leases },
      side: peer => this.#side(peer),
      missed: peer => this.#missed(peer),
    })
    this.#doubts = every(limits.cluster.beatMs, () => {
      this.#leaveTheGone()
      const doubts = !this.#trust()
      if (doubts || this.#doubted) void of.system.everywhere.reloadAll().catch(() => {})
      this.#doubted = doubts
    })
    this.#rereads = every(limits.cluster.reloadMs, () => void of.system.everywhere.reloadAll().catch(() => {}))
    this.counters = shareCache({
      ...{ cache: of.cache, sharers: () => this.#peers.length + 1 },
      strict: (id, strict) => this.#strict(id, strict),
      tell: told => {
        for (const peer of this.#peers) this.#line.tell(peer, 'counted', told)
      },
    })
    const ms = limits.cluster.countMs
    this.places = new SharedPlaces({
      leases: of.leases,
      ownerOf: shard => (of.leases.heldTermOf(shard) === undefined ? this.#ownerOf(shard) : undefined),
      enter: (peer, entering) => this.#line.call(peer, 'enter', entering, { ms }),
      tell: (peer, taken) => this.#line.call(peer, 'sessions', taken, { ms }),
      ask: (peer, user) => this.#line.call(peer, 'sessionsOf', user, { ms }),
    })
    this.#followers = new Followers(of.system)
    this.#following = new Following({
      read: of.read,
      turnOf: shard => of.leases.turnOf(shard),
      source: (user, told) => this.#source(user, told),
    })
  }

  static async open(of: ClusterOf): Promise<Cluster> {
    const { leases, system, sequence, settings } = of
    const cluster = new Cluster(of)
    await cluster.#line.listen()
    // What is given out from now on is given to this node alone.
    await sequence.share((least, count) => leases.blocks(least, count))
    leases.listen({
      lost: shards => {
        system.lose(shards)
        cluster.#trust()
      },
      release: shards => system.release(shards),
      prepare: () => sequence.renew(),
      gained: shards => {
        if (shards.includes(leaseOf('queue'))) of.kick()
      },
      moved: () => cluster.#moved(),
    })
    of.onCommit(async changed => {
      await cluster.#all('changed', changed)
    })
    settings.follow(async (key, value) => {
      if (!cluster.#applying) await cluster.#all('setting', { key, value })
    })
    of.jobWriter.elsewhere = unit => cluster.#writeJob(unit)
    system.share(cluster)
    system.everywhere.elsewhere = name => cluster.#all('reload', name)
    of.challenges.share = (token, answer) => cluster.#all('challenge', { token, answer })
    cluster.#opened.resolve()
    await cluster.#all('joined', null)
    await cluster.#takeCounts()
    return cluster
  }

  /** Other nodes that are alive. */
  get #peers(): NodeState[] {
    return this.leases.nodes.filter(({ num, alive }) => alive && num !== this.leases.num)
  }

  /** All nodes as this one sees them. */
  get state(): ClusterState {
    const { name: node, nodes, shares } = this.leases
    const shown = nodes.map(({ num, name, alive, leaving, silentMs, renewedAt, incarnation }) => {
      const renewedMs = Math.max(0, Math.round(monotonic() - renewedAt))
      const behind = this.#line.behind(incarnation)
      return { name, alive, leaving, shards: shares.get(num) ?? 0, silentMs, renewedMs, behind }
    })
    return { node, connected: this.connected, waiting: this.open, nodes: shown }
  }

  /** Calls to other nodes that wait for their answer. */
  get open(): number {
    return this.#line.open
  }

  get connected(): boolean {
    return this.#of.broker.connected
  }

  async run(user: string | null, command: string, given: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    const shard = user === null ? leaseOf('directory') : shardOf(user)
    const until = monotonic() + limits.cluster.homelessMs
    for (;;) {
      const ran = await this.#ask(shard, { user, command, given }, signal)
      if ('reply' in ran) return ran.reply
      if (signal?.aborted === true) throw new Fault('TimedOut')
      if (monotonic() > until) throw homeless()
      await this.#pause()
    }
  }

  watch(user: string, listener: (change: Change) => void): Promise<() => void> {
    return this.#following.watch(user, listener)
  }

  guard(user: string, guard: Guard): Guarding {
    return this.#following.guard(user, guard)
  }

  async review(): Promise<void> {
    await this.#all('review', null)
  }

  /** Hands over what is here: from now on everything is asked of others. */
  async leave(): Promise<void> {
    await this.leases.leave()
    // Nobody asks this node any more when it stops listening.
    await this.#all('joined', null)
  }

  async close(): Promise<void> {
    this.#doubts.cancel()
    this.#rereads.cancel()
    this.#kicking?.cancel()
    this.#following.close()
    this.#followers.close()
    this.places.close()
    await this.#line.close()
  }

  /** @throws LostLease where it is here */
  async #ask(
    shard: number,
    input: Omit<NodeCalls['run']['input'], 'call'>,
    signal: AbortSignal | undefined,
  ): Promise<Ran> {
    if (this.leases.termOf(shard) !== undefined) throw new LostLease(shard)
    const peer = this.#ownerOf(shard)
    if (peer === undefined) return { elsewhere: true }
    const call = newId()
    const ran = await once(
      this.leases,
      call,
      { elsewhere: true },
      this.#line.call(peer, 'run', { ...input, call }, { signal }),
    )
    if ('elsewhere' in ran) void this.leases.beat()
    return ran
  }

  /** Has the queues of another node written. @throws LostLease where they are here, or nobody has them now */
  async #writeJob(unit: JobUnit): Promise<void> {
    const shard = leaseOf('queue')
    const peer = this.leases.heldTermOf(shard) === undefined ? this.#ownerOf(shard) : undefined
    if (peer === undefined) throw new LostLease(shard)
    const call = newId()
    const operations = [...unit.operations, operation(answerInsert, keptAnswer(call, true, now()))]
    const done = await once(this.leases, call, false, this.#line.call(peer, 'job', { ...unit, operations }))
    if (done === false) throw new LostLease(shard)
  }

  /** Something may be due: whoever has the queues looks, soon. */
  kick(): void {
    if (this.leases.termOf(leaseOf('queue')) !== undefined) return
    this.#kicking ??= after(limits.cluster.kickMs, () => {
      this.#kicking = undefined
      const peer = this.#ownerOf(leaseOf('queue'))
      if (peer !== undefined) this.#line.tell(peer, 'kick', null)
    })
  }

  async #strict(id: string, strict: Strict): Promise<{ readonly result: unknown } | undefined> {
    const shard = shardOf(id)
    const peer = this.leases.heldTermOf(shard) === undefined ? this.#ownerOf(shard) : undefined
    if (peer === undefined) return undefined
    return await this.#line.call(peer, 'count', strict, { ms: limits.cluster.countMs }).catch(() => undefined)
  }

  /** What others counted while this node was not there holds here too. */
  async #takeCounts(): Promise<void> {
    const [peer] = this.#peers
    let after = ''
    for (let taken = 0; peer !== undefined && taken < limits.cluster.countsTakenMax; ) {
      const page = await this.#line.call(peer, 'counts', after, { ms: limits.cluster.heardMs }).catch(() => [])
      this.#of.cache.join(page)
      const [last] = page.at(-1) ?? []
      if (last === undefined) return
      after = last
      taken += page.length
    }
  }

  /** The node that has a shard, as far as is known here; undefined where that is this one, or nobody that is alive. */
  #ownerOf(shard: number): NodeState | undefined {
    const owner = this.leases.ownerOf(shard)
    return this.#peers.find(({ num }) => num === owner)
  }

  #pause(): Promise<void> {
    return new Promise(resolve => after(limits.cluster.homelessAgainMs, () => resolve(undefined)))
  }

  /** Asks all other nodes that are alive, and waits until each has answered or is alive no more. */
  async #all<Name extends 'changed' | 'review' | 'setting' | 'joined' | 'reload' | 'challenge'>(
    name: Name,
    input: NodeCalls[Name]['input'],
  ): Promise<void> {
    const ms = limits.cluster.heardMs
    await Promise.allSettled(this.#peers.map(peer => this.#line.call(peer, name, input, { ms })))
  }

  async #source(user: string, told: Told): Promise<Source | undefined> {
    const shard = shardOf(user)
    const turn = this.leases.turnOf(shard)
    const { system } = this.#of
    if (this.leases.termOf(shard) !== undefined) {
      const actor = system.actor(user)
      const unwatch = actor.watch(change => told.changed(change))
      const unguard = actor.guard(reason => told.guarded(reason))
      const leave = () => {
        unwatch()
        unguard()
      }
      return { turn, leave }
    }
    const peer = this.#ownerOf(shard)
    if (peer === undefined || !(await this.#line.call(peer, 'follow', user))) return undefined
    return { turn, leave: () => this.#line.tell(peer, 'unfollow', user) }
  }

  #side(peer: Peer): Side<NodeCalls, NodeWords> {
    return answers(this.#of, {
      ...{ peer, ready: this.#opened.promise, following: this.#following },
      ...{ counters: this.counters, places: this.places },
      follow: user => this.#follow(peer, user),
      unfollow: user => this.#followers.remove(peer, user),
      forgot: () => this.#missed(peer),
      applySetting: async ({ key, value }) => {
        this.#applying = true
        const applied = this.#of.settings.apply(key, value)
        this.#applying = false
        await applied
      },
    })
  }

  /** Another node hears of an account that is here. */
  #follow(peer: Peer, user: string): boolean {
    if (this.leases.termOf(shardOf(user)) === undefined) return false
    this.#followers.add(peer, user, {
      changed: change => this.#line.tell(peer, 'changed', { user, change }),
      guarded: async reason => {
        await this.#line.call(peer, 'guarded', { user, reason }, { ms: limits.cluster.heardMs }).catch(() => {})
      },
    })
    return true
  }

  /** Words of a node were lost: what it has may have changed. */
  #missed(peer: Peer): void {
    this.places.forgotten(peer)
    this.#following.missed(({ user }) => this.leases.ownerOf(shardOf(user)) === peer.num)
  }

  #moved(): void {
    this.#leaveTheGone()
    this.places.moved()
    this.#following.moved()
    this.#trust()
  }

  /** Says for how long this node is sure to hear of what others change: as long as they wait for it. @returns whether it is */
  #trust(): boolean {
    const silence = Math.max(0, ...this.#peers.map(peer => this.#line.silence(peer)))
    const sureMs = Math.min(limits.cluster.silentMs - silence, this.leases.believedMs)
    const isTold = this.#of.broker.connected && this.#following.isSettled
    this.#of.changes.sureFor(isTold ? sureMs : 0)
    return isTold && sureMs > 0
  }

  /** Nobody waits for a process that is no more. */
  #leaveTheGone(): void {
    for (const peer of this.#line?.peers ?? []) {
      const node = this.leases.nodes.find(({ num }) => num === peer.num)
      const replaced = node?.incarnation !== peer.incarnation
      // One that leaves in order answers what it was asked before.
      const answers = node?.leaving === true && node.silentMs < limits.cluster.leaseMs
      if (!replaced && (node.alive || answers)) continue
      this.#line.gone(peer, replaced)
      const knew = [this.places.gone(peer), this.#followers.gone(peer)].includes(true)
      // One that slept, or was without the database, comes back and believes that it is still told.
      if (knew && !replaced) this.#line.tell(peer, 'forgot', null)
    }
  }
}
