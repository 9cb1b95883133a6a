// Cutting a received message into a skeleton and shared parts.
//
// A leaf body that is large enough becomes a part, decoded where its base64 is canonical, so that the same attachment is
// one part whoever sent it in whatever message. The rest is the skeleton, at most one chunk; literal text that does not
// fit there becomes parts of its own, so nothing a stranger sends makes a row large. Parts longer than a chunk are
// hashed, packed and written chunk by chunk, with the packing on the thread pool.

import { createHash, type Hash, hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { isPassing } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import type { MimePart } from '#mail/mime/mime.ts'
import type { BodyFiles } from '../files.ts'
import type { BodyRow, PartRow } from '../writes.ts'
import { decodeLines, detectLines, lineEndsAtEnd } from './base64.ts'
import { codecChunks, encodeRecipe, encodeTable, type Lines, packChunk, type Span } from './codec.ts'

/** The bytes of a received message. */
export interface Source {
  readonly size: number
  /** At most some chunks at once. The result is a view of something, perhaps of `into`. */
  read(start: number, end: number, into?: Buffer): Buffer
}

/** A body row that only lacks its number, and the scratch files it refers to. */
export interface Cut {
  readonly row: Omit<BodyRow, 'num' | 'added'>
  readonly scratch: readonly string[]
  /** Where the parts stand. */
  readonly spans: readonly Span[]
  /** Offset of a leaf stored decoded -> hash of its content. */
  readonly contents: ReadonlyMap<number, Uint8Array>
}

/** Bytes at the start of a leaf in which its line length shows. */
const headBytes = 1024
/** Line ends at the end of a leaf that are left out of the part. */
const tailBytes = 64

interface Stretch {
  readonly start: number
  readonly end: number
  /** Null for what goes to the skeleton; otherwise a part. */
  readonly part: { readonly lines: Lines | null } | null
}

/** Cuts a message whose tree is `root`. Nothing stays behind in scratch when it throws. */
export async function cutBody(source: Source, root: MimePart, files: BodyFiles): Promise<Cut> {
  const stretches = layOut(source, root)
  const cutter = new Cutter(source, files)
  try {
    const spans: Span[] = []
    const literals: Buffer[] = []
    const parts: PartRow[] = []
    const contents = new Map<number, Uint8Array>()
    let before = 0
    for (const { start, end, part } of stretches) {
      if (part === null) {
        literals.push(source.read(start, end))
        before += end - start
        continue
      }
      const { lines, row } = await cutter.part(start, end, part.lines)
      spans.push({ before, length: end - start, lines })
      parts.push(row)
      if (lines !== null) contents.set(start, row.hash)
      before = 0
    }
    const skeleton = own(literals.length === 1 ? (literals[0] as Buffer) : Buffer.concat(literals))
    const recipe = spans.length === 0 ? null : own(encodeRecipe(spans))
    return { row: { size: source.size, recipe, skeleton, parts }, scratch: cutter.scratch, spans, contents }
  } catch (error) {
    for (const path of cutter.scratch) files.removeScratch(path)
    throw error
  }
}

/** What of the message goes where, in order. */
function layOut(source: Source, root: MimePart): Stretch[] {
  const stretches: Stretch[] = []
  let at = 0
  let room: number = limits.body.chunkBytes
  const literal = (end: number) => {
    if (end <= at) return
    const fits = end - at <= room
    if (fits) room -= end - at
    stretches.push({ start: at, end, part: fits ? null : { lines: null } })
    at = end
  }
  for (const leaf of leavesOf(root)) {
    if (!isShared(leaf) || leaf.headerEnd < at) continue
    const start = leaf.headerEnd
    let end = leaf.bodyEnd
    let lines: Lines | null = null
    if (leaf.encoding === 'base64') {
      lines = detectLines(source.read(start, Math.min(end, start + headBytes)))
      if (lines !== null) end -= lineEndsAtEnd(source.read(Math.max(start, end - tailBytes), end))
    }
    literal(start)
    stretches.push({ start, end, part: { lines } })
    at = end
  }
  literal(source.size)
  return stretches
}

function isShared(leaf: MimePart): boolean {
  const text =
    leaf.type.value.startsWith('text/') && leaf.encoding !== 'base64' && leaf.disposition?.value !== 'attachment'
  const least = text ? limits.body.sharedTextBytesMin : limits.body.sharedPartBytesMin
  return leaf.bodyEnd - leaf.headerEnd >= least
}

function* leavesOf(root: MimePart): Generator<MimePart> {
  // A stack instead of recursion: trees are as deep as limits.mime.depthMax.
  const waiting = [root]
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (part.children.length === 0) yield part
    else waiting.push(...part.children.toReversed())
  }
}

class Cutter {
  readonly scratch: string[] = []
  readonly #source: Source
  readonly #files: BodyFiles
  /** Bytes that may still travel in rows; what comes after goes to files whatever its size. */
  #room: number = limits.body.spillBytes

  constructor(source: Source, files: BodyFiles) {
    this.#source = source
    this.#files = files
  }

