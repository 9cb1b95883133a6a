// What filters would do to mail that is there already: a dry run over a folder, newest first, so many messages a call.
//
// Nothing is stored, moved, sent or counted. It goes the way of arriving mail (actors/delivery/rules.ts), in slices that
// take turns with other accounts. A call ends after limits.filter.previewMessages or previewMs and says where the next goes on.

import { type Static, Type } from 'typebox'
import { arriveStored } from '#actors/delivery/stored.ts'
import { monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Pace } from '#lib/pace.ts'
import { combine, type FilterRule } from '#mail/filter/filter.ts'
import type { User } from '#store/accounts/users.ts'
import { folderCounters } from '#store/mailboxes/listing.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { type MessageBoundary, type Outlined, pageMessages } from '#store/mailboxes/messages.ts'
import { listFilters } from '#store/rules/filter.ts'
import { type SomeRows, withSummaries } from '#store/search/pages.ts'
import { encodeCursor, foreignCursor } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { mailboxId, object, optional, paging, text, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'
import { showListed } from '../messages/message-listing.ts'
import { listedShape } from '../messages/message-view.ts'
import { rulesToTest, tracing } from './filter-decisions.ts'
import type { FilterDeps } from './filter-deps.ts'
import { actionFields, queryFields } from './filter-form.ts'
import { filterId, maskedAction } from './filter-view.ts'

const matchShape = Type.Object({ message: listedShape, ...tracing })

/** Rows read at once. */
const batchRows = 50

export function previewEndpoints({ system, rules, bodies }: FilterDeps): Endpoint[] {
  const { read } = system

  const preview = endpoint({
    method: 'POST',
    path: '/users/:user/filters/preview',
    tag: 'Filters',
    summary: 'What a filter, or all filters of the user, would do to the messages of a mailbox; nothing changes',
    description:
      'Newest first. A call looks at a bounded number of messages and answers those that match; `nextCursor`, given as `next`, ' +
      'goes on behind the last that was looked at, so a call may answer none and still have a next one.',
    allow: 'filters.read',
    params: { user: userId },
    body: {
      mailbox: mailboxId,
      filter: optional(filterId),
      query: optional(object(queryFields)),
      action: optional(object(actionFields)),
      recipient: optional(
        text({ max: 255, trim: true, description: 'Envelope recipient; the main address if absent' }),
      ),
      limit: paging.limit,
      next: paging.next,
    },
    reply: {
      total: Type.Integer({ description: 'Messages in the mailbox' }),
      examined: Type.Integer({ description: 'Messages this call looked at' }),
      nextCursor: Type.Union([Type.String(), Type.Literal(false)]),
      results: Type.Array(matchShape),
    },
    faults: ['UserNotFound', 'NoSuchMailbox', 'FilterNotFound'],
    async run({ input, signal }) {
      const user = await requireUser(read, input.user)
      const mailbox = await findMailbox(read, user.num, input.mailbox)
      if (mailbox === undefined) throw new Fault('NoSuchMailbox')
      const wanted = await rulesToTest(rules, system, user, input)
      const names = new Map((await listFilters(read, user.num)).map(one => [one.id, one.name]))
      const address = input.recipient ?? user.address
      const walk = new Walk(boundaryOf(input.next?.boundary))
      const pace = new Pace()
      pace.turnKey = user.id
      const results: Static<typeof matchShape>[] = []
      const fetch = async (from: MessageBoundary | null) => {
        const { rows, more } = await pageMessages(read, page(mailbox.num), from, 'forward', batchRows)
        return { rows: await withSummaries(read, rows, pace), more: more || rows.length === batchRows }
      }
      for await (const message of walk.messages(fetch)) {
        signal.throwIfAborted()
        if (pace.spent) await pace.turn()
        const found = await tried({ user, address, wanted, message })
        pace.restart()
        if (found.rules.length > 0) {
          const [shown] = await showListed({ read, bodies }, user.num, [message], () => mailbox.id, plainRow)
          if (shown !== undefined) results.push({ message: shown, ...shownDecision(found, names) })
        }
        if (results.length >= input.limit || walk.spent) break
      }
      const total = (await folderCounters(read, mailbox.num))?.total ?? 0
      return { total, examined: walk.examined, nextCursor: walk.nextCursor, results }
    },
  })

  interface Trial {
    readonly user: User
    readonly address: string
    readonly wanted: readonly FilterRule[]
    readonly message: Outlined
  }

  /** A message that went meanwhile, or cannot be read, fits nothing. */
  async function tried({ user, address, wanted, message: { body, prefix, meta } }: Trial) {
    try {
      const arriving = await arriveStored(read, bodies, { body, prefix, from: meta.from ?? '' })
      return await rules.test(user, address, arriving, wanted)
    } catch (error) {
      if (!(error instanceof Fault) || !passedOver.has(error.code)) throw error
      return { rules: [], late: [] }
    }
  }

  return [preview]
}

const passedOver: ReadonlySet<string> = new Set(['MessageNotFound', 'BodyUnreadable'])

const plainRow = {
  metaData: false,
  threadCounters: false,
  includeHeaders: false,
  includeHasDrafts: false,
  collapse: false,
}

function page(mailbox: number) {
  return { mailbox, falling: true, unseen: false, collapse: false }
}

/** A bounded way down a folder, that remembers where it is. */
class Walk {
  #at: MessageBoundary | null
  #ended = false
  readonly #since = monotonic()
  examined = 0

  constructor(from: MessageBoundary | null) {
    this.#at = from
  }

  get spent(): boolean {
    return this.examined >= limits.filter.previewMessages || monotonic() - this.#since >= limits.filter.previewMs
  }

  get nextCursor(): string | false {
    if (this.#ended || this.#at === null) return false
    return encodeCursor([this.#at.idate, this.#at.uid], 1)
  }

  async *messages(fetch: (from: MessageBoundary | null) => Promise<SomeRows<Outlined>>): AsyncGenerator<Outlined> {
    for (;;) {
      const { rows, more } = await fetch(this.#at)
      const whole = !more
      for (const [index, message] of rows.entries()) {
        this.#at = { idate: message.idate, uid: message.uid }
        this.examined += 1
        this.#ended = whole && index === rows.length - 1
        yield message
      }
      if (!whole) continue
      this.#ended = true
      return
    }
  }
}

function boundaryOf(given: readonly (string | number)[] | undefined): MessageBoundary | null {
  if (given === undefined) return null
  const [idate, uid] = given
  if (given.length !== 2 || typeof idate !== 'number' || typeof uid !== 'number') {
    throw foreignCursor('next')
  }
  return { idate, uid }
}

function shownDecision(
  found: { rules: readonly FilterRule[]; late: readonly string[] },
  names: ReadonlyMap<string, string | null>,
) {
  const filters = found.rules.map(({ id }) => {
    const name = names.get(id)
    return { id, ...(name != null && { name }) }
  })
  return { filters, action: maskedAction(combine(found.rules).action), timedOut: [...found.late] }
}
