// All actors of a service: finds or makes the one of an account, lets idle ones go, drains them on stop.
//
// There is one actor for an account at any time, made when somebody asks for it and let go when it was idle for
// limits.actor.idleMs with no watcher. Handles stay good when the actor behind them goes: front ends hold a handle, never
// an actor. After close() has begun every new command is refused.

import { breathe, every, now, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { UrlSecrets } from '#lib/secret/url-secret.ts'
import { leaseOf, shardOf } from '#store/cluster/shards.ts'
import { LostLease } from '#store/cluster/tenancy.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type DirectoryState, loadDirectory } from '../admin/directory.ts'
import { loadUser, type UserState } from '../user/user.ts'
import { Actor, type ActorSurroundings, type Command, type Guard } from './actor.ts'
import type { Change } from './change.ts'
import { cross, crossing, crossReply } from './crossing.ts'
import { Everywhere } from './everywhere.ts'

/** What front ends hold for one account. */
export interface UserHandle {
  readonly id: string
  /** Committed rows. */
  readonly read: Reader
  /** Runs a command in the account's order; resolves after the disk. */
  run<Input, Reply>(
    command: Command<UserState, Input, Reply>,
    input: Input,
    signal?: AbortSignal,
  ): Promise<Awaited<Reply>>
  /** Hears every change of the account that is committed from when this resolves on, until the returned function is called. */
  watch(listener: (change: Change) => void): Promise<() => void>
  /** As of the actor: hears of what may end the account's sessions. */
  guard(guard: Guard): Guarding
}

export interface Guarding {
  /** Whatever is committed once this has resolved is heard. */
  readonly known: Promise<unknown>
  /** Nothing more is heard. */
  readonly leave: () => void
}

/** Where the actor is at home. */
const atOnce = Promise.resolve()

/** Commands that belong to no account: settings, tokens, domains, subscriptions. */
export interface DirectoryHandle {
  readonly read: Reader
  run<Input, Reply>(
    command: Command<DirectoryState, Input, Reply>,
    input: Input,
    signal?: AbortSignal,
  ): Promise<Awaited<Reply>>
}

/** The actors as everybody else sees them, wherever they live. */
export interface Actors {
  /** Committed rows. */
  readonly read: Reader
  /** The handle of an account; whether the account exists is found out by the first command. */
  handle(id: string): UserHandle
  readonly directory: DirectoryHandle
  /** Bytes an account stores, what is on its way to the disk included; undefined where that has to be looked up. */
  storageOf(id: string): number | undefined
}

/** What other nodes have, as `ActorSystem` sees it. An account that is nobody's now is waited for. */
export interface Elsewhere {
  /** A command of an account, or of the directory (null), wherever it is. @throws LostLease where it is here */
  run(user: string | null, command: string, input: unknown, signal: AbortSignal | undefined): Promise<unknown>
  /** As of UserHandle, wherever the account is, and is next. */
  watch(user: string, listener: (change: Change) => void): Promise<() => void>
  guard(user: string, guard: Guard): Guarding
  /** As of ActorSystem, everywhere else. */
  review(): Promise<void>
}

/** Partition of the directory at the writer; accounts have rising positive numbers. */
const directoryPartition = -1

export class ActorSystem implements Actors {
  readonly #around: ActorSurroundings
  readonly #secrets: UrlSecrets
  readonly #users = new Map<string, Actor<UserState>>()
  readonly #directory: Actor<DirectoryState>
  readonly #metrics: Metrics
  readonly #sweep: Timer
  /** What all nodes keep in memory alike. */
  readonly everywhere = new Everywhere()
  #stopping = false
  /** Where nodes share the accounts. */
  #elsewhere: Elsewhere | undefined

  constructor(around: ActorSurroundings, secrets: UrlSecrets, metrics: Metrics) {
    this.#around = around
    this.#secrets = secrets
    this.#metrics = metrics
    this.#directory = new Actor<DirectoryState>(
      () => directoryPartition,
      () => loadDirectory(around.read),
      around,
      leaseOf('directory'),
    )
    this.#sweep = every(limits.actor.idleMs / 5, () => this.#letGo())
  }

  get read(): Reader {
    return this.#around.read
  }

  /** What passwords in URLs are sealed with. */
  get secrets(): UrlSecrets {
    return this.#secrets
  }

  /** The handle of an account; whether the account exists is found out by the first command. */
  handle(id: string): UserHandle {
    return new LocalHandle(this, id)
  }

  /** For handles. */
  run<Input, Reply>(
    id: string,
    command: Command<UserState, Input, Reply>,
    input: Input,
    signal: AbortSignal | undefined,
  ): Promise<Awaited<Reply>> {
    if (this.#stopping) return Promise.reject(new Fault('Stopping'))
    const here = () => crossReply(this.actor(id).run(command, cross(input), signal))
    return this.#elsewhere === undefined ? here() : this.#wherever(id, shardOf(id), here, command.name, input, signal)
  }

  /** From now on what is not here is looked for there. */
  share(elsewhere: Elsewhere): void {
    this.#elsewhere = elsewhere
  }

  /** Here where the account is, else there; again where it went away before anything was done. */
  async #wherever<Reply>(
    user: string | null,
    shard: number,
    here: () => Promise<Reply>,
    command: string,
    input: unknown,
    signal: AbortSignal | undefined,
  ): Promise<Reply> {
    for (;;) {
      try {
        if (this.#around.tenancy?.termOf(shard) !== undefined) return await here()
        return (await this.#elsewhere?.run(user, command, input, signal)) as Reply
      } catch (error) {
        if (!(error instanceof LostLease)) throw error
        if (this.#stopping) throw new Fault('Stopping')
        await breathe()
      }
    }
  }

  /** For another node, which gives the call a name: a command of an account that it takes to be here. @throws LostLease where it is not */
  runHere(
    user: string | null,
    command: Command<never, never, unknown>,
    input: unknown,
    signal: AbortSignal,
    call: string,
  ): Promise<unknown> {
    if (this.#stopping) return Promise.reject(new LostLease(user === null ? leaseOf('directory') : shardOf(user)))
    const actor = (user === null ? this.#directory : this.actor(user)) as Actor<never>
    return actor.run(command, input as never, signal, call)
  }

  /** For handles. */
  watch(id: string, listener: (change: Change) => void): Promise<() => void> {
    return this.#elsewhere?.watch(id, listener) ?? Promise.resolve(this.actor(id).watch(listener))
  }

  /** For handles. */
  guard(id: string, guard: Guard): Guarding {
    return this.#elsewhere?.guard(id, guard) ?? { known: atOnce, leave: this.actor(id).guard(guard) }
  }

  get directory(): DirectoryHandle {
    return {
      read: this.#around.read,
      run: (command, input, signal) => {
        if (this.#stopping) return Promise.reject(new Fault('Stopping'))
        const here = () => crossReply(this.#directory.run(command, cross(input), signal))
        if (this.#elsewhere === undefined) return here()
        return this.#wherever(null, leaseOf('directory'), here, command.name, input, signal)
      },
    }
  }

  /** Bytes an account stores, what is on its way to the disk included; undefined where its actor has to look. */
  storageOf(id: string): number | undefined {
    return this.#users.get(id)?.state?.storage
  }

  /** Has every session look again whether it may go on, after what many accounts stand on was changed; waits for all. */
  async review(): Promise<void> {
    await Promise.all([this.reviewHere(), this.#elsewhere?.review()])
  }

  /** The same of accounts that are here. */
  async reviewHere(): Promise<void> {
    await Promise.all([...this.#users.values()].map(actor => actor.review()))
  }

  /** Refuses new commands and waits for those that run. */
  async close(): Promise<void> {
    this.#stopping = true
    this.#sweep.cancel()
    await this.#directory.drain()
    for (const actor of this.#users.values()) await actor.drain()
  }

  /** Ends what goes on in shards that another node is to have; resolves when nothing of it is on its way any more. */
  async release(shards: readonly number[]): Promise<void> {
    await Promise.all(this.#in(shards).map(actor => actor.drain()))
  }

  /** Another node has these shards. */
  lose(shards: readonly number[]): void {
    for (const actor of this.#in(shards)) actor.leave()
  }

  /** Actors there are in these shards. */
  #in(shards: readonly number[]): Actor<unknown>[] {
    const gone = new Set(shards)
    const users = [...this.#users].filter(([id]) => gone.has(shardOf(id))).map(([, actor]) => actor)
    return gone.has(leaseOf('directory')) ? [...users, this.#directory] : users
  }

  /** For handles. */
  actor(id: string): Actor<UserState> {
    let actor = this.#users.get(id)
    if (actor === undefined) {
      let partition = 0
      const load = async () => {
        const state = await loadUser(this.#around.read, this.#around.sequence, id)
        partition = state.num
        return state
      }
      actor = new Actor<UserState>(() => partition, load, this.#around, shardOf(id))
      this.#users.set(id, actor)
      this.#metrics.actors.set(this.#users.size)
    }
    return actor
  }

  #letGo(): void {
    const at = now()
    for (const [id, actor] of this.#users) if (actor.idle(at)) this.#users.delete(id)
    this.#metrics.actors.set(this.#users.size)
  }
}

/** Sessions keep theirs for as long as they are: it holds nothing but where it leads. */
class LocalHandle implements UserHandle {
  readonly id: string
  readonly #system: ActorSystem

  constructor(system: ActorSystem, id: string) {
    this.#system = system
    this.id = id
  }

  get read(): Reader {
    return this.#system.read
  }

  run<Input, Reply>(
    command: Command<UserState, Input, Reply>,
    input: Input,
    signal?: AbortSignal,
  ): Promise<Awaited<Reply>> {
    return this.#system.run(this.id, command, input, signal)
  }

  async watch(listener: (change: Change) => void): Promise<() => void> {
    return this.#system.watch(this.id, crossing(listener))
  }

  guard(guard: Guard): Guarding {
    return this.#system.guard(this.id, guard)
  }
}
