// Messages that are gone: a row each, for clients that were away (RFC 7162), until a folder has too many that are too old.
//
// What is forgotten is forgotten from the oldest change on, in pieces, and the folder says up to which (`tally.forgotten`): no row
// is below that. Whoever comes from before it is told of every uid that is not there. Rows of a folder that is gone are nobody's.
// The highest `num` among what goes is kept as a fact, so that it is not given out again (engine/sequence.ts).

import { limits } from '#lib/limits.ts'
import { integer, moment } from '../../engine/column.ts'
import { greatest } from '../../engine/dialect.ts'
import type { Reader } from '../../engine/reader.ts'
import type { Sql } from '../../engine/sqlite/handle.ts'
import { table } from '../../engine/table.ts'
import { defineWrite } from '../../engine/write.ts'

export const expunged = table(
  'expunged',
  { mailbox: integer, modseq: integer, uid: integer, num: integer, thread: integer, at: moment },
  { key: ['mailbox', 'modseq', 'uid'], clustered: true },
)

/** The oldest rows of a folder, up to a change. */
const oldest = 'FROM expunged WHERE mailbox = ? AND modseq <= ? ORDER BY modseq, uid LIMIT ?'
const noteNumber = `INSERT INTO meta (key, value) SELECT 'message.num', max(num) FROM (SELECT num ${oldest}) AS goes
  HAVING max(num) IS NOT NULL ON CONFLICT (key) DO UPDATE SET value = ${greatest('meta.value', 'excluded.value')}`
const dropOldest = `DELETE FROM expunged WHERE mailbox = ? AND (modseq, uid) IN (SELECT modseq, uid ${oldest})`

/** In the unit of another write: takes up to `count` of the oldest rows of a folder. */
export function dropExpunged(sql: Sql, mailbox: number, count: number, upTo = Number.MAX_SAFE_INTEGER): void {
  sql(noteNumber).run(mailbox, upTo, count)
  sql(dropOldest).run(mailbox, mailbox, upTo, count)
}

/** Forgets up to `count` of what went from a folder up to a change. */
export const expungedForget = defineWrite<{ mailbox: number; upTo: number; count: number }>(
  'mailbox.forget',
  (sql, { mailbox, upTo, count }) => {
    sql(`UPDATE tally SET forgotten = ${greatest('forgotten', '?')} WHERE mailbox = ?`).run(upTo, mailbox)
    dropExpunged(sql, mailbox, count, upTo)
  },
)

/** Takes up to `count` rows that a folder left which is gone. */
export const expungedSweep = defineWrite<{ mailbox: number; count: number }>('expunged.sweep', (sql, row) =>
  dropExpunged(sql, row.mailbox, row.count),
)

/** A folder with rows of what went. */
export interface Leaver {
  /** Internal number. */
  readonly mailbox: number
  /** Ids of the folder and of its owner; null where the folder is gone, the second also where the account is going. */
  readonly id: string | null
  readonly user: string | null
}

/** Folders with internal numbers above `after` that have such rows, by number, at most `count`. */
export async function leavers(read: Reader, after: number, count: number): Promise<Leaver[]> {
  // From one folder to the next, whatever number of rows lies between.
  return await read.all<Leaver & Record<string, unknown>>(
    `WITH RECURSIVE place(mailbox) AS (SELECT min(mailbox) FROM expunged WHERE mailbox > ?
       UNION ALL SELECT (SELECT min(mailbox) FROM expunged e WHERE e.mailbox > place.mailbox) FROM place
       WHERE place.mailbox IS NOT NULL)
     SELECT p.mailbox, b.id, u.id AS "user" FROM (SELECT mailbox FROM place WHERE mailbox IS NOT NULL LIMIT ?) AS p
     LEFT JOIN mailbox b ON b.num = p.mailbox LEFT JOIN "user" u ON u.num = b."user" AND u.deleted IS NULL
     ORDER BY p.mailbox`,
    after,
    count,
  )
}

/**
 * Up to which change a folder may forget some rows now; undefined where it may not.
 *
 * @param before moment (milliseconds since 1970) before which a message must have gone
 */
export async function forgettable(read: Reader, mailbox: number, before: number): Promise<number | undefined> {
  const { expungedKept, forgetRows } = limits.mailbox
  // Most folders have few: one row is looked at.
  const first = await read.one<{ at: number }>(
    'SELECT at FROM expunged WHERE mailbox = ? ORDER BY modseq, uid LIMIT 1',
    mailbox,
  )
  if (first === undefined || first.at >= before) return undefined
  const edge = await read.one<{ modseq: number }>(
    'SELECT modseq FROM expunged WHERE mailbox = ? ORDER BY modseq DESC, uid DESC LIMIT 1 OFFSET ?',
    mailbox,
    expungedKept,
  )
  if (edge === undefined) return undefined
  const rows = await read.arrays<[modseq: number, at: number]>(
    'SELECT modseq, at FROM expunged WHERE mailbox = ? AND modseq < ? ORDER BY modseq, uid LIMIT ?',
    mailbox,
    edge.modseq,
    forgetRows,
  )
  const kept = rows.findIndex(([, at]) => at >= before)
  return rows[(kept < 0 ? rows.length : kept) - 1]?.[0]
}

/** Whether it is not known any more what went from a folder after a change. */
export async function isForgotten(read: Reader, mailbox: number, modseq: number): Promise<boolean> {
  const text = 'SELECT forgotten FROM tally WHERE mailbox = ?'
  return modseq < ((await read.one<{ forgotten: number }>(text, mailbox))?.forgotten ?? 0)
}

/** The same of all folders of an account. */
export async function forgetsExpunged(read: Reader, user: number, modseq: number): Promise<boolean> {
  const text =
    'SELECT 1 AS found FROM mailbox b JOIN tally t ON t.mailbox = b.num WHERE b."user" = ? AND t.forgotten > ? LIMIT 1'
  return (await read.one(text, user, modseq)) !== undefined
}

/** How many rows a folder has, up to `count`. */
export async function countExpunged(read: Reader, mailbox: number, count: number): Promise<number> {
  const text = 'SELECT count(*) AS n FROM (SELECT 1 FROM expunged WHERE mailbox = ? LIMIT ?)'
  return (await read.one<{ n: number }>(text, mailbox, count))?.n ?? 0
}
