// Rows of a list of messages with what the caller wishes to see of them: for mailboxes, searches and the archive.
//
// A row costs what was asked for: header fields and counts of threads are only read where somebody wishes them, and for
// one page at a time. Nothing here parses mail.

import type { Static } from 'typebox'
import { Header } from '#mail/header/header.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { countThreads, type Outlined, threadDrafts } from '#store/mailboxes/messages.ts'
import { readDetail, type StoredSummary, shownMessageId } from '#store/mailboxes/outlines.ts'
import { bool, field } from '../../schema.ts'
import { headerRecord } from './header-record.ts'
import { listedMessage, type listedShape } from './message-view.ts'

export const orderField = field<'asc' | 'desc'>(
  { type: 'string', enum: ['asc', 'desc'] },
  (value, at, problems) => {
    // A client that glues `?order=desc` to a cursor gets its page (wire-details 1).
    const word = typeof value === 'string' ? value.toLowerCase() : ''
    return word === 'asc' || word === 'desc' ? word : problems.add(at, 'must be one of [asc, desc]')
  },
  { default: 'desc', description: 'By internal date; newest first unless told otherwise' },
)

/** Wishes that every list takes. */
export const listingFields = {
  metaData: bool({ default: false }),
  threadCounters: bool({ default: false, description: 'With the number of messages in each thread' }),
  includeHeaders: bool({ default: false, description: 'With the header fields' }),
}

export interface ListingInput {
  readonly metaData: boolean
  readonly threadCounters: boolean
  readonly includeHeaders: boolean
  readonly includeHasDrafts?: boolean
  /** A row stands for its thread. */
  readonly collapse?: boolean
}

export class Listing {
  readonly #read: Reader
  readonly #bodies: Bodies

  constructor(read: Reader, bodies: Bodies) {
    this.#read = read
    this.#bodies = bodies
  }

  /** Rows of an account as they are shown. @param mailboxOf id of the folder a row lies in */
  async rows(
    user: number,
    rows: readonly Outlined[],
    mailboxOf: (row: Outlined) => string,
    wishes: ListingInput,
  ): Promise<Static<typeof listedShape>[]> {
    const threads = [...new Set(rows.map(row => row.thread))]
    const counts = wishes.threadCounters ? await countThreads(this.#read, user, threads) : undefined
    const drafts = wishes.includeHasDrafts === true ? await threadDrafts(this.#read, user, threads) : undefined
    const results: Static<typeof listedShape>[] = []
    for (const row of rows) {
      const headers = wishes.includeHeaders ? await this.#headers(row) : undefined
      const threadMessageCount = counts === undefined ? undefined : (counts.get(row.thread) ?? 1)
      const shown = listedMessage(row, mailboxOf(row), { metaData: wishes.metaData, threadMessageCount, headers })
      const hasDrafts = drafts?.some(draft => draft.thread === row.thread && (wishes.collapse || answers(draft, row)))
      results.push(hasDrafts === undefined ? shown : { ...shown, hasDrafts })
    }
    return results
  }

  async #headers(message: Outlined): Promise<Record<string, unknown>> {
    const detail = await readDetail(this.#read, message.body)
    const block = await this.#bodies.open(message.body).read(0, detail?.headerSize ?? 0)
    return headerRecord(new Header(Buffer.concat([Buffer.from(message.prefix), block]), detail?.texts[0]?.charset))
  }
}

function answers(draft: { inReplyTo: string }, message: Outlined): boolean {
  const summary = JSON.parse(message.summary) as StoredSummary
  return draft.inReplyTo === shownMessageId(summary, message.body)
}
