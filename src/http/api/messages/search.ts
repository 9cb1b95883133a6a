// Searching over HTTP: `q` and the classic parameters, which must all fit (wire-shapes, Messages; wire-details 7).
//
// The search itself runs on the thread for long reads; here a page of what it found is shown.

import { type Static, Type } from 'typebox'
import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { criterion, parseQuery, parseWords } from '#mail/query/language.ts'
import { both, either, type Query } from '#mail/query/query.ts'
import { findMailbox, listMailboxes } from '#store/mailboxes/mailboxes.ts'
import { findByNumbers, type Measured } from '#store/mailboxes/messages.ts'
import { paged } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import {
  amount,
  bool,
  date,
  field,
  id,
  list,
  mailboxId,
  object,
  optional,
  pageReply,
  paging,
  text,
  userId,
} from '../../schema.ts'
import { requireUser } from './mailboxes.ts'
import type { MessageDeps } from './message-deps.ts'
import { listingFields, pageTurn, showListed, skipField } from './message-listing.ts'
import { listedShape } from './message-view.ts'

const words = text({ max: 255, trim: true })
const someOf = {
  query: optional(words),
  from: optional(words),
  to: optional(words),
  subject: optional(words),
}

/** What is looked for. */
const criteria = {
  q: optional(text({ max: limits.search.queryLengthMax, description: 'In the search language' })),
  mailbox: optional(list(mailboxId, { max: 100, commas: true })),
  id: optional(text({ max: 1024, description: 'Numbers of messages such as 1,2,5:9' })),
  thread: optional(id({ description: 'Id of a thread' })),
  or: optional(object(someOf)),
  ...someOf,
  datestart: optional(date()),
  dateend: optional(date()),
  minSize: optional(amount({ min: 0 })),
  maxSize: optional(amount({ min: 0 })),
  attachments: optional(bool()),
  flagged: optional(bool()),
  unseen: optional(bool()),
  seen: optional(bool()),
  searchable: optional(bool({ description: 'Everything but Junk and Trash' })),
  useAndSearch: bool({ default: false, description: 'Plain words are all wanted' }),
}

interface Criteria {
  q?: string
  mailbox?: string[]
  id?: string
  thread?: string
  or?: Static<ReturnType<typeof object<typeof someOf>>>
  query?: string
  from?: string
  to?: string
  subject?: string
  datestart?: number
  dateend?: number
  minSize?: number
  maxSize?: number
  attachments?: boolean
  flagged?: boolean
  unseen?: boolean
  seen?: boolean
  searchable?: boolean
  useAndSearch: boolean
}

const orderWish = field<'asc' | 'desc'>(
  { type: 'string', enum: ['asc', 'desc'] },
  (value, at, problems) => {
    const word = typeof value === 'string' ? value.toLowerCase() : ''
    return word === 'asc' || word === 'desc' ? word : problems.add(at, 'must be one of [asc, desc]')
  },
  { description: 'By internal date; without it what was stored last comes first' },
)

/** How what was found is shown. */
const listed = {
  ...listingFields,
  includeHasDrafts: bool({ default: false, description: 'Say of each whether a draft answers it' }),
  collapseThreads: bool({ default: false, description: 'One message of each thread' }),
  order: optional(orderWish),
  skip: optional(skipField),
  quick: bool({
    default: false,
    description: 'With `order=desc`: what is found in a moment will do; `complete` says whether that is all',
  }),
  ...paging,
}

