// What filters decide, over HTTP (api-semantics 6.6): what was decided about each message that came in, and trying filters
// on a message.
//
// Trying stores nothing, sends nothing and counts nothing; it goes the way of arriving mail (actors/delivery/rules.ts), so that it
// cannot say anything else than what would happen.

import { Type } from 'typebox'
import { prepare, referenceHash } from '#actors/delivery/prepare.ts'
import type { Arriving, Rules } from '#actors/delivery/rules.ts'
import { arriveReceived, arriveStored } from '#actors/delivery/stored.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { combine, type FilterRule } from '#mail/filter/filter.ts'
import type { User } from '#store/accounts/users.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { findMessage } from '#store/mailboxes/messages.ts'
import { findFilter, listFilters } from '#store/rules/filter.ts'
import { listTraces, type TraceEntry } from '#store/rules/trace.ts'
import { paged } from '../../cursor.ts'
import { type Endpoint, endpoint, type ValueOf } from '../../endpoint.ts'
import { mailboxId, messageId, moment, object, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'
import { spamShape } from '../messages/message-view.ts'
import type { FilterDeps } from './filter-deps.ts'
import { actionFields, queryFields, readAction } from './filter-form.ts'
import { actionShape, cleaned, filterId, iso, maskedAction } from './filter-view.ts'

export const tracing = {
  filters: Type.Array(Type.Object({ id: filterId, name: Type.Optional(Type.String()) })),
  action: actionShape,
  timedOut: Type.Array(Type.String(), { description: 'Expressions that took too long and counted as not matching' }),
}

export function decisionEndpoints(deps: FilterDeps): Endpoint[] {
  const { system, rules } = deps
  const { read } = system
  const trace = endpoint({
    method: 'GET',
    path: '/users/:user/filters/trace',
    tag: 'Filters',
    summary: 'What was decided about messages that came in, newest first',
    description: 'Kept for some days, for accounts that have rules.',
    allow: 'filters.read',
    params: { user: userId },
    query: {
      message: optional(messageId),
      mailbox: optional(mailboxId),
      messageId: optional(text({ max: limits.mime.messageIdLengthMax, trim: true, description: 'Message-ID' })),
      ...paging,
    },
    reply: {
      page: pageReply.page,
      previousCursor: pageReply.previousCursor,
      nextCursor: pageReply.nextCursor,
      results: Type.Array(
        Type.Object({
          time: moment,
          from: Type.String({ description: 'Envelope sender' }),
          recipient: Type.String({ description: 'Envelope recipient' }),
          messageId: Type.String(),
          mailbox: Type.Union([mailboxId, Type.Null()]),
          message: Type.Union([Type.Integer(), Type.Null()], { description: 'Number it got there' }),
          stored: Type.Union([Type.String(), Type.Null()], { description: 'Path it was stored under' }),
          ...tracing,
          decided: Type.Record(Type.String(), Type.String(), { description: 'Which filter decided what' }),
          verdict: Type.Optional(Type.Object({ spam: Type.Boolean(), by: Type.String() })),
          spam: Type.Optional(spamShape),
          forward: Type.Optional(
            Type.Object({
              queueId: Type.Union([Type.String(), Type.Null()]),
              targets: Type.Array(Type.String()),
              reason: Type.Optional(Type.String({ description: 'Why not, or not to all' })),
            }),
          ),
          autoreply: Type.Optional(
            Type.Object({
              queueId: Type.Union([Type.String(), Type.Null()]),
              reason: Type.Optional(Type.String({ description: 'Why none was sent' })),
            }),
          ),
        }),
      ),
    },
    faults: ['UserNotFound', 'NoSuchMailbox'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const mailbox = input.mailbox === undefined ? null : await findMailbox(read, user.num, input.mailbox)
      if (mailbox === undefined) throw new Fault('NoSuchMailbox')
      const where = {
        user: user.num,
        mailbox: mailbox?.num ?? null,
        uid: input.message ?? null,
        reference: input.messageId === undefined ? null : referenceHash(bracketed(input.messageId)),
      }
      const { rows, ...cursors } = await paged(input, {
        key: ['number'],
        fetch: (boundary, direction, count) =>
          listTraces(read, where, boundary && Number(boundary[0]), direction, count),
        boundary: one => [one.num],
      })
      return { ...cursors, results: rows.map(shownTrace) }
    },
  })

  const test = endpoint({
    method: 'POST',
    path: '/users/:user/filters/test',
    tag: 'Filters',
    summary: 'Try a filter, or all filters of the user, on a message without storing anything',
    allow: 'filters.read',
    params: { user: userId },
    body: {
      mailbox: optional(mailboxId),
      message: optional(messageId),
      raw: optional(text({ max: limits.http.bodyBytesMax, description: 'A whole message instead of a stored one' })),
      filter: optional(filterId),
      query: optional(object(queryFields)),
      action: optional(object(actionFields)),
      recipient: optional(
        text({ max: 255, trim: true, description: 'Envelope recipient; the main address if absent' }),
      ),
    },
    reply: { matches: Type.Boolean(), ...tracing },
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound', 'FilterNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const wanted = await rulesToTest(rules, system, user, input)
      const names = new Map((await listFilters(read, user.num)).map(one => [one.id, one.name]))
      const address = input.recipient ?? user.address
      const found = await withMessage(deps, user.num, input, message => rules.test(user, address, message, wanted))
      const filters = found.rules.map(({ id: rule }) => {
        const known = names.get(rule)
        return { id: rule, ...(known != null && { name: known }) }
      })
      const { action } = combine(found.rules)
      return { matches: found.rules.length > 0, filters, action: maskedAction(action), timedOut: [...found.late] }
    },
  })
  return [trace, test]
}

