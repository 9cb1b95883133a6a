// Files and folders whose names last: a name is on disk when its folder was synced, not when its file was.
//
// Whatever is made here is found again after a power cut from the moment the function returns, whole and under its name.

import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Puts on disk what a file holds, or which names a folder has. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Makes a folder, and those above it that are missing, for their owner alone. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  const top = resolve(first)
  for (let made = resolve(path); ; made = dirname(made)) {
    syncPath(dirname(made))
    if (made === top) return
  }
}

/** Writes a file, in place of the one that was there: whole or not at all, and with that mode from its first byte on. */
export function putFile(path: string, text: string, mode: number): void {
  const fresh = `${path}.new`
  rmSync(fresh, { force: true })
  writeFileSync(fresh, text, { mode, flag: 'wx', flush: true })
  renameSync(fresh, path)
  syncPath(dirname(path))
}
