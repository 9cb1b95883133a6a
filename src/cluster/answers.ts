// What this node does for others that ask it, and with what they tell.
//
// Promises: what is asked for that is not here any more is told to be elsewhere, with nothing done; whatever is announced has been
// taken up here when it is answered.

import { allCommands } from '#actors/all-commands.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { limits } from '#lib/limits.ts'
import type { Side } from '#lib/process/link.ts'
import type { Challenges } from '#net/tls/challenges.ts'
import type { Leases } from '#store/cluster/leases.ts'
import { LostLease } from '#store/cluster/tenancy.ts'
import type { Changes } from '#store/engine/watched.ts'
import type { Cache } from '#store/folder/cache.ts'
import type { Following } from './following.ts'
import type { Peer } from './line.ts'
import type { NodeCalls, NodeWords } from './protocol.ts'
import type { SharedCounters } from './shared-cache.ts'
import type { SharedPlaces } from './shared-places.ts'

interface Answering {
  readonly leases: Leases
  readonly system: ActorSystem
  readonly changes: Changes
  readonly jobWriter: JobWriter
  readonly cache: Cache
  readonly challenges: Challenges
  readonly kick: () => void
}

/** What differs by who asks, and what the node keeps itself. */
interface Asked {
  readonly peer: Peer
  /** Before then nothing is written here: numbers are not this node's own yet. */
  readonly ready: Promise<void>
  readonly following: Following
  readonly counters: SharedCounters
  readonly places: SharedPlaces
  readonly follow: (user: string) => boolean
  readonly unfollow: (user: string) => void
  /** Another node tells of nothing any more. */
  readonly forgot: () => void
  readonly applySetting: (setting: NodeCalls['setting']['input']) => Promise<void>
}

export function answers(of: Answering, asked: Asked): Side<NodeCalls, NodeWords> {
  const { leases, system, changes, jobWriter, cache, challenges } = of
  return {
    calls: {
      run: async ({ user, command, given, call }, signal) => {
        const found = allCommands.get(command)
        if (found === undefined) throw new Error(`there is no command ${command}`)
        await asked.ready
        return (
          (await unlessLost(async () => ({ reply: await system.runHere(user, found, given, signal, call) }))) ??
          elsewhere
        )
      },
      job: async unit => {
        await asked.ready
        return (await unlessLost(() => jobWriter.submitHere(unit).then(() => true))) ?? false
      },
      follow: asked.follow,
      guarded: async ({ user, reason }) => done(asked.following.of(user)?.guarded(reason)),
      review: () => done(system.reviewHere()),
      count: async strict => ({ result: await asked.counters.carryOut(strict) }),
      enter: entering => asked.places.entering(asked.peer, entering),
      sessions: taken => asked.places.told(asked.peer, taken),
      sessionsOf: user => asked.places.counted(user),
      counts: after => cache.counts(after, limits.cluster.countsPageMax),
      reload: name => done(system.everywhere.reload(name)),
      challenge: ({ token, answer }) => {
        if (answer === null) challenges.close(token)
        else challenges.open(token, answer)
        return null
      },
      changed: tables => {
        for (const table of tables) changes.note(table)
        return null
      },
      joined: () => done(leases.beat()),
      setting: setting => done(asked.applySetting(setting)),
    },
    words: {
      changed: ({ user, change }) => asked.following.of(user)?.changed(change),
      unfollow: asked.unfollow,
      forgot: asked.forgot,
      counted: told => {
        for (const change of told) cache.apply(change)
      },
      kick: of.kick,
    },
  }
}

const elsewhere = { elsewhere: true } as const

/** Undefined where what was asked for is at another node: nothing was done. */
async function unlessLost<Value>(task: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await task()
  } catch (error) {
    if (error instanceof LostLease) return undefined
    throw error
  }
}

async function done(task: Promise<void> | undefined): Promise<null> {
  await task
  return null
}
