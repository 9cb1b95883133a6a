// What is told to domains once a day (RFC 8460, RFC 9990): how sessions with their hosts went, and mail that came in their name,
// as counts. The table, its reads and writes.
//
// A domain has so many rows a day at most; what is more is counted together. What was told is forgotten in the unit that
// queues the report, so nothing is told twice, and what nobody wanted goes the same way.

import { integer, moment, oneOf, text } from '../engine/column.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

export type ReportKind = 'tls' | 'dmarc'

const counts = table(
  'report_count',
  {
    kind: oneOf<ReportKind>(),
    /** Its first moment, in UTC. */
    day: moment,
    /** Who is told. */
    domain: text,
    /** JSON of what was counted; empty for what was more than is told. */
    detail: text,
    count: integer,
  },
  { key: ['kind', 'day', 'domain', 'detail'], clustered: true, long: ['detail'] },
)

export type ReportCount = Readonly<RowOf<typeof counts>>

/** Whom something is to be told of one day. */
export type ReportSubject = Pick<ReportCount, 'kind' | 'day' | 'domain'>

const addCount = defineProcedure(
  'report_add',
  '_kind text, _day bigint, _domain text, _detail text, _count bigint, _rows_max bigint',
  `DECLARE _into text := _detail;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM report_count WHERE kind = _kind AND day = _day AND domain = _domain AND detail = _detail)
    AND (SELECT count(*) FROM report_count WHERE kind = _kind AND day = _day AND domain = _domain) >= _rows_max
    THEN _into := ''; END IF;
  INSERT INTO report_count (kind, day, domain, detail, count) VALUES (_kind, _day, _domain, _into, _count)
    ON CONFLICT (kind, day, domain, md5(detail)) DO UPDATE SET count = report_count.count + excluded.count;
END`,
)

/** Adds to counts. */
export const reportAdd = defineWrite<{ rows: readonly ReportCount[]; rowsMax: number }>(
  'report.add',
  (sql, given) => {
    const raise = sql(
      'UPDATE report_count SET count = count + ? WHERE kind = ? AND day = ? AND domain = ? AND detail = ?',
    )
    const held = sql('SELECT count(*) AS n FROM report_count WHERE kind = ? AND day = ? AND domain = ?')
    const insert = sql('INSERT INTO report_count (kind, day, domain, detail, count) VALUES (?, ?, ?, ?, ?)')
    for (const { kind, day, domain, detail, count } of given.rows) {
      if (raise.run(count, kind, day, domain, detail).changes > 0) continue
      const full = (held.get(kind, day, domain) as { n: number }).n >= given.rowsMax
      if (!full) insert.run(kind, day, domain, detail, count)
      else if (raise.run(count, kind, day, domain, '').changes === 0) insert.run(kind, day, domain, '', count)
    }
  },
  {
    told: (sql, { rows, rowsMax }) => {
      for (const { kind, day, domain, detail, count } of rows) {
        sql(addCount.call).run(kind, day, domain, detail, count, rowsMax)
      }
    },
  },
)

/** Forgets what was told, or what nobody wanted to hear. */
export const reportDone = defineWrite<ReportSubject>('report.done', (sql, { kind, day, domain }) => {
  sql('DELETE FROM report_count WHERE kind = ? AND day = ? AND domain = ?').run(kind, day, domain)
})

/** Who is to be told something of days before `day`. */
export async function reportSubjects(
  read: Reader,
  kind: ReportKind,
  day: number,
  count: number,
): Promise<ReportSubject[]> {
  const text =
    'SELECT DISTINCT kind, day, domain FROM report_count WHERE kind = ? AND day < ? ORDER BY day, domain LIMIT ?'
  return await read.all<ReportSubject>(text, kind, day, count)
}

/** What is told to one of one day, the most first. */
export async function reportCounts(
  read: Reader,
  { kind, day, domain }: ReportSubject,
  count: number,
): Promise<ReportCount[]> {
  const rest = 'WHERE kind = ? AND day = ? AND domain = ? ORDER BY count DESC LIMIT ?'
  return await counts.all(read, rest, kind, day, domain, count)
}

/** Rows that wait to be told, counted up to a bound. */
export async function countReportRows(read: Reader, countMax: number): Promise<number> {
  const found = await read.one<{ n: number }>(
    'SELECT count(*) AS n FROM (SELECT 1 FROM report_count LIMIT ?)',
    countMax,
  )
  return found?.n ?? 0
}

checkParts.push({
  rules: [{ says: 'what is told was counted', query: 'SELECT domain FROM report_count WHERE count < 1' }],
})
