// Addresses that do not exist and are not written to for a while, of one account or of the whole service: the table, its reads and
// writes.
//
// An address that fails again after its time waits longer. What has ended is remembered for that, and swept away later; of one account
// there are so many at most, those that end last. Never for good: everything ends, and anybody who may see it may take it away.

import { domainToAscii, splitAddress } from '#mail/address/address.ts'
import { integer, moment, oneOf, text } from '../engine/column.ts'
import { listRows } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

export const suppressionSources = ['answer', 'bounce', 'manual'] as const
export type SuppressionSource = (typeof suppressionSources)[number]

const suppressions = table(
  'suppression',
  {
    /** Id of the account; empty for the whole service. */
    user: text,
    /** See `suppressionKey`. */
    address: text,
    created: moment,
    until: moment,
    /** Times it was found gone, each after the time before was over. */
    failures: integer,
    status: text,
    response: text,
    /** An answer to an attempt of ours, a report that came later, or somebody's hand. */
    source: oneOf<SuppressionSource>(),
  },
  { key: ['user', 'address'], clustered: true, indexes: { suppression_until: { on: ['until'] } } },
)

export type Suppression = Readonly<RowOf<typeof suppressions>>

/** An address as it is compared: in lower case, its domain in ASCII. */
export function suppressionKey(address: string): string {
  const { local, domain } = splitAddress(address)
  return `${local}@${domainToAscii(domain) || domain}`.toLowerCase()
}

/** Puts in or replaces one by hand. */
const put = suppressions.defineUpsert()

interface Noted extends Omit<Suppression, 'until' | 'failures' | 'created'> {
  readonly at: number
  /** How long it lasts the first time, the second and so on; the last goes on. */
  readonly waits: readonly number[]
  readonly rowsMax: number
}

const trim = `DELETE FROM suppression WHERE "user" = @user AND address IN
  (SELECT address FROM suppression WHERE "user" = @user ORDER BY until DESC LIMIT -1 OFFSET @rowsMax)`

const noteGone = defineProcedure(
  'suppression_note',
  `_user text, _address text, _at bigint, _waits text, _status text, _response text, _source text, _rows_max bigint`,
  `DECLARE _until bigint; _failures bigint; _wait bigint;
BEGIN
  SELECT until, failures INTO _until, _failures FROM suppression WHERE "user" = _user AND address = _address;
  IF _until > _at THEN RETURN; END IF;
  _failures := coalesce(_failures, 0) + 1;
  SELECT value::bigint INTO _wait FROM ${listRows('_waits')} WHERE key < _failures ORDER BY key DESC LIMIT 1;
  _wait := coalesce(_wait, 0);
  IF _wait = 0 THEN RETURN; END IF;
  INSERT INTO suppression ("user", address, created, until, failures, status, response, source)
    VALUES (_user, _address, _at, _at + _wait, _failures, _status, _response, _source)
    ON CONFLICT ("user", address) DO UPDATE SET created = excluded.created, until = excluded.until,
      failures = excluded.failures, status = excluded.status, response = excluded.response, source = excluded.source;
  DELETE FROM suppression WHERE "user" = _user AND address IN
    (SELECT address FROM suppression WHERE "user" = _user ORDER BY until DESC OFFSET _rows_max);
END`,
)

