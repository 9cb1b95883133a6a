// Reading a body: whole, a range, a stream, or one attachment without its base64.
//
// A small body is put together once when it is opened and then read without waiting. A larger one is a map of stretches;
// a stream holds one piece of one part at a time, so memory does not grow with the message. What was found when it was
// opened stays readable for limits.body.fileGraceMs even if the last message that carries it is expunged meanwhile, as
// far as it lies in files; a row that went is `MessageNotFound`, bytes that are not what was stored are `DamagedBody`.

import assert from 'node:assert'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '../engine/reader.ts'
import { type BodyFiles, fileName, hashInName } from './files.ts'
import { encodeLines, lineEndsAtEnd } from './format/base64.ts'
import { DamagedBody, decodeRecipe, type Lines, unpack } from './format/codec.ts'
import { Part, type PartColumns, partColumns } from './part.ts'
import { bodies, parts, type StoredBody } from './writes.ts'

/** An attachment without its transfer encoding. */
export interface Attachment {
  /** Bytes of the decoded content. */
  readonly size: number
  stream(start?: number, end?: number): AsyncIterable<Buffer>
}

interface Stretch {
  /** In the message. */
  readonly start: number
  readonly end: number
  /** Where its bytes start in the skeleton, or the part that holds them. */
  readonly at: number | Part
  readonly lines: Lines | null
}

const bodyColumns = ['size', 'codec', 'recipe', 'skeleton'] as const

const bodyText = `SELECT ${bodies.listOf(undefined, bodyColumns)} FROM body WHERE num = ?`
const partsText = `SELECT ${parts.listOf('p', partColumns)} FROM body_part b JOIN part p ON p.num = b.part
  WHERE b.body = ? ORDER BY b.seq`

/**
 * Opens the body with this number.
 *
 * @throws Fault MessageNotFound where there is none
 */
export async function readBody(read: Reader, files: BodyFiles, num: number): Promise<Body> {
  const row = await read.one<Pick<StoredBody, (typeof bodyColumns)[number]>>(bodyText, num)
  if (row === undefined) throw new Fault('MessageNotFound')
  if (row.recipe === null) return new Body(row.size, unpack(row.codec, row.skeleton, row.size), null)
  const spans = decodeRecipe(row.recipe)
  const rows = await read.all<PartColumns>(partsText, num)
  if (rows.length !== spans.length) throw new Fault('MessageNotFound')
  const stretches: Stretch[] = []
  let at = 0
  let literal = 0
  const addLiteral = (length: number) => {
    if (length > 0) stretches.push({ start: at, end: at + length, at: literal, lines: null })
    at += length
    literal += length
  }
  for (const [index, span] of spans.entries()) {
    addLiteral(span.before)
    const part = new Part(read, files, rows[index] as PartColumns)
    stretches.push({ start: at, end: at + span.length, at: part, lines: span.lines })
    at += span.length
  }
  addLiteral(row.size - at)
  const body = new Body(row.size, unpack(row.codec, row.skeleton, literal), stretches)
  const small = row.size <= limits.body.wholeBytesMax && rows.every(part => part.file === 0)
  return small ? await body.whole() : body
}

/** The value of one part. */
export function streamPart(read: Reader, files: BodyFiles, row: PartColumns): AsyncGenerator<Buffer> {
  return new Part(read, files, row).stream(0, row.size)
}

/** Whether a row names this file. */
export async function isNamed(read: Reader, name: string): Promise<boolean> {
  const hash = hashInName(name)
  const row = await read.one<{ data: Buffer }>('SELECT data FROM part WHERE hash = ? AND file = 1', hash)
  return row !== undefined && fileName(hash, row.data) === name
}

export class Body {
  readonly size: number
  readonly #skeleton: Buffer
  /** Null where the skeleton is the message. */
  readonly #stretches: readonly Stretch[] | null

  constructor(size: number, skeleton: Buffer, stretches: readonly Stretch[] | null) {
    this.size = size
    this.#skeleton = skeleton
    this.#stretches = stretches
  }

  /** Whether `read` answers at once. */
  get inMemory(): boolean {
    return this.#stretches === null
  }

  /** Bytes from `start` to `end`, clipped to the body; a promise where the body is large. Do not change them. */
  read(start = 0, end = this.size): Buffer | Promise<Buffer> {
    if (this.#stretches === null) {
      if (start <= 0 && end >= this.size) return this.#skeleton
      return this.#skeleton.subarray(Math.max(0, start), Math.max(0, end))
    }
    return this.#collect(start, end)
  }

