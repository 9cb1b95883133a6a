// MTA-STS policies of other domains, so that they hold after a restart, too: the table, its reads and writes.
//
// A policy holds until its end, whatever becomes of its domain meanwhile (RFC 8461 3.1); what ended long ago is swept away, and there are limits.sts.rowsMax at most.

import { json, moment, oneOf, text } from '../engine/column.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

const policies = table(
  'sts_policy',
  {
    /** In ASCII. */
    domain: text,
    /** By which the domain tells one policy from the next. */
    id: text,
    mode: oneOf<'enforce' | 'testing' | 'none'>(),
    mx: json<readonly string[]>(),
    fetched: moment,
    expires: moment,
  },
  { key: ['domain'], clustered: true, indexes: { sts_policy_expires: { on: ['expires'] } } },
)

export type StsPolicyRow = Readonly<RowOf<typeof policies>>

export const stsPolicyPut = policies.defineUpsert()

const sweepPolicies = defineProcedure(
  'sts_policy_sweep',
  '_before bigint, _count bigint, _rows_max bigint',
  `DECLARE _more bigint;
BEGIN
  DELETE FROM sts_policy WHERE domain IN
    (SELECT domain FROM sts_policy WHERE expires < _before ORDER BY expires LIMIT _count);
  _more := (SELECT count(*) FROM sts_policy) - _rows_max;
  IF _more > 0 THEN
    DELETE FROM sts_policy WHERE domain IN (SELECT domain FROM sts_policy ORDER BY fetched LIMIT _more);
  END IF;
END`,
)

/** Forgets some policies that ended, and where there are more than may be those that were not asked for longest. */
export const stsPolicySweep = defineWrite<{ before: number; count: number; rowsMax: number }>(
  'sts_policy.sweep',
  (sql, { before, count, rowsMax }) => {
    const gone = (which: string) =>
      sql(`DELETE FROM sts_policy WHERE domain IN (SELECT domain FROM sts_policy ${which})`)
    gone('WHERE expires < ? LIMIT ?').run(before, count)
    const { n } = sql('SELECT count(*) AS n FROM sts_policy').get() as { n: number }
    if (n > rowsMax) gone('ORDER BY fetched LIMIT ?').run(n - rowsMax)
  },
  { told: (sql, { before, count, rowsMax }) => void sql(sweepPolicies.call).run(before, count, rowsMax) },
)

/** The policy of a domain that has not ended. */
export async function findStsPolicy(read: Reader, domain: string, at: number): Promise<StsPolicyRow | undefined> {
  return await policies.one(read, 'WHERE domain = ? AND expires > ?', domain, at)
}
