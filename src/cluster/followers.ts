// Other nodes that hear of accounts that are here (what they do with it is in following.ts).

import type { Guard } from '#actors/kernel/actor.ts'
import type { Change } from '#actors/kernel/change.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import type { Peer } from './line.ts'

/** How a node is told. */
export interface Telling {
  readonly changed: (change: Change) => void
  readonly guarded: Guard
}

export class Followers {
  readonly #system: Pick<ActorSystem, 'actor'>
  /** Process of another node -> account -> how it is told no more. */
  readonly #all = new Map<string, Map<string, () => void>>()

  constructor(system: Pick<ActorSystem, 'actor'>) {
    this.#system = system
  }

  /** A node hears of an account from now on, once. */
  add({ incarnation }: Peer, user: string, { changed, guarded }: Telling): void {
    const actor = this.#system.actor(user)
    const unwatch = actor.watch(changed)
    const unguard = actor.guard(guarded)
    const theirs = this.#all.get(incarnation) ?? new Map<string, () => void>()
    this.#all.set(incarnation, theirs)
    theirs.get(user)?.()
    theirs.set(user, () => {
      unwatch()
      unguard()
    })
  }

  remove({ incarnation }: Peer, user: string): void {
    const theirs = this.#all.get(incarnation)
    theirs?.get(user)?.()
    theirs?.delete(user)
  }

  /** A process is gone. @returns whether it heard of anything */
  gone({ incarnation }: Peer): boolean {
    const theirs = this.#all.get(incarnation)
    if (theirs === undefined) return false
    for (const undo of theirs.values()) undo()
    return this.#all.delete(incarnation)
  }

  close(): void {
    for (const all of this.#all.values()) for (const undo of all.values()) undo()
    this.#all.clear()
  }
}
