// The header block that is being read, gathered from chunks.
//
// Promises: keeps limits.mime.headerBytesMax of one block and limits.mime.headersBytesMax of all of a message together;
// what is beyond is dropped. With `shared` a block that comes in one piece is a view of it, else always a copy.

import { limits } from '#lib/limits.ts'

/** What is taken for a block at first where it comes in pieces. */
const firstBytes = 2048

export class HeaderKeeper {
  readonly #shared: boolean
  #left: number = limits.mime.headersBytesMax
  #block: Buffer | null = null
  #length = 0

  constructor(shared: boolean) {
    this.#shared = shared
  }

  /** Adds bytes `from` to `to` (exclusive) of `buffer`. */
  keep(buffer: Buffer, from: number, to: number): void {
    const length = Math.min(to - from, Math.min(limits.mime.headerBytesMax, this.#left) - this.#length)
    if (length <= 0) return
    if (this.#block === null && this.#shared) this.#block = buffer.subarray(from, from + length)
    else buffer.copy(this.#room(length), this.#length, from, from + length)
    this.#length += length
  }

  /** The block, null where nothing was kept, and starts the next. */
  take(): Buffer | null {
    if (this.#length === 0) return null
    const block = this.#block as Buffer
    const kept = block.length === this.#length ? block : block.subarray(0, this.#length)
    this.#left -= this.#length
    this.#length = 0
    if (!this.#shared) return Buffer.from(kept) // the room is used again
    this.#block = null
    return kept
  }

  #room(length: number): Buffer {
    const needed = this.#length + length
    if (this.#block !== null && !this.#shared && this.#block.length >= needed) return this.#block
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#length, firstBytes))
    this.#block?.copy(grown, 0, 0, this.#length)
    this.#block = grown
    return grown
  }
}
