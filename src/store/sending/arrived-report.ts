// Reports that others sent about domains of this service: the table, its reads and writes.
//
// A report is known by who sent it and by its id, so one that comes twice is there once; one that is proven is not replaced by what
// somebody else sends. A domain has so many at most, the newest, since anybody may send some: so many that are proven, and so many others.

import type { ArrivedReport, ArrivedRow } from '#mail/report/arrived.ts'
import { integer, json, moment, oneOf, type Stored, text } from '../engine/column.ts'
import { bitOf } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

const reports = table(
  'arrived_report',
  {
    kind: oneOf<ArrivedReport['kind']>(),
    domain: text,
    reporter: text,
    reportId: text,
    begin: moment,
    end: moment,
    total: integer,
    failed: integer,
    rows: json<readonly ArrivedRow[]>(),
    received: moment,
    /** Domain in From that was proven to have sent it (DMARC, DKIM, SPF); empty where nobody knows who did. */
    proven: text,
  },
  {
    key: ['kind', 'domain', 'reporter', 'reportId'],
    clustered: true,
    indexes: { arrived_report_begin: { on: ['domain', 'begin'] }, arrived_report_received: { on: ['received'] } },
  },
)

export type ArrivedReportRow = Readonly<RowOf<typeof reports>>

const put = reports.defineUpsert()

const columnNames = 'kind, domain, reporter, report_id, begin, "end", total, failed, rows, received, proven'

const keepOne = defineProcedure(
  'arrived_report_keep',
  `_kind text, _domain text, _reporter text, _report_id text, _begin bigint, _end bigint, _total bigint, _failed bigint,
    _rows text, _received bigint, _proven text, _keep_max bigint, _before bigint`,
  `DECLARE _known text;
BEGIN
  SELECT proven INTO _known FROM arrived_report
    WHERE kind = _kind AND domain = _domain AND reporter = _reporter AND report_id = _report_id;
  IF _known <> '' AND _known <> _proven THEN RETURN; END IF;
  INSERT INTO arrived_report (${columnNames})
    VALUES (_kind, _domain, _reporter, _report_id, _begin, _end, _total, _failed, _rows, _received, _proven)
    ON CONFLICT (kind, domain, reporter, report_id) DO UPDATE SET begin = excluded.begin, "end" = excluded."end",
      total = excluded.total, failed = excluded.failed, rows = excluded.rows, received = excluded.received,
      proven = excluded.proven;
  DELETE FROM arrived_report WHERE domain = _domain AND (proven = '') = (_proven = '') AND begin <
    (SELECT begin FROM arrived_report WHERE domain = _domain AND (proven = '') = (_proven = '')
      ORDER BY begin DESC LIMIT 1 OFFSET _keep_max);
  DELETE FROM arrived_report WHERE received < _before;
END`,
)

/** Keeps a report, and lets the oldest of its domain go where there are too many. */
export const arrivedReportPut = defineWrite<{
  row: unknown
  about: Pick<ArrivedReportRow, 'kind' | 'domain' | 'reporter' | 'reportId' | 'proven'>
  keepMax: number
  before: number
}>(
  'arrived_report.keep',
  (sql, { row, about, keepMax, before }, effects) => {
    const { domain, proven } = about
    const known = sql(
      'SELECT proven FROM arrived_report WHERE kind = @kind AND domain = @domain AND reporter = @reporter AND report_id = @reportId',
    ).get({ kind: about.kind, domain, reporter: about.reporter, reportId: about.reportId }) as
      | { proven: string }
      | undefined
    if (known !== undefined && known.proven !== '' && known.proven !== proven) return
    put.run(sql, row as never, effects)
    sql(`DELETE FROM arrived_report WHERE domain = @domain AND ${bitOf("proven = ''")} = @unproven AND begin <
    (SELECT begin FROM arrived_report WHERE domain = @domain AND ${bitOf("proven = ''")} = @unproven
      ORDER BY begin DESC LIMIT 1 OFFSET @keepMax)`).run({ domain, unproven: proven === '' ? 1 : 0, keepMax })
    sql('DELETE FROM arrived_report WHERE received < ?').run(before)
  },
  {
    told: (sql, { row, keepMax, before }) => void sql(keepOne.call).run(...(row as Stored[]), keepMax, before),
  },
)

/** As the write takes it. */
export function arrivedReportRow(report: ArrivedReport, received: number, proven: string): unknown {
  return put.encode?.({ ...report, received, proven })
}

/** Reports about a domain (all where it is null) of days from `since` on, newest first. */
export async function listArrivedReports(
  read: Reader,
  { domain, kind, since }: { domain: string | null; kind: ArrivedReport['kind'] | null; since: number },
  count: number,
): Promise<ArrivedReportRow[]> {
  const rest = 'WHERE (@domain IS NULL OR domain = @domain) AND (@kind IS NULL OR kind = @kind) AND begin >= @since'
  return await reports.all(read, `${rest} ORDER BY begin DESC, reporter LIMIT @count`, { domain, kind, since, count })
}
