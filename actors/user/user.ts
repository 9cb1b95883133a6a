// The state of one account's actor: the account, its folders with their counters, and what recent deliveries need.
//
// It is a cache of the database and is dropped whenever it might not be one. Commands of this folder change it only
// together with the writes that say the same.

import assert from 'node:assert'
import { Fault } from '#lib/fault.ts'
import { findUser, readUsage, type User, usageAdd } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { Command, Turn } from '../kernel/actor.ts'
import { References } from '../mailbox/references.ts'

export interface UserState {
  /** Internal number: the account's, or the one it will have once created. */
  readonly num: number
  readonly id: string
  /** Undefined while there is no such account. */
  user: User | undefined
  /** Bytes stored. */
  storage: number
  /** Highest change number given out. */
  modseq: number
  readonly mailboxes: Map<number, Mailbox>
  readonly references: References
  /** Messages delivered lately, for telling a repeated delivery. */
  readonly recent: Map<string, number>
}

export type UserCommand<Input, Reply> = Command<UserState, Input, Reply>
export type UserTurn = Turn<UserState>

/** Reads an account's state from committed rows. */
export async function loadUser(read: Reader, sequence: Sequence, id: string): Promise<UserState> {
  const user = await findUser(read, id)
  const num = user?.num ?? sequence.next('user')
  const usage = await readUsage(read, num)
  const mailboxes = user === undefined ? [] : await listMailboxes(read, num)
  return {
    num,
    id,
    user,
    storage: usage.storage,
    modseq: usage.modseq,
    mailboxes: new Map(mailboxes.map(mailbox => [mailbox.num, mailbox])),
    references: new References(),
    recent: new Map(),
  }
}

/** The account of this turn. @throws Fault UserNotFound when there is none, or it is deleted */
export function requireUser(turn: UserTurn): User {
  const user = turn.state.user
  if (user === undefined || user.deleted !== null) throw new Fault('UserNotFound')
  return user
}

/** The folder with this id. @throws Fault NoSuchMailbox */
export function requireMailbox(turn: UserTurn, id: string): Mailbox {
  for (const mailbox of turn.state.mailboxes.values()) if (mailbox.id === id) return mailbox
  throw new Fault('NoSuchMailbox')
}

/** The folder with this path, or with this special use (`\Junk`). */
export function mailboxAt(state: UserState, where: { path: string } | { specialUse: string }): Mailbox | undefined {
  for (const mailbox of state.mailboxes.values()) {
    if ('path' in where ? mailbox.path === where.path : mailbox.specialUse === where.specialUse) return mailbox
  }
  return undefined
}

/** Where mail goes that nothing else sends elsewhere. */
export function inbox(turn: UserTurn): Mailbox {
  const mailbox = mailboxAt(turn.state, { path: 'INBOX' })
  assert(mailbox !== undefined, 'an account without INBOX')
  return mailbox
}

/** The next change number of the account, and `storage` bytes more or less in use. */
export function nextModseq(turn: UserTurn, storage = 0): number {
  turn.state.modseq += 1
  turn.state.storage += storage
  turn.write(usageAdd, { user: turn.state.num, storage, modseq: turn.state.modseq }, 40)
  return turn.state.modseq
}

/** Bytes the account may store. */
export function quotaOf(turn: UserTurn): number {
  return turn.state.user?.quota || turn.settings.get('const:max:storage')
}
