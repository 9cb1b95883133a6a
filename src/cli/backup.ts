// `teal backup`, `teal restore`, `teal verify`: copies of a data directory and the proof that they are whole. They work on
// files, beside the service: a backup takes a reader's place in the database and nothing of the service's own time.
//
// What is copied is one moment of the database and every body it names. Whatever is wrong is told and makes the exit
// code.

import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'
import { Command } from 'commander'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { backupDatabase, restoreBackup, takeBackup } from '#store/backup.ts'
import { databaseFile, lockFile, runFile } from '#store/place.ts'
import { Reader } from '#store/reader.ts'
import { lock } from '#store/sqlite.ts'
import { verifyStore } from '#store/verify.ts'
import { type ConfigOptions, configFrom, withConfig } from './options.ts'
import { print } from './print.ts'

interface Options extends ConfigOptions {
  readonly json?: boolean
}

/** Politeness of a process whose work can wait. */
const polite = 19

export function backupCommand(): Command {
  return withConfig(new Command('backup'))
    .description('Copy everything into a folder, while the service runs; again, only what is new')
    .argument('<folder>')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', '\nExample:\n  teal backup /var/backups/teal && teal verify --backup /var/backups/teal')
    .action(async (folder: string, options: Options) => {
      const { dataDir } = configFrom(options)
      requireData(dataDir)
      setPriority(polite)
      const result = await takeBackup(dataDir, folder, new Date(now()), said(options), existsSync(runFile(dataDir)))
      const { files, added, removed } = result
      print(options.json, result, `${folder}: the database and ${files} files (${added} new, ${removed} removed)`)
    })
}

export function restoreCommand(): Command {
  return withConfig(new Command('restore'))
    .description('Bring a backup back into an empty data directory')
    .argument('<folder>', 'where the backup lies')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  teal restore /var/backups/teal --data-dir /var/lib/teal && teal verify --data-dir /var/lib/teal',
    )
    .action(async (folder: string, options: Options) => {
      const { dataDir } = configFrom(options)
      const note = await restoreBackup(folder, dataDir, said(options))
      print(options.json, { dataDir, ...note }, `${dataDir}: as it was on ${note.created}`)
    })
}

export function verifyCommand(): Command {
  return withConfig(new Command('verify'))
    .description('Check every rule of the stored data, and every stored byte against its hash')
    .option('-b, --backup <folder>', 'check a backup instead of the data directory')
    .option('--quick', 'leave out the bytes')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  teal verify\n  teal verify --backup /var/backups/teal\n\nExit codes: 0 all is well, 1 something is wrong and was named.',
    )
    .action(verify)
}

async function verify(options: Options & { backup?: string; quick?: boolean }): Promise<void> {
  const folder = options.backup ?? configFrom(options).dataDir
  if (options.backup === undefined) requireData(folder)
  const file = options.backup === undefined ? databaseFile(folder) : await backupDatabase(folder)
  setPriority(polite)
  const hashes = options.quick !== true
  const found = await problems(file, folder, hashes)
  // Between two looks at a store that is served rows change: only what is wrong twice is wrong.
  const again = found.length > 0 && options.backup === undefined && isHeld(folder)
  const wrong = again ? intersection(found, await problems(file, folder, hashes)) : found
  if (options.json === true)
    print(true, { ok: wrong.length === 0, ...(wrong.length > 0 && { code: 'StoreDamaged' }), problems: wrong }, '')
  else for (const one of wrong) print(false, one, one)
  if (wrong.length > 0) throw new Fault('StoreDamaged', { text: `${wrong.length} problems were found` })
  if (options.json !== true) print(false, null, 'All is well.')
}

async function problems(file: string, folder: string, hashes: boolean): Promise<string[]> {
  const read = Reader.open(file)
  try {
    return await verifyStore(read, folder, hashes)
  } finally {
    read.close()
  }
}

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

function requireData(dataDir: string): void {
  if (existsSync(databaseFile(dataDir))) return
  throw new Fault('DataDirectoryUnusable', { text: `There is no data in ${dataDir}` })
}

/** Progress for people on a terminal. */
function said(options: Options): (text: string) => void {
  if (options.json === true || process.stderr.isTTY !== true) return () => {}
  return text => process.stderr.write(`\r\x1b[K${text}`)
}
