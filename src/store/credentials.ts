// Application passwords, security keys and the log of logins: reading them, and what their rows mean.
//
// Only hashes, public keys and sealed secrets stand in the rows. What is over its time is not found, whether it was
// swept yet or not.

import { checkParts } from './check.ts'
import type { AspRow, AuthLogRow, CredentialRow } from './credential-writes.ts'
import type { Reader } from './reader.ts'

export interface Asp {
  readonly id: string
  readonly selector: string
  readonly hash: string
  readonly description: string
  /** As stored: `['*']` for all. */
  readonly scopes: readonly string[]
  /** Milliseconds; 0: does not expire. */
  readonly ttl: number
  readonly expires: number | null
  readonly created: number
  readonly lastUse: { readonly at: number; readonly event: string | null } | null
}

export interface LogEntry extends Omit<AuthLogRow, 'body'> {
  /** Everything that says more: result, source, protocol and so on. */
  readonly more: Readonly<Record<string, unknown>>
}

const aspColumns = `a.id, a.user, a.selector, a.hash, a.description, a.scopes, a.ttl, a.expires, a.created,
  u.at AS usedAt, u.event AS usedEvent FROM asp a LEFT JOIN asp_use u ON u.asp = a.id`
const credentialColumns = `id, user, raw_id AS rawId, public_key AS publicKey, counter, description, attachment, created`
const logColumns = 'id, user, key, action, ip, created, last, expires, events, body'

checkParts.push({
  rules: [
    {
      says: 'every application password, security key and log entry has its account',
      query: ['asp', 'credential', 'authlog', 'login']
        .map(table => `SELECT '${table} ' || user FROM ${table} WHERE user NOT IN (SELECT num FROM user)`)
        .join(' UNION ALL '),
    },
    {
      says: 'every use of an application password has the password',
      query: 'SELECT asp FROM asp_use WHERE asp NOT IN (SELECT id FROM asp)',
    },
    {
      says: 'the second factors of an account name webauthn exactly where it has a security key',
      query: `SELECT id FROM user u WHERE deleted IS NULL AND
        EXISTS (SELECT 1 FROM json_each(u.options, '$.enabled2fa') WHERE value = 'webauthn')
        <> EXISTS (SELECT 1 FROM credential c WHERE c.user = u.num)`,
    },
  ],
})

/** The application passwords of an account that are good at `at`, in order of creation. */
export async function listAsps(read: Reader, user: number, at: number): Promise<Asp[]> {
  return aspRows(read, 'WHERE a.user = ? AND (a.expires IS NULL OR a.expires > ?) ORDER BY a.created, a.id', user, at)
}

/** Those with this selector, the few that are worth hashing. */
export async function selectAsps(read: Reader, user: number, selector: string, at: number): Promise<Asp[]> {
  // One that was moved in may have no selector.
  const where = `WHERE a.user = ? AND a.selector IN (?, '') AND (a.expires IS NULL OR a.expires > ?)`
  return aspRows(read, where, user, selector, at)
}

/** Ids of those whose time is over. */
export async function expiredAsps(read: Reader, user: number, at: number): Promise<string[]> {
  return read.all<{ id: string }>('SELECT id FROM asp WHERE user = ? AND expires <= ?', user, at).map(({ id }) => id)
}

/** The security keys of an account, in order of registration. */
export async function listCredentials(read: Reader, user: number): Promise<CredentialRow[]> {
  return read.all<CredentialRow>(
    `SELECT ${credentialColumns} FROM credential WHERE user = ? ORDER BY created, id`,
    user,
  )
}

/** The latest entry of that key since `since`. */
export async function findLogByKey(
  read: Reader,
  user: number,
  key: string,
  since: number,
): Promise<{ id: string; created: number } | undefined> {
  return read.one<{ id: string; created: number }>(
    'SELECT id, created FROM authlog WHERE user = ? AND key = ? AND created > ? ORDER BY created DESC LIMIT 1',
    user,
    key,
    since,
  )
}

export interface LogPage {
  readonly user: number
  /** Exact; empty: all. */
  readonly action: string
  readonly ip: string
  readonly at: number
}

/** Entries of the log, newest first, beginning behind `boundary` (an id) in `direction`. */
export async function listLog(
  read: Reader,
  page: LogPage,
  boundary: string | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<LogEntry[]> {
  const { where, values } = logFilter(page)
  const [sign, order, edge] = direction === 'forward' ? ['<', 'DESC', 'g'] : ['>', 'ASC', '']
  return read
    .all<AuthLogRow>(
      `SELECT ${logColumns} FROM authlog WHERE ${where} AND id ${sign} ? ORDER BY id ${order} LIMIT ?`,
      ...values,
      boundary ?? edge,
      count,
    )
    .map(decodeLog)
}

export async function countLog(read: Reader, page: LogPage): Promise<number> {
  const { where, values } = logFilter(page)
  return read.one<{ n: number }>(`SELECT count(*) AS n FROM authlog WHERE ${where}`, ...values)?.n ?? 0
}

export async function findLog(read: Reader, user: number, id: string, at: number): Promise<LogEntry | undefined> {
  const row = read.one<AuthLogRow>(
    `SELECT ${logColumns} FROM authlog WHERE user = ? AND id = ? AND expires > ?`,
    user,
    id,
    at,
  )
  return row === undefined ? undefined : decodeLog(row)
}

function logFilter({ user, action, ip, at }: LogPage): { where: string; values: unknown[] } {
  const where = ['user = ?', 'expires > ?']
  const values: unknown[] = [user, at]
  if (action !== '') where.push('action = ?')
  if (action !== '') values.push(action)
  if (ip !== '') where.push('ip = ?')
  if (ip !== '') values.push(ip)
  return { where: where.join(' AND '), values }
}

function decodeLog({ body, ...row }: AuthLogRow): LogEntry {
  return { ...row, more: JSON.parse(body) as Record<string, unknown> }
}

function aspRows(read: Reader, where: string, ...values: unknown[]): Asp[] {
  return read
    .all<AspRow & { usedAt: number | null; usedEvent: string | null }>(`SELECT ${aspColumns} ${where}`, ...values)
    .map(({ scopes, usedAt, usedEvent, ...row }) => ({
      ...row,
      scopes: JSON.parse(scopes) as string[],
      lastUse: usedAt === null ? null : { at: usedAt, event: usedEvent },
    }))
}
