// What nodes ask and tell each other. Everything is data, as between threads (src/front/protocol.ts).

import type { Change } from '#actors/kernel/change.ts'
import type { Watched } from '#store/engine/watched.ts'
import type { SettingKey } from '#store/folder/settings.ts'

export type NodeCalls = {
  /** Runs a command of an account, of the directory where that is null, which the asked node takes to be there. */
  run: { input: { user: string | null; command: string; given: unknown }; reply: Ran }
  /** Answers when the asked node tells of an account from now on; false where it does not have it. */
  follow: { input: string; reply: boolean }
  /** Resolves when every session of the account that is over has been told. */
  guarded: { input: { user: string; reason: string | undefined }; reply: null }
  /** Resolves when every session has looked again whether it may go on. */
  review: { input: null; reply: null }
  /** Rows of these tables changed: resolves when nothing that was read of them is believed any more. */
  changed: { input: readonly Watched[]; reply: null }
  /** Another process of a node is there: answers when the asked node tells it what all are told. */
  joined: { input: null; reply: null }
  /** A setting has this value now; null: its default. */
  setting: { input: { key: SettingKey; value: number | boolean | string | null }; reply: null }
}

/** What a command came to; or the account is not there, and nothing was done. */
export type Ran = { readonly reply: unknown } | { readonly elsewhere: true }

export type NodeWords = {
  changed: { user: string; change: Change }
  unfollow: string
  /** Leases moved: it is worth to look. */
  moved: null
}
