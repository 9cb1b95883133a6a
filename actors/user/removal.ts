// Deleting an account and bringing it back (api-semantics 10.7).
//
// Deleting frees the name and the addresses at once and leaves the data to a task, which takes them away piece by piece
// when its time has come. Until it begins, the account can come back with everything but what others have taken since.
// Counters of what went are written in the unit in which it goes, so that a crash neither loses nor repeats them.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { type Address, addressDelete, addressInsert, findAddressByKey, listAddresses } from '#store/accounts/address.ts'
import { fileDelete, oldestFiles } from '#store/accounts/file.ts'
import {
  archivedNumbers,
  countRemoval,
  type RemovalPart,
  removalExpunged,
  removalMailbox,
  removalMessages,
  removalParts,
  removalRows,
  removalUser,
} from '#store/accounts/removal.ts'
import { taskDelay, taskDelete, taskInsert, taskProgress } from '#store/accounts/task.ts'
import { findUserByKey, type User, usageAdd, userUpdate } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import { archiveDrop, archiveForget } from '#store/mailboxes/archive.ts'
import { countExpunged } from '#store/mailboxes/gone/expunged.ts'
import type { Mailbox } from '#store/mailboxes/mailboxes.ts'
import { grow } from '../domain/growth.ts'
import type { UserCommand, UserTurn } from './user.ts'

/** Kind of the task that takes the data away. */
export const removalTask = 'user.delete'

export interface Deleted {
  readonly user: string
  readonly addresses: { readonly deleted: number }
  /** ISO time. */
  readonly deleteAfter: string
  readonly task: string
}

/** Deletes the account, its data after the moment `after`; for one that is deleted already, moves that moment. */
export const deleteUser: UserCommand<{ after: number | null }, Deleted> = {
  name: 'user.delete',
  async run(turn, { after }) {
    const { user } = turn.state
    if (user === undefined) throw new Fault('UserNotFound')
    const due = Math.max(after ?? 0, turn.now)
    const addresses = user.deleted === null ? await leave(turn, user, due) : postpone(turn, user, due)
    const { deleted } = turn.state.user as User
    const deleteAfter = new Date(deleted?.after ?? due).toISOString()
    const result = { user: user.id, addresses: { deleted: addresses }, deleteAfter, task: deleted?.task ?? '' }
    turn.emit('user.delete.started', { user: user.id, result })
    turn.endSessions('The account was deleted')
    return result
  },
}

async function leave(turn: UserTurn, before: User, due: number): Promise<number> {
  const user = structuredClone(before)
  const addresses = await listAddresses(turn.read, user.id)
  const task = newId()
  const { username, key, address } = user
  // Tokens and logins of before are over, also where the account comes back.
  user.authVersion += 1
  user.deleted = { at: turn.now, after: due, task, username, key, address, addresses, started: false }
  // Nothing that a username may have: the name is free.
  user.key = `#${user.id}`
  for (const { id } of addresses) turn.write(addressDelete, { id })
  turn.write(userUpdate, user)
  turn.write(taskInsert, { id: task, kind: removalTask, user: user.id, due, input: {}, created: turn.now })
  turn.state.user = user
  return addresses.length
}

function postpone(turn: UserTurn, before: User, due: number): number {
  const user = structuredClone(before)
  const { deleted } = user
  if (deleted === null || deleted.started) return 0
  deleted.after = due
  turn.write(userUpdate, user)
  turn.write(taskDelay, { id: deleted.task, due, at: turn.now })
  turn.state.user = user
  return 0
}

export interface Restored {
  readonly user: string
  readonly task: string
  readonly addresses: { readonly recovered: number; readonly main?: string }
}

/** Brings a deleted account back, with those of its addresses that nobody has taken. */
export const restoreUser: UserCommand<void, Restored> = {
  name: 'user.restore',
  async run(turn) {
    const before = turn.state.user
    if (before === undefined) throw new Fault('AccountNotFound')
    if (before.deleted === null) throw new Fault('AccountFound')
    if (before.deleted.started) throw new Fault('DeleteInProgress')
    const { deleted } = before
    if ((await findUserByKey(turn.read, deleted.key)) !== undefined) throw new Fault('UserExistsError')
    const addresses = await freeAddresses(turn.read, deleted.addresses)
    const user = structuredClone(before)
    const main = addresses.find(one => one.address === deleted.address) ?? addresses[0]
    Object.assign(user, { deleted: null, key: deleted.key, username: deleted.username, address: main?.address ?? '' })
    turn.write(userUpdate, user)
    for (const address of addresses) turn.write(addressInsert, address)
    const { domain } = main ?? { domain: '' }
    for (const one of new Set(addresses.map(address => address.domain))) grow(turn, { domain: one, addresses: true })
    if (main !== undefined) grow(turn, { domain, users: true, quota: true })
    turn.write(taskDelete, { id: deleted.task })
    turn.state.user = user
    const recovered = { recovered: addresses.length, ...(main === undefined ? {} : { main: main.address }) }
    const result = { user: user.id, task: deleted.task, addresses: recovered }
    turn.emit('user.delete.cancelled', { user: user.id, result })
    return result
  },
}

