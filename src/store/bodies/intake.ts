// One message on its way in, and what it is when it has arrived: bytes in memory while they are few, else a file in scratch.
//
// Promises: line ends are put right on the way; nothing is stored for good, and nothing is left in scratch once it was aborted
// or discarded.

import assert from 'node:assert'
import { Pieces } from '#lib/bytes/pieces.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type LineEnds, MessageLineEnds } from '#mail/mime/line-end.ts'
import type { MimePart } from '#mail/mime/mime.ts'
import { scanInSlices } from '#mail/mime/scanning.ts'
import type { BodyFiles } from './files.ts'
import { type Cut, cutBody, type Source } from './format/cut.ts'
import { identityOf } from './format/identity.ts'
import type { Keep } from './keep.ts'
import { closeSpill, disk, openSpill, readFile, requireRoom, type Spill, writeAll } from './spill.ts'
import type { BodyRow } from './writes.ts'

const crLfBytes = 2

/**
 * One message on its way in. Await what `write` returns before writing more, so that memory stays bounded; then `finish`
 * or, when a write failed or it is not wanted, `abort`.
 */
export class Intake {
  readonly #files: BodyFiles
  readonly #keep: Keep
  readonly #bytesMax: number
  readonly #ends: LineEnds | null
  /** Line feeds without CR so far. */
  #bare = 0
  #size = 0
  /** What has come and is not in a file. */
  readonly #held = new Pieces()
  /** The same of all messages on their way in. */
  readonly #coming: { bytes: number }
  #spill: Spill | null = null
  #flushed: Promise<void> = Promise.resolve()

  /** @param ends null where line ends stay as they are */
  constructor(files: BodyFiles, keep: Keep, bytesMax: number, coming: { bytes: number }, ends: LineEnds | null) {
    this.#files = files
    this.#keep = keep
    this.#bytesMax = bytesMax
    this.#coming = coming
    this.#ends = ends
  }

  /** Bytes taken so far. */
  get size(): number {
    return this.#size
  }

