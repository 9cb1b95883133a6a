// Reading from a database, whichever engine it is of. An engine that nobody asked for is not loaded.

import { isAddress } from './postgres/address.ts'
import type { Reader } from './reader.ts'

/** Loads the engine of a database, a file that the writer has made or an address. @returns what opens readers of it */
export async function engineOf(database: string): Promise<() => Reader> {
  if (isAddress(database)) {
    const { openPostgresReader } = await import('./postgres/reader.ts')
    return () => openPostgresReader({ url: database })
  }
  const { openReader } = await import('./sqlite/reader.ts')
  return () => openReader(database)
}
