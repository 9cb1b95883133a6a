// Application passwords, security keys and the log of logins: the tables, their reads and writes.
//
// Only hashes, public keys and sealed secrets stand in the rows. What is over its time is not found, whether it was
// swept yet or not. Use and log rows are added by what happened since the last write, never set from a copy, so that they
// may be written late and gathered.

import { integer, json, moment, nullable, text } from '../engine/column.ts'
import { greatest, listRows } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const asps = table(
  'asp',
  {
    id: text,
    /** Number of the account. */
    user: integer,
    /** Tells which few to hash. */
    selector: text,
    hash: text,
    description: text,
    /** `['*']` for all. */
    scopes: json<readonly string[]>(),
    /** Milliseconds by which each use pushes `expires` out; 0: does not expire. */
    ttl: integer,
    expires: nullable(moment),
    created: moment,
  },
  { key: ['id'], clustered: true, indexes: { asp_user: { on: ['user', 'selector'] } } },
)

/** When and from where one was last used: narrow, since it changes with every login. */
const uses = table(
  'asp_use',
  {
    asp: text,
    user: integer,
    at: moment,
    /** Entry of the log; null where none is kept. */
    event: nullable(text),
    ip: text,
  },
  { key: ['asp'], clustered: true, indexes: { asp_use_user: { on: ['user'] } } },
)

const keys = table(
  'credential',
  {
    id: text,
    /** Number of the account. */
    user: integer,
    rawId: text,
    /** A COSE_Key. */
    publicKey: text,
    /** The last one it showed. */
    counter: integer,
    description: text,
    attachment: text,
    created: moment,
  },
  { key: ['id'], clustered: true, indexes: { credential_raw: { on: ['user', 'rawId'], unique: true } } },
)

/** What happened around an account's logins; the same within hours is one row. */
const log = table(
  'authlog',
  {
    id: text,
    user: integer,
    key: text,
    action: text,
    ip: text,
    created: moment,
    last: moment,
    expires: moment,
    events: integer,
    body: text,
  },
  {
    key: ['id'],
    clustered: true,
    indexes: {
      authlog_user: { on: ['user', 'id'] },
      authlog_key: { on: ['user', 'key', 'created'] },
      authlog_expires: { on: ['expires'] },
    },
  },
)

/** When an account was last entered. */
table('login', { user: integer, at: moment }, { key: ['user'] })

export type AspRow = RowOf<typeof asps>
export type CredentialRow = RowOf<typeof keys>
/** `events` is how many are added. */
export type AuthLogRow = RowOf<typeof log>

export type Asp = Readonly<Omit<AspRow, 'user'>> & {
  readonly lastUse: { readonly at: number; readonly event: string | null } | null
}

export interface LogEntry extends Omit<AuthLogRow, 'body'> {
  /** Everything that says more: result, source, protocol and so on. */
  readonly more: Readonly<Record<string, unknown>>
}

export const aspInsert = asps.defineInsert()

export const aspDelete = defineWrite<{ id: string }>('asp.delete', (sql, { id }) => {
  sql('DELETE FROM asp WHERE id = ?').run(id)
  sql('DELETE FROM asp_use WHERE asp = ?').run(id)
})

export interface AspUseRow extends RowOf<typeof uses> {
  /** New end, for those that have one. */
  expires: number | null
}

const prolong = `${asps.updating({ raise: ['expires'], by: ['id'] })} AND ttl > 0`

const noteUse = defineProcedure(
  'asp_use_note',
  '_asp text, _user bigint, _at bigint, _event text, _ip text',
  `BEGIN
  IF NOT EXISTS (SELECT 1 FROM asp WHERE id = _asp) THEN RETURN; END IF;
  INSERT INTO asp_use (asp, "user", at, event, ip) VALUES (_asp, _user, _at, _event, _ip)
    ON CONFLICT (asp) DO UPDATE SET at = excluded.at, event = excluded.event, ip = excluded.ip
    WHERE excluded.at >= asp_use.at;
END`,
)

/** One that is gone by now stays gone. */
export const aspUse = defineWrite<AspUseRow>(
  'asp.use',
  (sql, row) => {
    const { asp, user, at, event, ip, expires } = row
    if (sql('SELECT 1 FROM asp WHERE id = ?').get(asp) === undefined) return
    sql(`INSERT INTO asp_use (asp, "user", at, event, ip) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET at = excluded.at, event = excluded.event, ip = excluded.ip
    WHERE excluded.at >= asp_use.at`).run(asp, user, at, event, ip)
    if (expires !== null) sql(prolong).run(expires, asp)
  },
  {
    told: (sql, { asp, user, at, event, ip, expires }) => {
      sql(noteUse.call).run(asp, user, at, event, ip)
      if (expires !== null) sql(prolong).run(expires, asp)
    },
  },
)

export const credentialInsert = keys.defineInsert()

export const credentialCount = keys.defineUpdate('count', { raise: ['counter'], by: ['id'] })

export const credentialDelete = keys.defineDelete(['id'])

/** Every security key of an account. */
export const credentialClear = keys.defineDelete(['user'], 'clear')

const noteLog = `INSERT INTO authlog (id, "user", key, action, ip, created, last, expires, events, body)
  SELECT @id, @user, @key, @action, @ip, @created, @last, @expires, @events, @body FROM "user" WHERE num = @user
  ON CONFLICT (id) DO UPDATE SET events = authlog.events + excluded.events,
    last = ${greatest('authlog.last', 'excluded.last')}`

