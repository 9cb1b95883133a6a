// Taking hold of a data directory, the first thing a process does with one: it is ours and nobody else has it, it can be
// written to, nothing of it is missing, and the thread that writes is on its way. Needs little of the program, so that it
// can be done before the rest is read.

import { accessSync, constants, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { makeFolder } from '#lib/lasting.ts'
import { fileReason } from '#lib/process/file-error.ts'
import { lock } from '../engine/sqlite/handle.ts'
import { startWriterThread, type WriterThread } from '../writer/thread.ts'
import { closeToOthers, requireOwner } from './owner.ts'
import { blobsDir, databaseFile, databaseOf, keysDir, lockFile, type Place, scratchDir } from './place.ts'
import { mayBeNew } from './presence.ts'

export interface DirectoryLock {
  /** What writes; a node starts it when it knows its number. */
  readonly thread: WriterThread | undefined
  /** Whether the database may be made. */
  readonly mayBeNew: boolean
  /** What the operator should know of, as sentences. */
  readonly notes: readonly string[]
  /** Lets others have the directory; the thread must have ended. */
  release(): void
}

/** @throws Fault DataDirectoryInUse, DataDirectoryUnusable, DataMissing */
export function lockDirectory(place: Place & { readonly cluster?: { readonly node: string } }): DirectoryLock {
  const { dataDir } = place
  openDataDir(dataDir)
  const release = lock(lockFile(dataDir))
  try {
    const notes = closeToOthers(dataDir)
    const isNew = mayBeNew(place)
    requireAccess(dataDir)
    const alone = !place.cluster?.node
    const behind = { bodies: place.bodies?.url ?? '', dataDir }
    const thread = alone ? startWriterThread(databaseOf(place), isNew, behind) : undefined
    return { thread, mayBeNew: isNew, notes, release }
  } catch (error) {
    release()
    throw error
  }
}

function openDataDir(dataDir: string): void {
  usable(dataDir, () => makeFolder(dataDir))
  requireOwner(dataDir)
  usable(dataDir, () => {
    const probe = join(dataDir, `.probe-${process.pid}`)
    writeFileSync(probe, '')
    rmSync(probe)
  })
}

/** What an earlier run as another user left would be met much later, in the middle of a delivery. */
function requireAccess(dataDir: string): void {
  const { R_OK, W_OK, X_OK } = constants
  const keys = existsSync(keysDir(dataDir))
    ? readdirSync(keysDir(dataDir)).map(name => join(keysDir(dataDir), name))
    : []
  const wanted = [
    ...[blobsDir(dataDir), scratchDir(dataDir)].map(path => ({ path, mode: R_OK | W_OK | X_OK })),
    ...['', '-wal', '-shm'].map(end => ({ path: `${databaseFile(dataDir)}${end}`, mode: R_OK | W_OK })),
    ...keys.map(path => ({ path, mode: R_OK })),
  ]
  for (const { path, mode } of wanted) if (existsSync(path)) usable(path, () => accessSync(path, mode))
}

/** @throws Fault DataDirectoryUnusable where the operating system refuses `task`, which uses `path` */
function usable(path: string, task: () => void): void {
  try {
    task()
  } catch (error) {
    const { reason, code } = fileReason(error as NodeJS.ErrnoException)
    const text = `The data directory cannot be used: ${path}: ${reason ?? code} (${code})`
    throw new Fault('DataDirectoryUnusable', { text, cause: error })
  }
}
