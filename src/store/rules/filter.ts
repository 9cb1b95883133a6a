// Filters: the table, its reads and writes.
//
// Filters are read in the order in which they are evaluated. Evaluating is mail/filter/filter.ts's, deciding
// actors/delivery/rules.ts's: nothing here knows what a filter means. `offences` tells of expressions that took too long.

import type { FilterAction, FilterQuery } from '#mail/filter/filter.ts'
import { boolean, called, integer, json, moment, nullable, optional, text } from '../engine/column.ts'
import { listRows } from '../engine/dialect.ts'
import { likePattern } from '../engine/like.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { checkParts } from '../upkeep/check.ts'

/** Expressions of a filter that took too long. */
export interface Offences {
  readonly count: number
  /** Milliseconds since 1970. */
  readonly last: number
  /** The expression that did it last, as written. */
  readonly pattern: string
}

const filters = table(
  'filter',
  {
    num: integer,
    id: text,
    /** Number of the account. */
    user: integer,
    name: nullable(text),
    disabled: boolean,
    query: json<FilterQuery>(),
    action: json<FilterAction>(),
    metaData: called('meta', optional(json<Record<string, unknown>>())),
    offences: nullable(json<Offences>()),
    created: moment,
  },
  { key: ['num'], indexes: { filter_id: { on: ['id'], unique: true }, filter_user: { on: ['user', 'num'] } } },
)

export type Filter = RowOf<typeof filters>

export const filterInsert = filters.defineInsert()

export const filterUpdate = filters.defineUpdate('update', {
  set: ['name', 'disabled', 'query', 'action', 'metaData', 'offences'],
  by: ['num', 'id', 'user', 'created'],
})

export const filterDelete = filters.defineDelete(['num'])

/** The filters of an account in the order in which they are evaluated. */
export async function listFilters(read: Reader, user: number): Promise<Filter[]> {
  return await filters.all(read, 'WHERE "user" = ? ORDER BY num', user)
}

/** The filter with this id, if it is the account's. */
export async function findFilter(read: Reader, user: number, id: string): Promise<Filter | undefined> {
  return await filters.one(read, 'WHERE id = ? AND "user" = ?', id, user)
}

export async function countFilters(read: Reader, user: number): Promise<number> {
  return await filters.count(read, 'WHERE "user" = ?', user)
}

export interface FilterPage {
  /** Only filters of this account (id). */
  readonly user: string | null
  /** Part of a forwarding target; empty: all filters. */
  readonly forward: string
}

/** Filters of all accounts in the order of their making, with the id of each one's account. */
export async function pageFilters(
  read: Reader,
  page: FilterPage,
  boundary: number | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<(Filter & { owner: string })[]> {
  const { where, values } = filterWhere(page)
  const [sign, order] = direction === 'forward' ? ['>', 'ASC'] : ['<', 'DESC']
  const edge = boundary ?? (direction === 'forward' ? 0 : Number.MAX_SAFE_INTEGER)
  const rows = await read.all<Record<string, unknown> & { owner: string }>(
    `SELECT ${filters.listOf('f')}, u.id AS owner FROM filter f JOIN "user" u ON u.num = f."user"
     WHERE f.num ${sign} ? ${where} ORDER BY f.num ${order} LIMIT ?`,
    edge,
    ...values,
    count,
  )
  return rows.map(row => ({ ...filters.decode(row), owner: row.owner }))
}

export async function countFilterPage(read: Reader, page: FilterPage): Promise<number> {
  const { where, values } = filterWhere(page)
  const text = `SELECT count(*) AS n FROM filter f JOIN "user" u ON u.num = f."user" WHERE 1 = 1 ${where}`
  return (await read.one<{ n: number }>(text, ...values))?.n ?? 0
}

function filterWhere(page: FilterPage): { where: string; values: unknown[] } {
  const where: string[] = []
  const values: unknown[] = []
  if (page.user !== null) {
    where.push('AND u.id = ?')
    values.push(page.user)
  }
  if (page.forward !== '') {
    where.push(`AND EXISTS (SELECT 1 FROM ${listRows('f.action', 'targets')} WHERE value LIKE ? ESCAPE '\\')`)
    values.push(likePattern(page.forward))
  }
  return { where: where.join(' '), values }
}

checkParts.push({
  rules: [
    {
      says: 'every filter has its account',
      query: 'SELECT id FROM filter AS o WHERE NOT EXISTS (SELECT 1 FROM "user" AS i WHERE i.num = o."user")',
    },
  ],
})
