// What a report said of a target after somebody had taken it: the table, its reads and writes.
//
// A target has one row for each kind of answer at most, the newest; rows go with their message. What is not proven was said by whoever
// knows the Message-ID, and means nothing but that.

import type { AnswerKind } from '#mail/report/answer.ts'
import { boolean, integer, moment, oneOf, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { checkParts } from '../upkeep/check.ts'

const bounces = table(
  'outbound_bounce',
  {
    message: integer,
    /** Of the target; 0 where it is about another address, which one of them led to. */
    seq: integer,
    kind: oneOf<AnswerKind>(),
    /** As the report names it. */
    address: text,
    at: moment,
    /** Whether it was given up. */
    final: boolean,
    /** `5.1.1`; empty where nothing like it was said. */
    status: text,
    response: text,
    /** Host that reported; empty where it did not say. */
    reporter: text,
    /** Whether it came from where the message went. */
    proven: boolean,
  },
  { key: ['message', 'seq', 'kind'], clustered: true },
)

export type BounceRow = Readonly<RowOf<typeof bounces>>

export const bouncePut = bounces.defineUpsert()

/** What was said of a message, in order. */
export async function listBounces(read: Reader, message: number): Promise<BounceRow[]> {
  return await bounces.all(read, 'WHERE message = ? ORDER BY at, seq', message)
}

checkParts.push({
  rules: [
    {
      says: 'what was reported is of a queued message',
      query:
        'SELECT message FROM outbound_bounce AS o WHERE NOT EXISTS (SELECT 1 FROM outbound AS i WHERE i.num = o.message)',
    },
  ],
})
