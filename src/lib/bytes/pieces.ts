// Bytes that come in pieces and are held until somebody wants them.
//
// Promises: what they take stays in proportion to their number, however small the pieces are. One of a single byte takes some
// two hundred, so that who sends a byte at a time would fill the memory within every bound on bytes. Each byte is copied
// limits.net.chunkBytesMin times at most.

import { limits } from '../limits.ts'

export class Pieces {
  #pieces: Buffer[] = []
  #bytes = 0

  /** Bytes held. */
  get bytes(): number {
    return this.#bytes
  }

  /** How many pieces they are in. */
  get count(): number {
    return this.#pieces.length
  }

  /** Takes a piece, which does not change any more. */
  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    const { chunksMax, chunkBytesMin } = limits.net
    const { length } = this.#pieces
    if (length >= chunksMax && length * chunkBytesMin >= this.#bytes)
      this.#pieces = [Buffer.concat(this.#pieces, this.#bytes)]
  }

  /** The first bytes, which are held no longer; undefined where there are none. */
  shift(): Buffer | undefined {
    const piece = this.#pieces.shift()
    this.#bytes -= piece?.length ?? 0
    return piece
  }

  /** All of them in order, which are held no longer. */
  take(): Buffer[] {
    const pieces = this.#pieces
    this.#pieces = []
    this.#bytes = 0
    return pieces
  }

  /** The same as one. */
  whole(): Buffer {
    const bytes = this.#bytes
    const [first, ...others] = this.take()
    if (first === undefined) return Buffer.alloc(0)
    return others.length === 0 ? first : Buffer.concat([first, ...others], bytes)
  }
}
