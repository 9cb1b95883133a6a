// Whether the write-ahead log still holds what was committed to it: a log that was cut, removed or damaged in its middle
// is taken by the engine for one that ends there, and what came after is gone without a word.
//
// What is known beside the log is its index (`teal.db-shm`), which a killed process leaves behind: it counts frames only
// once they are on disk, so it never counts too many. And a commit is begun only when the one before is on disk: where two
// of them stand behind the end, the first was whole once. Only sizes and heads are read. The index is read before the engine
// opens the database, since closing a file lets go of every lock this process has on it.

import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** Heads of the log and of a frame in it, and where the index says what (sqlite.org/walformat.html). */
const logHead = { bytes: 32, pageSize: 8, salts: 16 }
const frameHead = { bytes: 24, commit: 4, salts: 8 }
const index = { bytes: 136, begun: 12, frames: 16, salts: 32, copied: 96 }

/** What was there before the engine opened the database. */
export interface LogBefore {
  /** Frames that were committed and not copied back, as far as the index knows. */
  readonly frames: number
  readonly copied: number
  readonly salts: string
}

/** To be called before the database at `file` is opened. */
export function logBefore(file: string): LogBefore {
  const none = { frames: 0, copied: 0, salts: '' }
  const bytes = headOf(`${file}-shm`, index.bytes)
  if (bytes === undefined || bytes[index.begun] !== 1) return none
  return {
    frames: bytes.readUInt32LE(index.frames),
    copied: bytes.readUInt32LE(index.copied),
    salts: bytes.toString('hex', index.salts, index.salts + 8),
  }
}

/**
 * What is gone of the log, as a sentence; null where nothing is known to be.
 *
 * @param frames that the engine found in it when it opened the database
 */
export function logLoss(file: string, before: LogBefore, frames: number): string | null {
  const path = `${file}-wal`
  const head = headOf(path, logHead.bytes)
  if (head === undefined) {
    if (before.frames <= before.copied) return null
    return `${path} is missing or empty: changes that were stored last are gone`
  }
  const salts = head.toString('hex', logHead.salts, logHead.salts + 8)
  if (salts === before.salts && frames < before.frames) {
    return `${path} is cut short or damaged: ${before.frames - frames} of ${before.frames} pages stored last are gone`
  }
  const behind = commitsBehind(path, head.readUInt32BE(logHead.pageSize), salts, frames)
  return behind < 2 ? null : `${path} is damaged in its middle: the ${behind} changes stored last are gone`
}

/** Commits of the same log behind the last frame that can be read. */
function commitsBehind(path: string, pageSize: number, salts: string, frames: number): number {
  const step = pageSize + frameHead.bytes
  if (pageSize < 512) return 0
  const handle = openSync(path, 'r')
  try {
    const head = Buffer.alloc(frameHead.bytes)
    let commits = 0
    for (
      let at = logHead.bytes + frames * step;
      readSync(handle, head, 0, head.length, at) === head.length;
      at += step
    ) {
      const same = head.toString('hex', frameHead.salts, frameHead.salts + 8) === salts
      if (same && head.readUInt32BE(frameHead.commit) !== 0) commits += 1
    }
    return commits
  } finally {
    closeSync(handle)
  }
}

function headOf(path: string, bytes: number): Buffer | undefined {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < bytes) return undefined
  const handle = openSync(path, 'r')
  try {
    const head = Buffer.alloc(bytes)
    return readSync(handle, head, 0, bytes, 0) === bytes ? head : undefined
  } finally {
    closeSync(handle)
  }
}
