// Copies of a data directory: taken while it is served, brought back when it is lost.
//
// A backup is a folder: backup.json, the database as it was at one moment, the files it names, the keys. The files are
// named by their content, so a second backup into the folder adds what is new; they are linked where the file system can
// and copied where not. backup.json is put in place by rename, last, and names the database it goes with: a backup that
// broke off leaves the one before it whole. Nothing here writes to the directory that is backed up.

import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { chmod, copyFile, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { version } from '#lib/build-info.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { makeFolder, putFile } from '#lib/lasting.ts'
import { fileProblem } from '#lib/process/file-error.ts'
import { checkFiles } from '../bodies/check.ts'
import { migrations } from '../engine/schema.ts'
import { copyDatabase, lock, schemaNumber } from '../engine/sqlite/handle.ts'
import { openReader } from '../engine/sqlite/reader.ts'
import { giveToOwner, isOfService } from '../folder/owner.ts'
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
  /** Hashes of the keys, by their names, and of the first token; backups of old have none. */
  readonly keys?: Readonly<Record<string, string>>
  readonly rootToken?: string
  /** Of one of several moments: the how many-th it is, whatever the clock said. */
  readonly serial?: number
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
 * @throws Fault BackupInvalid where the folder holds something else or is the service's own, or another backup into it is under way
 */
export async function takeBackup(
  dataDir: string,
  folder: string,
  at: Date,
  say: Progress,
  gently = false,
): Promise<BackupResult> {
  openFolder(folder, dataDir)
  const names = (await readdir(folder)).filter(name => !/^lock(-journal)?$/.test(name))
  const foreign = names.length > 0 && !existsSync(noteFile(folder)) && !existsSync(join(folder, 'blobs'))
  if (foreign) throw new Fault('BackupInvalid', { text: `${folder} is not empty and holds no backup` })
  const release = lockFolder(folder)
  try {
    return await copyInto(dataDir, folder, { at, gently, say })
  } finally {
    release()
  }
}

/** Makes the folder where it is not there. @throws Fault BackupInvalid for one that the service itself uses, or clears */
export function openFolder(folder: string, dataDir: string): void {
  if (isOfService(folder, dataDir)) {
    const text = `${folder} is where the service itself keeps its data: name a folder elsewhere, best on another disk`
    throw new Fault('BackupInvalid', { text })
  }
  makeFolder(folder)
}

/** One at a time: what one backup removes another may need. @throws Fault BackupInvalid */
export function lockFolder(folder: string): () => void {
  try {
    return lock(join(folder, 'lock'))
  } catch (error) {
    if (error instanceof Fault && error.code !== 'DataDirectoryInUse') throw error
    throw new Fault('BackupInvalid', { text: `Another backup into ${basename(folder)} is under way`, cause: error })
  }
}

interface CopyOptions {
  readonly at: Date
  readonly gently: boolean
  readonly say: Progress
  readonly serial?: number
}

/** Takes a backup into a folder that nobody else takes one into. */
export async function copyInto(
  dataDir: string,
  folder: string,
  { at, gently, say, serial }: CopyOptions,
): Promise<BackupResult> {
  makeFolder(folder)
  const before = await readNote(folder).catch(() => undefined)
  // Of one that broke off nothing can go on with its database.
  await dropDatabases(folder, before?.database)
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
      const secrets = await copySecrets(dataDir, folder)
      await files.sync()
      // The names that the note speaks of come before it.
      await syncFile(folder)
      const sha256 = await hashOf(path)
      const about = { version, created: at.toISOString(), ...(serial !== undefined && { serial }) }
      const note: BackupNote = { ...about, database, sha256, files: names.size, ...secrets }
      putFile(noteFile(folder), `${JSON.stringify(note, null, 2)}\n`, 0o600)
      const removed = await files.prune(names)
      await dropDatabases(folder, database)
      return { ...note, added: files.added, removed }
    } catch (error) {
      for (const end of ['', '-journal', '-wal', '-shm']) await rm(`${path}${end}`, { force: true })
      throw error
    }
  }
}