/** Notes that an address is gone. What somebody put in stays as it is. */
export const suppressionNote = defineWrite<Noted>(
  'suppression.note',
  (sql, { at, waits, rowsMax, ...row }) => {
    const known = sql('SELECT until, failures, source FROM suppression WHERE "user" = ? AND address = ?').get(
      row.user,
      row.address,
    ) as Pick<Suppression, 'until' | 'failures' | 'source'> | undefined
    // What was on its way already when the address was found gone says nothing new.
    if (known !== undefined && known.until > at) return
    const failures = (known?.failures ?? 0) + 1
    const wait = waits[Math.min(failures, waits.length) - 1] ?? 0
    if (wait === 0) return
    sql(`INSERT INTO suppression ("user", address, created, until, failures, status, response, source)
    VALUES (@user, @address, @at, @until, @failures, @status, @response, @source)
    ON CONFLICT ("user", address) DO UPDATE SET created = excluded.created, until = excluded.until,
      failures = excluded.failures, status = excluded.status, response = excluded.response, source = excluded.source`).run(
      {
        ...row,
        at,
        failures,
        until: at + wait,
      },
    )
    sql(trim).run({ user: row.user, rowsMax })
  },
  {
    told: (sql, { at, waits, rowsMax, user, address, status, response, source }) => {
      sql(noteGone.call).run(user, address, at, JSON.stringify(waits), status, response, source, rowsMax)
    },
  },
)

/** Puts one in by hand. */
export const suppressionPut = defineWrite<{ row: unknown; user: string; rowsMax: number }>(
  'suppression.set',
  (sql, { row, user, rowsMax }, effects) => {
    put.run(sql, row as never, effects)
    sql(trim).run({ user, rowsMax })
  },
)

/** As the write takes it. */
export function suppressionRow(row: Suppression): unknown {
  return put.encode?.(row) ?? row
}

/** Takes one away, for good. */
export const suppressionDelete = suppressions.defineDelete(['user', 'address'])

/** Forgets some that ended before `before`. */
export const suppressionSweep = defineWrite<{ before: number; count: number }>('suppression.sweep', (sql, row) => {
  sql(`DELETE FROM suppression WHERE ("user", address) IN
    (SELECT "user", address FROM suppression WHERE until < ? LIMIT ?)`).run(row.before, row.count)
})

/** Why an account does not write to an address at the moment `at`; undefined where it does. */
export async function findSuppressed(
  read: Reader,
  user: string,
  address: string,
  at: number,
): Promise<Suppression | undefined> {
  const rest = `WHERE "user" IN ('', ?) AND address = ? AND until > ? ORDER BY "user" DESC LIMIT 1`
  return await suppressions.one(read, rest, user, suppressionKey(address), at)
}

/** One of an account, or with '' of the service, whether it has ended or not. */
export async function findSuppression(read: Reader, user: string, address: string): Promise<Suppression | undefined> {
  return await suppressions.one(read, 'WHERE "user" = ? AND address = ?', user, suppressionKey(address))
}

export interface SuppressionPage {
  /** Only of this account, with '' of the service; of all where null. */
  readonly user: string | null
  readonly at: number
}

function current({ user }: SuppressionPage): string {
  return user === null ? 'WHERE until > @at' : 'WHERE until > @at AND "user" = @user'
}

function valuesOf({ user, at }: SuppressionPage) {
  return { at, ...(user !== null && { user }) }
}

/** Those in force, by account and address. */
export async function listSuppressions(
  read: Reader,
  page: SuppressionPage,
  boundary: readonly [string, string] | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<Suppression[]> {
  const [sign, order] = direction === 'forward' ? ['>', 'ASC'] : ['<', 'DESC']
  const [edgeUser, edge] = boundary ?? (direction === 'forward' ? ['', ''] : ['\u{10ffff}', ''])
  const rest = `${current(page)} AND ("user", address) ${sign} (@edgeUser, @edge)
    ORDER BY "user" ${order}, address ${order} LIMIT @count`
  return await suppressions.all(read, rest, { ...valuesOf(page), edgeUser, edge, count })
}

export async function countSuppressions(read: Reader, page: SuppressionPage): Promise<number> {
  return await suppressions.count(read, current(page), valuesOf(page))
}

/** Those in force, counted up to a bound. */
export async function countSuppressed(read: Reader, at: number, countMax: number): Promise<number> {
  const text = 'SELECT count(*) AS n FROM (SELECT 1 FROM suppression WHERE until > ? LIMIT ?)'
  return (await read.one<{ n: number }>(text, at, countMax))?.n ?? 0
}
