// The whole outbound queue, for operators: its figures, every message in it whoever it belongs to, and what can be done
// about one. What belongs to nobody is here alone: reports, and what addresses that only forward send on.
//
// Not for tokens of users: the grant is that of settings. What is listed is what `GET /outbound` counts.

import { Type } from 'typebox'
import {
  cancelAnyOutgoing,
  holdAnyOutgoing,
  readTarget,
  retryAnyOutgoing,
  routeAnyOutgoing,
} from '#actors/sending/outgoing.ts'
import { Fault, invalid } from '#lib/fault.ts'
import type { Reader } from '#store/engine/reader.ts'
import { findOutbound, type Outbound, queueNumber } from '#store/sending/outbound.ts'
import { busiestDestinations, progressOf, queueFigures } from '#store/sending/outbound-figures.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, moment, oneOf, optional, pageReply, paging, queueId, text, userId } from '../../schema.ts'
import { messageShape, type OutboundDeps, pageOfQueue, shown, takeBack, takenBack } from './outbound.ts'
import { isoOr, shownTargets, targetShape } from './way.ts'

const overview = {
  waiting: Type.Integer(),
  sending: Type.Integer(),
  deferred: Type.Integer({ description: 'Waiting targets that were tried already' }),
  next: Type.Union([moment, Type.Literal(false)], { description: 'When the next one is due' }),
  oldest: Type.Union([moment, Type.Literal(false)], { description: 'When the oldest message was queued' }),
  destinations: Type.Array(Type.Object({ destination: Type.String(), waiting: Type.Integer() })),
}

export const queuedShape = {
  ...messageShape,
  user: Type.Union([Type.String(), Type.Literal(false)], { description: 'Whose it is; false for nobody' }),
  forwardedFor: Type.Optional(Type.String({ description: 'Address it is forwarded for' })),
  originalSender: Type.Optional(Type.String({ description: 'Envelope sender before it was rewritten' })),
}

const progressShape = {
  waiting: Type.Integer({ description: 'Targets that wait' }),
  sending: Type.Integer({ description: 'Targets that are being sent to' }),
  attempts: Type.Integer(),
  nextAttempt: Type.Union([moment, Type.Literal(false)]),
  failure: Type.Optional(Type.String({ description: 'Why the last attempt failed: one of a few words' })),
  status: Type.Optional(Type.Integer({ description: 'Status of the last answer' })),
  response: Type.Optional(Type.String({ description: 'What the server said' })),
  destinations: Type.Array(Type.String(), { description: 'Where it still has to go, some of them' }),
}

const destinationsMax = 20
const destinationsShownMax = 5
const destinationLengthMax = 1024

