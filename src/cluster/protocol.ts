// What nodes ask and tell each other, by name: what goes there and what comes back.
//
// Everything is data, as between threads (src/front/protocol.ts). Nodes of two versions may speak with each other while they are restarted one after
// the other: a call that the other one does not know fails, and nothing is done.

import type { Change } from '#actors/kernel/change.ts'
import type { JobUnit } from '#actors/kernel/job-writer.ts'
import type { Watched } from '#store/engine/watched.ts'
import type { CacheChange, CountedEntry } from '#store/folder/cache.ts'
import type { SettingKey } from '#store/folder/settings.ts'
import type { Strict } from './shared-cache.ts'

export type NodeCalls = {
  /**
   * Runs a command of an account, of the directory where that is null, which the asked node takes to be there. What comes of it
   * is kept by the call's name with what it writes (#store/cluster/answered.ts).
   */
  run: { input: { user: string | null; command: string; given: unknown; call: string }; reply: Ran }
  /** Answers when the asked node tells of an account from now on; false where it does not have it. */
  follow: { input: string; reply: boolean }
  /** Resolves when every session of the account that is over has been told. */
  guarded: { input: { user: string; reason: string | undefined }; reply: null }
  /** Resolves when every session has looked again whether it may go on. */
  review: { input: null; reply: null }
  /** Rows of these tables changed: resolves when nothing that was read of them is believed any more. */
  changed: { input: readonly Watched[]; reply: null }
  /** A process of a node is there, or has handed over what it had: answers when the asked node has looked who has what. */
  joined: { input: null; reply: null }
  /** Writes a unit of the queues, which the asked node takes to be there; false where they are not, and nothing was done. */
  job: { input: JobUnit; reply: boolean }
  /** Spends, draws or marks what is counted at the asked node. */
  count: { input: Strict; reply: { readonly result: unknown } }
  /** A session of an account begins, which the asked node takes to be there; false where that is one too many. */
  enter: { input: Entering; reply: boolean }
  /** How many sessions of accounts the one that tells has; answers which of them are not there. */
  sessions: { input: readonly Taken[]; reply: readonly string[] }
  /** How many sessions an account has, as far as the asked node knows. */
  sessionsOf: { input: string; reply: number }
  /** A page of what the asked node has counted, from behind a key on. */
  counts: { input: string; reply: readonly CountedEntry[] }
  /** Resolves when what is kept of such rows was read again. */
  reload: { input: string; reply: null }
  /** Answers a challenge of an ACME server, or no longer. */
  challenge: { input: { token: string; answer: string | null }; reply: null }
  /** A setting has this value now; null: its default. */
  setting: { input: { key: SettingKey; value: number | boolean | string | null }; reply: null }
}

/** A session begins: how many of its account the one that asks has with it, and how many there may be. */
export interface Entering {
  readonly user: string
  readonly taken: number
  /** Larger for what is told later. */
  readonly number: number
  readonly max: number
}

/** How many sessions of an account a node has, with a number that is larger for what is told later. */
export type Taken = readonly [user: string, taken: number, number: number]

/** What a command came to; or the account is not there, and nothing was done. */
export type Ran = { readonly reply: unknown } | { readonly elsewhere: true }

export type NodeWords = {
  changed: { user: string; change: Change }
  unfollow: string
  /** What was done to the cache. */
  counted: readonly CacheChange[]
  /** Rows of queues may be due. */
  kick: null
  /** The one that says it took the other for gone, and tells it of no account any more. */
  forgot: null
}