export function searchEndpoints({ system, bodies, reads, tasks }: MessageDeps): Endpoint[] {
  const { read } = system

  const search = endpoint({
    method: 'GET',
    path: '/users/:user/search',
    anywhere: true,
    tag: 'Messages',
    summary: 'Search the messages of a user',
    allow: 'messages.read',
    open: true,
    params: { user: userId },
    query: {
      ...criteria,
      ...listed,
    },
    reply: {
      query: Type.String(),
      ...pageReply,
      complete: Type.Optional(
        Type.Boolean({ description: 'With `quick`; false: `total` counts only what was found in that moment' }),
      ),
      results: Type.Array(listedShape),
    },
    faults: ['UserNotFound', 'Overloaded', 'TimedOut'],
    async run({ input, signal }) {
      const user = await requireUser(read, input.user)
      const query = treeOf(input) ?? unasked(input)
      const order = input.order ?? null
      const collapse = input.collapseThreads
      let total = 0
      let complete = true
      const found = new Map<number, Measured>()
      const { rows, ...cursors } = await paged(input, {
        key: ['number', 'number'],
        async fetch(boundary, direction, count) {
          if (query === null) return []
          const edge = boundary === null ? null : ([Number(boundary[0]), Number(boundary[1])] as const)
          const skip = input.skip ?? 0
          const task = {
            user: user.num,
            query,
            order,
            collapse,
            boundary: edge,
            skip,
            direction,
            count,
            quick: input.quick,
          }
          const answer = await reads.search(task, { signal, turnKey: user.id })
          total = answer.total
          complete = !answer.more
          const nums = answer.hits.map(([, num]) => num)
          await pageTurn(user.num)
          const { rows: messages, more } = await findByNumbers(read, user.num, nums)
          for (const message of messages) found.set(message.num, message)
          const end = more ? nums.indexOf(messages.at(-1)?.num ?? 0) + 1 : nums.length
          return { rows: answer.hits.slice(0, end), more }
        },
        boundary: hit => [...hit],
      })
      const messages = rows.flatMap(([, num]) => found.get(num) ?? [])
      const ids = new Map((await listMailboxes(read, user.num)).map(mailbox => [mailbox.num, mailbox.id]))
      const results = await showListed({ read, bodies }, user.num, messages, row => ids.get(row.mailbox) ?? '', {
        ...input,
        collapse,
      })
      return { query: input.q ?? input.query ?? '', total, ...(input.quick && { complete }), ...cursors, results }
    },
  })

  const apply = endpoint({
    method: 'POST',
    path: '/users/:user/search',
    tag: 'Messages',
    summary: 'Change everything that a search finds, as a task',
    description:
      'The task says how many messages were found and changed; of those that moved, for each `mailbox` they came from, their `messages` where they are now, so that a second search can move them back',
    allow: 'messages.update',
    params: { user: userId },
    body: {
      ...criteria,
      // A client sends the search it shows; all that it finds is changed, whatever page of it that is.
      ...listed,
      action: object({
        moveTo: optional(mailboxId),
        seen: optional(bool()),
        flagged: optional(bool()),
        delete: bool({ default: false }),
      }),
    },
    reply: { scheduled: Type.String({ description: 'Id of the task' }), existing: Type.Boolean() },
    faults: ['UserNotFound', 'NoSuchMailbox', 'TooMany'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const { action } = input
      if (action.moveTo !== undefined && (await findMailbox(read, user.num, action.moveTo)) === undefined) {
        throw new Fault('NoSuchMailbox')
      }
      const query = treeOf(input)
      // Everything is never meant by a search that asks for nothing.
      if (query === null) throw invalid('q', 'asks for nothing')
      const task = { kind: 'search.apply', user: user.id, input: { query, action } }
      const { id, existing } = await tasks.add(task)
      return { scheduled: id, existing }
    },
  })

  return [search, apply]
}

/** All that was asked for as one tree; null where that is nothing. */
function treeOf(input: Criteria): Query | null {
  const options = { all: input.useAndSearch }
  const { q, mailbox, or } = input
  const parts: (Query | null)[] = []
  if (q !== undefined) parts.push(parseQuery(q, options) ?? never)
  if (mailbox !== undefined) parts.push(either(mailbox.map(id => ({ op: 'mailbox', id }))))
  parts.push(...wordsOf(input, options))
  if (or !== undefined) parts.push(either(wordsOf(or, options)))
  for (const name of ['id', 'thread'] as const) {
    if (input[name] !== undefined) parts.push(criterion(name, input[name]) ?? never)
  }
  for (const name of ['datestart', 'dateend', 'minSize', 'maxSize'] as const) {
    const value = input[name]
    if (value === undefined) continue
    const text = name === 'datestart' || name === 'dateend' ? new Date(value).toISOString() : String(value)
    parts.push(criterion(name, text))
  }
  for (const name of ['attachments', 'flagged', 'unseen', 'seen', 'searchable'] as const) {
    if (input[name] === true) parts.push(criterion(name, 'yes'))
  }
  return both(parts)
}

/** A listing that asks for nothing is one of everything; words without a letter are no such wish (wire-details 7). */
function unasked({ query, or }: Criteria): Query | null {
  return query === undefined && or === undefined ? { op: 'constant', value: true } : null
}

const never: Query = { op: 'constant', value: false }

function wordsOf(
  given: { query?: string; from?: string; to?: string; subject?: string },
  options: { all: boolean },
): (Query | null)[] {
  const { query, from, to, subject } = given
  return [
    query === undefined ? null : parseWords(query, options),
    ...Object.entries({ from, to, subject }).map(([name, value]) => (value ? criterion(name, value) : null)),
  ]
}