/** Written later than it happened: an account that went meanwhile gets no entry. */
export const authLogAdd = defineWrite<AuthLogRow>('authlog.add', (sql, row) => {
  sql(noteLog).run(row)
})

/** Takes up to `count` entries whose time is over. */
export const authLogExpire = defineWrite<{ at: number; count: number }>('authlog.expire', (sql, { at, count }) => {
  sql('DELETE FROM authlog WHERE id IN (SELECT id FROM authlog WHERE expires < ? LIMIT ?)').run(at, count)
})

/** Whether there are some. */
export async function hasExpiredLog(read: Reader, at: number): Promise<boolean> {
  return (await read.one('SELECT 1 FROM authlog WHERE expires < ? LIMIT 1', at)) !== undefined
}

const noteLogin = `INSERT INTO login ("user", at) SELECT num, ? FROM "user" WHERE num = ?
  ON CONFLICT ("user") DO UPDATE SET at = ${greatest('login.at', 'excluded.at')}`

export const loginPut = defineWrite<{ user: number; at: number }>('login.put', (sql, { user, at }) => {
  sql(noteLogin).run(at, user)
})

/** Lets one token of an account live on when its version goes up; the others end by it. */
export const tokenKeep = defineWrite<{ hash: string; user: string; authVersion: number }>('token.keep', (sql, row) => {
  sql('UPDATE token SET auth_version = @authVersion WHERE hash = @hash AND "user" = @user').run(row)
})

checkParts.push({
  rules: [
    {
      says: 'every application password, security key and log entry has its account',
      query: ['asp', 'credential', 'authlog', 'login']
        .map(table => `SELECT '${table} ' || user FROM ${table} WHERE "user" NOT IN (SELECT num FROM "user")`)
        .join(' UNION ALL '),
    },
    {
      says: 'every use of an application password has the password',
      query: 'SELECT asp FROM asp_use AS o WHERE NOT EXISTS (SELECT 1 FROM asp AS i WHERE i.id = o.asp)',
    },
    {
      says: 'the second factors of an account name webauthn exactly where it has a security key',
      query: `SELECT id FROM "user" u WHERE deleted IS NULL AND
        EXISTS (SELECT 1 FROM ${listRows('u.options', 'enabled2fa')} WHERE value = 'webauthn')
        <> EXISTS (SELECT 1 FROM credential c WHERE c."user" = u.num)`,
    },
  ],
})

/** The application passwords of an account that are good at `at`, in order of creation. */
export async function listAsps(read: Reader, user: number, at: number): Promise<Asp[]> {
  return await aspRows(
    read,
    'WHERE a."user" = ? AND (a.expires IS NULL OR a.expires > ?) ORDER BY a.created, a.id',
    user,
    at,
  )
}

/** Those with this selector, the few that are worth hashing. */
export async function selectAsps(read: Reader, user: number, selector: string, at: number): Promise<Asp[]> {
  // One that was moved in may have no selector.
  const where = `WHERE a."user" = ? AND a.selector IN (?, '') AND (a.expires IS NULL OR a.expires > ?)`
  return await aspRows(read, where, user, selector, at)
}

/** Ids of those whose time is over. */
export async function expiredAsps(read: Reader, user: number, at: number): Promise<string[]> {
  return (await read.all<{ id: string }>('SELECT id FROM asp WHERE "user" = ? AND expires <= ?', user, at)).map(
    ({ id }) => id,
  )
}

/** The security keys of an account, in order of registration. */
export async function listCredentials(read: Reader, user: number): Promise<CredentialRow[]> {
  return await keys.all(read, 'WHERE "user" = ? ORDER BY created, id', user)
}

/** The latest entry of that key since `since`. */
export async function findLogByKey(
  read: Reader,
  user: number,
  key: string,
  since: number,
): Promise<{ id: string; created: number } | undefined> {
  return await read.one<{ id: string; created: number }>(
    'SELECT id, created FROM authlog WHERE "user" = ? AND key = ? AND created > ? ORDER BY created DESC LIMIT 1',
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
  const rest = `WHERE ${where} AND id ${sign} ? ORDER BY id ${order} LIMIT ?`
  return (await log.all(read, rest, ...values, boundary ?? edge, count)).map(decodeLog)
}

export async function countLog(read: Reader, page: LogPage): Promise<number> {
  const { where, values } = logFilter(page)
  return await log.count(read, `WHERE ${where}`, ...values)
}

export async function findLog(read: Reader, user: number, id: string, at: number): Promise<LogEntry | undefined> {
  const row = await log.one(read, 'WHERE "user" = ? AND id = ? AND expires > ?', user, id, at)
  return row === undefined ? undefined : decodeLog(row)
}

function logFilter({ user, action, ip, at }: LogPage): { where: string; values: unknown[] } {
  const where = ['"user" = ?', 'expires > ?']
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

async function aspRows(read: Reader, where: string, ...values: unknown[]): Promise<Asp[]> {
  return (
    await read.all<Record<string, unknown> & { usedAt: number | null; usedEvent: string | null }>(
      `SELECT ${asps.listOf('a')}, u.at AS "usedAt", u.event AS "usedEvent"
       FROM asp a LEFT JOIN asp_use u ON u.asp = a.id ${where}`,
      ...values,
    )
  ).map(({ usedAt, usedEvent, ...row }) => {
    return { ...asps.decode(row), lastUse: usedAt === null ? null : { at: usedAt, event: usedEvent } }
  })
}
