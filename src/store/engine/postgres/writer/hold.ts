// Who writes to a database: one session at a time, or nodes that share it among themselves, by a lock that ends with its
// connection. A lone service and nodes keep each other out.
//
// So a session has to be one: a pooler that gives each transaction another connection is refused.

import { hash } from 'node:crypto'
import { after, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { shownAddress } from '../address.ts'
import { type Client, connect, type PostgresSettings } from '../session.ts'

/** Of all locks of the database this one, by its number. */
const number = 7_430_413

/** First half of the locks that say in which store of objects a service looks for large parts, beside rows. */
const lookingIn = 7_430_416

const holders = `FROM pg_locks l JOIN pg_database d ON d.oid = l.database
  WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted AND l.objid = ${number} AND l.objsubid = 1`

/** Which process of the server has it; it is ended where it is the one named. */
const endHolder = `SELECT l.pid = $1 AS own, CASE WHEN l.pid = $1 THEN pg_terminate_backend(l.pid) END AS ended ${holders}`

/** Whether somebody else has it, alone or with others, as a condition. */
export const heldByOthers = `EXISTS (SELECT ${holders} AND l.pid <> pg_backend_pid())`

/** Whether one of those looks elsewhere than in the store of `storeNumber` $1, as a condition. */
const heldElsewhere = `EXISTS (SELECT ${holders} AND l.pid <> pg_backend_pid() AND NOT EXISTS (
  SELECT FROM pg_locks s WHERE s.pid = l.pid AND s.locktype = 'advisory' AND s.granted AND s.database = l.database
  AND s.classid = ${lookingIn} AND s.objid = $1 AND s.objsubid = 2))`

/** Tells addresses of stores apart; '' is none. */
const storeNumber = (bodies: string): number => hash('sha256', bodies, 'buffer').readUInt32BE() >>> 1

/** All that look in rows alone are kept away, and others who carry parts, as long as this connection is there: 1, or 0 where one is there. */
export const keepRowsText = `SELECT pg_try_advisory_lock(${lookingIn}, ${storeNumber('')}) AS held`

export interface Hold {
  /** The process of the server behind a connection that was lost and may have it still; 0 for none. */
  readonly before?: number
  /** With other nodes. */
  readonly shared?: boolean
  /** Address of the store in which it looks for large parts; unset or '' where it knows of none. */
  readonly bodies?: string
}

/**
 * Nobody else writes while this connection is there, but for nodes beside nodes.
 *
 * @returns the process behind this one
 * @throws Fault DataDirectoryInUse, also where parts are carried into objects and it knows of none or other nodes look elsewhere for them, NotPermitted where a pooler is in between that does not leave sessions as they are
 */
export async function holdDatabase(
  client: Client,
  settings: PostgresSettings,
  { before = 0, shared = false, bodies = '' }: Hold = {},
): Promise<number> {
  const { url } = settings
  await requireSession(client, settings)
  // First: whoever has the database has said where it looks.
  await lookIn(client, bodies)
  const lock = shared ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock'
  const until = monotonic() + limits.postgres.holdMs
  for (;;) {
    const { rows } = await client.query<{ held: number; self: number }>(
      `SELECT ${lock}(${number}) AS held, pg_backend_pid() AS self`,
    )
    const [found] = rows
    if (found?.held && !(shared && (await othersLookElsewhere(client, bodies)))) return found.self
    // The server may not have heard yet that the connection before this one is gone.
    const { rows: holders } = await client.query<{ own: number }>(endHolder, [before])
    const taken = !shared && before > 0 && holders.some(({ own }) => !own)
    if (taken) throw new Error('another service writes to this database')
    if (monotonic() > until) {
      const text = found?.held
        ? `Another node has the database at ${shownAddress(url)} with another bodies.url: stop all, set the same for each, and start them`
        : `Another service has the database at ${shownAddress(url)}`
      throw new Fault('DataDirectoryInUse', { text })
    }
    await new Promise(resolve => after(limits.postgres.againMs, () => resolve(undefined)))
  }
}

/** Whether somebody else has the database who looks for large parts in another store than `bodies`, or in none. Of two nodes that begin at once with stores of their own at least one finds the other: both have said where they look. */
export async function othersLookElsewhere(client: Client, bodies: string): Promise<boolean> {
  const { rows } = await client.query<{ there: number }>(`SELECT ${heldElsewhere} AS there`, [storeNumber(bodies)])
  return Boolean(rows[0]?.there)
}

/** @throws Fault DataDirectoryInUse */
async function lookIn(client: Client, bodies: string): Promise<void> {
  const { rows } = await client.query<{ held: number }>(
    `SELECT pg_try_advisory_lock_shared(${lookingIn}, ${storeNumber(bodies)}) AS held`,
  )
  if (rows[0]?.held) return
  const text =
    'Large parts of the database are being carried to a store or back (`teal bodies`): set bodies.url, or wait for its end'
  throw new Fault('DataDirectoryInUse', { text })
}

/**
 * What lasts for a session is lost, or somebody else's, where a pooler gives each transaction whichever connection is free. A pooler tells
 * its clients another number than the server has; whether it keeps sessions, a second connection beside it finds out.
 */
export async function requireSession(client: Client, settings: PostgresSettings): Promise<void> {
  const self = await backendOf(client)
  if (self === (client as { processID?: number }).processID) return
  const other = await connect(settings)
  try {
    // Each statement for itself: such a pooler lets no transaction begin, and ends the connection.
    const begun = await other.query('BEGIN').catch((error: { code?: string }) => {
      if (error.code !== '08P01') throw error
    })
    const taken = begun === undefined ? self : await backendOf(other)
    if (taken !== self && (await backendOf(client)) === self) return
  } finally {
    await other.end().catch(() => {})
  }
  const text =
    `A pooler is between here and the database at ${shownAddress(settings.url)} that does not leave sessions as they are ` +
    '(PgBouncer: pool_mode = session), or name the database itself in store.url'
  throw new Fault('NotPermitted', { text })
}

async function backendOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ self: number }>('SELECT pg_backend_pid() AS self')
  return rows[0]?.self ?? 0
}
