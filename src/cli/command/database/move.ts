// `teal move`: everything from the folder's database file to PostgreSQL, or back, while nobody serves either.
//
// It can be broken off and run again, and is over when every row of both was compared. What is left stays as it was.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { makeFolder } from '#lib/lasting.ts'
import { polite, yieldToOthers } from '#lib/process/polite.ts'
import { BodyFiles } from '#store/bodies/files.ts'
import { inFile, inObject, inRow, type Laying } from '#store/bodies/lying.ts'
import { openObjects } from '#store/bodies/objects/parts.ts'
import { openDatabase } from '#store/engine/open.ts'
import { isAddress, shownAddress } from '#store/engine/postgres/address.ts'
import type { Reader } from '#store/engine/reader.ts'
import { fillFile } from '#store/engine/sqlite/filling.ts'
import { lock } from '#store/engine/sqlite/handle.ts'
import { databaseFile, localPlace, lockFile, type Place } from '#store/folder/place.ts'
import { requireFiles } from '#store/folder/presence.ts'
import type { Filling } from '#store/upkeep/filling.ts'
import { type Change, differences, moveRows } from '#store/upkeep/move.ts'
// Every table has to be known.
import '#store/upkeep/verify.ts'
import '#store/writer/writes.ts'
import { type ConfigOptions, configFrom, withConfig } from '../../options.ts'
import { requireData } from '../../place.ts'
import { print, said } from '../../print.ts'

interface MoveOptions extends ConfigOptions {
  readonly to?: string | true
  readonly from?: string | true
  readonly json?: boolean
}

export function moveCommand(): Command {
  return withConfig(new Command('move'))
    .option('--to [url]', 'database that gets it; without a value that of store.url')
    .option('--from [url]', 'database that it comes from, into a new file in the data directory')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  teal move --to postgres://teal:password@db.example.com/teal\n  teal move --from postgres://teal:password@db.example.com/teal\n\nIt can be broken off and run again. The password is better not on the command line: set store.url, and give --to no value.',
    )
    .action(move)
}

async function move(options: MoveOptions): Promise<void> {
  const config = configFrom(options)
  const { dataDir } = config
  if ((options.to === undefined) === (options.from === undefined)) {
    throw new Fault('InputValidationError', { text: 'Name a database with --to, or one with --from' })
  }
  const named = options.to ?? options.from
  const url = typeof named === 'string' ? named : config.store.url
  if (!isAddress(url) || !URL.canParse(url)) {
    throw new Fault('InputValidationError', {
      text: 'The database is no address such as postgres://user:password@host/database',
    })
  }
  if (options.to !== undefined) requireData(localPlace(dataDir))
  yieldToOthers(polite)
  makeFolder(dataDir)
  const release = lock(lockFile(dataDir))
  try {
    const place = { ...config, store: { url } }
    const rows = options.to === undefined ? await moveBack(place, options) : await moveTo(place, options)
    const [from, to] = [databaseFile(dataDir), shownAddress(url)]
    const next =
      options.to === undefined
        ? `${to} -> ${from}: ${rows} rows moved, all compared. Unset store.url and start the service.`
        : `${from} -> ${to}: ${rows} rows moved, all compared. Set store.url to that database and start the service; ` +
          `keep ${dataDir} for its keys. ${from} and blobs are of no use any more.`
    print(options.json, { rows }, next)
  } finally {
    release()
  }
}

async function moveTo(place: Place, options: MoveOptions): Promise<number> {
  const { dataDir, store } = place
  const { fillPostgres } = await import('#store/engine/postgres/filling.ts')
  const from = openDatabase(databaseFile(dataDir))
  try {
    const to = await fillPostgres(store)
    const there = openDatabase(store.url)
    const objects = openObjects(place)
    const [left, right] = [new BodyFiles(dataDir), new BodyFiles(dataDir, objects)]
    // Read from files, and put where they are to be.
    const change: Laying = async (row, files) => await inObject(await inRow(row, files), right)
    try {
      return await moved({ from, to, there, left, right, change, options })
    } finally {
      await objects?.close()
    }
  } finally {
    from.close()
  }
}

async function moveBack(place: Place, options: MoveOptions): Promise<number> {
  const { dataDir, store } = place
  const { holdPostgres } = await import('#store/engine/postgres/filling.ts')
  const hold = await holdPostgres(store)
  const objects = openObjects(place)
  try {
    const from = openDatabase(store.url)
    const [left, right] = [new BodyFiles(dataDir, objects), new BodyFiles(dataDir)]
    right.prepare()
    const to = fillFile(databaseFile(dataDir))
    const there = openDatabase(to.path)
    try {
      await requireFiles(from, place)
      const change: Laying = async (row, files) => inFile(await inRow(row, files), right)
      return await moved({ from, to, there, left, right, change, options })
    } finally {
      from.close()
    }
  } finally {
    await hold.end()
    await objects?.close()
  }
}

function laid(change: Laying, files: BodyFiles): Change {
  return (table, row) => (table === 'part' ? change(row, files) : row)
}

interface Moving {
  readonly from: Reader
  readonly to: Filling
  /** Reads what is being filled. */
  readonly there: Reader
  /** Where large parts of both lie. */
  readonly left: BodyFiles
  readonly right: BodyFiles
  readonly change: Laying
  readonly options: MoveOptions
}

/** How many rows were moved, by now or before. */
async function moved({ from, to, there, left, right, change, options }: Moving): Promise<number> {
  let rows = 0
  try {
    await moveRows(from, to, laid(change, left), (table, count) => {
      rows += count
      said(options, `${rows} rows, now of ${table}`)
    })
    said(options, 'comparing')
    const wrong = await differences(from, there, [laid(inRow, left), laid(inRow, right)])
    if (wrong.length > 0) {
      const text = `Both differ after all, at ${wrong.slice(0, 3).join(', ')}: was the one that is left changed meanwhile? Begin anew with an empty database`
      throw new Fault('StoreDamaged', { text })
    }
  } catch (error) {
    there.close()
    await to.close()
    throw error
  }
  there.close()
  await to.finish()
  await to.close()
  said(options, '')
  return rows
}
