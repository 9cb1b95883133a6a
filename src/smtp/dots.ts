// The end of a message after DATA (RFC 5321 4.5.2): only CRLF . CRLF ends it, and a dot that was put before a line is taken
// off again. Every other byte passes as it is, NUL and bare CR or LF included.
//
// A lone dot between other line ends (LF . LF, CR . CRLF, LF . CRLF, ...) ends nothing; but since some servers take it for
// the end, what follows it could be commands smuggled past them. Such a message is marked `malformed`, and its sender hears
// so. Searches run over whole chunks (Buffer.indexOf); only bytes next to a dot are looked at one by one.

const carriageReturn = 13
const lineFeed = 10
const dot = 46
const lineFeedDot = Buffer.from('\n.')
const carriageReturnDot = Buffer.from('\r.')
const piecesMax = 4
/** Dots inside of lines that are met in a chunk, one for so many bytes, before line ends are searched for instead. */
const bytesPerDot = 32

/** What came last. `stuffed`: CRLF and a dot, `stuffedReturn`: the same and CR; `bareDot`: bare CR or LF and a dot. */
type Place = 'text' | 'return' | 'bareFeed' | 'lineStart' | 'stuffed' | 'stuffedReturn' | 'bareDot'

export class DotReader {
  /** The bytes of the message in the chunk that `feed` got last, in order. */
  readonly pieces: Buffer[] = []
  /** Whether a lone dot stood between bare line ends. What `pieces` holds is then of no use. */
  malformed = false
  #place: Place = 'lineStart'

  /** Reads a chunk; gives the position after the end of the message, or -1 where it goes on. */
  feed(chunk: Buffer): number {
    this.pieces.length = 0
    /** Where the bytes begin that are not in `pieces` yet; `chunk.length` and more while none are wanted. */
    let from = this.#place === 'stuffedReturn' ? chunk.length : 0
    let at = 0
    while (at < chunk.length) {
      if (this.#place === 'text') {
        at = this.#skipText(chunk, at)
        continue
      }
      const before = this.#place
      const byte = chunk[at] as number
      this.#place = this.#next(before, byte)
      if (before === 'stuffedReturn' && byte === lineFeed) return this.#gather(at + 1)
      if (before === 'lineStart' && byte === dot) {
        if (at > from) this.pieces.push(chunk.subarray(from, at))
        from = at + 1
      }
      if (this.#place === 'stuffedReturn') from = chunk.length
      at += 1
    }
    if (from < chunk.length) this.pieces.push(from === 0 ? chunk : chunk.subarray(from))
    return this.#gather(-1)
  }

  /** Copies many small pieces into one, so that a message of nothing but dots costs no more than another. */
  #gather(end: number): number {
    if (this.pieces.length > piecesMax) this.pieces.splice(0, this.pieces.length, Buffer.concat(this.pieces))
    return end
  }

  /** Goes on from ordinary text to just behind the next line end that a dot follows, or to the end of the chunk. */
  #skipText(chunk: Buffer, at: number): number {
    const found = nextDot(chunk, at)
    if (found < 0) {
      this.#place = placeAtEnd(chunk, at)
      return chunk.length
    }
    if (chunk[found - 1] === carriageReturn) this.#place = 'return'
    else this.#place = found - 1 > at && chunk[found - 2] === carriageReturn ? 'lineStart' : 'bareFeed'
    return found
  }

  #next(before: Place, byte: number): Place {
    const loneDot = before === 'bareDot' || before === 'stuffed'
    if (byte === carriageReturn) {
      if (before === 'bareDot' || before === 'stuffedReturn') this.malformed = true
      return before === 'stuffed' ? 'stuffedReturn' : 'return'
    }
    if (before === 'stuffedReturn') {
      if (byte !== lineFeed) this.malformed = true
      return byte === lineFeed ? 'lineStart' : byte === dot ? 'bareDot' : 'text'
    }
    if (byte === lineFeed) {
      if (loneDot) this.malformed = true
      return before === 'return' ? 'lineStart' : 'bareFeed'
    }
    if (byte !== dot) return 'text'
    if (before === 'lineStart') return 'stuffed'
    return before === 'return' || before === 'bareFeed' ? 'bareDot' : 'text'
  }
}

/**
 * Where the next dot behind a CR or LF is, both from `at` on, or -1. Most mail has fewer dots than line ends, files none, so
 * dots are looked at first.
 */
function nextDot(chunk: Buffer, at: number): number {
  let stray = Math.ceil((chunk.length - at) / bytesPerDot)
  for (let found = chunk.indexOf(dot, at + 1); found >= 0; found = chunk.indexOf(dot, found + 1)) {
    const before = chunk[found - 1]
    if (before === lineFeed || before === carriageReturn) return found
    stray -= 1
    if (stray === 0) return nextLineDot(chunk, found)
  }
  return -1
}

function nextLineDot(chunk: Buffer, at: number): number {
  const feed = chunk.indexOf(lineFeedDot, at)
  const bare = chunk.subarray(at, feed < 0 ? chunk.length : feed).indexOf(carriageReturnDot)
  if (bare >= 0) return at + bare + 1
  return feed < 0 ? -1 : feed + 1
}

/** The place after ordinary text from `at` to the end of the chunk, none of whose line ends has a dot behind it. */
function placeAtEnd(chunk: Buffer, at: number): Place {
  const last = chunk[chunk.length - 1]
  if (last === carriageReturn) return 'return'
  if (last !== lineFeed) return 'text'
  return chunk.length - at > 1 && chunk[chunk.length - 2] === carriageReturn ? 'lineStart' : 'bareFeed'
}
