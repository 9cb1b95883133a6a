// What happened, as it waits to be matched with subscriptions: the table and its write.
//
// An event rides in the unit of the change it tells of. It goes when it was matched (webhook-writes.ts moves it).

import { integer, moment, nullable, table, text } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

table(
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

export const eventInsert = defineWrite<EventRow>('event.insert', (sql, row) => {
  sql('INSERT INTO event (num, name, user, body, at) VALUES (?, ?, ?, ?, ?)').run(row)
})
