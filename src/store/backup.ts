// Copies of a data directory: taken while it is served, brought back when it is lost.
//
// A backup is a folder: backup.json, the database as it was at one moment, the files it names, the keys. The files are
// named by their content, so a second backup into the folder adds what is new; they are linked where the file system can
// and copied where not. backup.json is put in place by rename, last, and names the database it goes with: a backup that
// broke off leaves the one before it whole. Nothing here writes to the directory that is backed up.

import { createHash } from 'node:crypto'
import { closeSync, createReadStream, existsSync, fdatasyncSync, openSync } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { halt, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { makeFolder, putFile } from '#lib/lasting.ts'
import { version } from '#lib/own.ts'
import { BodyFiles, fileName } from './bodies-files.ts'
import { databaseFile, rootTokenFile } from './place.ts'
import { Reader } from './reader.ts'
import { copyDatabase } from './sqlite.ts'

export interface BackupNote {
  readonly version: string
  /** ISO 8601. */
  readonly created: string
  /** Name of the database's file, and its hash. */
  readonly database: string
  readonly sha256: string
  /** Files of bodies that it names. */
  readonly files: number
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
      const names = namedFiles(path)
      const missing = await files.add(names)
      if (missing.length > 0) {
        if (tries < triesMax) {
          await rm(path)
          continue
        }
        throw new Fault('BackupInvalid', { text: `${missing.length} files of the store are missing: run verify` })
      }
      await copyKeys(dataDir, folder)
      await files.sync()
      // The names that the note speaks of come before it.
      await syncFile(folder)
      const sha256 = await hashOf(path)
      const note: BackupNote = { version, created: at.toISOString(), database, sha256, files: names.size }
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

/** Brings a backup back as a data directory, which must not hold any data yet. */
export async function restoreBackup(folder: string, dataDir: string, say: Progress): Promise<BackupNote> {
  const note = await readNote(folder)
  const from = join(folder, note.database)
  if (existsSync(databaseFile(dataDir))) {
    throw new Fault('DataDirectoryInUse', { text: `${dataDir} holds data already: restore into an empty directory` })
  }
  say('checking the database')
  if ((await hashOf(from)) !== note.sha256) {
    throw new Fault('BackupInvalid', {
      text: 'The database of the backup was changed or damaged: its checksum is wrong',
    })
  }
  makeFolder(dataDir)
  await copyKeys(folder, dataDir)
  const names = namedFiles(from)
  const files = new Files(folder, dataDir, { links: false, pace: new Pace(false) })
  say(`${names.size} files`)
  const missing = await files.add(names)
  if (missing.length > 0)
    throw new Fault('BackupInvalid', { text: `${missing.length} files of the backup are missing` })
  await files.sync()
  // The database comes last: a restore that broke off leaves a directory without one, and may be run again.
  const fresh = `${databaseFile(dataDir)}.new`
  await copyFile(from, fresh)
  await syncFile(fresh)
  await rename(fresh, databaseFile(dataDir))
  await syncFile(dataDir)
  return note
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
  const note = await readNote(folder)
  const path = join(folder, note.database)
  if ((await hashOf(path).catch(() => '')) !== note.sha256) {
    throw new Fault('BackupInvalid', {
      text: 'The database of the backup was changed or damaged: its checksum is wrong',
    })
  }
  return path
}

const noteFile = (folder: string): string => join(folder, 'backup.json')

/** Names of the files that the database at `path` names. */
function namedFiles(path: string): Set<string> {
  const read = Reader.open(path)
  try {
    const names = new Set<string>()
    for (const row of read.iterate<{ hash: Buffer; table: Buffer }>(
      'SELECT hash, data AS "table" FROM part WHERE file = 1',
    )) {
      names.add(fileName(row.hash, row.table))
    }
    return names
  } finally {
    read.close()
  }
}

/**
 * Leaves the disk to the service: what was written goes to the disk in small pieces, and after each the disk rests for a
 * multiple of the time it took. Stops the thread meanwhile: a backup has a process of its own.
 */
class Pace {
  readonly #gently: boolean
  #began = monotonic()

  constructor(gently: boolean) {
    this.#gently = gently
  }

  /** Ends a stretch of work on the file at `path`. */
  rest(path: string): void {
    if (!this.#gently) return
    const handle = openSync(path, 'r')
    try {
      fdatasyncSync(handle)
    } finally {
      closeSync(handle)
    }
    halt((monotonic() - this.#began) * restShare)
    this.#began = monotonic()
  }

  /** Begins a stretch of work. */
  begin(): void {
    this.#began = monotonic()
  }
}

/** Times that the disk rests of the time it works. */
const restShare = 5

/** Files of bodies, from one folder into another. */
class Files {
  readonly #from: BodyFiles
  readonly #to: BodyFiles
  readonly #root: string
  readonly #links: boolean
  readonly #pace: Pace
  readonly #folders = new Set<string>()
  added = 0

  constructor(from: string, to: string, { links, pace }: { links: boolean; pace: Pace }) {
    this.#from = new BodyFiles(from)
    this.#to = new BodyFiles(to)
    this.#root = join(to, 'blobs')
    this.#links = links
    this.#pace = pace
  }

  async addAll(): Promise<void> {
    for await (const names of this.#from.names()) await this.add(new Set(names))
  }

  /** Brings those that are not there; answers with those that cannot be found. */
  async add(names: ReadonlySet<string>): Promise<string[]> {
    const missing: string[] = []
    await mkdir(this.#root, { recursive: true, mode: 0o700 })
    for (const name of names) {
      const to = this.#to.pathOf(name)
      if (existsSync(to)) continue
      if (!(await this.#bring(this.#from.pathOf(name), to))) missing.push(name)
      else this.added += 1
    }
    return missing
  }

  async #bring(from: string, to: string): Promise<boolean> {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    this.#folders.add(dirname(to))
    const fresh = `${to}.new`
    try {
      if (this.#links) {
        try {
          await link(from, to)
          return true
        } catch (error) {
          const { code = '' } = error as NodeJS.ErrnoException
          if (code === 'ENOENT') return false
          if (code === 'EEXIST') return true
        }
      }
      this.#pace.begin()
      await copyFile(from, fresh)
      await syncFile(fresh)
      await rename(fresh, to)
      this.#pace.rest(to)
      return true
    } catch (error) {
      await rm(fresh, { force: true })
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    }
  }

  async sync(): Promise<void> {
    for (const folder of [...this.#folders, this.#root]) await syncFile(folder)
  }

  /** Removes files that are not among `names`; answers with how many. */
  async prune(names: ReadonlySet<string>): Promise<number> {
    let removed = 0
    for await (const found of this.#to.names()) {
      for (const name of found) {
        if (names.has(name)) continue
        this.#to.remove(name)
        removed += 1
      }
    }
    return removed
  }
}

async function copyKeys(from: string, to: string): Promise<void> {
  const keys = join(from, 'keys')
  if (existsSync(keys)) {
    makeFolder(join(to, 'keys'))
    // One with a dot was not finished.
    const names = (await readdir(keys)).filter(name => !name.includes('.'))
    for (const name of names) await copySecret(join(keys, name), join(to, 'keys', name))
  }
  const token = rootTokenFile(from)
  if (existsSync(token)) await copySecret(token, rootTokenFile(to))
}

async function copySecret(from: string, to: string): Promise<void> {
  putFile(to, await readFile(from, 'utf8'), 0o600)
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function percent(left: number, total: number): string {
  return `${total === 0 ? 100 : Math.floor((1 - left / total) * 100)}%`
}
