// Line ends of a message: CR LF everywhere (RFC 5322 2.3), whatever it came with. The one place that changes them.
//
// A bare LF becomes CR LF, in headers and bodies alike, but not in the body of a part with Content-Transfer-Encoding
// `binary`, which has no lines (RFC 2045 2.9). A bare CR is no line end and stays: RFC 5321 2.3.8 forbids to take it for
// one, what draws progress bars sends it, and whoever signs hashes it as it is. CR CR LF stays, too. Nothing here ends a
// message: that is for dots.ts, which knows CR LF alone.

import type { MimePart } from './mime-part.ts'

const cr = 13
const lf = 10

/** Where lines are shorter, bytes are copied one by one. */
const bytesPerLineMin = 16

/** Counts and puts right bare line feeds of a message that comes in pieces. */
export class LineEnds {
  /** The last byte that came, none yet while undefined. */
  #last: number | undefined

  /** Something came, and its last line has no end. */
  get open(): boolean {
    return this.#last !== undefined && this.#last !== lf
  }

  /** Bare line feeds in the next piece. */
  count(piece: Uint8Array): number {
    let bare = 0
    for (let at = piece.indexOf(lf); at >= 0; at = piece.indexOf(lf, at + 1)) {
      if ((at === 0 ? this.#last : piece[at - 1]) !== cr) bare += 1
    }
    this.#last = piece.at(-1) ?? this.#last
    return bare
  }

  /** The next piece with CR LF for every line feed; the same buffer where it has that already. */
  mend(piece: Buffer): Buffer {
    const last = this.#last
    const bare = this.count(piece)
    if (bare === 0) return piece
    const mended = Buffer.allocUnsafe(piece.length + bare)
    if (bare > piece.length / bytesPerLineMin) return mendedBytes(piece, last, mended)
    let from = 0
    let to = 0
    for (let at = piece.indexOf(lf); at >= 0; at = piece.indexOf(lf, at + 1)) {
      if ((at === 0 ? last : piece[at - 1]) === cr) continue
      to += piece.copy(mended, to, from, at)
      mended[to++] = cr
      from = at
    }
    piece.copy(mended, to, from)
    return mended
  }

  /** The next piece is left as it is. */
  pass(piece: Buffer): Buffer {
    this.#last = piece.at(-1) ?? this.#last
    return piece
  }
}

function mendedBytes(piece: Buffer, before: number | undefined, mended: Buffer): Buffer {
  let last = before
  let to = 0
  for (let at = 0; at < piece.length; at++) {
    const byte = piece[at] as number
    if (byte === lf && last !== cr) mended[to++] = cr
    mended[to++] = byte
    last = byte
  }
  return mended
}

/**
 * A message in memory whose tree nobody knows yet, with its line ends put right: one that may have binary parts is left as
 * it is, for whoever takes it in.
 */
export function mendPlain(message: Buffer): Buffer {
  const mended = new LineEnds().mend(message)
  return mended === message || /binary/i.test(message.toString('latin1')) ? message : mended
}

/** A whole message, given piece by piece, with its line ends put right. */
export class MessageLineEnds {
  readonly #ends = new LineEnds()
  readonly #ranges: readonly BinaryRange[]
  /** The range that is not behind yet. */
  #range = 0
  #offset = 0

  constructor(root: MimePart) {
    this.#ranges = binaryRanges(root)
  }

  /** The next bytes. */
  mend(piece: Buffer): Buffer {
    const mended: Buffer[] = []
    let at = 0
    while (at < piece.length) {
      const range = this.#ranges[this.#range]
      const place = this.#offset + at
      if (range !== undefined && range.end <= place) {
        this.#range += 1
        continue
      }
      const inside = range !== undefined && range.start <= place
      const border = range === undefined ? Infinity : inside ? range.end : range.start
      const part = piece.subarray(at, Math.min(piece.length, border - this.#offset))
      mended.push(inside ? this.#ends.pass(part) : this.#ends.mend(part))
      at += part.length
    }
    this.#offset += piece.length
    return mended.length === 1 ? (mended[0] as Buffer) : Buffer.concat(mended)
  }
}

/** Bytes of a message whose line ends are none: bodies of parts that are `binary`. */
interface BinaryRange {
  readonly start: number
  readonly end: number
}

/** Where they are, in order. */
function binaryRanges(root: MimePart): BinaryRange[] {
  const ranges: BinaryRange[] = []
  const waiting = [root]
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (part.children.length > 0) waiting.push(...part.children.toReversed())
    else if (part.encoding === 'binary') ranges.push({ start: part.headerEnd, end: part.bodyEnd })
  }
  return ranges
}
