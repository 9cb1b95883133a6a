// `teal renumber`: after a database was brought back to an earlier moment by its own tools, what clients know of folders is told to be
// stale. `teal restore` does the same by itself.

import { Command } from 'commander'
import { now } from '#lib/clock.ts'
import { shownAddress } from '#store/engine/postgres/address.ts'
import { lock } from '#store/engine/sqlite/handle.ts'
import { databaseFile, lockFile } from '#store/folder/place.ts'
import { renumberFile, renumbering } from '#store/upkeep/renumber.ts'
// Every table has to be known.
import '#store/writer/writes.ts'
import { type ConfigOptions, configFrom, withConfig } from '../../options.ts'
import { requireData } from '../../place.ts'
import { print } from '../../print.ts'

interface Options extends ConfigOptions {
  readonly json?: boolean
}

export function renumberCommand(): Command {
  return withConfig(new Command('renumber'))
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  teal renumber && teal verify\n\nClients read all folders anew, and no number they have seen is given to other mail. `teal restore` does this by itself.',
    )
    .action(renumber)
}

async function renumber(options: Options): Promise<void> {
  const config = configFrom(options)
  const { dataDir, store } = config
  requireData(config)
  const release = lock(lockFile(dataDir))
  try {
    if (store.url === '') renumberFile(databaseFile(dataDir), now())
    else {
      const { changePostgres } = await import('#store/engine/postgres/filling.ts')
      await changePostgres(store, renumbering(now()))
    }
  } finally {
    release()
  }
  const database = store.url === '' ? databaseFile(dataDir) : shownAddress(store.url)
  print(options.json, { database }, `${database}: all folders have a new UIDVALIDITY, and clients will read them anew`)
}