/** Removes copies of databases, with what lies beside them, but one. */
async function dropDatabases(folder: string, but: string | undefined): Promise<void> {
  for (const name of await readdir(folder)) {
    if (/^teal-\w+\.db/.test(name) && name !== but) await rm(join(folder, name), { force: true })
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
  await requireWhole(folder, note)
  requireKnown(from)
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
    await copySecrets(folder, dataDir)
    const names = await namedFiles(from)
    const files = new Files(folder, dataDir, { links: false, pace: new Pace(false) })
    say(`${names.size} files`)
    await files.add(names)
    await files.sync()
    await giveAll(dataDir)
    await placeDatabase(from, dataDir, same)
    return { ...note, damaged }
  } finally {
    release()
  }
}

/** Gives what root has made in a folder to the one whose folder it is. */
async function giveAll(folder: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  for (const path of await readdir(folder, { recursive: true })) giveToOwner(join(folder, path), folder)
}

/** @throws Fault DatabaseTooNew */
function requireKnown(database: string): void {
  if (schemaNumber(database) > migrations.length) throw new Fault('DatabaseTooNew')
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
  giveToOwner(fresh)
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

/** @throws Fault BackupInvalid where the database, a key or the first token is not the one that was put there */
async function requireWhole(folder: string, note: BackupNote): Promise<void> {
  const { database, sha256: hash, keys = {}, rootToken } = note
  const parts: [path: string, sha256: string, what: string][] = [[join(folder, database), hash, 'database']]
  for (const [name, sha256] of Object.entries(keys)) parts.push([keyFile(folder, name), sha256, 'key'])
  if (rootToken !== undefined) parts.push([rootTokenFile(folder), rootToken, 'key'])
  for (const [path, sha256, what] of parts) {
    const found = await hashOf(path).catch(cause => {
      throw unread(`The ${what} of the backup cannot be read`, path, cause)
    })
    if (found === sha256) continue
    const text = `The ${what} ${path} of the backup was changed or damaged: its checksum is wrong`
    throw new Fault('BackupInvalid', { text })
  }
}

/** Of what cannot be read nobody knows whether it is whole. */
function unread(what: string, path: string, cause: NodeJS.ErrnoException): Fault {
  return new Fault('BackupInvalid', { text: `${what}: ${fileProblem(cause, path)}`, cause })
}

/** What `folder` is a backup of, as far as its note says. @throws Fault BackupInvalid */
async function readNote(folder: string): Promise<BackupNote> {
  try {
    const note = JSON.parse(await readFile(noteFile(folder), 'utf8')) as BackupNote
    if (!/^teal-[0-9a-f]{24}\.db$/.test(note.database)) throw new Error('no database is named')
    return note
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== undefined && code !== 'ENOENT')
      throw unread('The backup cannot be read', noteFile(folder), cause as Error)
    const points = (await readdir(folder).catch(() => [])).filter(name => pointForm.test(name)).sort()
    const several =
      points.length === 0
        ? ''
        : ` itself, but backups of ${points.length} moments: name one of them, such as ${join(folder, points.at(-1) ?? '')}`
    throw new Fault('BackupInvalid', { text: `${folder} holds no backup${several}`, cause })
  }
}

/** Path of the database of a backup. @throws Fault BackupInvalid where it, or a key, is not the one that was put there */
export async function backupDatabase(folder: string): Promise<string> {
  const note = await readNote(folder)
  await requireWhole(folder, note)
  return join(folder, note.database)
}

/** What one of several backups is called: its moment in UTC. */
export const pointForm = /^\d{8}T\d{6}Z$/

const noteFile = (folder: string): string => join(folder, 'backup.json')

/** Copies keys and the first token. @returns their hashes */
async function copySecrets(from: string, to: string): Promise<Pick<BackupNote, 'keys' | 'rootToken'>> {
  const keys: Record<string, string> = {}
  if (existsSync(keysDir(from))) {
    makeFolder(keysDir(to))
    // One with a dot was not finished.
    const names = (await readdir(keysDir(from))).filter(name => !name.includes('.'))
    for (const name of names) {
      await copySecret(keyFile(from, name), keyFile(to, name))
      keys[name] = await hashOf(keyFile(to, name))
    }
  }
  const token = rootTokenFile(from)
  if (!existsSync(token)) return { keys }
  await copySecret(token, rootTokenFile(to))
  return { keys, rootToken: await hashOf(rootTokenFile(to)) }
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
