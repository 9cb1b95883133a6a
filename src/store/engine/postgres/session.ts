// Connections to PostgreSQL: the one place that knows its driver.
//
// A connection that is lost, refused or overrun is a temporary fault, and a new one is made when it is next asked for. A
// statement that takes too long is ended by the server; where the server does not answer at all, the connection is given up.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type Postgres, postgres } from '#lib/process/lazy.ts'
import { type Asked, asking, type Visit } from './asking.ts'
import { typeParsers } from './values.ts'

export type Client = InstanceType<Postgres['Client']>

/** Where the database is, and what it may take. */
export interface PostgresSettings {
  /** postgres://user:password@host:port/database */
  readonly url: string
  /** What a statement may take; none where 0. */
  readonly statementMs?: number
  /** Whole tables are gone through: the server plans as it finds best. */
  readonly whole?: boolean
}

export interface SessionOptions {
  /** The server refuses to write through it. */
  readonly readOnly?: boolean
  /** Several statements may be on their way at once. */
  readonly pipelined?: boolean
  /** Heard once when the connection is gone. */
  readonly onEnd?: () => void
}

/** Not what the server, the database or the role says, which may be anything: how texts and values are written, what is found, who waits for whom. */
const plain = {
  ...{ standard_conforming_strings: 'on', bytea_output: 'hex', extra_float_digits: 1, quote_all_identifiers: 'off' },
  ...{ array_nulls: 'on', transform_null_equals: 'off', gin_fuzzy_search_limit: 0 },
  ...{ default_transaction_isolation: "'read committed'", lock_timeout: 0 },
  // A lock of the session says who has the database, and a picture lasts as long as what is read from it.
  ...{ idle_session_timeout: 0, idle_in_transaction_session_timeout: 0 },
  jit: 'off',
}

/** As of version 17. */
const sinceLater =
  "SELECT set_config('transaction_timeout', '0', false) WHERE current_setting('transaction_timeout', true) IS NOT NULL"

/**
 * Texts of the store go from key to key by the indexes that stand beside
 * them, whatever the engine has counted of its tables; and a plan is made once, not for each value.
 */
const alongKeys = {
  ...plain,
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  // To it a scan that is off costs so much that two processes more, started for one statement, would be worth it.
  max_parallel_workers_per_gather: 0,
  random_page_cost: 1.1,
  plan_cache_mode: 'force_generic_plan',
}

/** As statements: a pooler in between takes no such settings at the start of a connection, or leaves them out. */
function settingsText(settings: Readonly<Record<string, string | number | boolean>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `SET ${name} = ${value}`)
    .join(';')
}

/** A connection. @throws Fault StorageUnavailable */
export async function connect(settings: PostgresSettings, options: SessionOptions = {}): Promise<Client> {
  const statementMs = settings.statementMs ?? limits.postgres.statementMs
  const client = clientOf(settings, statementMs, options)
  let ended = false
  const end = () => {
    if (!ended) options.onEnd?.()
    ended = true
  }
  // Whoever asked hears it; without a listener it would end the process.
  client.on('error', end)
  client.on('end', end)
  try {
    await client.connect()
    const readOnly = options.readOnly ?? false
    const planning = settings.whole === true ? plain : alongKeys
    const all = { ...planning, statement_timeout: statementMs, default_transaction_read_only: readOnly }
    await client.query(`${settingsText(all)};${sinceLater}`)
  } catch (cause) {
    client.end().catch(() => {})
    // Whatever it is, a certificate that has ended or a name that leads nowhere: the database is not to be had.
    throw new Fault('StorageUnavailable', { cause })
  }
  return client
}

/** @throws Fault StorageUnavailable where a file that the address names cannot be read */
function clientOf({ url }: PostgresSettings, statementMs: number, { pipelined }: SessionOptions): Client {
  try {
    return new (postgres().Client)({
      connectionString: asLibpq(url),
      application_name: 'teal',
      types: typeParsers as never,
      keepAlive: true,
      connectionTimeoutMillis: limits.postgres.connectMs,
      ...(statementMs > 0 && { query_timeout: statementMs + limits.postgres.answerMs }),
      ...(pipelined === true && { pipeline: true }),
    } as ConstructorParameters<Postgres['Client']>[0])
  } catch (cause) {
    throw new Fault('StorageUnavailable', { cause })
  }
}

/** `sslmode` means what it does to PostgreSQL's own programs: the driver takes `require` for `verify-full`, and warns of it. */
function asLibpq(address: string): string {
  const url = new URL(address)
  const mode = url.searchParams.get('sslmode')
  if (mode === null) return address
  return `${address}${address.includes('?') ? '&' : '?'}uselibpqcompat=true`
}

/** Rows as objects or, with `array`, as arrays. @throws Fault as `postgresFault` */
export async function rowsOf<Row>(client: Client, query: Asked): Promise<Row[]> {
  const rows: Row[] = []
  await ask(client, query, row => void rows.push(row), false)
  return rows
}

/** Rows one after the other, fetched in pieces, until `visit` says true. @throws Fault as `postgresFault` */
export function visitRows(client: Client, query: Asked, visit: Visit): Promise<void> {
  return ask(client, query, visit, true)
}

function ask(client: Client, query: Asked, visit: Visit, inPieces: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const told = (error: unknown) => (error === null ? resolve() : reject(postgresFault(error) ?? error))
    client.query(asking(query, visit, inPieces, told) as never)
  })
}

/** States in which the server is not to be had now, by the beginnings of their codes. */
const away = /^(?:08|53|57P0|58|25006|25P0[34]|55000|40001|40P01)/

/** What an error of the database means: not now, too long, or a mistake of ours (undefined). */
export function postgresFault(cause: unknown): Fault | undefined {
  if (cause instanceof Fault) return cause
  const { code = '', syscall, message = '' } = cause as NodeJS.ErrnoException
  if (code === '57014' || message === 'Query read timeout') return new Fault('TimedOut', { cause })
  const lost = syscall !== undefined || /^(?:Connection terminated|Client |timeout expired)/.test(message)
  return lost || away.test(code) || /^(?:28|3D000)/.test(code) ? new Fault('StorageUnavailable', { cause }) : undefined
}

/** Whether the server said it, and not the driver or the network. */
export function isSaid(error: unknown): boolean {
  const { code = '', severity } = error as { code?: string; severity?: string }
  return severity !== undefined && code !== ''
}

/** Whether the server said no, so that nothing was done; else the connection was lost, and nobody knows. */
export async function wasAnswered(client: Client, error: unknown): Promise<boolean> {
  if (!isSaid(error)) return false
  const { severity } = error as { severity: string }
  if (severity === 'ERROR') return true
  if (severity === 'FATAL' || severity === 'PANIC') return false
  // Said in the server's language (lc_messages): what was only an error leaves the connection as it was.
  const there = client.query('SELECT').then(() => true)
  return await there.catch(() => false)
}
