// What each attempt to send met: a row for every one, written with its outcome, which goes with its message.
//
// So that anybody who asks where a message is can be told more than the last answer. Bounded by the schedule of attempts.

import { integer, moment, nullable, oneOf, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { checkParts } from '../upkeep/check.ts'

const attempts = table(
  'outbound_attempt',
  {
    message: integer,
    seq: integer,
    /** From 1. */
    attempt: integer,
    at: moment,
    outcome: oneOf<'delivered' | 'failed' | 'retry'>(),
    failure: nullable(text),
    status: nullable(integer),
    response: text,
    host: nullable(text),
    /** By what the host was proven, or whether it was encrypted; null where nothing was sent. */
    security: nullable(text),
  },
  { key: ['message', 'seq', 'attempt'], clustered: true },
)

export type AttemptRow = Readonly<RowOf<typeof attempts>>

/** One that is told a second time replaces itself: what came of it may be recorded again after a failure of storage. */
export const attemptPut = attempts.defineUpsert()

/** Attempts at a message, in order. */
export async function listAttempts(read: Reader, num: number, count: number): Promise<AttemptRow[]> {
  return await attempts.all(read, 'WHERE message = ? ORDER BY at, seq, attempt LIMIT ?', num, count)
}

checkParts.push({
  rules: [
    {
      says: 'every attempt belongs to a queued message',
      query:
        'SELECT message FROM outbound_attempt AS o WHERE NOT EXISTS (SELECT 1 FROM outbound AS i WHERE i.num = o.message)',
    },
  ],
})
