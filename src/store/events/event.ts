// What happened, as it waits to be matched with subscriptions: the table, its read and its write.
//
// An event rides in the unit of the change it tells of. It goes when it was matched (deliveries.ts moves it).

import { integer, moment, nullable, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

export const events = table(
  'event',
  {
    num: integer,
    name: text,
    /** Id of the account it is about. */
    user: nullable(text),
    /** JSON, ready to be sent. */
    body: text,
    at: moment,
  },
  { key: ['num'] },
)

/**
 * An event as it is bound, by place: it rides in nearly every unit, and names would cost a fifth of its statement.
 */
export type EventRow = readonly [num: number, name: string, user: string | null, body: string, at: number]

const { insertion } = events

export const eventInsert = defineWrite<EventRow>('event.insert', (sql, row) => {
  sql(insertion).run(row)
})

/** An event that nobody has matched yet. */
export type WaitingEvent = Readonly<Pick<RowOf<typeof events>, 'num' | 'name' | 'user'>>

const waiting = events.listOf(undefined, ['num', 'name', 'user'])

/** The oldest events that wait to be matched. */
export async function waitingEvents(read: Reader, count: number): Promise<WaitingEvent[]> {
  return await read.all<WaitingEvent>(`SELECT ${waiting} FROM ${events} ORDER BY num LIMIT ?`, count)
}
