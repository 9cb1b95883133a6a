// How bytes of bodies are packed: single values, values in chunks that can be read in the middle, and recipes.
//
// Everything here is a format on disk: a codec number keeps its meaning for ever, new ways of packing get new numbers.
// Pure functions of bytes, no file and no database. What was packed comes back with exactly its size or not at all:
// a value that does not unpack to it is damage and throws `DamagedBody`.

import assert from 'node:assert'
import { zstdCompress } from 'node:zlib'
import { compress, decompress, packing } from './zstd.ts'

/** The bytes themselves. */
export const codecRaw = 0
/** One zstd frame. */
export const codecZstd = 1
/** A table and, behind it or in a file, one piece for each chunk of the value: see `ChunkTable`. */
export const codecChunks = 2

/** Shorter values are not worth a frame. */
const packBytesMin = 96

/** Stored bytes are not what was stored. */
export class DamagedBody extends Error {}

export interface Packed {
  readonly codec: number
  readonly data: Uint8Array
}

/** Packs a value that fits in memory several times over, in about 10 µs and 2.5 ms a MB. Good until the next is packed. */
export function pack(value: Uint8Array): Packed {
  if (value.length < packBytesMin) return { codec: codecRaw, data: value }
  const data = compress(value)
  return pays(data.length, value.length) ? { codec: codecZstd, data } : { codec: codecRaw, data: value }
}

/** Takes back what `pack` made of a value of `size` bytes; `into` may be used for it where it has that size. */
export function unpack(codec: number, data: Buffer, size: number, into?: Buffer): Buffer {
  if (codec === codecRaw) return sized(data, size)
  if (codec !== codecZstd) throw new DamagedBody(`codec ${codec} is not one of a single value`)
  return inflate(data, size, into)
}

/** Packs one chunk of a longer value on the thread pool. */
export function packChunk(chunk: Buffer): Promise<{ data: Buffer; raw: boolean }> {
  return new Promise((resolve, reject) => {
    zstdCompress(chunk, packing, (error, data) => {
      if (error) return reject(error)
      resolve(pays(data.length, chunk.length) ? { data, raw: false } : { data: chunk, raw: true })
    })
  })
}

function pays(packed: number, length: number): boolean {
  return packed < length - (length >> 5)
}

function inflate(data: Buffer, size: number, into?: Buffer): Buffer {
  if (size === 0) return Buffer.alloc(0)
  let value: Buffer
  try {
    value = decompress(data, size, into)
  } catch (error) {
    throw new DamagedBody('a packed value does not unpack', { cause: error })
  }
  return sized(value, size)
}

function sized(value: Buffer, size: number): Buffer {
  if (value.length !== size) throw new DamagedBody(`${value.length} bytes where ${size} were stored`)
  return value
}

export interface Piece {
  /** Where it starts among the pieces. */
  readonly offset: number
  readonly length: number
  /** Kept as it was, since packing did not pay. */
  readonly raw: boolean
  /** Bytes of the value it holds. */
  readonly size: number
}

/**
 * Where the pieces of a chunked value are. On disk, all 32-bit little-endian: bytes of the value in a piece, then for
 * each piece its stored length, with the top bit set where it is raw.
 */
export class ChunkTable {
  readonly chunkBytes: number
  /** Bytes of the table itself. */
  readonly bytes: number
  /** Bytes of all pieces. */
  readonly stored: number
  readonly #pieces: readonly Piece[]

  /** Reads the table at the start of `data` for a value of `size` bytes. */
  constructor(data: Buffer, size: number) {
    if (data.length < 4) throw new DamagedBody('a chunk table is cut short')
    this.chunkBytes = data.readUInt32LE(0)
    const count = this.chunkBytes === 0 ? 0 : Math.ceil(size / this.chunkBytes)
    this.bytes = 4 + 4 * count
    if (count === 0 || data.length < this.bytes) throw new DamagedBody('a chunk table is cut short')
    const pieces: Piece[] = []
    let offset = 0
    for (let index = 0; index < count; index++) {
      const word = data.readUInt32LE(4 + 4 * index)
      const length = word % 0x80000000
      const left = Math.min(this.chunkBytes, size - index * this.chunkBytes)
      pieces.push({ offset, length, raw: word >= 0x80000000, size: left })
      offset += length
    }
    this.#pieces = pieces
    this.stored = offset
  }

  /** The piece that holds byte `at` of the value, and where in the value it starts. */
  pieceOf(at: number): { piece: Piece; start: number } {
    const index = Math.floor(at / this.chunkBytes)
    const piece = this.#pieces[index]
    assert(piece !== undefined)
    return { piece, start: index * this.chunkBytes }
  }
}

/** The table of pieces with these stored lengths. */
export function encodeTable(chunkBytes: number, pieces: readonly { length: number; raw: boolean }[]): Buffer {
  const table = Buffer.allocUnsafe(4 + 4 * pieces.length)
  table.writeUInt32LE(chunkBytes, 0)
  for (const [index, piece] of pieces.entries()) {
    assert(piece.length < 0x80000000)
    table.writeUInt32LE(piece.length + (piece.raw ? 0x80000000 : 0), 4 + 4 * index)
  }
  return table
}

/** Takes back one piece. */
export function unpackPiece(piece: Piece, data: Buffer): Buffer {
  return piece.raw ? sized(data, piece.size) : inflate(data, piece.size)
}

/** How base64 is broken into lines; the last line may be shorter and has no line end. */
export interface Lines {
  /** Characters of a line, a multiple of four. */
  readonly width: number
  /** Bytes of a line end: 2 for CRLF, 1 for LF. */
  readonly ending: 1 | 2
}

/** A stretch of the message that is stored as a part. */
export interface Span {
  /** Bytes of the skeleton before it. */
  readonly before: number
  /** Bytes it takes in the message. */
  readonly length: number
  /** Set where the part is stored decoded from base64. */
  readonly lines: Lines | null
}

/**
 * A recipe on disk: for each span three numbers, seven bits a byte, lowest first: `before`, `length`, and 0 for bytes
 * as they are, or `width / 4 * 2` plus 1 for CRLF.
 */
export function encodeRecipe(spans: readonly Span[]): Buffer {
  const bytes: number[] = []
  for (const { before, length, lines } of spans) {
    for (let value of [before, length, lines === null ? 0 : (lines.width / 4) * 2 + lines.ending - 1]) {
      for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128)
      bytes.push(value)
    }
  }
  return Buffer.from(bytes)
}

/** The spans of a recipe. */
export function decodeRecipe(recipe: Uint8Array): Span[] {
  const numbers: number[] = []
  let value = 0
  let factor = 1
  for (const byte of recipe) {
    value += (byte % 128) * factor
    factor *= 128
    if (byte > 127) continue
    numbers.push(value)
    value = 0
    factor = 1
  }
  if (factor !== 1 || numbers.length % 3 !== 0) throw new DamagedBody('a recipe is cut short')
  const spans: Span[] = []
  for (let index = 0; index < numbers.length; index += 3) {
    const [before = 0, length = 0, form = 0] = numbers.slice(index, index + 3)
    const lines: Lines | null = form === 0 ? null : { width: Math.floor(form / 2) * 4, ending: form % 2 === 1 ? 2 : 1 }
    spans.push({ before, length, lines })
  }
  return spans
}
