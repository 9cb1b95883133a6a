// Whose mail a session serves.

import type { UserDoor } from '#actors/kernel/system.ts'

/** The account a session has logged in to. */
export interface Account {
  readonly id: string
  readonly num: number
  readonly username: string
  readonly door: UserDoor
  /** Bytes a day. */
  readonly uploadMax: number
  readonly downloadMax: number
}
