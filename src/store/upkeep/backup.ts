// Copies of a data directory: taken while it is served, brought back when it is lost.
//
// A backup is a folder: backup.json, the database as it was at one moment, the files it names, the keys. The files are
// named by their content, so a second backup into the folder adds what is new; they are linked where the file system can
// and copied where not. backup.json is put in place by rename, last, and names the database it goes with: a backup that
// broke off leaves the one before it whole. Nothing here writes to the directory that is backed up.

import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { chmod, copyFile, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { version } from '#lib/build-info.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { makeFolder, putFile } from '#lib/lasting.ts'
import { checkFiles } from '../bodies/check.ts'
import { copyDatabase, lock } from '../engine/sqlite/handle.ts'
import { openReader } from '../engine/sqlite/reader.ts'
import { giveToOwner } from '../folder/owner.ts'
import { databaseFile, keyFile, keysDir, lockFile, rootTokenFile } from '../folder/place.ts'
import { Files, namedFiles, Pace, syncFile } from './backup-files.ts'
import { renumberFile } from './renumber.ts'

interface BackupNote {
  readonly version: string
  /** ISO 8601. */
  readonly created: string
  /** Name of the database's file, and its hash. */
  readonly database: string
  readonly sha256: string
  /** Files of bodies that it names. */
  readonly files: number
  /** Hashes of the keys, by their names; backups of old have none. */
  readonly keys?: Readonly<Record<string, string>>
}

export interface BackupResult extends BackupNote {
  /** Files that were not in the folder before. */
  readonly added: number
  /** Files that no row names any more. */
  readonly removed: number
}

type Progress = (text: string) => void

/** How often a backup is begun anew because a file went away under it. */
const triesMax = 5

/**
 * Takes a backup of `dataDir` into `folder`, which may hold an earlier one.
 *
 * @param gently leaves most of the disk's time to a service that is at work; the thread stands still in between
 */
export async function takeBackup(
  dataDir: string,
  folder: string,
  at: Date,
  say: Progress,
  gently = false,
): Promise<BackupResult> {
  makeFolder(folder)
  const foreign =
    (await readdir(folder)).length > 0 && !existsSync(noteFile(folder)) && !existsSync(join(folder, 'blobs'))
  if (foreign) throw new Fault('BackupInvalid', { text: `${folder} is not empty and holds no backup` })
  const before = await readNote(folder).catch(() => undefined)
  const pace = new Pace(gently)
  const files = new Files(dataDir, folder, { links: true, pace })
  // Before the database is copied, so that what is dropped meanwhile is there.
  await files.addAll()
  for (let tries = 1; ; tries++) {
    const database = `teal-${newId()}.db`
    const path = join(folder, database)
    try {
      pace.begin()
      await copyDatabase(databaseFile(dataDir), path, (left, total) => {
        say(`database: ${percent(left, total)}`)
        pace.rest(path)
      })
      const names = await namedFiles(path)
      const missing = await files.add(names)
      if (missing.length > 0) {
        if (tries < triesMax) {
          await rm(path)
          continue
        }
        throw new Fault('BackupInvalid', { text: `${missing.length} files of the store are missing: run verify` })
      }
      const keys = await copyKeys(dataDir, folder)
      await files.sync()
      // The names that the note speaks of come before it.
      await syncFile(folder)
      const sha256 = await hashOf(path)
      const note: BackupNote = { version, created: at.toISOString(), database, sha256, files: names.size, keys }
      putFile(noteFile(folder), `${JSON.stringify(note, null, 2)}\n`, 0o600)
      const removed = await files.prune(names)
      if (before !== undefined && before.database !== database) await rm(join(folder, before.database), { force: true })
      return { ...note, added: files.added, removed }
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
  }
}

export interface Restored extends BackupNote {
  /** Files that were missing or damaged, as sentences. */
  readonly damaged: readonly string[]
}

export interface RestoreOptions {
  /** Brings what is whole of a damaged backup. */
  readonly lenient?: boolean
  /** Nothing came after the backup: folders keep their UIDVALIDITY. */
  readonly same?: boolean
}

/**
 * Brings a backup back as a data directory, which must not hold any data yet. Every byte is checked against its hash before
 * anything is written.
 *
 * @throws Fault BackupInvalid, DataDirectoryInUse
 */
export async function restoreBackup(
  folder: string,
  dataDir: string,
  say: Progress,
  { lenient = false, same = false }: RestoreOptions = {},
): Promise<Restored> {
  const note = await readNote(folder)
  const from = join(folder, note.database)
  requireNoData(dataDir)
  say('checking the database')
  await requireDatabase(folder, note)
  await requireKeysOf(folder, note)
  say(`checking ${note.files} files`)
  const damaged = await damagedFiles(from, folder)
  if (damaged.length > 0 && !lenient) {
    const shown = damaged.slice(0, 3).join('; ')
    const text = `${damaged.length} files of the backup are missing or damaged, nothing was restored (${shown}). Take another backup, or bring back what is whole with --damaged`
    throw new Fault('BackupInvalid', { text })
  }
  makeFolder(dataDir)
  const release = lock(lockFile(dataDir))
  try {
    requireNoData(dataDir)
    await copyKeys(folder, dataDir)
    const names = await namedFiles(from)
    const files = new Files(folder, dataDir, { links: false, pace: new Pace(false) })
    say(`${names.size} files`)
    await files.add(names)
    await files.sync()
    await placeDatabase(from, dataDir, same)
    for (const path of await readdir(dataDir, { recursive: true })) giveToOwner(join(dataDir, path), dataDir)
    return { ...note, damaged }
  } finally {
    release()
  }
}

function requireNoData(dataDir: string): void {
  if (!existsSync(databaseFile(dataDir)) || statSync(databaseFile(dataDir)).size === 0) return
  throw new Fault('DataDirectoryInUse', { text: `${dataDir} holds data already: restore into an empty directory` })
}

/** The database comes last: a restore that broke off leaves a directory without one, and may be run again. */
async function placeDatabase(from: string, dataDir: string, same: boolean): Promise<void> {
  const file = databaseFile(dataDir)
  const fresh = `${file}.new`
  await rm(fresh, { force: true })
  await copyFile(from, fresh)
  await chmod(fresh, 0o600)
  renumberFile(fresh, now(), same)
  await syncFile(fresh)
  // A log that a lost database left would be taken for one of this.
  for (const end of ['-wal', '-shm']) {
    if (existsSync(`${file}${end}`)) await rename(`${file}${end}`, `${file}${end}.before-restore`)
  }
  await rename(fresh, file)
  await syncFile(dataDir)
}

/** Files that the database names and that are not as they were stored, as sentences. */
async function damagedFiles(database: string, folder: string): Promise<string[]> {
  const read = openReader(database)
  try {
    const found: string[] = []
    for await (const one of checkFiles(read, folder)) found.push(one)
    return found
  } finally {
    read.close()
  }
}

/** @throws Fault BackupInvalid where a key is not the one that was put there */
async function requireKeysOf(folder: string, { keys = {} }: BackupNote): Promise<void> {
  for (const [name, sha256] of Object.entries(keys)) {
    if ((await hashOf(keyFile(folder, name)).catch(() => '')) === sha256) continue
    throw new Fault('BackupInvalid', {
      text: `The key ${keyFile(folder, name)} of the backup is missing or was changed`,
    })
  }
}

/** What `folder` is a backup of, as far as its note says. @throws Fault BackupInvalid */
async function readNote(folder: string): Promise<BackupNote> {
  try {
    const note = JSON.parse(await readFile(noteFile(folder), 'utf8')) as BackupNote
    if (!/^teal-[0-9a-f]{24}\.db$/.test(note.database)) throw new Error('no database is named')
    return note
  } catch (cause) {
    throw new Fault('BackupInvalid', { text: `${folder} holds no backup`, cause })
  }
}

/** Path of the database of a backup. @throws Fault BackupInvalid where it is not the one that was put there */
export async function backupDatabase(folder: string): Promise<string> {
  return requireDatabase(folder, await readNote(folder))
}

async function requireDatabase(folder: string, note: BackupNote): Promise<string> {
  const path = join(folder, note.database)
  if ((await hashOf(path).catch(() => '')) !== note.sha256) {
    throw new Fault('BackupInvalid', {
      text: 'The database of the backup was changed or damaged: its checksum is wrong',
    })
  }
  return path
}

const noteFile = (folder: string): string => join(folder, 'backup.json')

/** @returns the hash of each key */
async function copyKeys(from: string, to: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {}
  if (existsSync(keysDir(from))) {
    makeFolder(keysDir(to))
    // One with a dot was not finished.
    const names = (await readdir(keysDir(from))).filter(name => !name.includes('.'))
    for (const name of names) {
      await copySecret(keyFile(from, name), keyFile(to, name))
      hashes[name] = await hashOf(keyFile(to, name))
    }
  }
  const token = rootTokenFile(from)
  if (existsSync(token)) await copySecret(token, rootTokenFile(to))
  return hashes
}

async function copySecret(from: string, to: string): Promise<void> {
  putFile(to, await readFile(from, 'utf8'), 0o600)
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function percent(left: number, total: number): string {
  return `${total === 0 ? 100 : Math.floor((1 - left / total) * 100)}%`
}
