// A connection beside services for who carries large parts (../../bodies/objects/carry.ts).
//
// While it is there no service can be at the database, or begin, that does not know where objects are, and nobody else who carries. It
// changes nothing without that: the locks are those of the connection that writes, and end with it.

import { after, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Stored } from '../column.ts'
import { shownAddress } from './address.ts'
import { migratePostgres } from './schema.ts'
import { type Client, connect, type PostgresSettings, postgresFault, rowsOf } from './session.ts'
import { prepared } from './text.ts'
import { holdDatabase, keepRowsText, othersLookElsewhere, requireSession } from './writer/hold.ts'

export interface Carrier {
  /** Nobody serves the database meanwhile. */
  readonly alone: boolean
  /** How many rows a text that returns them has changed. @throws Fault StorageUnavailable */
  change(text: string, values: readonly Stored[]): Promise<number>
  close(): Promise<void>
}

interface Carrying {
  /** Address of the store with objects. */
  readonly bodies: string
  /** Keeps services away where none is there: whoever begins meanwhile would bring more. */
  readonly alone: boolean
}

/**
 * @throws Fault DataDirectoryInUse where a service has the database that looks for objects elsewhere or nowhere, or somebody carries parts
 *   already, StorageUnavailable, DataMissing, DatabaseTooNew, NotPermitted as `holdDatabase`
 */
export async function openCarrier(settings: PostgresSettings, { bodies, alone }: Carrying): Promise<Carrier> {
  const client = await connect({ ...settings, statementMs: 0 })
  try {
    await requireSession(client, settings)
    await holdRows(client, settings, bodies)
    const isAlone = alone && (await holdAlone(client, settings, bodies))
    await migratePostgres(client as never, false)
    // One after the other: the driver has no line of its own.
    let before: Promise<unknown> = Promise.resolve()
    return {
      alone: isAlone,
      async change(text, values) {
        const own = before.then(() => rowsOf(client, prepared(text, values)))
        before = own.catch(() => {})
        return (await own).length
      },
      close: () => client.end(),
    }
  } catch (error) {
    await client.end().catch(() => {})
    throw postgresFault(error) ?? error
  }
}

async function holdAlone(client: Client, settings: PostgresSettings, bodies: string): Promise<boolean> {
  try {
    await holdDatabase(client, settings, { bodies })
    return true
  } catch (error) {
    if (error instanceof Fault && error.code === 'DataDirectoryInUse') return false
    throw error
  }
}

/** One that has just ended may be known as there a little longer. */
async function holdRows(client: Client, { url }: PostgresSettings, bodies: string): Promise<void> {
  const until = monotonic() + limits.postgres.holdMs
  for (let held = false; ; ) {
    if (!held) held = Boolean((await client.query<{ held: number }>(keepRowsText)).rows[0]?.held)
    if (held && !(await othersLookElsewhere(client, bodies))) return
    if (monotonic() > until) {
      const text =
        `A service has the database at ${shownAddress(url)} without this bodies.url, or parts are carried there already: ` +
        `set bodies.url to ${shownAddress(bodies)} for each and start it again, or stop it`
      throw new Fault('DataDirectoryInUse', { text })
    }
    await new Promise(resolve => after(limits.postgres.againMs, () => resolve(undefined)))
  }
}
