// What the thread that is home to the actors and a front thread, which has sessions, say to each other. All of it is data.
//
// A front asks for commands, for what home decides alone (who may come in, what is counted, numbers), and for the pools. Home
// tells it of changes before the reply of whoever made them, and waits until a front has heard that sessions end.

import type { LoginAttempt } from '#actors/auth/authentication.ts'
import type { Grant } from '#actors/auth/grant.ts'
import type { ForwardKeys } from '#actors/delivery/forward.ts'
import type { Change } from '#actors/kernel/change.ts'
import type { Config, ListenerName } from '#config'
import type { AnsweredCall, AskedCall, Pulled } from '#http/elsewhere/crossing.ts'
import type { LogLevel } from '#lib/log.ts'
import type { Mailbox } from '#mail/address/address.ts'
import type { KeyPair } from '#net/tls/tls.ts'
import type { Address } from '#protocol'
import type { Counters } from '#store/folder/counters.ts'
import type { SettingKey } from '#store/folder/settings.ts'

/** What a front is started with. */
export interface FrontData {
  readonly config: Config
  /** From 0 on. */
  readonly number: number
  /** How many there are. */
  readonly fronts: number
  /** Memory of `Changes`. */
  readonly changes: SharedArrayBuffer
  readonly keys: ForwardKeys
  /** What is shown where no name is asked for. */
  readonly pair: KeyPair
  /** Connections of all its listeners together. */
  readonly connectionsMax: number
  /** Of how many changes together it confirms that it heard: home waits for that where there are too many. */
  readonly noticesTold: number
  /** Whether HTTP is spoken here, too; `strict` is for tests. */
  readonly http: { readonly strict: boolean } | undefined
}

export type CounterCall = {
  [Name in Exclude<keyof Counters, 'remove'>]: { readonly name: Name; readonly given: Parameters<Counters[Name]> }
}[Exclude<keyof Counters, 'remove'>]

/** What home answers. */
export type HomeCalls = {
  /** A command of an account, or of the directory where `user` is null. */
  run: { input: { user: string | null; command: string; given: unknown }; reply: unknown }
  /** From the reply on the front hears the changes of an account. */
  watch: { input: string; reply: unknown }
  /** From the reply on it hears that sessions of an account may have ended. */
  guard: { input: string; reply: unknown }
  authenticate: { input: LoginAttempt; reply: { user: string; grant: Grant } }
  /** A session of an account begins. @throws Fault TooManySessions */
  enter: { input: { user: string; max: number }; reply: unknown }
  pool: {
    input: { pool: PoolName; name: string; given: unknown; turnKey: string | readonly string[]; deadlineMs?: number }
    reply: unknown
  }
  count: { input: CounterCall; reply: unknown }
  /** The first of so many numbers, given out together. */
  bodyNumbers: { input: number; reply: number }
  /** A call over HTTP that is answered at home, and the next piece of its answer. */
  ask: { input: AskedCall; reply: AnsweredCall }
  pull: { input: number; reply: Pulled }
  /** Pushes the end of a token out. */
  extend: { input: { hash: string; expires: number }; reply: unknown }
  /** The uid from which nobody was told of a folder's messages; with `uidNext`, and everything below it is told now. */
  recent: { input: { mailbox: number; uidNext: number | null }; reply: number }
}

export type PoolName = 'reads' | 'seal' | 'spam' | 'verify' | 'patterns'

/** What home hears. */
export type HomeWords = {
  unwatch: string
  unguard: string
  /** So many changes were heard since the last time. */
  heard: number
  /** A session of an account ended. */
  left: string
  keepRecent: { user: string; mailbox: number }
  /** An answer, or the rest of it, is wanted by nobody. */
  leaveAnswer: number
  /** A token that is none was shown. */
  wrongToken: { token: string; address: string; route: string }
  uncount: { kind: string; id: string }
  /** Whom an account heard from, or wrote to. */
  correspond: { user: number; addresses: readonly Mailbox[]; used: number; known: boolean }
  log: { level: Exclude<LogLevel, 'silent'>; fields: Record<string, unknown>; text: string }
}

export type Ports = { readonly [Name in ListenerName]?: number }
export type Places = { [Name in ListenerName]?: Address }

/** What a front answers. */
export type FrontCalls = {
  /** Answers when it may be told to listen. */
  ready: { input: undefined; reply: unknown }
  /** Opens all listeners, on these ports where one is named; gives where they are. @throws Fault PortInUse, ConfigInvalid */
  listen: { input: Ports; reply: Places }
  /** The next piece of the body of a call, and all of it. */
  piece: { input: number; reply: Uint8Array | null }
  whole: { input: number; reply: Uint8Array }
  /** Resolves when every session of the account that is over has been told. */
  guarded: { input: { user: string; reason: string | undefined }; reply: unknown }
  /** A setting has this value now; null: its default. */
  setting: { input: { key: SettingKey; value: number | boolean | string | null }; reply: unknown }
  /** Its counters, as prom-client's JSON. */
  metrics: { input: undefined; reply: unknown }
  /** Stops accepting, lets sessions finish. */
  close: { input: undefined; reply: unknown }
  ping: { input: undefined; reply: unknown }
}

/** What a front hears. */
export type FrontWords = {
  changed: { user: string; change: Change }
  /** The rest of a body is wanted by nobody. */
  dropBody: number
  certificate: { names: readonly string[]; pair: KeyPair | null }
  /** For tests of what holds when a thread does this; nothing else says it. */
  suffer: Suffering
}

/** It never lets its loop go again, for so long it does not, or it runs out of memory. */
export type Suffering = 'hang' | { readonly stallMs: number } | 'memory'
