// Bytes that a peer sent and nobody has taken yet, as lines or as they are.
//
// Promises: linear in what was sent, however small the packets: chunks are searched once and put together only when a line
// end is found or when they are many and small. A line that is too long is thrown away as it comes, never held whole.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'

const nothing = Buffer.alloc(0)
const lineFeed = 10
const carriageReturn = 13

export class Input {
  /** Bytes held. */
  heldBytes = 0
  /** Whether the last line ended in LF without CR. */
  bareLine = false
  /** The chunk in hand, read up to `#at`, and those behind it. */
  #chunk: Buffer = nothing
  #at = 0
  #behind: Buffer[] = []
  /** Whether the chunk in hand holds no line end, and how many of those behind it are known to hold none. */
  #handSearched = false
  #behindSearched = 0
  /** Bytes of a line that is too long, thrown away so far; -1 while none is. */
  #skippedBytes = -1
  /** How that line began, and how it ends so far. */
  #longStart: Buffer = nothing
  #longEnd: Buffer = nothing

  push(chunk: Buffer): void {
    this.heldBytes += chunk.length
    if (this.#chunk.length === 0) {
      this.#chunk = chunk
      this.#handSearched = false
      return
    }
    this.#behind.push(chunk)
    const { length } = this.#behind
    if (length >= limits.net.chunksMax && length * limits.net.chunkBytesMin >= this.heldBytes) this.#compact()
  }

  /** The bytes in hand, or undefined where there are none. */
  peek(): Buffer | undefined {
    if (this.#chunk.length === 0) return undefined
    return this.#at === 0 ? this.#chunk : this.#chunk.subarray(this.#at)
  }

  /** Everything that is here, consumed. */
  takeAll(): Buffer {
    const chunks: Buffer[] = []
    for (let chunk = this.peek(); chunk !== undefined; chunk = this.peek()) {
      chunks.push(chunk)
      this.consume(chunk.length)
    }
    return Buffer.concat(chunks)
  }

  /** Takes `length` of the bytes that `peek` showed. */
  consume(length: number): void {
    this.#at += length
    this.heldBytes -= length
    this.#handSearched = false
    if (this.#at < this.#chunk.length) return
    this.#chunk = this.#behind.shift() ?? nothing
    this.#at = 0
    this.#behindSearched = 0
  }

  /**
   * The next line without its end, or undefined while its end has not come.
   *
   * @param bytesMax with the end
   * @throws Fault LineTooLong (LongLine), once for each such line, which is then gone; Endless
   */
  takeLine(bytesMax: number): Buffer | undefined {
    const end = this.#findLineEnd()
    if (end < 0) {
      if (this.heldBytes > bytesMax) this.#skip()
      return undefined
    }
    const line = this.#chunk.subarray(this.#at, end)
    this.consume(end + 1 - this.#at)
    if (this.#skippedBytes >= 0 || line.length + 1 > bytesMax) {
      this.#noteLong(line)
      this.#skippedBytes = -1
      throw new LongLine(this.#longStart, this.#longEnd)
    }
    this.bareLine = line[line.length - 1] !== carriageReturn
    return this.bareLine ? line : line.subarray(0, line.length - 1)
  }

  /** Throws everything away. */
  clear(): void {
    this.#chunk = nothing
    this.#at = 0
    this.#behind = []
    this.heldBytes = 0
    this.#handSearched = false
    this.#behindSearched = 0
    this.#skippedBytes = -1
  }

  /** Where the next line feed is in the chunk in hand, or -1. */
  #findLineEnd(): number {
    if (!this.#handSearched) {
      const at = this.#chunk.indexOf(lineFeed, this.#at)
      if (at >= 0) return at
      this.#handSearched = true
    }
    while (this.#behindSearched < this.#behind.length) {
      const found = this.#behind[this.#behindSearched]?.indexOf(lineFeed) ?? -1
      this.#behindSearched += 1
      if (found >= 0) return this.#join(found)
    }
    return -1
  }

  /** Puts the searched chunks together; `found` is where the line feed is in the last of them. */
  #join(found: number): number {
    const chunks = this.#behind.splice(0, this.#behindSearched)
    const last = chunks.at(-1)?.length ?? 0
    this.#chunk = Buffer.concat([this.#chunk.subarray(this.#at), ...chunks])
    this.#at = 0
    this.#behindSearched = 0
    this.#handSearched = false
    return this.#chunk.length - last + found
  }

  /** Throws away what came of a line that is too long. */
  #skip(): void {
    const skipped = Math.max(0, this.#skippedBytes) + this.heldBytes
    this.#noteLong(this.takeAll())
    this.clear()
    this.#skippedBytes = skipped
    if (skipped > limits.net.skipBytesMax) throw new Endless('The line has no end')
  }

  /** `bytes` are the next of a line that is too long. */
  #noteLong(bytes: Buffer): void {
    const { longLineBytes } = limits.net
    if (this.#skippedBytes < 0) {
      this.#longStart = Buffer.from(bytes.subarray(0, longLineBytes))
      this.#longEnd = nothing
    }
    const end = Buffer.concat([this.#longEnd, bytes.subarray(-longLineBytes)])
    this.#longEnd = end.at(-1) === carriageReturn ? end.subarray(-longLineBytes, -1) : end.subarray(-longLineBytes)
  }

  /** Puts small chunks together, so that a peer that sends a byte at a time does not fill memory with buffers. */
  #compact(): void {
    const last = this.#behind.pop() ?? nothing
    const searched = this.#behindSearched === this.#behind.length
    this.#behind = [Buffer.concat(this.#behind), last]
    this.#behindSearched = searched ? 1 : 0
  }
}

/** A line is too long; a few bytes of it are left, as latin1: its start, and its end without the line end. */
export class LongLine extends Fault {
  readonly start: string
  readonly end: string

  constructor(start: Buffer, end: Buffer) {
    super('LineTooLong')
    this.start = start.toString('latin1')
    this.end = end.toString('latin1')
  }
}

/** A line is longer than anybody waits for. */
export class Endless extends Error {}
