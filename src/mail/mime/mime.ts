// The streaming MIME scanner: bytes of a message in, the tree of its parts as byte offsets out (RFC 2045, 2046).
//
// Promises: bodies are never kept, only header blocks, within limits.mime; chunk borders never change the result; time
// is linear in the bytes and nothing a stranger sends makes it fail. Past the limits the rest is one opaque leaf, and
// offsets stay true. A line ends at LF, with or without CR before it; a CR alone is an ordinary byte. Lines that no
// IMAP client will ask for (those of attachments) are not counted, so most of a message is passed over by indexOf.
// What it costs is in bench/NOTES.md, MIME.

import { limits } from '#lib/limits.ts'
import { HeaderKeeper } from '../header/header-keeper.ts'
import { beforeOpenEnd, boundaryOf, endsDelimiter, startsAt, unquoted } from './delimiter.ts'
import {
  addChild,
  countsLines,
  emptyPart,
  isEmbedded,
  type MimePart,
  messageDefault,
  onlyText,
  readRaw,
  takeHeader,
  textPlain,
} from './mime-part.ts'
import type { Valued } from './parameter.ts'

export type { MimePart }

/** The tree of a whole message in memory. Header blocks are views of `message`. */
export function scanMime(message: Buffer): MimePart {
  const scanner = new MimeScanner(true)
  scanner.write(message)
  return scanner.end()
}

interface Frame {
  readonly part: MimePart
  /** What separates the parts of a multipart; null for others and after the closing delimiter. */
  boundary: Buffer | null
  /** Another reading of it, which counts where it is met before the first. */
  spare: Buffer | null
  /** Line ends before this body, where lines are counted. */
  linesBefore: number
}

const lineFeed = Buffer.from('\n--')
const dashes = Buffer.from('--')
/** Dashes inside lines that are met before the search for `--` alone, which most bodies have nowhere else, is given up. */
const strayDashesMax = 16

const inHeader = 0
const inBody = 1
const inDelimiter = 2

const none = -1
const undecided = -2

export class MimeScanner {
  readonly #stack: Frame[] = []
  #phase = inHeader
  /** The cursor stands at the first byte of a line. */
  #lineStart = true
  /** The delimiter line that is being passed over ends its multipart. */
  #closing = false
  /** No further part is made: limits.mime.partsMax is reached. */
  #sealed = false
  #parts = 0
  /** Frames with a boundary that is still looked for. */
  #open = 0
  /** Embedded messages that the cursor is in: their lines are counted. */
  #messages = 0
  #counting = false
  /** Of the boundary in the delimiter line that was found last. */
  #length = 0
  #needle = dashes
  #strayDashes = 0

  /** Offset in the message of the first byte of the buffer at hand. */
  #offset = 0
  /** The two bytes before that. */
  #last = 0
  #lastButOne = 0
  #carry: Buffer | null = null
  #final = false
  #waiting = false

  #lines = 0
  /** Offset after the line end that was counted last. */
  #lastLineEnd = 0

  readonly #header: HeaderKeeper

  /** With `shared`, header blocks may be views of the chunks: for a message that stays in memory anyway. */
  constructor(shared = false) {
    this.#header = new HeaderKeeper(shared)
    this.#startPart(0, textPlain)
  }

  /** Takes the next bytes; they are not kept after the call. */
  write(chunk: Buffer): void {
    if (chunk.length === 0) return
    const buffer = this.#carry === null ? chunk : Buffer.concat([this.#carry, chunk])
    this.#carry = null
    const used = this.#scan(buffer)
    if (used < buffer.length) this.#carry = Buffer.from(buffer.subarray(used))
    this.#lastButOne = used > 1 ? (buffer[used - 2] as number) : used > 0 ? this.#last : this.#lastButOne
    if (used > 0) this.#last = buffer[used - 1] as number
    this.#offset += used
  }

