// Filters, autoreplies and their decisions: what the rows mean, and reading them.
//
// Filters are read in the order in which they are evaluated. Evaluating is mail/filter.ts's, deciding
// actors/rules.ts's: nothing here knows what a filter means.

import type { FilterAction, FilterQuery } from '#mail/filter.ts'
import { checkParts } from './check.ts'
import type { Reader } from './reader.ts'
import type { AutoreplyRow, FilterRow } from './rule-writes.ts'
import { likePattern } from './users.ts'

/** Expressions of a filter that took too long. */
export interface Offences {
  readonly count: number
  /** Milliseconds since 1970. */
  readonly last: number
  /** The expression that did it last, as written. */
  readonly pattern: string
}

export interface Filter {
  readonly num: number
  readonly id: string
  /** Number of the account. */
  readonly user: number
  name: string | null
  disabled: boolean
  query: FilterQuery
  action: FilterAction
  metaData: Record<string, unknown> | undefined
  offences: Offences | null
  readonly created: number
}

const columns = 'num, id, user, name, disabled, query, action, meta, offences, created'

/** The filters of an account in the order in which they are evaluated. */
export async function listFilters(read: Reader, user: number): Promise<Filter[]> {
  return read.all<FilterRow>(`SELECT ${columns} FROM filter WHERE user = ? ORDER BY num`, user).map(decodeFilter)
}

/** The filter with this id, if it is the account's. */
export async function findFilter(read: Reader, user: number, id: string): Promise<Filter | undefined> {
  const row = read.one<FilterRow>(`SELECT ${columns} FROM filter WHERE id = ? AND user = ?`, id, user)
  return row === undefined ? undefined : decodeFilter(row)
}

export async function countFilters(read: Reader, user: number): Promise<number> {
  return read.one<{ n: number }>('SELECT count(*) AS n FROM filter WHERE user = ?', user)?.n ?? 0
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
  const named = columns.replaceAll(/\w+/g, name => `f.${name}`)
  const rows = read.all<FilterRow & { owner: string }>(
    `SELECT ${named}, u.id AS owner FROM filter f JOIN user u ON u.num = f.user
     WHERE f.num ${sign} ? ${where} ORDER BY f.num ${order} LIMIT ?`,
    edge,
    ...values,
    count,
  )
  return rows.map(row => ({ ...decodeFilter(row), owner: row.owner }))
}

export async function countFilterPage(read: Reader, page: FilterPage): Promise<number> {
  const { where, values } = filterWhere(page)
  const text = `SELECT count(*) AS n FROM filter f JOIN user u ON u.num = f.user WHERE 1 ${where}`
  return read.one<{ n: number }>(text, ...values)?.n ?? 0
}

function filterWhere(page: FilterPage): { where: string; values: unknown[] } {
  const where: string[] = []
  const values: unknown[] = []
  if (page.user !== null) {
    where.push('AND u.id = ?')
    values.push(page.user)
  }
  if (page.forward !== '') {
    where.push(`AND EXISTS (SELECT 1 FROM json_each(f.action, '$.targets') WHERE value LIKE ? ESCAPE '\\')`)
    values.push(likePattern(page.forward))
  }
  return { where: where.join(' '), values }
}

function decodeFilter(row: FilterRow): Filter {
  return {
    num: row.num,
    id: row.id,
    user: row.user,
    name: row.name,
    disabled: row.disabled === 1,
    query: JSON.parse(row.query) as FilterQuery,
    action: JSON.parse(row.action) as FilterAction,
    metaData: row.meta === null ? undefined : (JSON.parse(row.meta) as Record<string, unknown>),
    offences: row.offences === null ? null : (JSON.parse(row.offences) as Offences),
    created: row.created,
  }
}

/** A filter as its row. */
export function encodeFilter(filter: Filter): FilterRow {
  const { num, id, user, name, disabled, query, action, metaData, offences, created } = filter
  return {
    ...{ num, id, user, name, created },
    disabled: disabled ? 1 : 0,
    query: JSON.stringify(query),
    action: JSON.stringify(action),
    meta: metaData === undefined ? null : JSON.stringify(metaData),
    offences: offences === null ? null : JSON.stringify(offences),
  }
}

export interface Autoreply {
  readonly id: string
  status: boolean
  name: string
  subject: string
  text: string
  html: string
  /** Milliseconds since 1970; null: no bound. */
  start: number | null
  end: number | null
  /** When it was changed last. */
  created: number
}

/** The autoreply of an account. */
export async function findAutoreply(read: Reader, user: number): Promise<Autoreply | undefined> {
  const row = read.one<AutoreplyRow>(
    'SELECT user, id, status, name, subject, text, html, starts, ends, created FROM autoreply WHERE user = ?',
    user,
  )
  if (row === undefined) return undefined
  const { id, name, subject, text, html, starts, ends, created } = row
  return { id, status: row.status === 1, name, subject, text, html, start: starts, end: ends, created }
}

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
  /** Where it went: path of the mailbox, or null where it was not stored. */
  readonly stored: string | null
  readonly forward?: { readonly queueId: string | null; readonly targets: readonly string[]; readonly reason?: string }
  readonly autoreply?: { readonly queueId: string | null; readonly reason?: string }
  /** Expressions that took too long and so counted as not matching. */
  readonly timedOut?: readonly string[]
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
  const rows = read.all<{ num: number; at: number; uid: number | null; body: string; mailbox: string | null }>(
    `SELECT t.num, t.at, t.uid, t.body, b.id AS mailbox FROM trace t LEFT JOIN mailbox b ON b.num = t.mailbox
     WHERE t.user = @user AND t.num ${sign} @edge AND (@mailbox IS NULL OR t.mailbox = @mailbox)
       AND (@uid IS NULL OR t.uid = @uid) AND (@reference IS NULL OR t.reference = @reference)
     ORDER BY t.num ${order} LIMIT @count`,
    { user, mailbox, uid, reference, edge, count },
  )
  return rows.map(({ body, ...row }) => ({ ...(JSON.parse(body) as Trace), ...row }))
}

checkParts.push({
  rules: [
    { says: 'every filter has its account', query: 'SELECT id FROM filter WHERE user NOT IN (SELECT num FROM user)' },
    {
      says: 'every autoreply has its account',
      query: 'SELECT id FROM autoreply WHERE user NOT IN (SELECT num FROM user)',
    },
  ],
})
