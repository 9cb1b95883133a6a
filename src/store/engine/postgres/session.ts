// Connections to PostgreSQL: the one place that knows its driver.
//
// A connection that is lost, refused or overrun is a temporary fault, and a new one is made when it is next asked for. A
// statement that takes too long is ended by the server; where the server does not answer at all, the connection is given up.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type Postgres, postgres } from '#lib/process/lazy.ts'
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
export function rowsOf<Row>(client: Client, query: Asked): Promise<Row[]> {
  const rows: Row[] = []
  return asked(client, query, row => void rows.push(row as Row)).then(() => rows)
}

export interface Asked {
  readonly name?: string
  readonly text: string
  readonly values: readonly unknown[]
  readonly rowMode?: 'array'
  /** Rows that are fetched at a time; all where absent. */
  readonly rows?: number
}

/** Rows one after the other, fetched in pieces, until `visit` says true. @throws Fault as `postgresFault` */
export function visitRows(client: Client, query: Asked, visit: (row: never) => unknown): Promise<void> {
  return asked(client, { ...query, rows: limits.postgres.pieceRows }, visit)
}

function asked(client: Client, query: Asked, visit: (row: never) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    portals ??= portalClass()
    const portal = new portals(query)
    portal.visit = visit
    portal.callback = error => (error === null ? resolve() : reject(postgresFault(error) ?? error))
    client.query(portal as never)
  })
}

/** What a query of the driver has inside that it does not describe. */
interface Inside {
  callback: (error: Error | null) => void
  handleDataRow(message: { fields: unknown[] }): void
  handlePortalSuspended(wire: Wire): void
}
interface Wire {
  close(what: { type: 'P'; name: string }): void
  sync(): void
}

/** What a query of ours is told. */
interface Portal extends Inside {
  visit: (row: never) => unknown
}

let portals: (new (asked: Asked) => Portal) | undefined

/**
 * A query whose rows are handed on as they come, and which is left when nobody wants more. The driver's own tells listeners of
 * each row as well, which takes more than the row itself.
 */
function portalClass(): new (asked: Asked) => Portal {
  return class extends (postgres().Query as unknown as new (asked: Asked) => Inside) {
    visit: (row: never) => unknown = () => true
    #left = false
    #failure: unknown

    override handleDataRow(message: { fields: unknown[] }): void {
      if (this.#left) return
      try {
        const { _result: result } = this as unknown as { _result: { parseRow(fields: unknown[]): never } }
        this.#left = this.visit(result.parseRow(message.fields)) === true
      } catch (error) {
        this.#left = true
        this.#failure = error
      }
    }

    override handlePortalSuspended(wire: Wire): void {
      if (!this.#left) {
        super.handlePortalSuspended(wire)
        return
      }
      wire.close({ type: 'P', name: '' })
      wire.sync()
    }

    handleReadyForQuery(): void {
      this.callback((this.#failure as Error | undefined) ?? null)
    }
  }
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
