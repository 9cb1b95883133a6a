// Addresses that do not exist and are not written to for a while, over HTTP: those of an account for its owner, and those of all for
// operators.
//
// What is taken away is written to again at once; what ends by itself is not listed any more.

import { Type } from 'typebox'
import { suppress, unsuppress } from '#actors/sending/suppression.ts'
import { now } from '#lib/clock.ts'
import { invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isAddress } from '#mail/address/address.ts'
import { counted } from '#store/engine/counted.ts'
import type { Reader } from '#store/engine/reader.ts'
import { countSuppressions, listSuppressions, type Suppression } from '#store/sending/suppression.ts'
import { type Paging, pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { date, moment, oneOf, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'
import type { OutboundDeps } from './outbound.ts'

const shape = {
  user: Type.Union([Type.String(), Type.Literal(false)], { description: 'Whose it is; false for everybody' }),
  address: Type.String(),
  created: moment,
  until: moment,
  source: oneOf(['answer', 'bounce', 'manual'], {
    description: 'An answer to an attempt, a report that came later, or somebody by hand',
  }),
  failures: Type.Integer({ description: 'Times it was found gone, each after the time before was over' }),
  status: Type.Optional(Type.String({ description: 'As in RFC 3463' })),
  response: Type.Optional(Type.String({ description: 'What was said' })),
}

const address = text({ max: limits.bounce.addressLengthMax, description: 'The address' })
const entry = {
  address,
  until: optional(date({ description: 'When it ends; 90 days from now unless told' })),
  reason: optional(text({ max: 200, description: 'For whoever is refused' })),
}
const usualMs = 90 * limits.time.day

export function suppressionEndpoints({ system }: OutboundDeps): Endpoint[] {
  const { read, directory } = system

  const put = async (
    user: string,
    given: { address: string; until?: number | undefined; reason?: string | undefined },
  ) => {
    if (!isAddress(given.address)) throw invalid('address', 'must be an address')
    const at = now()
    const until = given.until ?? at + usualMs
    if (until <= at) throw invalid('until', 'must be later than now')
    const row = { user, address: given.address, until: Math.min(until, at + limits.suppression.longestMs) }
    await directory.run(suppress, { ...row, reason: given.reason ?? '' })
    return {}
  }

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/suppressions',
    tag: 'Outbound',
    summary: 'List addresses that a user does not write to for a while, since they do not exist',
    allow: 'messages.read',
    params: { user: userId },
    query: paging,
    reply: { ...pageReply, results: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input }) {
      await requireUser(read, input.user)
      return page(read, input, input.user)
    },
  })

  const add = endpoint({
    method: 'POST',
    path: '/users/:user/suppressions',
    tag: 'Outbound',
    summary: 'Have an address not written to',
    allow: 'messages.update',
    params: { user: userId },
    body: entry,
    faults: ['UserNotFound'],
    async run({ input }) {
      await requireUser(read, input.user)
      return put(input.user, input)
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/suppressions/:address',
    tag: 'Outbound',
    summary: 'Have an address written to again',
    allow: 'messages.update',
    params: { user: userId, address },
    faults: ['UserNotFound', 'NotSuppressed'],
    async run({ input }) {
      await requireUser(read, input.user)
      await directory.run(unsuppress, { user: input.user, address: input.address })
      return {}
    },
  })

  const listAll = endpoint({
    method: 'GET',
    path: '/suppressions',
    tag: 'Outbound',
    summary: 'List addresses that are not written to for a while, of all users and of the service',
    allow: 'queue.read',
    query: paging,
    reply: { ...pageReply, results: Type.Array(Type.Object(shape)) },
    run: ({ input }) => page(read, input, null),
  })

  const addAll = endpoint({
    method: 'POST',
    path: '/suppressions',
    tag: 'Outbound',
    summary: 'Have an address not written to by anybody',
    allow: 'queue.update',
    body: entry,
    run: ({ input }) => put('', input),
  })

  const removeAll = endpoint({
    method: 'DELETE',
    path: '/suppressions/:address',
    tag: 'Outbound',
    summary: 'Have an address written to again that nobody wrote to',
    allow: 'queue.update',
    params: { address },
    faults: ['NotSuppressed'],
    async run({ input }) {
      await directory.run(unsuppress, { user: '', address: input.address })
      return {}
    },
  })
  return [list, add, remove, listAll, addAll, removeAll]
}

async function page(read: Reader, input: Paging, user: string | null) {
  const where = { user, at: now() }
  const { rows, ...rest } = await pagedCounted(input, {
    key: ['string', 'string'],
    fetch: (boundary, direction, count) =>
      counted(
        read,
        picture => countSuppressions(picture, where),
        picture =>
          listSuppressions(picture, where, boundary && [String(boundary[0]), String(boundary[1])], direction, count),
      ),
    boundary: one => [one.user, one.address],
  })
  return { ...rest, results: rows.map(shown) }
}

function shown({ user, created, until, status, response, ...rest }: Suppression) {
  return {
    ...rest,
    user: user === '' ? (false as const) : user,
    created: new Date(created).toISOString(),
    until: new Date(until).toISOString(),
    ...(status !== '' && { status }),
    ...(response !== '' && { response }),
  }
}
