// A socket whose two directions are compressed (RFC 4978): what is written goes out as raw DEFLATE, flushed with each
// write, what comes in is inflated.
//
// Promises: back-pressure passes through both ways, so a small input that inflates to a large one is inflated only as far
// as somebody reads; a broken stream destroys the connection. Small windows outwards keep a session cheap.

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { constants, createDeflateRaw, createInflateRaw } from 'node:zlib'

/** A tenth of the memory of the library's defaults (bench/NOTES.md, Memory). */
const outwards = { windowBits: 12, memLevel: 5, level: 3 }

type Done = (error?: Error | null) => void

export class DeflateSocket extends Duplex {
  readonly #socket: Socket
  /** A peer that ends the connection without ending its stream has said all the same. */
  readonly #inflate = createInflateRaw({ finishFlush: constants.Z_SYNC_FLUSH })
  readonly #deflate = createDeflateRaw(outwards)

  /** @param early compressed bytes that came before anybody listened */
  constructor(socket: Socket, early: Buffer) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    const fail = () => this.destroy()
    this.#inflate.on('data', chunk => {
      if (!this.push(chunk)) this.#inflate.pause()
    })
    this.#inflate.on('end', () => this.push(null))
    this.#inflate.on('error', fail)
    this.#deflate.on('data', chunk => {
      if (!socket.write(chunk)) this.#deflate.pause()
    })
    this.#deflate.on('error', fail)
    socket.on('drain', () => this.#deflate.resume())
    socket.on('error', fail)
    socket.on('close', fail)
    if (early.length > 0) this.#inflate.write(early)
    // The end of input passes through, too: what came last is inflated after the peer has ended.
    socket.pipe(this.#inflate)
  }

  override _read(): void {
    this.#inflate.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#deflate.write(chunk)
    this.#deflate.flush(constants.Z_SYNC_FLUSH, () => done())
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    for (const { chunk } of chunks) this.#deflate.write(chunk)
    this.#deflate.flush(constants.Z_SYNC_FLUSH, () => done())
  }

  override _final(done: Done): void {
    this.#deflate.once('end', () => {
      this.#socket.end()
      done()
    })
    this.#deflate.end()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.unpipe(this.#inflate)
    this.#inflate.destroy()
    this.#deflate.destroy()
    this.#socket.destroy()
    done(error)
  }
}
