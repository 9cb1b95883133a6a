// zstd for values of some KB, thousands a second: one context a thread for each direction, used again for every value.
//
// The library's one-call functions make a stream and a context for each call, which takes several times zstd's own time
// (bench/NOTES.md, Packing). What is used again is the handle inside the library's stream, which is not documented: a form
// other than the known one, or a first value that does not come back, falls back to the one-call functions for good. The
// frames are the same either way. Values above `reusedMax` always take those, so that a context never grows beyond them.

import { constants, createZstdCompress, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/**
 * Level 1: level 3 takes half as long again for 1 to 3% (bench/bodies.ts). Matches of seven bytes instead of six: 10 to 14%
 * less time for 1 to 2% more bytes (real mail 49.4 instead of 48.9% of its size). A checksum of four bytes tells who reads a
 * frame that a bit of it was turned: frames of old have none.
 */
export const packing = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_minMatch]: 7,
    [constants.ZSTD_c_checksumFlag]: 1,
  },
}

/** Longest value that a context is used again for: one block of zstd. */
const reusedMax = 128 * 1024

/** Smallest output buffer the library takes. */
const outputBytesMin = 64

/** What the library's streams hold inside. */
interface Inside {
  readonly _handle?: {
    writeSync(
      flush: number,
      input: Uint8Array,
      inputAt: number,
      inputLength: number,
      output: Uint8Array,
      outputAt: number,
      outputLength: number,
    ): void
  } | null
  /** Room left in the output, bytes left of the input. */
  readonly _writeState?: Uint32Array
}

/** A context that takes one value after the other; null while there is none. */
class Context {
  readonly #make: () => Inside
  #inside: Inside | null = null

  constructor(make: () => Inside) {
    this.#make = make
  }

  /** Bytes written to `output`; undefined where the input is no whole frame that fits, or there is no such context. */
  run(input: Uint8Array, output: Uint8Array): number | undefined {
    this.#inside ??= this.#make()
    const { _handle: handle, _writeState: state } = this.#inside
    if (typeof handle?.writeSync !== 'function' || !(state instanceof Uint32Array)) return undefined
    handle.writeSync(constants.ZSTD_e_end, input, 0, input.length, output, 0, output.length)
    const [room = 0, left = 0] = state
    // A context that met an error is closed, and one that is not at the end of a frame must not be used again.
    if (this.#inside._handle === handle && left === 0) return output.length - room
    this.#inside = null
    return undefined
  }

  drop(): void {
    this.#inside = null
  }
}

const unpacker = new Context(() => inside(createZstdDecompress()))
const packer = new Context(() => inside(createZstdCompress(packing)))
let scratch: Buffer | undefined
let trusted: boolean | undefined

/** One frame that holds `value`; it is good until the next value is packed. */
export function compress(value: Uint8Array): Buffer {
  if (value.length > reusedMax || !isTrusted()) return zstdCompressSync(value, packing)
  return compressAgain(value) ?? zstdCompressSync(value, packing)
}

/**
 * The value of `size` bytes, more than none, that a frame holds, in `into` where that is given and has that size.
 *
 * @throws where the frame is damaged; a shorter value comes back as it is
 */
export function decompress(frame: Uint8Array, size: number, into?: Buffer): Buffer {
  // What was cut at its end unpacks all the same, but for its checksum.
  if (!isFrame(frame)) throw new Error('it is no whole frame')
  if (size <= reusedMax && isTrusted()) {
    const value = decompressAgain(frame, size, into)
    if (value !== undefined) return value
  }
  // One buffer of the right size instead of the library's own chunks. It also tells what is wrong with a damaged frame.
  return zstdDecompressSync(frame, { maxOutputLength: size, chunkSize: Math.max(size, outputBytesMin) })
}

function compressAgain(value: Uint8Array): Buffer | undefined {
  // ZSTD_compressBound: what does not get smaller grows by so much at most.
  scratch ??= Buffer.allocUnsafeSlow(reusedMax + (reusedMax >> 8) + outputBytesMin)
  const length = packer.run(value, scratch)
  if (length === undefined || length >= scratch.length) return undefined
  return scratch.subarray(0, length)
}

function decompressAgain(frame: Uint8Array, size: number, into?: Buffer): Buffer | undefined {
  const value = into?.length === size ? into : Buffer.allocUnsafe(size)
  if (unpacker.run(frame, value) === size) return value
  unpacker.drop()
  return undefined
}

/** Whether `data` is one frame from its first byte to its last (RFC 8878 3.1.1): a piece of one would stay in the context. */
function isFrame(data: Uint8Array): boolean {
  if (data.length < 6 || data[0] !== 0x28 || data[1] !== 0xb5 || data[2] !== 0x2f || data[3] !== 0xfd) return false
  const descriptor = data[4] ?? 0
  const oneSegment = (descriptor & 0x20) !== 0
  const contentSize = [oneSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0
  let at = 5 + (oneSegment ? 0 : 1) + dictionary + contentSize
  for (let last = false; !last; ) {
    if (at + 3 > data.length) return false
    const header = (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16)
    last = (header & 1) === 1
    const repeated = ((header >> 1) & 3) === 1
    at += 3 + (repeated ? 1 : header >> 3)
  }
  return at + ((descriptor & 4) === 0 ? 0 : 4) === data.length
}

/** Whether contexts can be used again here, found out once. */
function isTrusted(): boolean {
  trusted ??= triesWell()
  return trusted
}

function triesWell(): boolean {
  for (let length = 1; length <= 10_000; length *= 10) {
    const value = Buffer.alloc(length, `value ${length} `)
    const frame = compressAgain(value)
    if (frame === undefined || !zstdDecompressSync(frame).equals(value)) return false
    if (decompressAgain(frame, length)?.equals(value) !== true) return false
  }
  return true
}

function inside(stream: { on(event: 'error', listener: () => void): unknown }): Inside {
  // An error is told twice: by the state after the call, and by this event later.
  stream.on('error', () => {})
  return stream as Inside
}
