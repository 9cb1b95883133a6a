// Changing, moving and deleting messages over HTTP, one or many (wire-shapes, Messages).
//
// Large sets go in pieces, so that nobody waits long behind them; a call that breaks off has done some of them.

import { Type } from 'typebox'
import { markOf } from '#actors/mailbox/mark.ts'
import { changeMeta, expungeMessages, moveMessages, type UidRanges } from '#actors/mailbox/message.ts'
import { transferMessages } from '#actors/user/transfer.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isStarAlone, type NumberSet, parseNumbers, resolveNumbers, toRanges } from '#mail/numbers.ts'
import { newestRows } from '#store/mailboxes/listing.ts'
import { findMailbox, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import { uidBatches } from '#store/writer/batches.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, date, field, mailboxId, metaData, optional, orFalse, userId } from '../../schema.ts'
import { mailboxOrResolve } from './mailboxes.ts'
import type { MessageDeps } from './message-deps.ts'
import { type FlagWishes, mailboxOf, messageOf, place, setFlags } from './message-place.ts'

const updateReply = {
  id: Type.Optional(Type.Array(Type.Array(Type.Integer()), { description: 'Pairs of old and new number' })),
  mailbox: Type.Optional(Type.String()),
  updated: Type.Optional(Type.Integer()),
}

/** What both forms of update take. */
const changes = {
  moveTo: optional(mailboxId),
  seen: optional(bool()),
  deleted: optional(bool()),
  flagged: optional(bool()),
  draft: optional(bool()),
  expires: optional(orFalse(date())),
  metaData: optional(metaData()),
}

/** `1`, `1,2,5:9`, `1:*`; `*` alone is the newest message. */
const messageSet = field<NumberSet>({ type: 'string' }, (value, at, problems) => {
  const given = typeof value === 'number' ? String(value) : value
  const set = typeof given === 'string' ? parseNumbers(given.replaceAll(' ', '')) : null
  return set ?? problems.add(at, 'must be message numbers such as 1,2,5:9 or 1:*')
})

interface Changes extends FlagWishes {
  readonly moveTo?: string
  readonly expires?: number | false
  readonly metaData?: Record<string, unknown>
}

export function changeEndpoints(deps: MessageDeps): Endpoint[] {
  const { system, settings, tasks } = deps
  const { read } = system

  const updateOne = endpoint({
    method: 'PUT',
    path: '/users/:user/mailboxes/:mailbox/messages/:message',
    tag: 'Messages',
    summary: 'Change or move one message; a set of numbers will do as well',
    allow: 'messages.update',
    params: { ...place, message: messageSet },
    body: changes,
    reply: updateReply,
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound'],
    run: ({ input, signal }) => update(input, input.message, signal),
  })

  const updateMany = endpoint({
    method: 'PUT',
    path: '/users/:user/mailboxes/:mailbox/messages',
    tag: 'Messages',
    summary: 'Change or move messages',
    allow: 'messages.update',
    params: { user: userId, mailbox: mailboxOrResolve },
    body: { ...changes, message: messageSet },
    reply: updateReply,
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound'],
    run: ({ input, signal }) => update(input, input.message, signal),
  })

  const removeOne = endpoint({
    method: 'DELETE',
    path: '/users/:user/mailboxes/:mailbox/messages/:message',
    tag: 'Messages',
    summary: 'Delete a message',
    allow: 'messages.delete',
    params: place,
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound'],
    async run({ input, signal }) {
      const { mailbox, message } = await messageOf(read, input)
      const uids: UidRanges = [[message.uid, message.uid]]
      const expunge = { mailbox: mailbox.id, uids, marked: false }
      const { uids: gone } = await system.handle(input.user).run(expungeMessages, expunge, signal)
      if (gone.length === 0) throw new Fault('MessageNotFound')
      return {}
    },
  })

  const removeAll = endpoint({
    method: 'DELETE',
    path: '/users/:user/mailboxes/:mailbox/messages',
    tag: 'Messages',
    summary: 'Delete all messages of a mailbox',
    allow: 'messages.delete',
    params: { user: userId, mailbox: mailboxOrResolve },
    query: {
      async: bool({ default: false, description: 'Answer at once with a task' }),
      skipArchive: bool({ default: false, description: 'Do not keep them in the archive' }),
    },
    reply: {
      deleted: Type.Optional(Type.Integer()),
      errors: Type.Optional(Type.Integer()),
      existing: Type.Optional(Type.Boolean({ description: 'The same task waits already' })),
      scheduled: Type.Optional(Type.String({ description: 'Id of the task' })),
    },
    faults: ['UserNotFound', 'NoSuchMailbox', 'TooMany'],
    async run({ input, signal }) {
      const { async: later, skipArchive } = input
      const mailbox = await mailboxOf(read, input.user, input.mailbox)
      const last = mailbox.uidNext - 1
      if (later) {
        const task = { mailbox: mailbox.id, last, skipArchive }
        const { id, existing } = await tasks.add({ kind: 'messages.delete', user: input.user, input: task })
        return { existing, scheduled: id }
      }
      const handle = system.handle(input.user)
      let deleted = 0
      for await (const uids of batches(mailbox, [[1, last]])) {
        signal.throwIfAborted()
        const expunge = { mailbox: mailbox.id, uids, marked: false, archive: !skipArchive }
        deleted += (await handle.run(expungeMessages, expunge, signal)).uids.length
      }
      return { deleted, errors: 0 }
    },
  })

  async function update(
    input: { user: string; mailbox: string } & Changes,
    set: NumberSet,
    signal: AbortSignal,
  ): Promise<{ id?: number[][]; mailbox?: string; updated?: number }> {
    const mailbox = await mailboxOf(read, input.user, input.mailbox)
    const { moveTo } = input
    const target = moveTo === undefined ? mailbox : await findMailbox(read, mailbox.user, moveTo)
    if (target === undefined) throw new Fault('NoSuchMailbox')
    // The move says whether it is spam, and once.
    const quiet = markOf(mailbox, target) !== null
    const pairs: number[][] = []
    let found = 0
    for await (const batch of batches(mailbox, await uidsOf(mailbox, set))) {
      signal.throwIfAborted()
      found += await setFlags(system.handle(input.user), mailbox.id, batch, input, signal, quiet)
      if (moveTo === undefined || moveTo === mailbox.id) {
        await changeFacts(input, mailbox.id, batch, signal)
        continue
      }
      const transfer = { from: mailbox.id, to: moveTo, uids: batch }
      const moved = await transferMessages(deps, system.handle(input.user), moveMessages, transfer, signal)
      for (const pair of moved.uids) pairs.push([...pair])
      // Where they are now, since the folder they came into has dated them by its retention.
      await changeFacts(input, moveTo, toRanges(moved.uids.map(([, to]) => to)), signal)
    }
    // Somebody else may have taken them all meanwhile.
    const lost = moveTo !== undefined && moveTo !== mailbox.id && pairs.length === 0
    if (found === 0 || lost) throw new Fault('MessageNotFound')
    return moveTo === undefined ? { updated: found } : { id: pairs, mailbox: moveTo, updated: found }
  }

  /** What a set means there: who says `99:*` means no message below 99, unlike in IMAP. */
  async function uidsOf(mailbox: Mailbox, set: NumberSet): Promise<UidRanges> {
    if (!set.some(isStarAlone)) return resolveNumbers(set, 0xffffffff)
    const [[last] = []] = await newestRows(read, mailbox.num, 1)
    const alone = last === undefined ? [] : [[last, last] as const]
    const named = set.flatMap(item => (isStarAlone(item) ? alone : [item]))
    return resolveNumbers(named, 0xffffffff)
  }

  async function changeFacts(
    { user, expires, metaData: meta }: { user: string } & Changes,
    mailbox: string,
    uids: UidRanges,
    signal: AbortSignal,
  ): Promise<void> {
    if (uids.length === 0) return
    if (expires === undefined && meta === undefined) return
    const until = expires === undefined ? undefined : expires === false ? null : expires
    await system
      .handle(user)
      .run(changeMeta, { mailbox, uids, expires: until, ...(meta !== undefined && { metaData: meta }) }, signal)
  }

  function batches(mailbox: Mailbox, uids: UidRanges): AsyncGenerator<UidRanges> {
    const size = Math.min(settings.get('const:max:bulk_batch_size'), limits.actor.encryptedMax)
    return uidBatches(read, mailbox.num, uids, Math.max(size, 1))
  }

  return [updateOne, updateMany, removeOne, removeAll]
}
