// Tasks on many messages of one account: what a search finds is changed, a folder is emptied, archived messages come back.
//
// Each goes in pieces of limits.task.batchMessages, so that the account can be used meanwhile, and notes how far it is.
// All of them may be begun again: what was done already is not found any more, or is changed to what it is.

import type { ActorSystem, UserHandle } from '#actors/kernel/system.ts'
import { expungeMessages, moveMessages, storeFlags, type UidRanges } from '#actors/mailbox/message.ts'
import { restoreArchived } from '#actors/user/restore.ts'
import { transferMessages } from '#actors/user/transfer.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { joinRanges } from '#mail/numbers.ts'
import type { Query } from '#mail/query/query.ts'
import type { Task } from '#store/accounts/task.ts'
import { findUser } from '#store/accounts/users.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { archivedBetween } from '#store/mailboxes/archive.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { placesOf, uidBatches } from '#store/writer/batches.ts'
import type { TaskRun, Tasks } from './tasks.ts'

export interface MessageTaskDeps {
  readonly system: ActorSystem
  readonly bodies: Bodies
  readonly sequence: Sequence
  readonly reads: Reads
}

/** What a search changes about everything that it finds. */
interface SearchAction {
  readonly moveTo?: string
  readonly seen?: boolean
  readonly flagged?: boolean
  readonly delete?: boolean
}

export function handleMessageTasks(tasks: Tasks, deps: MessageTaskDeps): void {
  tasks.handle('search.apply', (task, run) => applySearch(deps, task, run))
  tasks.handle('messages.delete', (task, run) => deleteMessages(deps, task, run))
  tasks.handle('archive.restore', (task, run) => restoreRange(deps, task, run))
}

/** Input: `query` (a tree), `action`. */
async function applySearch(deps: MessageTaskDeps, task: Task, run: TaskRun) {
  const { system, reads } = deps
  const { handle, num } = await accountOf(system, task)
  const { query, action } = task.input as { query: Query; action: SearchAction }
  const nums = await reads.searchEvery({ user: num, query }, { signal: run.signal, turnKey: handle.id })
  let changed = 0
  const ways = new Map<string, UidRanges>()
  const told = () => ({ found: nums.length, changed, ...(ways.size > 0 && { moved: movedBy(ways) }) })
  for (let at = 0; at < nums.length; at += limits.task.batchMessages) {
    run.signal.throwIfAborted()
    const batch = nums.slice(at, at + limits.task.batchMessages)
    const byMailbox = Map.groupBy(await placesOf(system.read, num, batch), place => place.mailbox)
    for (const [mailbox, places] of byMailbox) {
      const uids = joinRanges(places.map(({ uid }) => [uid, uid]))
      const moved = await change(deps, handle, mailbox, uids, action)
      changed += places.length
      const known = ways.get(mailbox) ?? []
      if (moved.length > 0) ways.set(mailbox, joinRanges([...known, ...moved].map(([from, to]) => [from, to])))
    }
    await run.progress(told())
  }
  return told()
}

/** From which folder messages came, and their numbers where they are now; nothing of a folder whose are too scattered to be told. */
function movedBy(ways: ReadonlyMap<string, UidRanges>): { mailbox: string; messages: string }[] {
  return [...ways].flatMap(([mailbox, ranges]) => {
    const messages = ranges.map(([from, to]) => (from === to ? `${from}` : `${from}:${to}`)).join(',')
    return messages.length > limits.task.movedLengthMax ? [] : { mailbox, messages }
  })
}

async function change(
  deps: MessageTaskDeps,
  handle: UserHandle,
  mailbox: string,
  uids: UidRanges,
  action: SearchAction,
): Promise<UidRanges> {
  const names = (['seen', 'flagged'] as const).filter(name => action[name] !== undefined)
  if (names.length > 0) {
    const mask = names.reduce((bits, name) => bits | flag[name], 0)
    const flags = names.reduce((bits, name) => (action[name] === true ? bits | flag[name] : bits), 0)
    const ham = action.flagged === true
    await handle.run(storeFlags, { mailbox, uids, how: 'set', flags, mask, keywords: [], ham })
  }
  if (action.delete === true) await handle.run(expungeMessages, { mailbox, uids, marked: false })
  else if (action.moveTo !== undefined && action.moveTo !== mailbox) {
    const transfer = { from: mailbox, to: action.moveTo, uids }
    const moved = await transferMessages(deps, handle, moveMessages, transfer)
    return joinRanges(moved.uids.map(([, to]) => [to, to]))
  }
  return []
}

/** Input: `mailbox`, `last` (the highest uid that goes), `skipArchive`. */
async function deleteMessages({ system }: MessageTaskDeps, task: Task, run: TaskRun) {
  const { handle, num } = await accountOf(system, task)
  const { mailbox: id, last, skipArchive } = task.input as { mailbox: string; last: number; skipArchive: boolean }
  const mailbox = await findMailbox(system.read, num, id)
  if (mailbox === undefined) throw new Fault('NoSuchMailbox')
  let deleted = 0
  for await (const uids of uidBatches(system.read, mailbox.num, [[1, last]], limits.task.batchMessages)) {
    run.signal.throwIfAborted()
    const expunge = { mailbox: id, uids, marked: false, archive: !skipArchive }
    deleted += (await handle.run(expungeMessages, expunge)).uids.length
    await run.progress({ deleted, errors: 0 })
  }
  return { deleted, errors: 0 }
}

/** Input: `start`, `end`: when the messages were deleted, milliseconds; `mailbox`: where they go instead of where they were. */
async function restoreRange({ system }: MessageTaskDeps, task: Task, run: TaskRun) {
  const { handle, num } = await accountOf(system, task)
  const { start, end, mailbox } = task.input as { start: number; end: number; mailbox?: string }
  let restored = 0
  for (let last = 0; ; ) {
    run.signal.throwIfAborted()
    const nums = await archivedBetween(system.read, num, start, end, last, limits.task.batchMessages)
    last = nums.at(-1) ?? 0
    if (nums.length === 0) return { restored }
    restored += (await handle.run(restoreArchived, { nums, mailbox })).length
    await run.progress({ restored })
  }
}

async function accountOf(system: ActorSystem, task: Task): Promise<{ handle: UserHandle; num: number }> {
  const user = task.user === null ? undefined : await findUser(system.read, task.user)
  if (user === undefined || user.deleted !== null) throw new Fault('UserNotFound')
  return { handle: system.handle(user.id), num: user.num }
}
