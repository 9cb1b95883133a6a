// Files and folders whose names last: a name is on disk when its folder was synced, not when its file was.
//
// Whatever is made here is found again after a power cut from the moment the function returns, whole and under its name.
// The exception are folders that are made to be thrown away, with their process if not before: nothing there is synced,
// since nobody will look for it after a power cut. Never one that somebody named.

import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve, sep } from 'node:path'

/** Folders of this thread's that are thrown away. */
const passing = new Set<string>()

/** Declares a folder one that is thrown away, until the returned function is called. Each thread has to be told. */
export function letPass(folder: string): () => void {
  passing.add(folder)
  return () => void passing.delete(folder)
}

/** Whether a path lies in a folder that is thrown away. */
export function isPassing(path: string): boolean {
  if (passing.size === 0) return false
  for (const folder of passing) if (path === folder || path.startsWith(folder + sep)) return true
  return false
}

/** Puts on disk what a file holds, or which names a folder has. */
export function syncPath(path: string): void {
  if (isPassing(path)) return
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Makes a folder for its owner alone. Those above it that are missing hold nothing secret, and anybody may pass through.
 *
 * @throws the system's errors, EEXIST where something else has that name
 */
export function makeFolder(path: string): void {
  const missing: string[] = []
  // One after the other: Node makes several with errors of its own (ENOENT for a file system that is read-only), and without end in /proc.
  let there = resolve(path)
  while (statSync(there, { throwIfNoEntry: false }) === undefined) {
    missing.unshift(there)
    there = dirname(there)
  }
  for (const [at, folder] of missing.entries()) make(folder, at === missing.length - 1)
  // The system says what stands there instead.
  if (missing.length === 0 && !isFolder(there)) mkdirSync(there)
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function make(folder: string, isLast: boolean): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
    // The umask of the process is for files.
    if (!isLast) chmodSync(folder, 0o755)
  } catch (error) {
    // Somebody else has made it meanwhile.
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(folder)
    if (!isThere) throw error
  }
  syncPath(dirname(folder))
}

/** Writes a file, in place of the one that was there: whole or not at all, and with that mode from its first byte on. */
export function putFile(path: string, text: string, mode: number): void {
  const fresh = `${path}.new`
  rmSync(fresh, { force: true })
  try {
    writeFileSync(fresh, text, { mode, flag: 'wx', flush: !isPassing(path) })
    renameSync(fresh, path)
  } catch (error) {
    rmSync(fresh, { force: true })
    // Of what cannot be written the system names no file.
    throw Object.assign(error as Error, { path })
  }
  syncPath(dirname(path))
}
