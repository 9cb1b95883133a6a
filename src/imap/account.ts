// Whose mail a session serves.

import type { UserHandle } from '#actors/kernel/system.ts'

/** The account a session has logged in to. */
export interface Account {
  readonly id: string
  readonly num: number
  readonly username: string
  readonly handle: UserHandle
  /** Bytes a day. */
  readonly uploadMax: number
  readonly downloadMax: number
}
