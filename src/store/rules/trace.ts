// What the rules of an account decided about a message, for those who ask why: the table, its reads and writes.
//
// Decisions are kept for a while and swept a bounded piece at a time.

import type { FilterAction } from '#mail/filter/filter.ts'
import { called, integer, json, moment, nullable } from '../engine/column.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import type { SpamScore } from '../mailboxes/messages.ts'

/** What was decided about one message for one account. */
export interface Trace {
  /** Envelope sender and recipient. */
  readonly from: string
  readonly recipient: string
  readonly messageId: string
  /** Filters that matched, in order. */
  readonly filters: readonly { id: string; name: string | null }[]
  /** What they came to. */
  readonly action: FilterAction
  /** Which filter decided what, by action. */
  readonly decided: Readonly<Record<string, string>>
  /** Why it counts as spam or not: `filter`, `domain`, `level`; absent where nothing decided. */
  readonly verdict?: { readonly spam: boolean; readonly by: string }
  /** What spoke for spam. */
  readonly spam?: SpamScore
  /** Where it went: path of the mailbox, or null where it was not stored. */
  readonly stored: string | null
  readonly forward?: { readonly queueId: string | null; readonly targets: readonly string[]; readonly reason?: string }
  readonly autoreply?: { readonly queueId: string | null; readonly reason?: string }
  /** Expressions that took too long and so counted as not matching. */
  readonly timedOut?: readonly string[]
}

const traces = table(
  'trace',
  {
    /** Number of the account. */
    user: integer,
    num: integer,
    at: moment,
    /** Number of the stored message; null where none was stored. */
    message: nullable(integer),
    mailbox: nullable(integer),
    uid: nullable(integer),
    /** Hash of the Message-ID, 0 where there is none. */
    reference: integer,
    trace: called('body', json<Trace>()),
  },
  {
    key: ['user', 'num'],
    clustered: true,
    indexes: { trace_at: { on: ['at'] }, trace_reference: { on: ['reference'] } },
  },
)

export const traceInsert = traces.defineInsert()

const sweepOld = defineProcedure(
  'trace_sweep',
  '_before bigint, _count bigint',
  `BEGIN
  DELETE FROM trace WHERE ("user", num) IN (SELECT "user", num FROM trace WHERE at < _before ORDER BY at LIMIT _count);
END`,
)

/** Forgets decisions older than `before`. */
export const traceSweep = defineWrite<{ before: number; count: number }>(
  'trace.sweep',
  (sql, row) => {
    const old = sql('SELECT "user", num FROM trace WHERE at < ? LIMIT ?').all(row.before, row.count)
    for (const { user, num } of old as { user: number; num: number }[]) {
      sql('DELETE FROM trace WHERE "user" = ? AND num = ?').run(user, num)
    }
  },
  { told: (sql, { before, count }) => void sql(sweepOld.call).run(before, count) },
)

/** Whether there are some. */
export async function hasOldTraces(read: Reader, before: number): Promise<boolean> {
  return (await read.one('SELECT 1 FROM trace WHERE at < ? LIMIT 1', before)) !== undefined
}

export interface TraceEntry extends Trace {
  readonly num: number
  readonly at: number
  /** Id of the mailbox and number of the message in it, as stored then. */
  readonly mailbox: string | null
  readonly uid: number | null
}

export interface TracePage {
  readonly user: number
  /** Number of a mailbox and of a message in it. */
  readonly mailbox: number | null
  readonly uid: number | null
  /** Hash of a Message-ID. */
  readonly reference: number | null
}

/** Decisions about messages with this hash of their Message-ID, of all accounts or of one, with the account's id; the oldest first. */
export async function tracesOf(
  read: Reader,
  { reference, user }: { reference: number; user: number | null },
  count: number,
): Promise<(TraceEntry & { readonly user: string })[]> {
  const whose = user === null ? '' : 'AND t."user" = @user'
  const rows = await read.all<{
    num: number
    at: number
    uid: number | null
    body: string
    mailbox: string | null
    user: string
  }>(
    `SELECT t.num, t.at, t.uid, t.body, b.id AS mailbox, u.id AS "user" FROM trace t JOIN "user" u ON u.num = t."user"
     LEFT JOIN mailbox b ON b.num = t.mailbox WHERE t.reference = @reference ${whose} ORDER BY t.at LIMIT @count`,
    { reference, count, ...(user !== null && { user }) },
  )
  return rows.map(({ body, ...row }) => ({ ...(JSON.parse(body) as Trace), ...row }))
}

/** Decisions, newest first. */
export async function listTraces(
  read: Reader,
  page: TracePage,
  boundary: number | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<TraceEntry[]> {
  const [sign, order] = direction === 'forward' ? ['<', 'DESC'] : ['>', 'ASC']
  const edge = boundary ?? (direction === 'forward' ? Number.MAX_SAFE_INTEGER : 0)
  const { user, mailbox, uid, reference } = page
  const rows = await read.all<{ num: number; at: number; uid: number | null; body: string; mailbox: string | null }>(
    `SELECT t.num, t.at, t.uid, t.body, b.id AS mailbox FROM trace t LEFT JOIN mailbox b ON b.num = t.mailbox
     WHERE t."user" = @user AND t.num ${sign} @edge AND (@mailbox IS NULL OR t.mailbox = @mailbox)
       AND (@uid IS NULL OR t.uid = @uid) AND (@reference IS NULL OR t.reference = @reference)
     ORDER BY t.num ${order} LIMIT @count`,
    { user, mailbox, uid, reference, edge, count },
  )
  return rows.map(({ body, ...row }) => ({ ...(JSON.parse(body) as Trace), ...row }))
}
