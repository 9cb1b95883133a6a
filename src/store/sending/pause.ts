// Accounts whose mail is held since they sent far more than they do, and what that is: the tables, their reads and writes.
//
// What is held keeps when it was due, moved beyond all that is (`pausedFrom`), so that it goes on as if nothing had been. Rows stay
// when an account was let go on, for a while: who let it go on has looked; and when an account is deleted, since what it has in the queue
// is held until somebody decides.

import { integer, moment, nullable, oneOf, text } from '../engine/column.ts'
import { greatest } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'
import { heldDue, pausedFrom } from './outbound-due.ts'

const pauses = table(
  'sending_pause',
  {
    /** Id of the account. */
    user: text,
    since: moment,
    reason: oneOf<'burst' | 'manual'>(),
    /** Recipients in the window in which it was paused, and how many it usually has at most; 0 where somebody paused it. */
    recipients: integer,
    usual: integer,
    /** When somebody let it go on; null while it is paused. */
    resumed: nullable(moment),
  },
  { key: ['user'], clustered: true },
)

export type SendingPause = Readonly<RowOf<typeof pauses>>

const paces = table(
  'sending_pace',
  { user: text, day: moment, peak: integer },
  { key: ['user', 'day'], clustered: true },
)

const put = pauses.defineUpsert()

/** Pauses an account, and holds what it has in the queue. */
export const sendingPause = defineWrite<{ row: unknown; user: string }>('sending_pause.begin', (sql, row, effects) => {
  put.run(sql, row.row as never, effects)
  sql(`UPDATE outbound_target SET due = due + ${pausedFrom} WHERE state = 0 AND due < ${pausedFrom} AND message IN
    (SELECT num FROM outbound WHERE "user" = ? AND origin = 'submission' AND done IS NULL)`).run(row.user)
})

/** As the write takes it. */
export function pauseRow(row: SendingPause): unknown {
  return put.encode?.(row) ?? row
}

/** Lets an account go on, and what was held go when it was due. */
export const sendingResume = defineWrite<{ user: string; at: number }>('sending_pause.end', (sql, { user, at }) => {
  sql('UPDATE sending_pause SET resumed = ? WHERE "user" = ?').run(at, user)
  sql(`UPDATE outbound_target SET due = due - ${pausedFrom} WHERE state = 0 AND due >= ${pausedFrom} AND due < ${heldDue}
    AND message IN (SELECT num FROM outbound WHERE "user" = ? AND done IS NULL)`).run(user)
})

/** Notes how many recipients a window of a day has had, and forgets days before `before`. */
export const paceNote = defineWrite<{ user: string; day: number; peak: number; before: number }>(
  'sending_pace.note',
  (sql, { before, ...row }) => {
    sql(`INSERT INTO sending_pace ("user", day, peak) VALUES (@user, @day, @peak)
      ON CONFLICT ("user", day) DO UPDATE SET peak = ${greatest('sending_pace.peak', 'excluded.peak')}`).run(row)
    sql('DELETE FROM sending_pace WHERE "user" = ? AND day < ?').run(row.user, before)
  },
)

/** How an account stands; undefined where it was never paused. */
export async function findPause(read: Reader, user: string): Promise<SendingPause | undefined> {
  return await pauses.one(read, 'WHERE "user" = ?', user)
}

/** Accounts that are paused, the longest first. */
export async function listPauses(read: Reader, count: number): Promise<SendingPause[]> {
  return await pauses.all(read, 'WHERE resumed IS NULL ORDER BY since LIMIT ?', count)
}

export async function countPauses(read: Reader): Promise<number> {
  return await pauses.count(read, 'WHERE resumed IS NULL')
}

/** The peaks of days before `day`, the highest first. */
export async function peaksBefore(read: Reader, user: string, day: number, count: number): Promise<number[]> {
  return (await paces.all(read, 'WHERE "user" = ? AND day < ? ORDER BY peak DESC LIMIT ?', user, day, count)).map(
    one => one.peak,
  )
}

/** The peak of a day; 0 where none was noted. */
export async function peakOf(read: Reader, user: string, day: number): Promise<number> {
  return (await paces.one(read, 'WHERE "user" = ? AND day = ?', user, day))?.peak ?? 0
}

checkParts.push({
  rules: [
    {
      says: 'what is held for a pause belongs to an account that is paused',
      query: `SELECT t.message FROM outbound_target t JOIN outbound o ON o.num = t.message
        WHERE t.state < 2 AND t.due >= ${pausedFrom} AND t.due < ${heldDue} AND NOT EXISTS
          (SELECT 1 FROM sending_pause p WHERE p."user" = o."user" AND p.resumed IS NULL)`,
    },
  ],
})
