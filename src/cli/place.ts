// Where a command looks for data. Only `serve`, `restore` and those told to with --create make a data directory: any other
// would make an empty one in the wrong place, and an account there that nobody serves.

import { existsSync } from 'node:fs'
import { Fault } from '#lib/fault.ts'
import { databaseFile, keysDir, type Place } from '#store/folder/place.ts'
import { mayBeNew } from '#store/folder/presence.ts'

/** @throws Fault DataDirectoryUnusable where there is no data, DataMissing where only the database is gone */
export function requireData(place: Place): void {
  const { dataDir, store } = place
  // Beside a database behind an address a service has keys.
  if (store.url !== '' && existsSync(keysDir(dataDir))) return
  if (store.url === '' && (existsSync(databaseFile(dataDir)) || !mayBeNew(place))) return
  const text =
    `There is no data in ${dataDir}, which is where this command looks. Name the folder of the service with ` +
    '--data-dir, --config or TEAL_DATA_DIR; `teal serve` makes a new one'
  throw new Fault('DataDirectoryUnusable', { text })
}
