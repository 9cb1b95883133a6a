// Messages too large for memory on their way in: a scratch file each, read back while the message is cut into parts.
//
// Whoever opens one closes it; what a crash leaves in scratch is removed at the next start.

import { readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Fault } from '#lib/fault.ts'
import type { RecurringLine } from '#lib/journal/recurring-line.ts'
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
