// `teal bodies`: large parts that lie in the database on PostgreSQL go to the store of bodies.url, or come back from it.
//
// It can be broken off and run again. Services that know the store go on meanwhile; beside any other it refuses to begin, and they to
// start.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { polite, yieldToOthers } from '#lib/process/polite.ts'
import { carryParts, type Destination } from '#store/bodies/objects/carry.ts'
import { openObjects } from '#store/bodies/objects/parts.ts'
import { openDatabase } from '#store/engine/open.ts'
import { shownAddress } from '#store/engine/postgres/address.ts'
// Every table has to be known.
import '#store/upkeep/verify.ts'
import '#store/writer/writes.ts'
import { type ConfigOptions, configFrom, withConfig } from '../../options.ts'
import { requireData } from '../../place.ts'
import { print, said } from '../../print.ts'

interface BodiesOptions extends ConfigOptions {
  readonly to: string
  readonly json?: boolean
}

export function bodiesCommand(): Command {
  return withConfig(new Command('bodies'))
    .requiredOption('--to <place>', 'bucket, or database')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  teal bodies --to bucket\n  teal bodies --to database\n\nSet bodies.url first, and start services with it: they go on meanwhile. It can be broken off and run again.\n\nExit codes: 0 all were carried, 1 some could not be and were named.',
    )
    .action(bodies)
}

const destinations: Readonly<Record<string, Destination>> = { bucket: 'objects', database: 'rows' }

async function bodies(options: BodiesOptions): Promise<void> {
  const config = configFrom(options)
  const to = destinations[options.to]
  if (to === undefined) throw new Fault('InputValidationError', { text: 'Say --to bucket or --to database' })
  const objects = openObjects(config)
  if (objects === undefined) {
    throw new Fault('NotPermitted', {
      text: 'Name the bucket in bodies.url, beside store.url: also where parts come back from it',
    })
  }
  requireData(config)
  yieldToOthers(polite)
  const { openCarrier } = await import('#store/engine/postgres/carrying.ts')
  const read = openDatabase(config.store.url)
  try {
    const carrier = await openCarrier(config.store, { bodies: config.bodies.url, alone: to === 'rows' })
    try {
      const { parts, bytes, damaged } = await carryParts(to, {
        ...{ read, objects, change: carrier.change },
        told: carried => said(options, `${carried.parts} parts, ${megabytes(carried.bytes)}`),
      })
      said(options, '')
      const result = { parts, bytes, damaged, ...(to === 'rows' && { alone: carrier.alone }) }
      const [from, there] = [shownAddress(config.store.url), shownAddress(config.bodies.url)]
      const way = to === 'objects' ? `${from} -> ${there}` : `${there} -> ${from}`
      const sum = `${way}: ${parts} parts were carried, ${megabytes(bytes)}, all compared.`
      const next = damaged.length > 0 ? 'Some stayed where they are: keep both.' : nextSteps(to, carrier.alone)
      print(options.json, result, `${sum} ${next}`)
      for (const one of damaged) process.stderr.write(`left where it is: ${one}\n`)
      if (damaged.length > 0) process.exitCode = 1
    } finally {
      await carrier.close()
    }
  } finally {
    read.close()
    await objects.close()
  }
}

function nextSteps(to: Destination, alone: boolean): string {
  if (to === 'objects')
    return 'What they took in the database is free for new rows (autovacuum); VACUUM FULL part gives it back to the disk, and halts services meanwhile.'
  if (alone) return 'Unset bodies.url and start the service; only older moments of the database name objects now.'
  return 'Services that run put new ones into the bucket: stop them, and run this again for the rest.'
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
