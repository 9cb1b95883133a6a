// Message bodies: receive one as a stream, open a stored one; memory is some chunks, whatever the size. Nothing is stored
// for good before the unit that refers to it is.
//
// Small values are rows of the one database, large ones files (limits.body.inlineBytesMax), or objects where the database is behind
// an address (objects/parts.ts), packed with zstd level 1 and no dictionary: what that rests on is in bench/NOTES.md, Where bodies lie.

import assert from 'node:assert'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { LineEnds, MessageLineEnds } from '#mail/mime/line-end.ts'
import type { MimePart } from '#mail/mime/mime.ts'
import { scanInSlices } from '#mail/mime/scanning.ts'
import type { Reader } from '../engine/reader.ts'
import { BodyCache } from './cache.ts'
import { type BodyCheck, checkBodies } from './check.ts'
import { BodyFiles } from './files.ts'
import { type Cut, cutBody, type Source } from './format/cut.ts'
import { identityOf } from './format/identity.ts'
import { readBodies } from './format/run.ts'
import { type Keep, type KeptPlace, keepOf } from './keep.ts'
import { openObjects } from './objects/parts.ts'
import type { ObjectStore } from './objects/store.ts'
import { BodyProof } from './proof.ts'
import { type Body, isNamed, readBody } from './read.ts'
import { closeSpill, disk, openSpill, readFile, type Spill, writeAll } from './spill.ts'
import { BodyThread } from './thread.ts'
import type { BodyRow } from './writes.ts'

/** Files looked up in one go by `sweep`. */
const sweepNames = 500

/** Fewer bodies are read before a thread has heard of them. */
const elsewhereMin = 16

/** Faults named by `verify`; more say nothing new. */
const faultsMax = 100

export class Bodies {
  readonly #files: BodyFiles
  readonly #read: Reader
  readonly #keep: Keep
  readonly #opened = new BodyCache(limits.body.cacheBytesMax)
  readonly #thread: BodyThread
  /** Whether bodies can be read, for who announces how long they are. */
  readonly proof: BodyProof

  /**
   * Makes the folders and removes what an earlier process left in scratch, unless it is not `alone`: then another thread
   * of this process has done that.
   */
  constructor(place: KeptPlace, read: Reader, log?: Log, { alone = true }: { readonly alone?: boolean } = {}) {
    this.#files = new BodyFiles(place.dataDir, openObjects(place))
    this.#keep = keepOf(place, this.#files, read)
    if (alone) {
      this.#files.prepare()
      this.#files.clearScratch()
    }
    this.#read = read
    this.#thread = new BodyThread(place, log)
    this.proof = new BodyProof(read, log)
  }

  /** Ends the thread that reads ahead, if there is one. */
  async close(): Promise<void> {
    await this.#thread.close()
    await this.#files.objects?.close()
  }

  /** The store that large parts are in, where that is configured. */
  get objects(): ObjectStore | undefined {
    return this.#files.objects
  }

  /** Bytes of opened bodies that are kept in memory. */
  get keptBytes(): number {
    return this.#opened.bytes
  }

