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
}

export interface SessionOptions {
  /** The server refuses to write through it. */
  readonly readOnly?: boolean
  /** Several statements may be on their way at once. */
  readonly pipelined?: boolean
  /** Heard once when the connection is gone. */
  readonly onEnd?: () => void
}

/**
 * Not what the database says, which may be anything. Texts of the store go from key to key by the indexes that stand beside
 * them, whatever the engine has counted of its tables; and a plan is made once, not for each value.
 */
const planning = {
  standard_conforming_strings: 'on',
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  random_page_cost: 1.1,
  plan_cache_mode: 'force_generic_plan',
}

function settingsText(settings: Readonly<Record<string, string | number | boolean>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}

/** A connection. @throws Fault StorageUnavailable */
export async function connect(settings: PostgresSettings, options: SessionOptions = {}): Promise<Client> {
  const statementMs = settings.statementMs ?? limits.postgres.statementMs
  const client = new (postgres().Client)({
    connectionString: settings.url,
    application_name: 'teal',
    types: typeParsers as never,
    keepAlive: true,
    connectionTimeoutMillis: limits.postgres.connectMs,
    statement_timeout: statementMs,
    ...(statementMs > 0 && { query_timeout: statementMs + limits.postgres.answerMs }),
    options: settingsText({ ...planning, default_transaction_read_only: options.readOnly ?? false }),
    ...(options.pipelined === true && { pipeline: true }),
  } as ConstructorParameters<Postgres['Client']>[0])
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
  } catch (error) {
    throw postgresFault(error) ?? error
  }
  return client
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
const away = /^(?:08|53|57P0|58|25006|55000|40001|40P01)/

/** What an error of the database means: not now, too long, or a mistake of ours (undefined). */
export function postgresFault(cause: unknown): Fault | undefined {
  if (cause instanceof Fault) return cause
  const { code = '', syscall, message = '' } = cause as NodeJS.ErrnoException
  if (code === '57014' || message === 'Query read timeout') return new Fault('TimedOut', { cause })
  const lost = syscall !== undefined || /^(?:Connection terminated|Client |timeout expired)/.test(message)
  return lost || away.test(code) || /^(?:28|3D000)/.test(code) ? new Fault('StorageUnavailable', { cause }) : undefined
}
