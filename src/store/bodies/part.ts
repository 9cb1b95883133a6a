// Reading a part of bodies: whole, a range, a stream, piece by piece where it is large.
//
// Its pieces lie behind the table in its row, in a file, or in an object of a store. One piece is held at a time, of an object
// some that follow each other. Where they are carried from the row to an object or back meanwhile (objects/carry.ts), its row
// is read again.

import { type FileHandle, open } from 'node:fs/promises'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { bytesOf } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { type BodyFiles, fileName } from './files.ts'
import { ChunkTable, codecChunks, DamagedBody, type Piece, unpack, unpackPiece } from './format/codec.ts'
import { ObjectPieces, objectName } from './objects/parts.ts'
import { parts, type StoredPart } from './writes.ts'

/** What is asked of its row. */
export const partColumns = ['num', 'hash', 'size', 'codec', 'file', 'stored'] as const

export type PartColumns = Pick<StoredPart, (typeof partColumns)[number]>

/** Its pieces are not where they were when its row was read. */
class Moved extends Error {}

const rowText = `SELECT ${parts.listOf(undefined, partColumns)} FROM part WHERE num = ? AND hash = ?`

/** A part as it was found when the body was opened. */
export class Part {
  readonly size: number
  readonly #read: Reader
  readonly #files: BodyFiles
  #row: PartColumns

  constructor(read: Reader, files: BodyFiles, row: PartColumns) {
    this.size = row.size
    this.#read = read
    this.#files = files
    this.#row = row
  }

  /** Where it was found last. */
  get row(): PartColumns {
    return this.#row
  }

  /** Whether its pieces are behind the table in the row, and too much to be read for one of them. */
  get isLong(): boolean {
    const { codec, file, stored } = this.#row
    return file === 0 && codec === codecChunks && stored > limits.body.inlineBytesMax
  }

  /** The whole value; only for parts that were no file. */
  value(): Promise<Buffer> {
    const own = this.#own()
    return own.whereItIs(() => own.#value())
  }

  async #value(): Promise<Buffer> {
    const { codec, size, file } = this.#row
    if (file === 1) return await this.open().whole()
    const data = await this.#bytes('data')
    if (codec !== codecChunks) return unpack(codec, data, size)
    const table = new ChunkTable(data, size)
    const pieces: Buffer[] = []
    for (let at = 0; at < size; at += table.chunkBytes) {
      const { piece } = table.pieceOf(at)
      pieces.push(unpackPiece(piece, slice(data, table.bytes + piece.offset, piece.length)))
    }
    return Buffer.concat(pieces, size)
  }

  async *stream(from: number, to: number): AsyncGenerator<Buffer> {
    const { chunkBytes } = limits.body
    const cursor = this.open()
    try {
      for (let at = from; at < to; at += chunkBytes) yield await cursor.read(at, Math.min(to, at + chunkBytes))
    } finally {
      await cursor.close()
    }
  }