  /** The message is complete: its tree. The scanner cannot be used again. */
  end(): MimePart {
    this.#final = true
    const rest = this.#carry ?? Buffer.alloc(0)
    this.#offset += this.#scan(rest)
    while (this.#phase === inHeader) this.#endHeader(this.#offset)
    const root = (this.#stack[0] as Frame).part
    this.#closeTo(-1, this.#offset)
    readRaw(root)
    return root
  }

  /** Bytes of `buffer` that are done with; the rest comes again with more behind it. */
  #scan(buffer: Buffer): number {
    let at = 0
    this.#waiting = false
    while (at < buffer.length && !this.#waiting) {
      if (this.#phase === inHeader) at = this.#scanHeader(buffer, at)
      else if (this.#phase === inBody) at = this.#scanBody(buffer, at)
      else at = this.#scanDelimiter(buffer, at)
    }
    return at
  }

  #scanHeader(buffer: Buffer, from: number): number {
    let at = from
    while (at < buffer.length) {
      if (this.#lineStart) {
        const empty = this.#emptyLine(buffer, at)
        if (empty > 0) {
          this.#capture(buffer, from, at + empty)
          if (this.#endHeader(this.#offset + at + empty)) return at + empty
          this.#lines-- // it was text, and the empty line comes again as a part of that
          this.#lastLineEnd = this.#offset + at
          return at
        }
        const level = empty === undecided ? undecided : this.#delimiterAt(buffer, at)
        if (level === undecided) {
          this.#waiting = true
          break
        }
        if (level >= 0) {
          // No empty line: the header has all before the delimiter, the body is nothing.
          this.#capture(buffer, from, at)
          this.#endHeader(this.#offset + at)
          return this.#sealed ? at : this.#takeDelimiter(buffer, at, at, level)
        }
        this.#lineStart = false
      }
      const end = buffer.indexOf(10, at)
      if (end < 0) {
        at = buffer.length
        break
      }
      at = end + 1
      this.#lineStart = true
    }
    this.#capture(buffer, from, at)
    return at
  }

  /** Length of the empty line at `at` (CR, if there, belongs to it; so do two), or none, or undecided. */
  #emptyLine(buffer: Buffer, at: number): number {
    for (let length = 0; length < 3; length++) {
      if (at + length >= buffer.length) return this.#final ? none : undecided
      const byte = buffer[at + length]
      if (byte === 10) return length + 1
      if (byte !== 13) return none
    }
    return none
  }

  #scanBody(buffer: Buffer, from: number): number {
    if (this.#open === 0) {
      this.#count(buffer, from, buffer.length)
      return buffer.length
    }
    if (this.#lineStart) {
      const level = this.#delimiterAt(buffer, from)
      if (level === undecided) {
        this.#waiting = true
        return from
      }
      this.#lineStart = false
      if (level >= 0) return this.#takeDelimiter(buffer, from, from, level)
    }
    let at = from
    for (;;) {
      const lineEnd = this.#nextDashes(buffer, at)
      if (lineEnd < 0) break
      const level = this.#delimiterAt(buffer, lineEnd + 1)
      if (level === undecided) {
        this.#count(buffer, from, lineEnd)
        this.#waiting = true
        return lineEnd
      }
      if (level >= 0) return this.#takeDelimiter(buffer, from, lineEnd + 1, level)
      at = lineEnd + 2
    }
    const end = this.#final ? buffer.length : beforeOpenEnd(buffer, from)
    this.#count(buffer, from, end)
    this.#waiting = end < buffer.length
    return end
  }

  /** Offset of the next LF with two dashes behind it, or -1. */
  #nextDashes(buffer: Buffer, from: number): number {
    let at = from
    while (this.#needle === dashes) {
      const found = buffer.indexOf(dashes, at)
      if (found < 0) return -1
      if (found > from && buffer[found - 1] === 10) return found - 1
      at = found + 1
      if (++this.#strayDashes > strayDashesMax) this.#needle = lineFeed
    }
    return buffer.indexOf(lineFeed, from)
  }

  /**
   * The frame whose delimiter line starts at `at`, or none, or undecided. The longest boundary that the line starts
   * with wins, since one may be the beginning of another, and what follows it on the line does not matter (RFC 2046 5.1.1).
   */
  #delimiterAt(buffer: Buffer, at: number): number {
    if (this.#open === 0) return none
    const available = buffer.length - at
    if (available > 0 && buffer[at] !== 45) return none
    if (available > 1 && buffer[at + 1] !== 45) return none
    if (available < 2) return this.#final ? none : undecided
    let level = none
    let length = 0
    let open = this.#open
    for (let index = this.#stack.length - 1; open > 0; index--) {
      const { boundary, spare } = this.#stack[index] as Frame
      if (boundary === null) continue
      open--
      for (const wanted of spare === null ? [boundary] : [boundary, spare]) {
        if (wanted.length <= length) continue
        const compared = Math.min(wanted.length, available - 2)
        if (!startsAt(buffer, at + 2, wanted, compared)) continue
        if (compared === wanted.length) {
          // The other reading is a guess, so it takes a line of its own.
          const next = buffer[at + 2 + compared]
          if (wanted === spare && next === undefined && !this.#final) return undecided
          if (wanted === spare && next !== undefined && !endsDelimiter(next)) continue
          level = index
          length = wanted.length
        } else if (!this.#final) return undecided
      }
    }
    this.#length = length
    // Two bytes more tell whether it closes.
    if (level >= 0 && available < length + 4 && !this.#final) {
      if (available < length + 3 || buffer[at + length + 2] === 45) return undecided
    }
    return level
  }

  /** A delimiter line of frame `level` starts at `at`; bytes from `from` on are not counted yet. */
  #takeDelimiter(buffer: Buffer, from: number, at: number, level: number): number {
    const end = Math.max(from, at - this.#lineEndBefore(buffer, at))
    this.#count(buffer, from, end)
    this.#closeTo(level, this.#offset + at - this.#lineEndBefore(buffer, at))
    this.#count(buffer, end, at)
    const frame = this.#stack[level] as Frame
    if (frame.spare?.length === this.#length) frame.boundary = frame.spare
    frame.spare = null
    const after = at + 2 + this.#length
    this.#closing = buffer[after] === 45 && buffer[after + 1] === 45
    if (this.#closing) {
      frame.boundary = null
      this.#open--
    }
    this.#count(buffer, at, after)
    this.#phase = inDelimiter
    return after
  }

  /** Passes over the rest of a delimiter line. */
  #scanDelimiter(buffer: Buffer, from: number): number {
    const found = buffer.indexOf(10, from)
    const end = found < 0 ? buffer.length : found + 1
    this.#count(buffer, from, end)
    if (found < 0) return end
    const top = (this.#stack.at(-1) as Frame).part
    if (this.#closing) this.#startBody(top.children.length === 0)
    else this.#startPart(this.#offset + end, top.type.value === 'multipart/digest' ? messageDefault : textPlain)
    return end
  }

  /** Length of the line end right before `at`. */
  #lineEndBefore(buffer: Buffer, at: number): number {
    const last = at > 0 ? buffer[at - 1] : this.#last
    if (last !== 10) return 0
    const lastButOne = at > 1 ? buffer[at - 2] : at > 0 ? this.#last : this.#lastButOne
    return lastButOne === 13 ? 2 : 1
  }

  #startPart(start: number, type: Valued): void {
    const part = emptyPart(start, type)
    const outer = this.#stack.at(-1)
    if (outer !== undefined) addChild(outer.part, part)
    this.#stack.push({ part, boundary: null, spare: null, linesBefore: this.#lines })
    this.#parts++
    if (this.#parts >= limits.mime.partsMax) this.#seal()
    this.#phase = inHeader
    this.#lineStart = true
    this.#counting = this.#messages > 0
  }

  #seal(): void {
    this.#sealed = true
    this.#open = 0
    for (const frame of this.#stack) frame.boundary = null
  }

  /** The header block ends; `end` is the offset of the first body byte. False where it was none, but text. */
  #endHeader(end: number): boolean {
    const frame = this.#stack.at(-1) as Frame
    const { part } = frame
    const block = this.#header.take()
    const mayBeText = block?.length === end - part.headerStart
    const isBody = block !== null && !takeHeader(part, block, mayBeText)
    if (!isBody) frame.linesBefore = this.#lines
    else if (!this.#counting) {
      this.#counting = true
      this.#count(block, 0, block.length, part.headerStart)
    }
    part.headerEnd = isBody ? part.headerStart : end
    part.bodyEnd = part.headerEnd
    const inside = !this.#sealed && this.#stack.length < limits.mime.depthMax
    if (inside && part.type.value.startsWith('multipart/')) {
      frame.boundary = boundaryOf(part.type)
      if (frame.boundary) {
        frame.spare = unquoted(frame.boundary)
        this.#open++
      }
    } else if (inside && isEmbedded(part)) {
      this.#messages++
      this.#startPart(end, textPlain)
      return true
    }
    this.#startBody(countsLines(part))
    return !isBody
  }

  #startBody(counting: boolean): void {
    this.#phase = inBody
    this.#lineStart = true
    this.#counting = counting || this.#messages > 0
    this.#needle = dashes
    this.#strayDashes = 0
  }

  /** Ends the bodies of all frames above `level` at `position`. */
  #closeTo(level: number, position: number): void {
    let end = position
    for (let index = this.#stack.length - 1; index > level; index--) {
      const frame = this.#stack.pop() as Frame
      const { part } = frame
      end = Math.max(part.headerEnd, end) // an outer body holds all of an inner one
      part.bodyEnd = end
      if (frame.boundary) this.#open--
      if (isEmbedded(part) && part.children.length > 0) this.#messages--
      const multipart = part.type.value.startsWith('multipart/')
      if (!countsLines(part) || (multipart && part.children.length > 0)) continue
      const open = part.bodyEnd > part.headerEnd && this.#lastLineEnd < part.bodyEnd
      part.lines = this.#lines - frame.linesBefore + (open ? 1 : 0)
      if (multipart) {
        addChild(part, onlyText(part))
        part.lines = 0
      }
    }
  }

  #count(buffer: Buffer, from: number, to: number, offset = this.#offset): void {
    if (!this.#counting) return
    let at = buffer.indexOf(10, from)
    let end = -1
    while (at >= 0 && at < to) {
      this.#lines++
      end = at
      at = buffer.indexOf(10, at + 1)
    }
    if (end >= 0) this.#lastLineEnd = offset + end + 1
  }

  #capture(buffer: Buffer, from: number, to: number): void {
    this.#count(buffer, from, to)
    this.#header.keep(buffer, from, to)
  }
}
