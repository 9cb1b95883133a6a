// Data directories for a service that keeps nothing: made in the temporary folder, gone when it closes, when its process ends
// without closing, and at the next start where the process was killed.
//
// Nothing in them is synced (lib/lasting.ts). Whether somebody still has one is asked of its lock and not of a process id, which another container counts otherwise.
// One that is not locked yet is left alone for a moment.

import { rmSync, statSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { now } from '#lib/clock.ts'
import { letPass } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import { lock } from '../engine/sqlite/handle.ts'
import { lockFile } from './place.ts'

const prefix = 'teal-run-'
const pattern = /^teal-run-[A-Za-z0-9]{6}$/

/** Another process that starts now may try the lock of one that just closed, which puts a file there again: once more, then. */
const whole = { recursive: true, force: true, maxRetries: 5, retryDelay: 20 } as const

/** Those of this process. */
const open = new Set<string>()

/** Makes one, and removes those that were left behind. */
export async function makeTemporary(): Promise<{ readonly dataDir: string; remove(): Promise<void> }> {
  const dataDir = resolve(await mkdtemp(join(tmpdir(), prefix)))
  if (open.size === 0) process.on('exit', removeAll)
  open.add(dataDir)
  const stay = letPass(dataDir)
  await sweep()
  return {
    dataDir,
    async remove() {
      open.delete(dataDir)
      stay()
      if (open.size === 0) process.off('exit', removeAll)
      await rm(dataDir, whole)
    },
  }
}

/** The process ends: there is no time for anything but this. */
function removeAll(): void {
  for (const dataDir of open) {
    try {
      rmSync(dataDir, { recursive: true, force: true })
    } catch {
      // A thread was writing; the next start removes what is left.
    }
  }
}

async function sweep(): Promise<void> {
  const folder = tmpdir()
  for (const name of await readdir(folder)) {
    if (!pattern.test(name)) continue
    const dataDir = resolve(folder, name)
    if (!open.has(dataDir) && isLeft(dataDir)) await rm(dataDir, whole)
  }
}

/** Whether it is ours and nobody has it. */
function isLeft(dataDir: string): boolean {
  try {
    const { uid } = statSync(dataDir)
    if (uid !== (process.getuid?.() ?? uid)) return false
    const file = statSync(lockFile(dataDir), { throwIfNoEntry: false })
    const since = (file ?? statSync(dataDir)).mtimeMs
    if (now() - since < limits.process.temporaryGraceMs) return false
    if (file !== undefined) lock(lockFile(dataDir))()
    return true
  } catch {
    return false
  }
}
