// One process at a time has a node's name: who holds its lock has it, and whoever comes next waits until that connection or the
// leases of the process before it have ended.

import { after, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Client } from '../engine/postgres/session.ts'
import { nodes } from './tables.ts'

/** Held by the connection of the process that has a name: who finds it free need not wait for the end of a lease. */
const nameLock = 'pg_try_advisory_lock(7430415, hashtext($1)) AS free'

/** Has it for the name $1 where nobody else has. */
export const keepName = `SELECT ${nameLock}`

/** Ends the process $2 of the server where it still has the name $1, and waits for its end: of a connection that was lost it may not have heard. */
export const endHolder = `SELECT pg_terminate_backend(l.pid, ${limits.cluster.lockMs}) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
  WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted
  AND l.classid = 7430415 AND l.objid::bigint = hashtext($1) & 4294967295::bigint AND l.objsubid = 2 AND l.pid = $2`

/** @throws Fault DataDirectoryInUse */
export async function waitForName(client: Client, name: string): Promise<void> {
  const until = monotonic() + limits.cluster.nameMs
  for (;;) {
    const { rows } = await client.query<{ free: number; silent: number | null }>(
      `SELECT ${nameLock}, (SELECT until < floor(extract(epoch FROM clock_timestamp()) * 1000) FROM ${nodes} WHERE name = $1) AS silent`,
      [name],
    )
    if (rows[0]?.free || rows[0]?.silent) return
    if (monotonic() > until)
      throw new Fault('DataDirectoryInUse', { text: `Another node of this service is called ${name}` })
    await new Promise(resolve => after(limits.postgres.againMs, () => resolve(undefined)))
  }
}
