// The files of bodies: large parts under <dataDir>/blobs/ab/cdef..., named by what is in them, and scratch under
// <dataDir>/tmp.
//
// A file appears under its final name whole and synced or not at all: it is written in tmp, synced, and linked into
// place before the commit that names it. It is never changed. A name without a row is rubbish and harmless; a row
// without its file would be a lost message and cannot come about. Both threads use this; only the writer thread
// publishes and removes.

import { hash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { now } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { RecurringLine } from '#lib/journal/recurring-line.ts'
import { syncPath } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { blobsDir, scratchDir } from '../folder/place.ts'
import type { ObjectStore } from './objects/store.ts'

/** Hexadecimal digits of a file's name that tell one packing of the same value from another. */
const formDigits = 8
const hashDigits = 64

/** The name of the file of a part: its hash, and a little of its chunk table's hash. */
export function fileName(partHash: Uint8Array, table: Uint8Array): string {
  return Buffer.from(partHash).toString('hex') + hash('sha256', table, 'hex').slice(0, formDigits)
}

/** The part's hash in the name of its file. */
export function hashInName(name: string): Buffer {
  return Buffer.from(name.slice(0, hashDigits), 'hex')
}

/** What link(2) answers where the file system has no hard links, or no more for this file. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'])

/** The folder beside those of the files in which copies become whole. Other nodes and a backup may be at work there, too. */
const copiesFolder = 'copies'

/** Whether a folder beside others has files at their places. */
export function isPlace(folder: string): boolean {
  return /^[0-9a-f]{2}$/.test(folder)
}

export class BodyFiles {
  /** Where large parts are instead, where that is configured. */
  readonly objects: ObjectStore | undefined
  /** Tells the operator of a disk that takes nothing that comes in. */
  readonly unwritten: RecurringLine | undefined
  readonly #blobs: string
  readonly #scratch: string
  /** Folders with names that are not synced yet; at first those that an earlier process may have left so. */
  readonly #unsynced: Set<string>

  constructor(dataDir: string, objects?: ObjectStore, log?: Log) {
    this.objects = objects
    this.unwritten =
      log && new RecurringLine(log, 'error', 'what comes in cannot be written to the disk for the time being')
    this.#blobs = blobsDir(dataDir)
    this.#scratch = scratchDir(dataDir)
    this.#unsynced = new Set([dataDir, this.#blobs])
  }

  /** Makes the folders. */
  prepare(): void {
    for (const folder of [this.#blobs, this.#scratch]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** A path for a scratch file that does not exist yet. */
  scratch(): string {
    return join(this.#scratch, newId())
  }

  removeScratch(path: string): void {
    rmSync(path, { force: true })
  }

  /** Where the file with this name lies. */
  pathOf(name: string): string {
    return join(this.#blobs, name.slice(0, 2), name.slice(2))
  }

  /** Gives a synced scratch file its final name. The scratch name stays; `sync` makes the final one last. */
  publish(scratch: string, name: string): void {
    const path = this.pathOf(name)
    const folder = join(this.#blobs, name.slice(0, 2))
    if (!existsSync(folder)) {
      mkdirSync(folder, { mode: 0o700 })
      this.#unsynced.add(this.#blobs)
    }
    this.#unsynced.add(folder)
    try {
      linkSync(scratch, path)
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      // A file of that name holds the same, and was whole before it got the name.
      if (code === 'EEXIST') return
      if (!noLinks.has(code)) throw error
      const copy = this.copyPath()
      try {
        copyFileSync(scratch, copy)
        syncPath(copy)
        renameSync(copy, path)
      } catch (failure) {
        rmSync(copy, { force: true })
        throw failure
      }
    }
  }

  /** Where a copy becomes whole: beside the places, since the folder may be a disk of its own and nothing is renamed from one to another. */
  copyPath(): string {
    mkdirSync(join(this.#blobs, copiesFolder), { recursive: true, mode: 0o700 })
    return join(this.#blobs, copiesFolder, newId())
  }

  /** Removes copies that whoever made them did not live to rename. */
  clearCopies(): void {
    const folder = join(this.#blobs, copiesFolder)
    if (!existsSync(folder)) return
    for (const name of readdirSync(folder)) {
      const path = join(folder, name)
      const age = now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now())
      if (age > limits.body.copyMs) rmSync(path, { force: true })
    }
  }

  /** Puts the names given out since the last call on disk. */
  sync(): void {
    for (const folder of this.#unsynced) {
      syncPath(folder)
      this.#unsynced.delete(folder)
    }
  }

  remove(name: string): void {
    try {
      unlinkSync(this.pathOf(name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  /** Removes every scratch file, and copies that are nobody's. Only before anything else uses this data directory. */
  clearScratch(): void {
    this.clearCopies()
    for (const name of readdirSync(this.#scratch)) rmSync(join(this.#scratch, name), { recursive: true, force: true })
  }

  /** Names of all files, folder by folder. */
  async *names(): AsyncGenerator<string[]> {
    for (const folder of await readdir(this.#blobs)) {
      if (!isPlace(folder)) continue
      const names = await readdir(join(this.#blobs, folder))
      yield names.filter(name => /^[0-9a-f]{70}$/.test(name)).map(name => folder + name)
    }
  }
}