export interface TestInput {
  readonly filter?: string
  readonly query?: ValueOf<typeof queryFields>
  readonly action?: Parameters<typeof readAction>[1]
  readonly mailbox?: string
  readonly message?: number
  readonly raw?: string
}

/** The filter that is given, the one that is named, or all that are in force. */
export async function rulesToTest(
  rules: Rules,
  { read, secrets }: ActorSystem,
  user: User,
  input: Pick<TestInput, 'filter' | 'query' | 'action'>,
): Promise<readonly FilterRule[]> {
  const { filter, query, action } = input
  if (query !== undefined) {
    const given = { query: cleaned(query), action: cleaned(await readAction(secrets, action ?? {})) }
    return [{ id: newId(), ...given } as FilterRule]
  }
  if (filter === undefined) return rules.filtersOf(user)
  const found = await findFilter(read, user.num, filter)
  if (found === undefined) throw new Fault('FilterNotFound')
  return [found]
}

async function withMessage<T>(
  { system, bodies, sequence }: FilterDeps,
  user: number,
  input: TestInput,
  task: (message: Arriving) => Promise<T>,
): Promise<T> {
  const { read } = system
  if (input.raw !== undefined) {
    const received = await bodies.receive(Buffer.from(input.raw.replace(/\r?\n/g, '\r\n')))
    try {
      return await task(arriveReceived(await prepare(received, sequence), received, { from: '' }))
    } finally {
      await received.discard()
    }
  }
  if (input.mailbox === undefined) throw invalid('mailbox', 'is required with message, unless raw is given')
  const mailbox = await findMailbox(read, user, input.mailbox)
  if (mailbox === undefined) throw new Fault('NoSuchMailbox')
  const message = await findMessage(read, mailbox.num, input.message ?? 0)
  if (message === undefined) throw new Fault('MessageNotFound')
  const { body, prefix, meta } = message
  return task(await arriveStored(read, bodies, { body, prefix, from: meta.from ?? '' }))
}

function bracketed(text: string): string {
  return text.startsWith('<') ? text : `<${text}>`
}

/** What was decided, without the password of a target it names. */
function maskedWords(what: string): string {
  return what.split(' ').map(maskUrl).join(' ')
}

function shownTrace({ at, mailbox, uid, filters, timedOut, forward, spam, num: _num, ...rest }: TraceEntry) {
  return {
    time: iso(at),
    mailbox,
    message: uid,
    ...rest,
    action: maskedAction(rest.action),
    filters: filters.map(({ id: filter, name: known }) => ({ id: filter, ...(known !== null && { name: known }) })),
    timedOut: [...(timedOut ?? [])],
    decided: Object.fromEntries(Object.entries(rest.decided).map(([what, by]) => [maskedWords(what), by])),
    ...(spam !== undefined && { spam: { score: spam.score, parts: [...spam.parts] } }),
    ...(forward !== undefined && { forward: { ...forward, targets: forward.targets.map(maskUrl) } }),
  }
}
