// `teal backup`, `teal restore`, `teal verify`: copies of a data directory and the proof that they are whole. They work on
// files, beside the service: a backup takes a reader's place in the database and nothing of the service's own time.
//
// What is copied is one moment of the database and every body it names. Whatever is wrong is told and makes the exit
// code.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { polite, yieldToOthers } from '#lib/process/polite.ts'
import { openWhole } from '#store/engine/open.ts'
import { isAddress, shownAddress } from '#store/engine/postgres/address.ts'
import { migrations } from '#store/engine/schema.ts'
import { engineFault, lock, schemaNumber } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { becomeOwner } from '#store/folder/owner.ts'
import { databaseFile, databaseOf, lockFile, type Place, runFile } from '#store/folder/place.ts'
import { backupDatabase, restoreBackup, takeBackup } from '#store/upkeep/backup.ts'
import { listPoints, lostPoints, takePoint } from '#store/upkeep/points.ts'
import { moveStrays, repairDatabase } from '#store/upkeep/repair.ts'
import { verifyEarlier, verifyStore } from '#store/upkeep/verify.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { requireData } from '../place.ts'
import { print, said } from '../print.ts'

interface Options extends ConfigOptions {
  readonly json?: boolean
}

export function backupCommand(): Command {
  return withConfig(new Command('backup'))
    .argument('[folder]', 'holds one moment, the newest')
    .option('--to <folder>', 'holds several moments, each in a folder of its own that is restored as any backup is')
    .option('--keep <number>', 'how many of them are kept; the oldest go; unset: as many as backup.keep says (7)')
    .option('--list', 'list them instead')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  teal backup /var/backups/teal && teal verify --backup /var/backups/teal\n  teal backup --to /var/backups/points --keep 30\n  teal restore /var/backups/points/20261123T080000Z --data-dir /var/lib/teal\n\nExit codes: 0 done, 1 not, 3 some of the listed moments are no backups any more and were named.',
    )
    .action(async (folder: string | undefined, options: BackupOptions) => {
      if ((folder === undefined) === (options.to === undefined)) {
        throw new Fault('InputValidationError', {
          text: 'Name a folder for one moment, or --to and a folder for several',
        })
      }
      if (options.to !== undefined) return points(options.to, options)
      if (folder === undefined) return
      const config = configFrom(options)
      const { dataDir } = config
      requireFile(config)
      requireData(config)
      yieldToOthers(polite)
      const result = await takeBackup(
        dataDir,
        folder,
        new Date(now()),
        text => said(options, text),
        existsSync(runFile(dataDir)),
      )
      const { files, added, removed } = result
      print(options.json, result, `${folder}: the database and ${files} files (${added} new, ${removed} removed)`)
    })
}

/** What knows files alone leaves a database behind an address to its own tools. @throws Fault NotPermitted */
function requireFile({ store }: Place): void {
  if (store.url === '') return
  const text =
    `Everything is in the database at ${shownAddress(store.url)}, which has tools of its own for this: pg_dump and ` +
    'pg_restore for copies, pg_basebackup with its log for any moment. The folder keys of dataDir belongs to each copy'
  throw new Fault('NotPermitted', { text })
}

interface BackupOptions extends Options {
  readonly to?: string
  readonly keep?: string
  readonly list?: boolean
}

/** Takes one of several moments, or lists them. */
async function points(folder: string, options: BackupOptions): Promise<void> {
  if (options.list === true) {
    for (const point of await listPoints(folder)) print(options.json, point, `${point.folder}  ${point.created}`)
    const lost = await lostPoints(folder)
    for (const name of lost)
      process.stderr.write(
        `${join(folder, name)}: no backup, its backup.json cannot be read; those that follow do without it\n`,
      )
    if (lost.length > 0) process.exitCode = 3
    return
  }
  const config = configFrom(options)
  const { dataDir } = config
  // One that is taken by hand drops none that the service keeps.
  const keep = options.keep === undefined ? config.backup.keep : Number(options.keep)
  if (!Number.isSafeInteger(keep) || keep < 1)
    throw new Fault('InputValidationError', { text: '--keep takes a number from 1' })
  requireFile(config)
  requireData(config)
  yieldToOthers(polite)
  const how = {
    at: new Date(now()),
    keep,
    gently: existsSync(runFile(dataDir)),
    say: (text: string) => said(options, text),
  }
  // Loads the engine while this may still read where it is installed.
  openReader(databaseFile(dataDir)).close()
  becomeOwner(folder, dataDir)
  const result = await takePoint(dataDir, folder, how)
  const { point, files, added, dropped } = result
  print(
    options.json,
    result,
    `${point}: the database and ${files} files (${added} new, ${dropped.length} older points dropped)`,
  )
}

export function restoreCommand(): Command {
  return withConfig(new Command('restore'))
    .argument('<folder>', 'where the backup lies')
    .option('--damaged', 'bring back what is whole of a damaged backup, and name what is not')
    .option(
      '--same',
      'nothing was changed after the backup (the service was stopped before): clients go on with what they have instead of reading all folders anew',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  teal restore /var/backups/teal --data-dir /var/lib/teal && teal verify --data-dir /var/lib/teal',
    )
    .action(async (folder: string, options: Options & { damaged?: boolean; same?: boolean }) => {
      const config = configFrom(options)
      const { dataDir } = config
      requireFile(config)
      const how = { lenient: options.damaged === true, same: options.same === true }
      const note = await restoreBackup(folder, dataDir, text => said(options, text), how)
      print(options.json, { dataDir, ...note }, `${dataDir}: as it was on ${note.created}`)
      for (const one of note.damaged) process.stderr.write(`damaged: ${one}\n`)
      if (note.damaged.length > 0) process.exitCode = 3
    })
}