  /** Makes the part of a stretch, decoded if it can be. */
  async part(start: number, end: number, lines: Lines | null): Promise<{ lines: Lines | null; row: PartRow }> {
    if (end - start <= limits.body.chunkBytes && end - start <= this.#room) {
      const encoded = this.#source.read(start, end)
      const decoded = lines === null ? null : decodeLines(encoded, lines, true)
      const value = decoded ?? encoded
      this.#room -= value.length
      const row: PartRow = {
        hash: own(hash('sha256', value, 'buffer')),
        size: value.length,
        codec: null,
        data: own(value),
        file: null,
        stored: 0,
      }
      return { lines: decoded === null ? null : lines, row }
    }
    if (lines !== null) {
      const row = await this.#pack(decodedBlocks(this.#source, start, end, lines))
      if (row !== null) return { lines, row }
    }
    const row = await this.#pack(rawBlocks(this.#source, start, end))
    if (row === null) throw new Error('bytes as they are can always be packed')
    return { lines: null, row }
  }

  /** Packs a value that comes in blocks; null where a block is null: the value is not canonical after all. */
  async #pack(blocks: Iterable<Buffer | null>): Promise<PartRow | null> {
    const packer = new Packer(this.#files, Math.min(limits.body.inlineBytesMax, this.#room), this.scratch)
    try {
      for (const block of blocks) {
        if (block === null) return null
        await packer.write(block)
      }
      const row = await packer.finish()
      if (row.file === null) this.#room -= row.data.length
      return row
    } finally {
      await packer.close()
    }
  }
}

/** Takes a value block by block; keeps little packed bytes in memory, writes many to a scratch file. */
class Packer {
  readonly #files: BodyFiles
  readonly #scratch: string[]
  readonly #inlineBytesMax: number
  readonly #hash = createHash('sha256')
  /** Of what is stored: a store wants to be told before the bytes come. */
  readonly #packed: Hash | null
  readonly #pieces: { length: number; raw: boolean }[] = []
  readonly #chunk = Buffer.allocUnsafeSlow(limits.body.chunkBytes)
  #filled = 0
  #size = 0
  #held: Buffer[] = []
  #stored = 0
  #file: FileHandle | null = null
  #path: string | null = null

  constructor(files: BodyFiles, inlineBytesMax: number, scratch: string[]) {
    this.#files = files
    this.#inlineBytesMax = inlineBytesMax
    this.#scratch = scratch
    this.#packed = files.objects === undefined ? null : createHash('sha256')
  }

  async write(block: Buffer): Promise<void> {
    for (let at = 0; at < block.length; ) {
      const copied = block.copy(this.#chunk, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled === this.#chunk.length) await this.#flush()
    }
  }

  async finish(): Promise<PartRow> {
    if (this.#filled > 0) await this.#flush()
    const table = encodeTable(limits.body.chunkBytes, this.#pieces)
    if (this.#file !== null && !isPassing(this.#path ?? '')) await this.#file.datasync()
    return {
      hash: own(this.#hash.digest()),
      size: this.#size,
      codec: codecChunks,
      data: own(this.#path === null ? Buffer.concat([table, ...this.#held]) : table),
      file: this.#path,
      stored: this.#path === null ? 0 : this.#stored,
      ...(this.#path !== null && this.#packed !== null && { packed: this.#packed.digest('hex') }),
    }
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = null
  }

  async #flush(): Promise<void> {
    const chunk = this.#chunk.subarray(0, this.#filled)
    this.#hash.update(chunk)
    this.#size += chunk.length
    const { data, raw } = await packChunk(chunk)
    this.#pieces.push({ length: data.length, raw })
    this.#packed?.update(data)
    this.#stored += data.length
    this.#filled = 0
    if (this.#path === null && this.#stored <= this.#inlineBytesMax) {
      this.#held.push(raw ? Buffer.from(data) : data)
      return
    }
    if (this.#file === null) {
      this.#path = this.#files.scratch()
      this.#scratch.push(this.#path)
      this.#file = await open(this.#path, 'wx', 0o600)
      for (const held of this.#held) await this.#file.writeFile(held)
      this.#held = []
    }
    await this.#file.writeFile(data)
  }
}

function* rawBlocks(source: Source, start: number, end: number): Generator<Buffer> {
  const { chunkBytes } = limits.body
  const into = Buffer.allocUnsafeSlow(chunkBytes)
  for (let at = start; at < end; at += chunkBytes) yield source.read(at, Math.min(end, at + chunkBytes), into)
}

function* decodedBlocks(source: Source, start: number, end: number, lines: Lines): Generator<Buffer | null> {
  const step = lines.width + lines.ending
  const block = Math.floor(limits.body.chunkBytes / step) * step
  const into = Buffer.allocUnsafeSlow(block)
  for (let at = start; at < end; at += block) {
    const to = Math.min(end, at + block)
    yield decodeLines(source.read(at, to, into), lines, to === end)
  }
}

/** Bytes in a buffer of their own: a view would take the whole buffer behind it along to the other thread. */
function own(bytes: Buffer): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}