  /** The same as a stream of buffers of at most limits.body.chunkBytes. */
  async *stream(start = 0, end = this.size): AsyncGenerator<Buffer> {
    const { chunkBytes } = limits.body
    const from = Math.max(0, start)
    const to = Math.min(this.size, end)
    if (this.#stretches === null) {
      for (let at = from; at < to; at += chunkBytes) yield this.#skeleton.subarray(at, Math.min(to, at + chunkBytes))
      return
    }
    for (const stretch of this.#stretches) {
      const first = Math.max(from, stretch.start) - stretch.start
      const last = Math.min(to, stretch.end) - stretch.start
      if (first >= last) continue
      const { at, lines } = stretch
      if (typeof at === 'number') yield this.#skeleton.subarray(at + first, at + last)
      else if (lines === null) yield* at.stream(first, last)
      else yield* encoded(at, lines, first, last)
    }
  }

  /**
   * The content of the leaf whose body runs from `start` to `end` in the message, where it is stored decoded; otherwise
   * null, and the caller decodes what `stream` gives.
   */
  attachment(start: number, end: number): Attachment | null {
    const stretch = this.#stretches?.find(one => one.start === start)
    if (stretch?.lines == null || typeof stretch.at === 'number') return null
    if (stretch.end !== end && !this.#onlyLineEnds(stretch.end, end)) return null
    const part = stretch.at
    return {
      size: part.size,
      stream: (from = 0, to = part.size) => part.stream(Math.max(0, from), Math.min(part.size, to)),
    }
  }

  /** This body with its bytes in memory. */
  async whole(): Promise<Body> {
    assert(this.#stretches !== null)
    const pieces: Buffer[] = []
    for (const { start, end, at, lines } of this.#stretches) {
      if (typeof at === 'number') {
        pieces.push(this.#skeleton.subarray(at, at + end - start))
        continue
      }
      const value = await at.value()
      const piece = lines === null ? value : encodeLines(value, lines, true)
      if (piece.length !== end - start) throw new DamagedBody('a part does not fill its place')
      pieces.push(piece)
    }
    return new WholeBody(Buffer.concat(pieces, this.size), this)
  }

  /**
   * Makes sure that all parts in a stretch can be read.
   *
   * @param proven keys of parts that were unpacked before; it takes those that are now
   * @throws DamagedBody, Fault MessageNotFound, or an error of the file system
   */
  async prove(start: number, end: number, proven: Set<string>): Promise<void> {
    for (const { start: from, end: to, at } of this.#stretches ?? []) {
      if (typeof at !== 'number' && from < end && to > start) await at.prove(proven)
    }
  }

  async #collect(start: number, end: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for await (const piece of this.stream(start, end)) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  #onlyLineEnds(start: number, end: number): boolean {
    const stretch = this.#stretches?.find(one => one.start === start)
    if (stretch === undefined || typeof stretch.at !== 'number' || end > stretch.end) return false
    const bytes = this.#skeleton.subarray(stretch.at, stretch.at + end - start)
    return lineEndsAtEnd(bytes) === bytes.length
  }
}

/** A body with parts that was put together; it still knows which attachments are stored decoded. */
class WholeBody extends Body {
  readonly #parts: Body

  constructor(bytes: Buffer, parts: Body) {
    super(bytes.length, bytes, null)
    this.#parts = parts
  }

  override attachment(start: number, end: number): Attachment | null {
    return this.#parts.attachment(start, end)
  }
}

/** Base64 from byte `from` to byte `to` of the encoded part, in blocks of whole lines. */
async function* encoded(part: Part, lines: Lines, from: number, to: number): AsyncGenerator<Buffer> {
  const step = lines.width + lines.ending
  const lineBytes = (lines.width / 4) * 3
  const blockLines = Math.floor(limits.body.chunkBytes / step)
  const cursor = part.open()
  try {
    for (let line = Math.floor(from / step); line * step < to; line += blockLines) {
      const end = Math.min(part.size, (line + Math.min(blockLines, Math.ceil(to / step) - line)) * lineBytes)
      const block = encodeLines(await cursor.read(line * lineBytes, end), lines, end === part.size)
      yield block.subarray(Math.max(0, from - line * step), to - line * step)
    }
  } finally {
    await cursor.close()
  }
}