  /**
   * Takes the next bytes, which must not change afterwards.
   *
   * @throws Fault MessageTooLarge, StorageUnavailable
   */
  write(chunk: Buffer): void | Promise<void> {
    this.#size += chunk.length
    if (this.#size > this.#bytesMax) throw new Fault('MessageTooLarge')
    if (this.#ends !== null) this.#bare += this.#ends.count(chunk)
    this.#held.push(chunk)
    this.#coming.bytes += chunk.length
    const few = this.#spill === null && this.#coming.bytes <= limits.body.comingBytesMax
    if (this.#held.bytes > (few ? limits.body.spillBytes : limits.body.chunkBytes)) return this.#flush()
  }

  /**
   * The whole message. Where that fails nothing of it stays.
   *
   * @throws Fault StorageUnavailable
   */
  async finish(): Promise<Received> {
    try {
      return await this.#finish()
    } catch (error) {
      await this.abort()
      throw error
    }
  }

  async #finish(): Promise<Received> {
    await this.#flushed
    if (this.#spill === null) {
      this.#coming.bytes -= this.#held.bytes
      const taken = this.#held.whole()
      const { message, root } = await this.#mended(taken, await scanInSlices(taken))
      const source: Source = { size: message.length, read: (start, end) => message.subarray(start, end) }
      const added = this.#addedAsLines(message.length)
      return disk(() => Received.cut({ source, root, added }, this.#files, this.#keep, null), this.#files.unwritten)
    }
    await this.#flush()
    return disk(async () => {
      const { spill, size, root } = await this.#mendedSpill(this.#spill as Spill, (this.#spill as Spill).scanner.end())
      const source: Source = { size, read: (start, end, into) => readFile(spill.file, start, end, into) }
      return Received.cut({ source, root, added: this.#addedAsLines(size) }, this.#files, this.#keep, spill)
    }, this.#files.unwritten)
  }

  /** What `asLines` counts of a message that is so long with its line ends put right. */
  #addedAsLines(size: number): number {
    if (this.#ends === null) return 0
    const left = this.#bare - (size - this.#size)
    return left + (this.#ends.open ? crLfBytes : 0)
  }

  /** The same with every line end as it must be. Where parts stand is known only now, so it is read once more. */
  async #mended(message: Buffer, root: MimePart): Promise<{ message: Buffer; root: MimePart }> {
    if (this.#bare === 0) return { message, root }
    const mended = new MessageLineEnds(root).mend(message)
    this.#refuseGrown(mended.length)
    return mended === message ? { message, root } : { message: mended, root: await scanInSlices(mended) }
  }

  /** The same for a message in a file: a second file takes its place. */
  async #mendedSpill(spill: Spill, root: MimePart): Promise<{ spill: Spill; size: number; root: MimePart }> {
    if (this.#bare === 0) return { spill, size: this.#size, root }
    const ends = new MessageLineEnds(root)
    const mended = await openSpill(this.#files)
    let size = 0
    try {
      for (let at = 0; at < this.#size; at += limits.body.chunkBytes) {
        const piece = ends.mend(readFile(spill.file, at, Math.min(this.#size, at + limits.body.chunkBytes)))
        mended.scanner.write(piece)
        await writeAll(mended.file, [piece])
        size += piece.length
        this.#refuseGrown(size)
      }
    } catch (error) {
      await closeSpill(this.#files, mended)
      throw error
    }
    this.#spill = mended
    await closeSpill(this.#files, spill)
    return { spill: mended, size, root: mended.scanner.end() }
  }

  #refuseGrown(size: number): void {
    if (size > Math.max(this.#bytesMax, limits.body.messageBytesMax)) throw new Fault('MessageTooLarge')
  }

  /** Forgets it. Does nothing after `finish` went well; that is for `Received.discard`. */
  async abort(): Promise<void> {
    this.#takeHeld()
    const spill = this.#spill
    this.#spill = null
    if (spill !== null && !spill.taken) await closeSpill(this.#files, spill)
  }

  #takeHeld(): Buffer[] {
    this.#coming.bytes -= this.#held.bytes
    return this.#held.take()
  }

  /** One after the other; after one that failed all fail. */
  #flush(): Promise<void> {
    this.#flushed = this.#flushed.then(() => disk(() => this.#spillHeld(), this.#files.unwritten))
    this.#flushed.catch(() => {})
    return this.#flushed
  }

  async #spillHeld(): Promise<void> {
    const { bytes } = this.#held
    const held = this.#takeHeld()
    this.#spill ??= await openSpill(this.#files)
    await requireRoom(this.#spill.path, bytes)
    for (const chunk of held) this.#spill.scanner.write(chunk)
    await writeAll(this.#spill.file, held)
  }
}

type Cutting = { readonly source: Source; readonly root: MimePart; readonly added: number }

/** A message that has arrived whole and is not stored yet. `discard` it when every unit that refers to it is settled. */
export class Received implements Source {
  readonly size: number
  /** The message as a whole. */
  readonly root: Omit<MimePart, 'children'>
  readonly #source: Source
  readonly #files: BodyFiles
  readonly #cut: Cut
  readonly #added: number
  #tree: MimePart | null
  #spill: Spill | null

  private constructor({ source, root, added }: Cutting, files: BodyFiles, cut: Cut, spill: Spill | null) {
    this.size = source.size
    const { children: _, ...whole } = root
    this.root = whole
    this.#tree = root
    this.#source = source
    this.#files = files
    this.#cut = cut
    this.#added = added
    this.#spill = spill
  }

  /** For `Intake`. */
  static async cut(cutting: Cutting, files: BodyFiles, keep: Keep, spill: Spill | null): Promise<Received> {
    const cut = await cutBody(cutting.source, cutting.root, files)
    try {
      const parts = await keep(cut.row.parts)
      if (spill !== null) spill.taken = true
      return new Received(cutting, files, { ...cut, row: { ...cut.row, parts } }, spill)
    } catch (error) {
      for (const path of cut.scratch) files.removeScratch(path)
      throw error
    }
  }

  /** The tree of its parts, for the one who works out what is to be known of them: it is not kept beside that. */
  takeTree(): MimePart {
    const tree = this.#tree
    assert(tree !== null, 'the parts of a message are worked out once')
    this.#tree = null
    return tree
  }

  /** Bytes from `start` to `end`. Do not change them; ask for some chunks at most. */
  read(start: number, end: number): Buffer {
    return this.#source.read(Math.max(0, start), Math.min(this.size, end))
  }

  /** The same as a stream of buffers of at most limits.body.chunkBytes. */
  async *stream(start = 0, end = this.size): AsyncGenerator<Buffer> {
    const to = Math.min(this.size, end)
    for (let at = Math.max(0, start); at < to; at += limits.body.chunkBytes) {
      yield this.read(at, Math.min(to, at + limits.body.chunkBytes))
    }
  }

  /**
   * The row for `bodyAdd` under the number `num`, and the bytes it carries. It may be used by any number of units: the
   * first to be stored stores it, the others count themselves in.
   */
  bodyRow(num: number): { row: BodyRow; weight: number } {
    const { row } = this.#cut
    const weight = row.parts.reduce((sum, part) => sum + part.data.length + 100, row.skeleton.length + 100)
    return { row: { num, added: this.#added, ...row }, weight }
  }

  /** What the message has in common with its copies that came by other ways, and with nothing else (format/identity.ts). */
  identity(): string {
    return identityOf(this.root.header, this.#cut)
  }

  /** SHA-256 of the content of the leaf whose body starts at `start`, where it is stored without its base64. */
  contentHash(start: number): Uint8Array | null {
    return this.#cut.contents.get(start) ?? null
  }

  /** Removes what lies in scratch. */
  async discard(): Promise<void> {
    for (const path of this.#cut.scratch) this.#files.removeScratch(path)
    const spill = this.#spill
    this.#spill = null
    if (spill !== null) await closeSpill(this.#files, spill)
  }
}