  /**
   * Takes in one message of at most `bytesMax` bytes as they come; its line ends become CR LF, which may make it longer
   * than that (mail/mime/line-end.ts).
   */
  intake(bytesMax: number = limits.body.messageBytesMax): Intake {
    return new Intake(this.#files, this.#keep, bytesMax, new LineEnds())
  }

  /** Takes in something that is no message: every byte stays as it is. */
  intakeExact(bytesMax: number): Intake {
    return new Intake(this.#files, this.#keep, bytesMax, null)
  }

  /** Takes in a message that is in memory already. */
  async receive(message: Buffer): Promise<Received> {
    const intake = this.intake(message.length)
    try {
      await intake.write(message)
      return await intake.finish()
    } catch (error) {
      await intake.abort()
      throw error
    }
  }

  /**
   * Opens a stored body. Offsets count from its first byte: what a message has on top is not part of it.
   *
   * @param keep whether somebody is likely to open it again soon
   * @throws Fault MessageNotFound where there is none, BodyUnreadable where stored bytes are damaged
   */
  async open(num: number, keep = true): Promise<Body> {
    const known = this.#opened.get(num)
    if (known !== undefined) return known
    try {
      const body = await readBody(this.#read, this.#files, num)
      if (keep && body.inMemory) this.#opened.put({ nums: [num], bytes: body.size, get: () => body })
      return body
    } catch (error) {
      throw await this.proof.faultOf(num, error)
    }
  }

  /** The bytes of a stored body, which is opened when the first are asked for. @throws Fault as `open` */
  async *stream(num: number, start?: number, end?: number): AsyncGenerator<Buffer> {
    yield* (await this.open(num)).stream(start, end)
  }

  /**
   * Reads ahead: opening each of these next costs little, as far as they are small. Some hundred at most, and no more
   * bytes than are wanted at once.
   */
  async ahead(nums: readonly number[]): Promise<void> {
    const unknown = this.#unknown(nums)
    if (unknown.length > 1) this.#opened.put(await readBodies(this.#read, unknown))
  }

  /** Somebody may soon want many: the thread for that gets ready. */
  expect(): void {
    this.#thread.expect()
  }

  /** The same on a thread, while the caller does something else; also resolves where nothing came of it. */
  async aheadElsewhere(nums: readonly number[]): Promise<void> {
    const unknown = this.#unknown(nums)
    if (unknown.length < elsewhereMin) return
    const run = await this.#thread.read(unknown)
    if (run !== undefined) this.#opened.put(run)
  }

  #unknown(nums: readonly number[]): number[] {
    return nums.filter(num => !this.#opened.has(num))
  }

  /**
   * Finds files that no row names and hands their names to `suspect`, which is to run `partSuspect`: the writer looks
   * each up again before it removes it, so this may run while the service does.
   *
   * @returns how many it found
   */
  async sweep(suspect: (row: { names: readonly string[] }) => Promise<void>): Promise<number> {
    let found = 0
    for await (const names of this.#files.names()) {
      for (let at = 0; at < names.length; at += sweepNames) {
        const orphans: string[] = []
        for (const name of names.slice(at, at + sweepNames)) {
          if (!(await isNamed(this.#read, name))) orphans.push(name)
        }
        found += orphans.length
        if (orphans.length > 0) await suspect({ names: orphans })
      }
    }
    return found
  }

  /** What is wrong with stored bodies, as sentences; see `checkBodies`. */
  async verify(how: BodyCheck = { hashes: true }): Promise<string[]> {
    const faults: string[] = []
    for await (const fault of checkBodies(this.#read, this.#files, how)) {
      faults.push(fault)
      if (faults.length >= faultsMax) break
    }
    return faults
  }
}

/**
 * One message on its way in. Await what `write` returns before writing more, so that memory stays bounded; then `finish`
 * or, when it failed or is not wanted, `abort`.
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
  #held: Buffer[] = []
  #heldBytes = 0
  #spill: Spill | null = null
  #flushed: Promise<void> = Promise.resolve()

  /** @param ends null where line ends stay as they are */
  constructor(files: BodyFiles, keep: Keep, bytesMax: number, ends: LineEnds | null) {
    this.#files = files
    this.#keep = keep
    this.#bytesMax = bytesMax
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
    this.#heldBytes += chunk.length
    const most = this.#spill === null ? limits.body.spillBytes : limits.body.chunkBytes
    if (this.#heldBytes > most) return this.#flush()
  }

  /**
   * The whole message.
   *
   * @throws Fault StorageUnavailable
   */
  async finish(): Promise<Received> {
    await this.#flushed
    if (this.#spill === null) {
      const taken = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held, this.#size)
      this.#held = []
      const { message, root } = await this.#mended(taken, await scanInSlices(taken))
      const source: Source = { size: message.length, read: (start, end) => message.subarray(start, end) }
      return disk(() => Received.cut({ source, root }, this.#files, this.#keep, null))
    }
    await this.#flush()
    return disk(async () => {
      const { spill, size, root } = await this.#mendedSpill(this.#spill as Spill, (this.#spill as Spill).scanner.end())
      const source: Source = { size, read: (start, end, into) => readFile(spill.file, start, end, into) }
      return Received.cut({ source, root }, this.#files, this.#keep, spill)
    })
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
    this.#held = []
    const spill = this.#spill
    this.#spill = null
    if (spill !== null && !spill.taken) await closeSpill(this.#files, spill)
  }

  /** One after the other; after one that failed all fail. */
  #flush(): Promise<void> {
    this.#flushed = this.#flushed.then(() => disk(() => this.#spillHeld()))
    this.#flushed.catch(() => {})
    return this.#flushed
  }

  async #spillHeld(): Promise<void> {
    const held = this.#held
    this.#held = []
    this.#heldBytes = 0
    this.#spill ??= await openSpill(this.#files)
    for (const chunk of held) this.#spill.scanner.write(chunk)
    await writeAll(this.#spill.file, held)
  }
}

type Cutting = { readonly source: Source; readonly root: MimePart }

/** A message that has arrived whole and is not stored yet. `discard` it when every unit that refers to it is settled. */
export class Received implements Source {
  readonly size: number
  /** The message as a whole. */
  readonly root: Omit<MimePart, 'children'>
  readonly #source: Source
  readonly #files: BodyFiles
  readonly #cut: Cut
  #tree: MimePart | null
  #spill: Spill | null

  private constructor(source: Source, root: MimePart, files: BodyFiles, cut: Cut, spill: Spill | null) {
    this.size = source.size
    const { children: _, ...whole } = root
    this.root = whole
    this.#tree = root
    this.#source = source
    this.#files = files
    this.#cut = cut
    this.#spill = spill
  }

  /** For `Intake`. */
  static async cut({ source, root }: Cutting, files: BodyFiles, keep: Keep, spill: Spill | null): Promise<Received> {
    const cut = await cutBody(source, root, files)
    try {
      const parts = await keep(cut.row.parts)
      if (spill !== null) spill.taken = true
      return new Received(source, root, files, { ...cut, row: { ...cut.row, parts } }, spill)
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
    return { row: { num, ...row }, weight }
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
