// Accounts that sessions of this node watch, wherever each account is: here or at another node, and next at a third one.
//
// Promises: from when a watcher is told that it watches it misses nothing. When the account goes to another node, and when a
// notice was lost, it hears of every folder that anything may have happened to it, and reads what is new by change number;
// whoever guards a session then looks again whether it may go on.

import type { Guard } from '#actors/kernel/actor.ts'
import type { Change } from '#actors/kernel/change.ts'
import type { Guarding } from '#actors/kernel/system.ts'
import { after, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { shardOf } from '#store/cluster/shards.ts'
import type { Reader } from '#store/engine/reader.ts'
import { mailboxNumbers } from '#store/mailboxes/numbers.ts'

type Listener = (change: Change) => void

/** Where an account is told of, and how not to be told any more. */
export interface Source {
  /** Another one where the account went to another node, or came back. */
  readonly turn: number
  readonly leave: () => void
}

export interface FollowingOf {
  readonly read: Reader
  /** The how many-th time it is that somebody has a shard. */
  readonly turnOf: (shard: number) => number
  /** Has an account told of where it is now; undefined where nobody has it at this moment. */
  readonly source: (user: string, told: Told) => Promise<Source | undefined>
}

/** Who hears of one account. */
export class Told {
  readonly user: string
  readonly listeners = new Set<Listener>()
  readonly guards = new Set<Guard>()
  source: Source | undefined
  /** Whether it is still told of where it was is not known. */
  isDoubted = false
  /** It was told of once: whoever is let in goes by that. */
  isFollowed = false
  /** Looks for the account; once at a time. */
  seeking: Promise<void> | undefined

  constructor(user: string) {
    this.user = user
  }

  get isWanted(): boolean {
    return this.listeners.size + this.guards.size > 0
  }

  changed(change: Change): void {
    for (const listener of this.listeners) listener(change)
  }

  async guarded(reason: string | undefined): Promise<void> {
    await Promise.allSettled([...this.guards].map(guard => guard(reason)))
  }
}

/** Nobody serves it at this moment. */
export function homeless(): Fault {
  return new Fault('StorageUnavailable', { text: 'No node has this account now, try again' })
}

export class Following {
  readonly #of: FollowingOf
  readonly #told = new Map<string, Told>()
  #closed = false

  constructor(of: FollowingOf) {
    this.#of = of
  }

  async watch(user: string, listener: Listener): Promise<() => void> {
    const told = this.#join(user)
    told.listeners.add(listener)
    const leave = () => {
      told.listeners.delete(listener)
      this.#drop(told)
    }
    try {
      await this.#seek(told)
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  guard(user: string, guard: Guard): Guarding {
    const told = this.#join(user)
    told.guards.add(guard)
    return {
      known: this.#soon(this.#seek(told)),
      leave: () => {
        told.guards.delete(guard)
        this.#drop(told)
      },
    }
  }

  /** Something is said of an account. */
  of(user: string): Told | undefined {
    return this.#told.get(user)
  }

  /** Whether everybody is told of the account that he follows, wherever it is as far as is known here. */
  get isSettled(): boolean {
    return [...this.#told.values()].every(told => !told.isFollowed || this.#isCurrent(told))
  }

  /** Leases moved: whoever followed an account that went away follows it there. */
  moved(): void {
    for (const told of this.#told.values()) if (!this.#isCurrent(told)) void this.#seek(told).catch(() => {})
  }

  /** Notices may have been lost of these accounts, and whoever has them may have forgotten who follows them. */
  missed(isConcerned: (told: Told) => boolean): void {
    for (const told of this.#told.values()) {
      if (!isConcerned(told)) continue
      told.isDoubted = true
      void this.#seek(told).catch(() => {})
    }
  }

  close(): void {
    this.#closed = true
    for (const told of this.#told.values()) told.source?.leave()
    this.#told.clear()
  }

  #join(user: string): Told {
    const told = this.#told.get(user) ?? new Told(user)
    this.#told.set(user, told)
    return told
  }

  /** What is looked for is kept until it was found: leaving it later would end what somebody who came meanwhile is told. */
  #drop(told: Told): void {
    if (told.isWanted || told.seeking !== undefined || this.#told.get(told.user) !== told) return
    this.#forget(told)
  }

  #forget(told: Told): void {
    this.#told.delete(told.user)
    told.source?.leave()
    told.source = undefined
  }

  /** Who waits for it is not kept for ever. @throws Fault StorageUnavailable */
  async #soon(found: Promise<void>): Promise<void> {
    let late: Timer | undefined
    const never = new Promise<never>((_, reject) => {
      late = after(limits.cluster.homelessMs, () => reject(homeless()))
    })
    await Promise.race([found, never]).finally(() => late?.cancel())
  }

  #isCurrent({ user, source, isDoubted }: Told): boolean {
    return source !== undefined && !isDoubted && source.turn === this.#of.turnOf(shardOf(user))
  }

  #seek(told: Told): Promise<void> {
    if (this.#isCurrent(told)) return Promise.resolve()
    told.seeking ??= this.#find(told).finally(() => {
      told.seeking = undefined
    })
    return told.seeking
  }

  async #find(told: Told): Promise<void> {
    const before = told.source
    while (!this.#isCurrent(told) && told.isWanted && !this.#closed) {
      told.source?.leave()
      told.isDoubted = false
      told.source = await this.#of.source(told.user, told).catch(() => undefined)
      if (told.source === undefined)
        await new Promise(resolve => after(limits.cluster.homelessAgainMs, () => resolve(undefined)))
    }
    if (!told.isWanted || this.#closed) this.#forget(told)
    else if (before !== undefined) await this.#lookAgain(told)
    told.isFollowed = true
  }

  async #lookAgain(told: Told): Promise<void> {
    for (const mailbox of await mailboxNumbers(this.#of.read, told.user)) {
      told.changed({ kind: 'missed', mailbox, modseq: 0 })
    }
    await told.guarded(undefined)
  }
}