  /**
   * Does it again where the pieces were carried elsewhere meanwhile. An object that they were in stays there for days, but may be gone
   * since, and its row name another.
   */
  async whereItIs<Value>(task: () => Promise<Value>): Promise<Value> {
    for (let again = false; ; ) {
      try {
        return await task()
      } catch (error) {
        const moved = error instanceof Moved
        if (!moved && (again || !this.#isGone(error))) throw error
        again ||= !moved
      }
      const row = await this.#read.one<PartColumns>(rowText, this.#row.num, this.#row.hash)
      if (row === undefined) throw new Fault('MessageNotFound')
      this.#row = row
    }
  }

  /** Whether it is said of an object that it is not there. */
  #isGone(error: unknown): boolean {
    const isObject = this.#row.file === 1 && this.#files.objects !== undefined
    return isObject && error instanceof Fault && error.code === 'MessageNotFound'
  }

  /** For one who goes through it: what another finds on the way changes nothing here. */
  #own(): Part {
    return new Part(this.#read, this.#files, this.#row)
  }

  /** See Body.prove. */
  prove(proven: Set<string>): Promise<void> {
    const own = this.#own()
    return own.whereItIs(() => own.#prove(proven))
  }

  async #prove(proven: Set<string>): Promise<void> {
    const data = await this.data()
    const { codec, hash, size } = this.#row
    const file = await this.pieces(data)
    let key = Buffer.from(hash).toString('base64')
    try {
      const table = codec === codecChunks ? new ChunkTable(data, size) : undefined
      if (file instanceof ObjectPieces) {
        // What was put there has the hash that the store was told.
        if (table === undefined || (await file.size()) < table.stored) throw new DamagedBody('a part is cut short')
        return
      }
      const found = await file?.stat()
      const stored = found?.size ?? this.#row.stored - (table?.bytes ?? 0)
      if (table !== undefined && stored < table.stored) throw new DamagedBody('a part is cut short')
      // A file that was written since is another one.
      if (found !== undefined) key += ` ${found.mtimeMs}`
    } finally {
      await file?.close()
    }
    if (proven.has(key)) return
    for await (const _ of this.stream(0, size)) void _
    proven.add(key)
  }

  open(): Cursor {
    return new Cursor(this.#own(), this.#row.codec)
  }

  /** What the row holds; of a long one its table. */
  data(): Promise<Buffer> {
    return this.isLong ? this.stored(0, tableBytesMax) : this.#bytes('data')
  }

  /** Some of the bytes that the row holds. */
  stored(start: number, length: number): Promise<Buffer> {
    return this.#bytes(bytesOf('data', '?', '?'), start + 1, length)
  }

  /** Numbers of parts are used again, so the hash is asked for too. */
  async #bytes(which: string, ...values: number[]): Promise<Buffer> {
    const { num, hash, file } = this.#row
    const text = `SELECT ${which} AS data, file FROM part WHERE num = ? AND hash = ?`
    const row = await this.#read.one<{ data: Buffer; file: number }>(text, ...values, num, hash)
    if (row === undefined) throw new Fault('MessageNotFound')
    if (row.file !== file) throw new Moved()
    return row.data
  }

  /** What has the pieces, or null where they are behind the table. */
  async pieces(table: Buffer): Promise<FileHandle | ObjectPieces | null> {
    if (this.#row.file === 0) return null
    const { objects } = this.#files
    if (objects !== undefined) {
      return new ObjectPieces(objects, objectName(this.#row.hash, table), this.#row.stored)
    }
    try {
      return await open(this.#files.pathOf(fileName(this.#row.hash, table)), 'r')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new Fault('MessageNotFound', { cause: error })
      throw error
    }
  }

  unpack(data: Buffer): Buffer {
    return unpack(this.#row.codec, data, this.size)
  }
}

const nothing = Buffer.alloc(0)

/** A table has four bytes for each piece. */
const tableBytesMax = 64 * 1024

/** Reads ranges of a part's value, best in rising order: it keeps the piece it read last. */
export class Cursor {
  readonly #part: Part
  readonly #chunked: boolean
  #table: ChunkTable | null = null
  #data: Buffer | null = null
  /** As of when the table was read. */
  #row: PartColumns | null = null
  #file: FileHandle | ObjectPieces | null = null
  #last: { start: number; value: Buffer } | null = null
  #into: Buffer = nothing

  constructor(part: Part, codec: number) {
    this.#part = part
    this.#chunked = codec === codecChunks
  }

  async read(start: number, end: number): Promise<Buffer> {
    if (end <= start) return Buffer.alloc(0)
    const pieces: Buffer[] = []
    for (let at = start; at < end; ) {
      const piece = await this.#pieceAt(at)
      const taken = piece.value.subarray(at - piece.start, end - piece.start)
      pieces.push(taken)
      at += taken.length
    }
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }

  /** All of it. */
  async whole(): Promise<Buffer> {
    try {
      return await this.read(0, this.#part.size)
    } finally {
      await this.close()
    }
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = null
  }

  async #pieceAt(at: number): Promise<{ start: number; value: Buffer }> {
    const last = this.#last
    if (last !== null && at >= last.start && at < last.start + last.value.length) return last
    return await this.#part.whereItIs(() => this.#pieceThere(at))
  }

  async #pieceThere(at: number): Promise<{ start: number; value: Buffer }> {
    // Of another moment, where its pieces were elsewhere.
    if (this.#data !== null && this.#part.row !== this.#row) {
      await this.close()
      this.#data = null
    }
    if (this.#data === null) {
      this.#row = this.#part.row
      this.#data = await this.#part.data()
      if (this.#chunked) this.#table = new ChunkTable(this.#data, this.#part.size)
      this.#file = await this.#part.pieces(this.#data)
    }
    if (this.#table === null) this.#last = { start: 0, value: this.#part.unpack(this.#data) }
    else {
      const { piece, start } = this.#table.pieceOf(at)
      this.#last = { start, value: unpackPiece(piece, await this.#stored(this.#table, this.#data, piece)) }
    }
    return this.#last
  }

  async #stored(table: ChunkTable, data: Buffer, piece: Piece): Promise<Buffer> {
    if (this.#part.isLong)
      return slice(await this.#part.stored(table.bytes + piece.offset, piece.length), 0, piece.length)
    if (this.#file === null) return slice(data, table.bytes + piece.offset, piece.length)
    if (this.#file instanceof ObjectPieces) return await this.#file.read(piece.offset, piece.length)
    // A raw piece goes out as it is; what a packed one was read into can be used again.
    if (piece.raw || this.#into.length < piece.length) this.#into = Buffer.allocUnsafeSlow(piece.length)
    const stored = this.#into.subarray(0, piece.length)
    if (piece.raw) this.#into = nothing
    for (let filled = 0; filled < stored.length; ) {
      const { bytesRead } = await this.#file.read(stored, filled, stored.length - filled, piece.offset + filled)
      if (bytesRead === 0) throw new DamagedBody('a file of a part is cut short')
      filled += bytesRead
    }
    return stored
  }
}

function slice(data: Buffer, start: number, length: number): Buffer {
  if (start + length > data.length) throw new DamagedBody('a row of a part is cut short')
  return data.subarray(start, start + length)
}
