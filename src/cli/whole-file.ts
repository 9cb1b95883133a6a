// Files that commands write for their owner: there whole or not at all, and for him alone, since they hold hashes, seeds and mail.
//
// The folder may be one that others write to: what is written goes to a name that nobody knows before and nobody else has made, and
// what stands at the wanted name is replaced, never followed. What a kill left goes with a later file of that name.

import { createWriteStream } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { now } from '#lib/clock.ts'
import { isId, newId } from '#lib/id.ts'
import { syncPath } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'

const end = '.part'

/**
 * Writes all of `bytes` to `file`; what is a device, as /dev/stdout, is written to as it comes.
 *
 * @returns how many bytes
 * @throws the error of the system, which names the file
 */
export async function wholeFile(file: string, bytes: AsyncIterable<Buffer>): Promise<number> {
  const straight = file.startsWith('/dev/')
  if (!straight) await removeLeft(file)
  const fresh = straight ? file : `${file}.${newId()}${end}`
  const out = createWriteStream(fresh, straight ? {} : { flags: 'wx', mode: 0o600, flush: true })
  try {
    await pipeline(bytes, out)
    if (!straight) {
      await rename(fresh, file)
      syncPath(dirname(file))
    }
    return out.bytesWritten
  } catch (error) {
    if (!straight) await rm(fresh, { force: true })
    const { syscall = '' } = error as NodeJS.ErrnoException
    // Of what cannot be written the system names no file, and the one that cannot be made is nobody's.
    throw /^(open|write|fsync)/.test(syscall) ? Object.assign(error as Error, { path: file }) : error
  }
}

/** Removes what somebody who was killed had begun for this file. */
async function removeLeft(file: string): Promise<void> {
  const folder = dirname(file)
  const begin = `${basename(file)}.`
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(begin) || !name.endsWith(end) || !isId(name.slice(begin.length, -end.length))) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && now() - found.mtimeMs > limits.body.copyMs) await rm(path, { force: true })
  }
}
