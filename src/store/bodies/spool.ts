// Bytes that are looked through before they are acted upon, in a scratch file: a restart removes what was left.

import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { limits } from '#lib/limits.ts'
import { BodyFiles } from './files.ts'
import { disk, requireRoom } from './spill.ts'

export class Spool {
  readonly #path: string
  readonly #file: FileHandle

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /** Writes all of `chunks`. @throws Fault StorageUnavailable */
  static async fill(dataDir: string, chunks: AsyncIterable<Uint8Array>): Promise<Spool> {
    const path = new BodyFiles(dataDir).scratch()
    const spool = new Spool(path, await disk(() => open(path, 'wx+', 0o600)))
    try {
      for await (const chunk of chunks) {
        await disk(async () => {
          await requireRoom(path, chunk.byteLength)
          await spool.#file.writeFile(chunk)
        })
      }
      return spool
    } catch (error) {
      await spool.close()
      throw error
    }
  }

  /** All of it, from the beginning. */
  read(): AsyncIterable<Buffer> {
    return createReadStream(this.#path, { highWaterMark: limits.body.chunkBytes })
  }

  async close(): Promise<void> {
    await this.#file.close()
    await rm(this.#path, { force: true })
  }
}
