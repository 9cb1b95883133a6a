// The outbound queue over HTTP (api-semantics 10.12): a user looks at and takes back what the own account sends. What an
// operator sees of the whole is in outbound-queue.ts.
//
// Ids are 18 hexadecimal digits. Another account's message is not found, whether it exists or not.

import { Type } from 'typebox'
import { restoreDraft } from '#actors/compose/taken-back.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { cancelOutgoing, retryOutgoing } from '#actors/sending/outgoing.ts'
import { Fault } from '#lib/fault.ts'
import { counted } from '#store/engine/counted.ts'
import type { Reader } from '#store/engine/reader.ts'
import {
  countOutbound,
  findOutbound,
  queueId as idOf,
  listOutbound,
  type Outbound,
  queueNumber,
} from '#store/sending/outbound.ts'
import { toldInAnswer } from '../../answer.ts'
import { type Paging, pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, moment, oneOf, pageReply, paging, queueId, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'
import { isoOr, shownTargets, targetShape } from './way.ts'

export interface OutboundDeps {
  readonly system: ActorSystem
}

export const messageShape = {
  queueId,
  origin: oneOf(['submission', 'forward', 'autoreply', 'report']),
  from: Type.String({ description: 'Envelope sender; empty for none' }),
  size: Type.Integer(),
  created: moment,
  done: Type.Union([moment, Type.Literal(false)], { description: 'When nothing was left to do' }),
  messageId: Type.Optional(Type.String()),
}

export function outboundEndpoints({ system }: OutboundDeps): Endpoint[] {
  const { read } = system
  const pending = bool({ default: true, description: 'Only messages that still wait for a target' })

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/outbound',
    tag: 'Outbound',
    summary: 'List what a user sends, newest first',
    allow: 'messages.read',
    params: { user: userId },
    query: { pending, ...paging },
    reply: { ...pageReply, results: Type.Array(Type.Object(messageShape)) },
    faults: ['UserNotFound'],
    async run({ input }) {
      await requireUser(read, input.user)
      const { rows, ...page } = await pageOfQueue(read, input, { user: input.user, pending: input.pending })
      return { ...page, results: rows.map(shown) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/outbound/:queueId',
    tag: 'Outbound',
    summary: 'How a message that a user sends is doing',
    allow: 'messages.read',
    params: { user: userId, queueId },
    reply: { ...messageShape, targets: Type.Array(targetShape) },
    faults: ['NoSuchQueueEntry'],
    async run({ input }) {
      const message = await requireMessage(read, input.user, input.queueId)
      return { ...shown(message), targets: await shownTargets(read, message.num) }
    },
  })

  const retry = endpoint({
    method: 'POST',
    path: '/users/:user/outbound/:queueId/retry',
    tag: 'Outbound',
    summary: 'Try what waits of a message now',
    allow: 'messages.update',
    params: { user: userId, queueId },
    faults: ['UserNotFound', 'NoSuchQueueEntry', 'SendingPaused'],
    async run({ input, signal }) {
      const { num } = await requireMessage(read, input.user, input.queueId)
      await system.handle(input.user).run(retryOutgoing, { num }, signal)
      return {}
    },
  })

  const cancel = endpoint({
    method: 'DELETE',
    path: '/users/:user/outbound/:queueId',
    tag: 'Outbound',
    summary: 'Take back a message that waits',
    description:
      'Targets that are being sent to at this moment stay; `deleted` counts those that were taken back. Where nothing waits any ' +
      'more the answer says so with status 200. With `restoreDraft` what waited for its `sendTime` and reached nobody is a draft ' +
      'again: the copy in Sent goes, and `message` says where the draft is. What was sent without a draft has lost its blind ' +
      'recipients by then; what was encrypted when it was kept stays where it is.',
    allow: 'messages.delete',
    params: { user: userId, queueId },
    faults: ['UserNotFound'],
    query: { restoreDraft: bool({ default: false, description: 'Make it a draft again' }) },
    reply: {
      ...takenBack,
      message: Type.Optional(Type.Object({ mailbox: Type.String(), id: Type.Integer(), size: Type.Integer() })),
    },
    async run({ input, signal }) {
      const handle = system.handle(input.user)
      const done = await takeBack(input.queueId, () => cancelOutgoing(handle, input.queueId, signal))
      if (!input.restoreDraft) return done
      // Also where the call before this one broke off between the two.
      const draft = await handle.run(restoreDraft, { num: queueNumber(input.queueId) }, signal)
      if (draft === null) return done
      const { mailbox, uid: id, size } = draft
      const said = done.success ? done : { success: true, queueId: input.queueId, deleted: 0 }
      return { ...said, message: { mailbox, id, size } }
    },
  })
  return [list, get, retry, cancel]
}

/** A page of messages that are sent, newest first, and how many there are. */
export async function pageOfQueue(read: Reader, paging: Paging, where: Parameters<typeof countOutbound>[1]) {
  return await pagedCounted(paging, {
    key: ['number'],
    fetch: (boundary, direction, count) =>
      counted(
        read,
        picture => countOutbound(picture, where),
        picture => listOutbound(picture, where, boundary && Number(boundary[0]), direction, count),
      ),
    boundary: one => [one.num],
  })
}

/** Takes a message back; one that has left is told in the answer, not by the status (api-semantics 10.12). */
export function takeBack(id: string, cancel: () => Promise<number>) {
  return toldInAnswer('NoSuchQueueEntry', async () => ({ queueId: id, deleted: await cancel() }))
}

export const takenBack = {
  success: Type.Boolean({ description: 'Whether anything of it was waiting' }),
  queueId: Type.Optional(queueId),
  deleted: Type.Optional(Type.Integer({ description: 'Targets that were taken back' })),
  error: Type.Optional(Type.String()),
  code: Type.Optional(Type.Literal('NoSuchQueueEntry')),
}

/** A message of this account and of nobody else. */
async function requireMessage(read: Reader, user: string, id: string): Promise<Outbound> {
  const message = await findOutbound(read, queueNumber(id))
  if (message === undefined || message.user !== user) throw new Fault('NoSuchQueueEntry')
  return message
}

export function shown({ num, origin, sender, size, created, done, options }: Outbound) {
  return {
    queueId: idOf(num),
    ...{ origin, from: sender, size },
    created: new Date(created).toISOString(),
    done: isoOr(done),
    ...(options.messageId !== undefined && { messageId: options.messageId }),
  }
}
