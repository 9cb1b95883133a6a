// Reading from a database, whichever engine it is of. A driver that nobody asked for is not loaded.

import { isAddress } from './postgres/address.ts'
import { openPostgresReader } from './postgres/reader.ts'
import type { Reader } from './reader.ts'
import { openReader } from './sqlite/reader.ts'

/** @param database a file that the writer has made, or an address */
export function openDatabase(database: string): Reader {
  return isAddress(database) ? openPostgresReader({ url: database }) : openReader(database)
}

/** For who goes through all of it, which takes what it takes. */
export function openWhole(database: string): Reader {
  return isAddress(database) ? openPostgresReader({ url: database, statementMs: 0, whole: true }) : openReader(database)
}
