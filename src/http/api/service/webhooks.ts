// Webhooks over HTTP (api-semantics 9; wire-shapes, Webhooks): subscriptions, their deliveries, and what an operator can
// do about those that failed.
//
// A caller with a user token sees the subscriptions of that account only, and no secrets.

import { Type } from 'typebox'
import { type WebhookHandle, withoutSecrets } from '#actors/admin/webhook.ts'
import { Fault } from '#lib/fault.ts'
import { randomBuffer } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { counted } from '#store/engine/counted.ts'
import type { Reader } from '#store/engine/reader.ts'
import {
  countDeliveries,
  type Delivery,
  deliveryId,
  deliveryStates,
  listDeliveries,
  parseDeliveryId,
} from '#store/events/deliveries.ts'
import type { Subscription } from '#store/events/subscriptions.ts'
import { paged, pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { id, list, moment, oneOf, optional, pageReply, paging, text, url, userId } from '../../schema.ts'

export interface WebhookDeps {
  readonly handle: WebhookHandle
  readonly read: Reader
}

const webhookId = id({ description: 'Id of the webhook' })
const params = { webhook: webhookId }

/** An event name or a wildcard; names are not checked against the catalogue, which may grow. */
const eventType = text({
  min: 1,
  max: limits.webhook.typeLengthMax,
  trim: true,
  lower: true,
  description: 'Name of an event, `*`, or a wildcard such as `user.*` or `user.delete.*`',
})

const secret = text({
  min: limits.webhook.secretLengthMin,
  max: limits.webhook.secretLengthMax,
  pattern: /^(whsec_[A-Za-z0-9+/]{16,}={0,2}|(?!whsec_)[\x21-\x7e]+)$/,
  description: 'Signs each delivery: text, or `whsec_` and bytes in base64. It is never shown again',
})

const shape = {
  id: webhookId,
  type: Type.Array(Type.String()),
  user: Type.Union([userId, Type.Null()], { description: 'Account whose events it gets; null: all' }),
  url: Type.String(),
  created: moment,
}

const stateShape = {
  signed: Type.Boolean({ description: 'Whether deliveries carry a signature' }),
  paused: Type.Union([moment, Type.Literal(false)], { description: 'When it was paused because calls kept failing' }),
  reason: Type.Optional(Type.String({ description: 'Why it was paused' })),
  failures: Type.Integer({ description: 'Failures of the endpoint in a row' }),
  deliveries: Type.Object({ waiting: Type.Integer(), retrying: Type.Integer(), dead: Type.Integer() }),
}

const deliveryShape = {
  id: Type.String({ description: 'As in the delivery itself, the same for every attempt' }),
  event: Type.String(),
  created: moment,
  state: oneOf(deliveryStates),
  attempts: Type.Integer(),
  lastAttempt: Type.Union([moment, Type.Literal(false)]),
  nextAttempt: Type.Union([moment, Type.Literal(false)]),
  failure: Type.Optional(Type.String({ description: 'Why the last attempt failed: one of a few words' })),
  status: Type.Optional(Type.Integer({ description: 'Status of the last answer' })),
}

export function webhookEndpoints(deps: WebhookDeps): Endpoint[] {
  return [...subscriptionEndpoints(deps), ...deliveryEndpoints(deps)]
}

function subscriptionEndpoints({ handle, read }: WebhookDeps): Endpoint[] {
  const { subscriptions } = handle
  const listing = endpoint({
    method: 'GET',
    path: '/webhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    allow: 'webhooks.read',
    listing: true,
    open: true,
    query: {
      type: optional(text({ max: limits.webhook.typeLengthMax, description: 'Only those with exactly this type' })),
      user: optional(userId),
      ...paging,
    },
    reply: {
      type: Type.Optional(Type.String()),
      user: Type.Union([userId, Type.Null()]),
      ...pageReply,
      results: Type.Array(Type.Object(shape)),
    },
    async run({ input, onlyUser }) {
      const { type, user } = input
      const all = subscriptions.all
        .filter(one => onlyUser === null || one.user === onlyUser)
        .filter(one => user === undefined || one.user === user)
        .filter(one => type === undefined || one.type.includes(type))
      const { rows, ...cursors } = await paged(input, {
        key: ['string'],
        fetch: (boundary, direction, count) =>
          slice(all, boundary === null ? null : String(boundary[0]), direction, count),
        boundary: one => [one.id],
      })
      const results = rows.map(one => shown(one, onlyUser !== null))
      return { ...(type !== undefined && { type }), user: user ?? null, total: all.length, ...cursors, results }
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/webhooks',
    tag: 'Webhooks',
    summary: 'Subscribe to events',
    description:
      'Events are delivered at least once, as POST or as mail. A failed delivery is tried again after 2 s, 4 s, ' +
      '8 s and so on, up to 12 hours apart, 17 times over some 30 hours. Deliveries about one account come in order.',
    allow: 'webhooks.create',
    body: {
      type: list(eventType, { max: limits.webhook.typesMax }),
      user: optional(userId),
      url: url(['http', 'https', 'smtp', 'smtps'], {
        description: 'Where deliveries go; may hold user and password, which is never shown again',
      }),
      secret: optional(secret),
    },
    reply: { id: webhookId },
    faults: ['UserNotFound', 'TooManyWebhooks'],
    async run({ input, signal }) {
      const { type, url: target, user = null, secret: key = null } = input
      return { id: await handle.create({ type, url: target, user, secret: key }, signal) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/webhooks/:webhook',
    tag: 'Webhooks',
    summary: 'Get one webhook and how it is doing',
    allow: 'webhooks.read',
    listing: true,
    params,
    reply: { ...shape, ...stateShape },
    faults: ['WebhookNotFound'],
    async run({ input, onlyUser }) {
      const one = requireWebhook(handle, input.webhook, onlyUser)
      const deliveries = await countDeliveries(read, one.endpoint, one.id, countMax)
      return {
        ...shown(one, onlyUser !== null),
        signed: one.secret !== null,
        paused: one.paused === null ? (false as const) : iso(one.paused),
        ...(one.reason !== null && { reason: one.reason }),
        failures: one.failures,
        deliveries,
      }
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/webhooks/:webhook',
    tag: 'Webhooks',
    summary: 'End a subscription and what waits for it',
    allow: 'webhooks.delete',
    params,
    faults: ['WebhookNotFound'],
    run: ({ input, signal }) => handle.delete(input.webhook, signal),
  })

  const setSecret = endpoint({
    method: 'PUT',
    path: '/webhooks/:webhook/secret',
    tag: 'Webhooks',
    summary: 'Sign deliveries with a given or a new secret',
    allow: 'webhooks.update',
    params,
    body: { secret: optional(secret) },
    reply: { secret: Type.String({ description: 'The secret now in force; shown only here' }) },
    faults: ['WebhookNotFound'],
    async run({ input, signal }) {
      const key = input.secret ?? `whsec_${randomBuffer(secretBytes).toString('base64')}`
      await handle.setSecret(input.webhook, key, signal)
      return { secret: key }
    },
  })

  const dropSecret = endpoint({
    method: 'DELETE',
    path: '/webhooks/:webhook/secret',
    tag: 'Webhooks',
    summary: 'Sign deliveries no longer',
    allow: 'webhooks.update',
    params,
    faults: ['WebhookNotFound'],
    run: ({ input, signal }) => handle.setSecret(input.webhook, null, signal),
  })

  const resume = endpoint({
    method: 'POST',
    path: '/webhooks/:webhook/resume',
    tag: 'Webhooks',
    summary: 'Let a paused webhook run again, with all that share its URL',
    allow: 'webhooks.update',
    params,
    faults: ['WebhookNotFound'],
    run: ({ input, signal }) => handle.resume(input.webhook, signal),
  })

  return [listing, create, get, remove, setSecret, dropSecret, resume]
}

function deliveryEndpoints({ handle, read }: WebhookDeps): Endpoint[] {
  const deliveries = endpoint({
    method: 'GET',
    path: '/webhooks/:webhook/deliveries',
    tag: 'Webhooks',
    summary: 'List deliveries that have not arrived',
    allow: 'webhooks.read',
    listing: true,
    params,
    query: { state: optional(oneOf(deliveryStates, { description: 'Only those in this state' })), ...paging },
    reply: {
      state: Type.Optional(oneOf(deliveryStates)),
      ...pageReply,
      results: Type.Array(Type.Object(deliveryShape)),
    },
    faults: ['WebhookNotFound'],
    async run({ input, onlyUser }) {
      const { id: webhook, endpoint } = requireWebhook(handle, input.webhook, onlyUser)
      const { state } = input
      const where = { endpoint, webhook, state: state ?? null }
      const rowsOf = async (picture: Reader) => {
        const counts = await countDeliveries(picture, endpoint, webhook, countMax)
        return state === undefined ? counts.waiting + counts.retrying + counts.dead : counts[state]
      }
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['number', 'number'],
        fetch: (boundary, direction, count) =>
          counted(read, rowsOf, picture =>
            listDeliveries(picture, where, boundary && [Number(boundary[0]), Number(boundary[1])], direction, count),
          ),
        boundary: one => [one.event, one.n],
      })
      return { ...(state !== undefined && { state }), ...cursors, results: rows.map(shownDelivery) }
    },
  })

  const replay = endpoint({
    method: 'POST',
    path: '/webhooks/:webhook/deliveries/:delivery/replay',
    tag: 'Webhooks',
    summary: 'Try a dead delivery again from the start',
    allow: 'webhooks.update',
    params: { ...params, delivery: text({ pattern: /^[0-9a-f]{24}:\d{1,4}$/, description: 'Id of the delivery' }) },
    faults: ['WebhookNotFound', 'DeliveryNotFound'],
    async run({ input, signal }) {
      const { event, n } = parseDeliveryId(input.delivery) ?? { event: 0, n: 0 }
      await handle.replay(input.webhook, event, n, signal)
    },
  })

  const replayAll = endpoint({
    method: 'POST',
    path: '/webhooks/:webhook/replay',
    tag: 'Webhooks',
    summary: 'Try all dead deliveries again from the start',
    allow: 'webhooks.update',
    params,
    reply: { replayed: Type.Integer() },
    faults: ['WebhookNotFound'],
    async run({ input, signal }) {
      return { replayed: await handle.replayDead(input.webhook, signal) }
    },
  })

  return [deliveries, replay, replayAll]
}

/** Deliveries of an endpoint that are counted for one answer. */
const countMax = 100_000
const secretBytes = 32

function requireWebhook(handle: WebhookHandle, webhook: string, onlyUser: string | null): Subscription {
  const found = handle.subscriptions.find(webhook)
  if (found === undefined || (onlyUser !== null && found.user !== onlyUser)) throw new Fault('WebhookNotFound')
  return found
}

function slice(
  all: readonly Subscription[],
  place: string | null,
  direction: 'forward' | 'back',
  count: number,
): Subscription[] {
  if (direction === 'forward') return all.filter(one => place === null || one.id > place).slice(0, count)
  return all
    .filter(one => place === null || one.id < place)
    .reverse()
    .slice(0, count)
}

/** Whoever may only look at the own things does not even see as whom the URL is called. */
function shown({ id: webhook, type, user, url: target, created }: Subscription, masked: boolean) {
  return {
    id: webhook,
    type: [...type],
    user,
    url: masked ? withoutSecrets(target) : maskUrl(target),
    created: iso(created),
  }
}

function shownDelivery(one: Delivery) {
  const { event, n, at, name, state, attempts, tried, due, failure, status } = one
  return {
    id: deliveryId(at, event, n),
    event: name,
    created: iso(at),
    state,
    attempts,
    lastAttempt: tried === null ? (false as const) : iso(tried),
    nextAttempt: state === 'retrying' ? iso(due) : (false as const),
    ...(failure !== null && { failure }),
    ...(status !== null && { status }),
  }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
