// Messages as rows of a list, for any front: what was worked out when each arrived, with what the caller wishes besides.
//
// A row costs what was asked for: header fields and counts of threads are only read where somebody wishes them, and for
// one page at a time, in slices of the loop. Nothing here parses mail.

import { burstPace } from '#lib/pace.ts'
import { Header } from '#mail/header/header.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { countThreads, type Outlined, threadDrafts } from '#store/mailboxes/messages.ts'
import { readDetail, type StoredSummary, shownMessageId } from '#store/mailboxes/outlines.ts'

export interface ListingWishes {
  /** How many messages each thread has. */
  readonly threadCounters: boolean
  readonly includeHeaders: boolean
  /** Whether a draft answers it. */
  readonly includeHasDrafts?: boolean
  /** A row stands for its thread. */
  readonly collapse?: boolean
}

export interface ListedMessage {
  readonly message: Outlined
  readonly summary: StoredSummary
  /** Undefined where not asked for, as all that follows. */
  readonly threadMessageCount: number | undefined
  readonly hasDrafts: boolean | undefined
  readonly header: Header | undefined
}

interface Sources {
  readonly read: Reader
  readonly bodies: Bodies
}

/** Rows of one account with what is wished of them, in the same order. @throws Fault BodyUnreadable where headers are */
export async function listed(
  sources: Sources,
  user: number,
  rows: readonly Outlined[],
  wishes: ListingWishes,
): Promise<ListedMessage[]> {
  const threads = [...new Set(rows.map(row => row.thread))]
  const counts = wishes.threadCounters ? await countThreads(sources.read, user, threads) : undefined
  const drafts = wishes.includeHasDrafts === true ? await threadDrafts(sources.read, user, threads) : undefined
  const results: ListedMessage[] = []
  const pace = burstPace(String(user))
  for (const message of rows) {
    if (pace.spent) await pace.turn()
    const summary = JSON.parse(message.summary) as StoredSummary
    const id = shownMessageId(summary, message.body)
    results.push({
      message,
      summary,
      threadMessageCount: counts === undefined ? undefined : (counts.get(message.thread) ?? 1),
      hasDrafts: drafts?.some(draft => draft.thread === message.thread && (wishes.collapse || draft.inReplyTo === id)),
      header: wishes.includeHeaders ? await headerOf(sources, message) : undefined,
    })
  }
  return results
}

async function headerOf({ read, bodies }: Sources, { body, prefix }: Outlined): Promise<Header> {
  const detail = await readDetail(read, body)
  const block = await (await bodies.open(body)).read(0, detail?.headerSize ?? 0)
  return new Header(Buffer.concat([Buffer.from(prefix), block]), detail?.texts[0]?.charset)
}