export function outboundQueueEndpoints({ system }: OutboundDeps): Endpoint[] {
  const { read } = system

  const everything = endpoint({
    method: 'GET',
    path: '/outbound',
    tag: 'Outbound',
    summary: 'The outbound queue in figures',
    allow: 'queue.read',
    reply: overview,
    async run() {
      const { waiting, sending, deferred, next, oldest } = await queueFigures(read)
      const found = await busiestDestinations(read, destinationsMax)
      const destinations = found.map(({ destination, waiting: some }) => ({ destination, waiting: some }))
      return { waiting, sending, deferred, next: isoOr(next), oldest: isoOr(oldest), destinations }
    },
  })

  const list = endpoint({
    method: 'GET',
    path: '/outbound/messages',
    tag: 'Outbound',
    summary: 'List the outbound queue, newest first',
    allow: 'queue.read',
    query: {
      pending: bool({ default: true, description: 'Only messages that still wait for a target' }),
      user: optional(userId),
      origin: optional(oneOf(['submission', 'forward', 'autoreply', 'report'])),
      destination: optional(
        text({ max: destinationLengthMax, description: 'Only what waits for this destination of `GET /outbound`' }),
      ),
      ...paging,
    },
    reply: { ...pageReply, results: Type.Array(Type.Object({ ...queuedShape, ...progressShape })) },
    async run({ input }) {
      const where = {
        ...{ user: input.user ?? null, pending: input.pending },
        ...{ destination: input.destination, origin: input.origin },
      }
      const { rows, ...page } = await pageOfQueue(read, input, where)
      const results = await Promise.all(rows.map(async one => ({ ...queued(one), ...(await progress(read, one)) })))
      return { ...page, results }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/outbound/messages/:queueId',
    tag: 'Outbound',
    summary: 'How a message of the outbound queue is doing',
    allow: 'queue.read',
    params: { queueId },
    reply: { ...queuedShape, targets: Type.Array(targetShape) },
    faults: ['NoSuchQueueEntry'],
    async run({ input }) {
      const message = await findOutbound(read, queueNumber(input.queueId))
      if (message === undefined) throw new Fault('NoSuchQueueEntry')
      return { ...queued(message), targets: await shownTargets(read, message.num) }
    },
  })

  const retry = endpoint({
    method: 'POST',
    path: '/outbound/messages/:queueId/retry',
    tag: 'Outbound',
    summary: 'Try what waits of any message now',
    allow: 'queue.update',
    params: { queueId },
    faults: ['NoSuchQueueEntry'],
    async run({ input }) {
      await system.directory.run(retryAnyOutgoing, { num: queueNumber(input.queueId) })
      return {}
    },
  })

  const cancel = endpoint({
    method: 'DELETE',
    path: '/outbound/messages/:queueId',
    tag: 'Outbound',
    summary: 'Remove any message that waits',
    description:
      'Nobody is told, its sender included. Targets that are being sent to at this moment stay; `deleted` counts those ' +
      'that were removed. Where nothing waits any more the answer says so with status 200.',
    allow: 'queue.delete',
    params: { queueId },
    reply: takenBack,
    async run({ input }) {
      return takeBack(input.queueId, () => cancelAnyOutgoing(system, input.queueId))
    },
  })
  const hold = endpoint({
    method: 'POST',
    path: '/outbound/messages/:queueId/hold',
    tag: 'Outbound',
    summary: 'Hold what waits of any message until it is retried',
    allow: 'queue.update',
    params: { queueId },
    faults: ['NoSuchQueueEntry'],
    async run({ input }) {
      await system.directory.run(holdAnyOutgoing, { num: queueNumber(input.queueId) })
      return {}
    },
  })

  const route = endpoint({
    method: 'POST',
    path: '/outbound/messages/:queueId/route',
    tag: 'Outbound',
    summary: 'Send what waits of any message by a relay now',
    allow: 'queue.update',
    params: { queueId },
    body: {
      relay: text({ max: destinationLengthMax, description: 'An smtp: or smtps: URL; empty for the usual way' }),
    },
    faults: ['NoSuchQueueEntry'],
    async run({ input }) {
      if (input.relay !== '' && readTarget(input.relay, 'relay').kind !== 'relay') {
        throw invalid('relay', 'must be a URL of smtp or smtps')
      }
      const relay = input.relay === '' ? null : await system.secrets.seal(input.relay)
      await system.directory.run(routeAnyOutgoing, { num: queueNumber(input.queueId), relay })
      return {}
    },
  })
  return [everything, list, get, retry, hold, route, cancel]
}

export function queued(message: Outbound) {
  const { forwardedFor, originalSender } = message.options
  return {
    ...shown(message),
    user: message.user ?? (false as const),
    ...(forwardedFor !== undefined && { forwardedFor }),
    ...(originalSender !== undefined && { originalSender }),
  }
}

async function progress(read: Reader, { num }: Outbound) {
  const { waiting, sending, attempts, next, failure, status, response, destinations } = await progressOf(
    read,
    num,
    destinationsShownMax,
  )
  return {
    ...{ waiting, sending, attempts, nextAttempt: isoOr(next), destinations: [...destinations] },
    ...(failure !== null && { failure }),
    ...(status !== null && { status }),
    ...(response !== null && { response }),
  }
}
