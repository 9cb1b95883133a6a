// Messages too large for memory on their way in: a scratch file each, read back while the message is cut into parts.
//
// Whoever opens one closes it; what a crash leaves in scratch is removed at the next start.

import { readSync } from 'node:fs'
import { type FileHandle, open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import type { RecurringLine } from '#lib/journal/recurring-line.ts'
import { limits } from '#lib/limits.ts'
import { MimeScanner } from '#mail/mime/mime.ts'
import type { BodyFiles } from './files.ts'

/** A message too large for memory on its way into a scratch file. */
export interface Spill {
  readonly path: string
  readonly file: FileHandle
  readonly scanner: MimeScanner
  /** It belongs to a `Received` now. */
  taken: boolean
}

export async function openSpill(files: BodyFiles): Promise<Spill> {
  const path = files.scratch()
  return { path, file: await open(path, 'wx+', 0o600), scanner: new MimeScanner(), taken: false }
}

export async function closeSpill(files: BodyFiles, spill: Spill): Promise<void> {
  await spill.file.close()
  files.removeScratch(spill.path)
}

export async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await file.writev(chunks)
  let left = bytesWritten
  for (const chunk of chunks) {
    // What a short write left over.
    if (left < chunk.length) await file.writeFile(chunk.subarray(left))
    left = Math.max(0, left - chunk.length)
  }
}

/** Folder -> what of it may be filled before its disk is looked at again. */
const rooms = new Map<string, { readonly until: number; left: number }>()

/**
 * Whether there is room for so many bytes in a scratch file. What may still be broken off leaves the last of the disk for what has
 * arrived, so that strangers who send large messages without end keep no other mail out.
 *
 * @throws ENOSPC, as a full disk does; within `disk`
 */
export async function requireRoom(path: string, bytes: number): Promise<void> {
  const folder = dirname(path)
  let room = rooms.get(folder)
  if (room === undefined || room.until < monotonic() || room.left < bytes) {
    const { roomKeptBytes, roomKeptShare, roomMs, roomBytes } = limits.body
    const { bavail, blocks, bsize } = await statfs(folder)
    const left = bavail * bsize - Math.min(roomKeptBytes, blocks * bsize * roomKeptShare)
    room = { until: monotonic() + roomMs, left: Math.min(left, Math.max(roomBytes, bytes)) }
    rooms.set(folder, room)
  }
  if (room.left < bytes) throw Object.assign(new Error('the disk is nearly full'), { code: 'ENOSPC', syscall: 'write' })
  room.left -= bytes
}

/** Into `into` where it is large enough. */
export function readFile(file: FileHandle, start: number, end: number, into?: Buffer): Buffer {
  const length = Math.max(0, end - start)
  const bytes = into !== undefined && into.length >= length ? into.subarray(0, length) : Buffer.allocUnsafe(length)
  for (let filled = 0; filled < bytes.length; ) {
    const count = readSync(file.fd, bytes, filled, bytes.length - filled, start + filled)
    if (count === 0) throw new Error('a scratch file is cut short')
    filled += count
  }
  return bytes
}

/**
 * Errors of the file system as what they mean to a sender.
 *
 * @param line tells the operator
 */
export async function disk<T>(task: () => Promise<T>, line?: RecurringLine): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (error instanceof Fault || (error as NodeJS.ErrnoException).syscall === undefined) throw error
    line?.met({ error })
    throw new Fault('StorageUnavailable', { cause: error })
  }
}
