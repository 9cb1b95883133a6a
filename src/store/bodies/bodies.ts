// Message bodies: receive one as a stream, open a stored one; memory is some chunks, whatever the size. Nothing is stored
// for good before the unit that refers to it is.
//
// Small values are rows of the one database, large ones files (limits.body.inlineBytesMax), or objects where the database is behind
// an address (objects/parts.ts), packed with zstd level 1 and no dictionary: what that rests on is in bench/NOTES.md, Where bodies lie.

import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { LineEnds } from '#mail/mime/line-end.ts'
import type { Reader } from '../engine/reader.ts'
import { BodyCache } from './cache.ts'
import { type BodyCheck, checkBodies } from './check.ts'
import { BodyFiles } from './files.ts'
import { readBodies } from './format/run.ts'
import { Intake, type Received } from './intake.ts'
import { type Keep, type KeptPlace, keepOf } from './keep.ts'
import { openObjects } from './objects/parts.ts'
import type { ObjectStore } from './objects/store.ts'
import { BodyProof } from './proof.ts'
import { type Body, isNamed, readBody } from './read.ts'
import { BodyThread } from './thread.ts'

export type { Intake, Received }

/** Files looked up in one go by `sweep`. */
const sweepNames = 500

/** Fewer bodies are read before a thread has heard of them. */
const elsewhereMin = 16

/** Faults named by `verify`; more say nothing new. */
const faultsMax = 100

export type Pieces = Iterable<Buffer> | AsyncIterable<Buffer>

/** Writes all of `pieces`. @throws what they or the disk failed with */
async function fill(intake: Intake, pieces: Pieces): Promise<Received> {
  try {
    for await (const piece of pieces) await intake.write(piece)
  } catch (error) {
    await intake.abort()
    throw error
  }
  return await intake.finish()
}

export class Bodies {
  readonly #files: BodyFiles
  readonly #read: Reader
  readonly #keep: Keep
  readonly #opened = new BodyCache(limits.body.cacheBytesMax)
  readonly #thread: BodyThread
  /** Of all messages on their way in, what is in no file. */
  readonly #coming = { bytes: 0 }
  /** Whether bodies can be read, for who announces how long they are. */
  readonly proof: BodyProof

  /**
   * Makes the folders and removes what an earlier process left in scratch, unless it is not `alone`: then another thread
   * of this process has done that.
   */
  constructor(place: KeptPlace, read: Reader, log?: Log, { alone = true }: { readonly alone?: boolean } = {}) {
    this.#files = new BodyFiles(place.dataDir, openObjects(place), log)
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
    return new Intake(this.#files, this.#keep, bytesMax, this.#coming, new LineEnds())
  }

  /** Takes in something that is no message: every byte stays as it is. */
  intakeExact(bytesMax: number): Intake {
    return new Intake(this.#files, this.#keep, bytesMax, this.#coming, null)
  }

  /** Takes in a message that is in memory already. */
  async receive(message: Buffer): Promise<Received> {
    return await fill(this.intake(message.length), [message])
  }

  /** Takes in a message of at most `bytesMax` bytes as somebody gives it; where he or the disk fails nothing of it stays. */
  async receiveAll(pieces: Pieces, bytesMax?: number): Promise<Received> {
    return await fill(this.intake(bytesMax), pieces)
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
