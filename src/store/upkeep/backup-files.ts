// The files of a backup: which the database names, and bringing them from one folder into another.
//
// They are named by their content and never changed, so they are linked where the file system can and copied where not; a
// copy appears under its name whole and on disk, or not at all. A backup beside a service leaves the disk to it most of the time.

import { closeSync, existsSync, fdatasyncSync, openSync } from 'node:fs'
import { copyFile, link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { halt, monotonic } from '#lib/clock.ts'
import { BodyFiles, fileName } from '../bodies/files.ts'
import { openReader } from '../engine/sqlite/reader.ts'

/** Names of the files that the database at `path` names. */
export async function namedFiles(path: string): Promise<Set<string>> {
  const read = openReader(path)
  try {
    const names = new Set<string>()
    await read.each<{ hash: Buffer; table: Buffer }>(
      row => void names.add(fileName(row.hash, row.table)),
      'SELECT hash, data AS "table" FROM part WHERE file = 1',
    )
    return names
  } finally {
    read.close()
  }
}

/**
 * Leaves the disk to the service: what was written goes to the disk in small pieces, and after each the disk rests for a
 * multiple of the time it took. Stops the thread meanwhile: a backup has a process of its own.
 */
export class Pace {
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
export class Files {
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
      // What a lost store left may be what it was lost of.
      if (this.#links && existsSync(to)) continue
      if (!(await this.#bring(this.#from.pathOf(name), to))) missing.push(name)
      else this.added += 1
    }
    return missing
  }

  async #bring(from: string, to: string): Promise<boolean> {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    this.#folders.add(dirname(to))
    let fresh: string | undefined
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
      fresh = this.#to.copyPath()
      await copyFile(from, fresh)
      await syncFile(fresh)
      await rename(fresh, to)
      this.#pace.rest(to)
      return true
    } catch (error) {
      if (fresh !== undefined) await rm(fresh, { force: true })
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    }
  }

  /** Puts the names given out on disk. */
  async sync(): Promise<void> {
    this.#to.clearCopies()
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

/** Puts on disk what a file holds, or which names a folder has. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
