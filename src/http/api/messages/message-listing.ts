// How the rows of a list of messages are asked for and shown: for mailboxes, searches and the archive.
//
// What a row holds is found in actors/view/listing.ts.

import type { Static } from 'typebox'
import { type ListingWishes, listed } from '#actors/view/listing.ts'
import { limits } from '#lib/limits.ts'
import { burstPace } from '#lib/pace.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Measured } from '#store/mailboxes/messages.ts'
import { withSummaries } from '#store/search/pages.ts'
import { longLists } from '../../front/chunks.ts'
import { amount, anyPage, bool, field } from '../../schema.ts'
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
  page: anyPage,
}

export const skipField = amount({ min: 0, max: 2 ** 31, description: 'Rows before the page; not with a cursor' })

/** Rows of an account as they are shown, without those that went meanwhile. @param mailboxOf id of the folder a row lies in */
export async function showListed(
  sources: { readonly read: Reader; readonly bodies: Bodies },
  user: number,
  rows: readonly Measured[],
  mailboxOf: (row: Measured) => string,
  wishes: ListingWishes & { readonly metaData: boolean },
): Promise<Static<typeof listedShape>[]> {
  const shown: Static<typeof listedShape>[] = []
  const pace = burstPace(String(user))
  const whole = await withSummaries(sources.read, rows, pace)
  for (const row of await listed(sources, user, whole, wishes)) {
    // Long header fields take milliseconds each.
    if (pace.spent) await pace.turn()
    shown.push(listedMessage(row, mailboxOf(row.message), wishes.metaData))
  }
  // Messages may have hundreds of attachments.
  const length = whole.reduce((sum, { summary }) => sum + summary.length, 0)
  if (length > limits.http.slicedLengthMin) longLists.set(shown, true)
  return shown
}

/** Before the rows of a page are read: whoever asks for many at once waits for his turn with each. */
export async function pageTurn(user: number): Promise<void> {
  const pace = burstPace(String(user))
  if (pace.spent) await pace.turn()
}
