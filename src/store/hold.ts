// Taking hold of a data directory, the first thing a process does with one: nobody else has it, it can be written to, and
// the thread that writes is on its way. Needs little of the program, so that it can be done before the rest is read.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { makeFolder } from '#lib/lasting.ts'
import { databaseFile, lockFile } from './place.ts'
import { lock } from './sqlite.ts'
import { startWriterThread, type WriterThread } from './writer-thread.ts'

export interface Hold {
  readonly thread: WriterThread
  /** Lets others have the directory; the thread must have ended. */
  release(): void
}

/** @throws Fault DataDirectoryInUse, DataDirectoryUnusable */
export function takeHold(dataDir: string): Hold {
  openDataDir(dataDir)
  const release = lock(lockFile(dataDir))
  return { thread: startWriterThread(databaseFile(dataDir), dataDir), release }
}

function openDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir)
    const probe = join(dataDir, `.probe-${process.pid}`)
    writeFileSync(probe, '')
    rmSync(probe)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown'
    throw new Fault('DataDirectoryUnusable', {
      text: `The data directory ${dataDir} cannot be used: ${reason}`,
      cause: error,
    })
  }
}
