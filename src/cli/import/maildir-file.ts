// Reading the files of a Maildir: which hold mail, and what.
//
// Only regular files are opened, never through a link and never waiting for a pipe. Small ones are read into one buffer
// that is used again for the next, at once and not by the thread pool, which costs several times as much for a file that
// is in memory already; whoever reads serves nobody meanwhile. Where the disk turns out to be slow, the next files are
// fetched side by side before their turn comes. Large ones are streamed.

import { closeSync, constants, lstatSync, openSync, readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { mendPlain } from '#mail/mime/line-end.ts'
import { onDisk, readable } from './disk-name.ts'

const { transfer, body } = limits

const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/** A message as it is sent to the service, which puts right what line ends are not right yet. */
export interface MailFile {
  readonly size: number
  /** A buffer is worth something until the next file is read. */
  readonly content: Buffer | (() => AsyncIterable<Buffer>)
  /** Time of the file, milliseconds. */
  readonly changed: number
}

/** What is wrong with a file: `odd` holds no mail, `lost` holds some that cannot be had. */
export type NoMail = { readonly odd: string } | { readonly lost: string }

export class MailFiles {
  readonly #buffer = Buffer.allocUnsafeSlow(transfer.wholeBytesMax + 1)
  /** What a file took lately, milliseconds. */
  #lately = 0
  #slow = false

  /** Reads files one after the other, in order. */
  async *read<Named extends { readonly file: string }>(
    all: readonly Named[],
  ): AsyncGenerator<readonly [Named, MailFile | NoMail]> {
    for (let at = 0; at < all.length; at += transfer.readingMax) {
      const some = all.slice(at, at + transfer.readingMax)
      let began = monotonic()
      if (this.#slow) await Promise.all(some.map(({ file }) => fetched(file)))
      let took = monotonic() - began
      for (const named of some) {
        began = monotonic()
        const read = this.#readNow(named.file)
        took += monotonic() - began
        yield [named, read === 'large' ? await streamed(named.file) : read]
      }
      this.#lately += (took / some.length - this.#lately) / 16
      this.#slow = this.#lately > transfer.slowFileMs / (this.#slow ? 4 : 1)
    }
  }

  #readNow(file: string): MailFile | NoMail | 'large' {
    let handle: number | undefined
    try {
      const found = lstatSync(onDisk(file))
      if (!found.isFile()) return { odd: 'is no regular file' }
      if (found.size === 0) return { odd: 'is empty' }
      if (found.size > body.messageBytesMax) return { lost: 'is larger than a message may be' }
      if (found.size > transfer.wholeBytesMax) return 'large'
      handle = openSync(onDisk(file), flags)
      let size = 0
      for (let count = -1; count !== 0 && size < this.#buffer.length; size += count) {
        count = readSync(handle, this.#buffer, size, this.#buffer.length - size, null)
      }
      if (size > transfer.wholeBytesMax) return 'large'
      if (size === 0) return { odd: 'is empty' }
      const content = mendPlain(this.#buffer.subarray(0, size))
      return { size: content.length, content, changed: found.mtimeMs }
    } catch (error) {
      return lost(error)
    } finally {
      if (handle !== undefined) closeSync(handle)
    }
  }
}

/** Has the operating system fetch a file. What is wrong with it shows when it is read. */
async function fetched(file: string): Promise<void> {
  try {
    if (!lstatSync(onDisk(file)).isFile()) return
    const handle = await open(onDisk(file), flags)
    try {
      await handle.read(Buffer.allocUnsafe(transfer.fetchBytes), 0, transfer.fetchBytes, 0)
    } finally {
      await handle.close()
    }
  } catch {}
}

/** A large message: looked at for its size, and read when it is sent. */
async function streamed(file: string): Promise<MailFile | NoMail> {
  try {
    const handle = await open(onDisk(file), flags)
    try {
      const { mtimeMs: changed, size } = await handle.stat()
      return { size, changed, content: () => again(file, size) }
    } finally {
      await handle.close()
    }
  } catch (error) {
    return lost(error)
  }
}

async function* again(file: string, size: number): AsyncGenerator<Buffer> {
  const handle = await open(onDisk(file), flags)
  let sent = 0
  for await (const piece of handle.createReadStream({ highWaterMark: body.chunkBytes })) {
    sent += piece.length
    yield piece
  }
  if (sent !== size)
    throw new Fault('InputValidationError', { text: `${readable(file)} was changed while it was read` })
}

function lost(error: unknown): NoMail {
  const { code = '' } = error as NodeJS.ErrnoException
  // Another program has moved it meanwhile: the next run finds it.
  return { lost: code === 'ENOENT' ? 'has gone' : `cannot be read (${code || String(error)})` }
}