export function verifyCommand(): Command {
  return withConfig(new Command('verify'))
    .option('-b, --backup <folder>', 'check a backup instead of the data directory')
    .option('--quick', 'leave out the bytes')
    .option('--repair', 'mend what follows from something else: counters, references, indexes; while nobody serves it')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  teal verify\n  teal verify --repair\n  teal verify --backup /var/backups/teal\n\nExit codes: 0 all is well (with --repair: by now), 1 something is wrong and was named.',
    )
    .action(verify)
}

interface VerifyOptions extends Options {
  readonly backup?: string
  readonly quick?: boolean
  readonly repair?: boolean
}

async function verify(options: VerifyOptions): Promise<void> {
  const { backup } = options
  const config = configFrom(options)
  const { dataDir, auth } = config
  const hashes = options.quick !== true
  const configured = { totp: auth.totpSecret !== '' }
  yieldToOthers(polite)
  if (backup !== undefined) {
    if (options.repair === true)
      throw new Fault('NotPermitted', { text: 'A backup is not changed: restore it, and repair that' })
    const file = await backupDatabase(backup)
    return report(options, await problems(file, { dataDir: backup }, hashes, configured))
  }
  requireData(config)
  const look = () => problems(databaseOf(config), config, hashes, configured)
  if (options.repair === true) {
    requireFile(config)
    const release = lock(lockFile(dataDir))
    try {
      const mended = await repaired(dataDir)
      return report(options, await look(), mended)
    } finally {
      release()
    }
  }
  const found = await look()
  // Between two looks at a store that is served rows change: only what is wrong twice is wrong.
  const again = found.length > 0 && isHeld(dataDir)
  report(options, again ? intersection(found, await look()) : found)
}

/** Mends what can be. @returns what was, as sentences */
async function repaired(dataDir: string): Promise<string[]> {
  const file = databaseFile(dataDir)
  let mended: string[]
  try {
    mended = repairDatabase(file)
  } catch (error) {
    const fault = error instanceof Fault ? error : engineFault(error, file)
    if (fault?.code !== 'StoreDamaged') throw fault ?? error
    const { message } = (fault.cause ?? fault) as Error
    const text = `${file} is damaged where it cannot be mended (${message}); nothing was changed. Bring a backup back with \`teal restore\` into an empty directory`
    throw new Fault('StoreDamaged', { text, cause: error })
  }
  const read = openReader(file)
  try {
    const { count, folder } = await moveStrays(read, dataDir)
    if (count > 0)
      mended.push(`files that no row names: ${count}, moved to ${folder}; remove them when nothing is missed`)
  } finally {
    read.close()
  }
  return mended
}

function report(options: VerifyOptions, wrong: readonly string[], mended?: readonly string[]): void {
  const ok = wrong.length === 0
  const told = {
    ok,
    ...(!ok && { code: 'StoreDamaged' }),
    problems: wrong,
    ...(mended !== undefined && { repaired: mended }),
  }
  if (options.json === true) print(true, told, '')
  else {
    for (const one of mended ?? []) print(false, one, `Repaired: ${one}`)
    for (const one of wrong) print(false, one, one)
  }
  if (!ok) {
    const what = wrong.length === 1 ? '1 problem was found' : `${wrong.length} problems were found`
    const how =
      options.backup !== undefined
        ? 'take another backup, or restore what is whole of this one with `teal restore --damaged`'
        : isAddress(configFrom(options).store.url)
          ? 'bring a copy of the database back with its own tools'
          : mended === undefined
            ? 'counters and indexes are mended by `teal verify --repair` while the service is stopped, lost content comes back from a backup alone'
            : 'this cannot be mended here, and comes back from a backup alone'
    throw new Fault('StoreDamaged', { text: `${what}: ${how}` })
  }
  if (options.json !== true) print(false, null, 'All is well.')
}

async function problems(
  file: string,
  place: Omit<Place, 'store'>,
  hashes: boolean,
  configured: { totp: boolean },
): Promise<string[]> {
  const read = openWhole(file)
  try {
    // A database behind an address is brought up to date, or refused, by who opens it.
    const schema = isAddress(file) ? migrations.length : schemaNumber(file)
    if (schema > migrations.length) throw new Fault('DatabaseTooNew')
    if (schema === migrations.length) return await verifyStore(read, place, hashes, configured)
    process.stderr.write(`${earlier}\n`)
    return await verifyEarlier(read, place, hashes)
  } catch (error) {
    throw engineFault(error, file) ?? error
  } finally {
    read.close()
  }
}

const earlier = 'Written by an earlier version: pages and bytes are looked at, rows once this version has opened it'

function intersection(a: readonly string[], b: readonly string[]): string[] {
  const known = new Set(b)
  return a.filter(one => known.has(one))
}

/** Whether a process holds the data directory. */
function isHeld(dataDir: string): boolean {
  try {
    lock(lockFile(dataDir))()
    return false
  } catch {
    return true
  }
}