/** Those of a deleted account's addresses that nobody has now. */
export async function freeAddresses(read: Reader, addresses: readonly Address[]): Promise<Address[]> {
  const free: Address[] = []
  for (const address of addresses) {
    if ((await findAddressByKey(read, address.key)) === undefined) free.push(address)
  }
  return free
}

export type RemovalCounts = Record<string, { deleted: number }>

export interface RemovalStep {
  readonly task: string
  /** Moment until which the task stays with who works on it. */
  readonly lease: number
  readonly counts: RemovalCounts
}

/** Takes one piece of a deleted account away. `done` true: nothing is left, or the account came back. */
export const removeStep: UserCommand<RemovalStep, { counts: RemovalCounts; done: boolean }> = {
  name: 'user.remove',
  background: true,
  async run(turn, { task, lease, counts: before }) {
    const { user } = turn.state
    if (user === undefined || user.deleted?.task !== task) return { counts: before, done: true }
    const counts = structuredClone(before)
    if (!user.deleted.started) begin(turn, user)
    const found = (await nextPiece(turn)) ?? finish
    const { kind, n } = await found(turn)
    if (kind !== null) counts[kind] = { deleted: (counts[kind]?.deleted ?? 0) + n }
    turn.write(taskProgress, { id: task, due: lease, result: JSON.stringify(counts), input: null, at: turn.now })
    if (found !== finish) return { counts, done: false }
    turn.emit('user.delete.completed', { user: user.id, result: { user: user.id, task, ...counts } })
    turn.state.user = undefined
    return { counts, done: true }
  },
}

function begin(turn: UserTurn, before: User): void {
  const user = structuredClone(before)
  if (user.deleted !== null) user.deleted.started = true
  turn.write(userUpdate, user)
  turn.state.user = user
}

/** Writes one piece and says what went. */
type Piece = (turn: UserTurn) => Removed | Promise<Removed>

interface Removed {
  readonly kind: string | null
  readonly n: number
}

const finish: Piece = turn => {
  turn.write(archiveForget, { user: turn.state.num })
  turn.write(removalUser, { user: turn.state.num, id: turn.state.id })
  return { kind: null, n: 0 }
}

async function nextPiece(turn: UserTurn): Promise<Piece | undefined> {
  const { state, read } = turn
  const [mailbox] = state.mailboxes.values()
  if (mailbox !== undefined) return ofMailbox(read, mailbox)
  const count = limits.removal.batchRows
  const archived = await archivedNumbers(read, state.num, count)
  if (archived.length > 0) {
    return () => {
      turn.write(archiveDrop, { nums: archived })
      return { kind: 'messages', n: archived.length }
    }
  }
  const files = await oldestFiles(read, state.num, count)
  if (files.length > 0) return () => removeFiles(turn, files)
  for (const [index, part] of removalParts.entries()) {
    const n = await countPart(turn, part, count)
    if (n === 0) continue
    return () => {
      turn.write(removalRows, { part: index, user: state.num, id: state.id, count })
      return { kind: part.kind, n }
    }
  }
  return undefined
}

function ofMailbox(read: Reader, mailbox: Mailbox): Piece {
  const count = limits.removal.batchRows
  return async turn => {
    const { state } = turn
    if (mailbox.total > 0) {
      const n = Math.min(mailbox.total, count)
      turn.write(removalMessages, { mailbox: mailbox.num, user: state.num, count })
      mailbox.total -= n
      return { kind: 'messages', n }
    }
    if ((await countExpunged(read, mailbox.num, count)) === count) {
      turn.write(removalExpunged, { mailbox: mailbox.num, count })
      return { kind: null, n: 0 }
    }
    turn.write(removalMailbox, { mailbox: mailbox.num })
    state.mailboxes.delete(mailbox.num)
    return { kind: 'mailboxes', n: 1 }
  }
}

function removeFiles(turn: UserTurn, files: readonly { id: string; size: number }[]): Removed {
  const storage = files.reduce((sum, file) => sum - file.size, 0)
  turn.write(fileDelete, { ids: files.map(file => file.id) })
  turn.write(usageAdd, { user: turn.state.num, storage, modseq: turn.state.modseq })
  return { kind: 'files', n: files.length }
}

async function countPart(turn: UserTurn, part: RemovalPart, count: number): Promise<number> {
  const { num, id } = turn.state
  return countRemoval(part, turn.read, part.by === 'num' ? num : id, count)
}
