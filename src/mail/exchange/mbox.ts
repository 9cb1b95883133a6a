// Mailboxes in one file, in the mboxrd form: a `From ` line before each message, an empty line after it, and one more `>`
// before every line of a message that is `From ` behind any number of `>`, so that reading gives back what was written.
//
// Writing and reading work in pieces and hold no more than a line, cut where one is too long to hold. Lines end in LF alone.

import { limits } from '#lib/limits.ts'
import { formatAsctime } from '../header/date.ts'

const lf = 10
const quotable = /^>*From /
const quoted = /^>+From /
/** What is behind `From ` before a message: a sender alone or nothing, as some programs leave it, or a time somewhere (RFC 4155). */
const separating = /^From (\S*\s*$|.*\d:\d\d)/
const dropped = /^(content-length|x-status|status|x-gm-thrid|x-gmail-labels):/i

export interface MboxEnvelope {
  /** Envelope sender; empty for none. */
  readonly from: string
  /** When it was received, milliseconds. */
  readonly date: number
  /** Fields put on top, without line ends. */
  readonly fields: readonly string[]
}

/** One message as it stands in an mbox file. */
export async function* mboxMessage(envelope: MboxEnvelope, message: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const sender = envelope.from.replace(/[^\x21-\x7e]/g, '') || 'MAILER-DAEMON'
  const fields = envelope.fields.map(field => `${field.replace(/[\r\n]+/g, ' ')}\n`).join('')
  yield Buffer.from(`From ${sender} ${formatAsctime(envelope.date)}\n${fields}`)
  let inHeader = true
  let dropping = false
  let whole = true
  for await (const pieces of lines(message)) {
    const out: Buffer[] = []
    for (const { bytes, begins, ends } of pieces) {
      const line = bytes.at(-1) === 13 && ends ? bytes.subarray(0, -1) : bytes
      if (inHeader && begins) {
        if (line.length === 0) inHeader = dropping = false
        else if (line[0] !== 32 && line[0] !== 9) dropping = dropped.test(line.subarray(0, 32).toString('latin1'))
      }
      whole = ends
      if (dropping) continue
      if (begins && quotable.test(line.subarray(0, 1024).toString('latin1'))) out.push(quote)
      out.push(line)
      if (ends) out.push(newline)
    }
    if (out.length > 0) yield Buffer.concat(out)
  }
  yield whole ? newline : Buffer.from('\n\n')
}

const quote = Buffer.from('>')
const newline = Buffer.from('\n')
const crlf = Buffer.from('\r\n')

export interface MboxRead {
  /** The line before the message, from behind `From `. */
  readonly envelope: string
  /** The message with its quotes taken away, as lines came; null where it is larger than `bytesMax`. */
  readonly message: Buffer | null
  /** Bytes of it. */
  readonly size: number
}

/**
 * The messages of an mbox file. What stands before the first `From ` line is passed over; behind that only what looks like an envelope ends a message,
 * since many programs do not quote what people write ("From now on"). Some quote nothing at all and say instead how long a message is
 * (Content-Length): that is believed where it is true, which is that another message or the end of the file follows there.
 */
export async function* readMbox(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<MboxRead> {
  const reader = new MboxReader(bytesMax)
  for await (const pieces of lines(chunks)) {
    for (const piece of pieces) reader.take(piece)
    yield* reader.done.splice(0)
  }
  reader.end()
  yield* reader.done
}

interface Current {
  readonly envelope: string
  readonly bytes: Pile
  inHeader: boolean
  /** Bytes of the body that are still to come, as its header says; none or less where that is over, or nothing is said. */
  left: number
  /** Places of lines that a quote was taken from. */
  readonly unquoted: number[]
}

class MboxReader {
  readonly done: MboxRead[] = []
  readonly #bytesMax: number
  #current: Current | undefined
  /** An empty line belongs to the message unless a `From ` line or the end follows it. */
  #empty = true
  #held: Buffer | null = null
  /** Bytes of the file from a line on that ends the message if its length is wrong. */
  #doubtful: Pile | undefined
  /** The empty line behind what its header says is all of the message. */
  #behind: Line | undefined
  /** How often a length was wrong. */
  #wrong = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  take(piece: Line): void {
    const current = this.#current
    if (this.#doubtful !== undefined && current !== undefined) this.#doubt(this.#doubtful, current, piece)
    else if (!this.#empty || !isEnvelope(piece, current)) this.#line(piece)
    else if (current !== undefined && current.left > 0) {
      this.#doubtful = new Pile()
      pile(this.#doubtful, current, piece)
    } else {
      if (current !== undefined) this.#finish(current)
      this.#begin(textOf(piece))
    }
  }

  end(): void {
    while (this.#doubtful !== undefined && this.#current !== undefined) {
      if (isWhole(this.#current)) this.#believe(this.#doubtful, this.#current)
      else this.#disbelieve(this.#doubtful, this.#current)
    }
    if (this.#current !== undefined) this.#finish(this.#current)
  }

  #begin(text: string): void {
    const envelope = text.slice(5).trimEnd()
    this.#current = { envelope, bytes: new Pile(), inHeader: true, left: 0, unquoted: [] }
    this.#held = null
    this.#empty = false
  }

  #finish({ envelope, bytes }: Current): void {
    this.done.push({ envelope, size: bytes.size, message: bytes.size > this.#bytesMax ? null : bytes.whole() })
  }

  #line(piece: Line): void {
    const { bytes } = piece
    const current = this.#current
    this.#empty = isEmpty(piece)
    if (current === undefined) return
    if (current.inHeader) this.#header(current, textOf(piece))
    else current.left -= lengthOf(piece)
    const isQuoted = bytes[0] === greater && quoted.test(textOf(piece))
    this.#add(current, piece, isQuoted ? bytes.subarray(1) : bytes)
    if (isQuoted && current.left > 0) current.unquoted.push(current.bytes.size - lengthOf(piece) + 1)
  }

  /** An empty line may be none of the message. */
  #add(current: Current, piece: Line, line: Buffer): void {
    this.#flush(current)
    if (isEmpty(piece)) {
      this.#held = line.length === 0 ? newline : crlf
      return
    }
    this.#put(current, line)
    if (piece.ends) this.#put(current, newline)
  }

  #header(current: Current, text: string): void {
    if (this.#empty) current.inHeader = false
    const said = contentLength.exec(text)?.[1]
    if (said === undefined || this.#wrong >= limits.transfer.wrongLengthsMax) return
    current.left = Number(said) <= this.#bytesMax ? Number(said) : 0
  }

  #flush(current: Current): void {
    if (this.#held !== null) this.#put(current, this.#held)
    this.#held = null
  }

  #put(current: Current, bytes: Buffer): void {
    current.bytes.put(bytes)
    if (current.bytes.size > this.#bytesMax) current.bytes.forget()
  }

  /** Whether what looks like the next message is a part of this one is known where its length ends. */
  #doubt(doubtful: Pile, current: Current, piece: Line): void {
    const isOver = isWhole(current)
    if (current.left > 0) pile(doubtful, current, piece)
    else if (isOver && this.#behind === undefined && isEmpty(piece)) this.#behind = piece
    else {
      if (isOver && isEnvelope(piece, current)) this.#believe(doubtful, current)
      else this.#disbelieve(doubtful, current)
      this.take(piece)
    }
  }

  /** Whoever wrote the file quoted nothing. */
  #believe(doubtful: Pile, current: Current): void {
    this.#doubtful = undefined
    const whole = current.bytes.whole()
    current.bytes.clear()
    let from = 0
    for (const place of current.unquoted) {
      this.#put(current, whole.subarray(from, place))
      this.#put(current, quote)
      from = place
    }
    this.#put(current, whole.subarray(from))
    for (const piece of linesOf(doubtful.whole())) this.#add(current, piece, piece.bytes)
    if (this.#behind !== undefined) this.#flush(current)
    this.#behind = undefined
    this.#empty = true
  }

  #disbelieve(doubtful: Pile, current: Current): void {
    const behind = this.#behind
    this.#doubtful = undefined
    this.#behind = undefined
    this.#wrong += 1
    current.left = 0
    for (const piece of linesOf(doubtful.whole())) this.take(piece)
    if (behind !== undefined) this.take(behind)
  }
}

/** Bytes that come in pieces, of which a short one may be a line end: they take as many objects as there are blocks. */
class Pile {
  size = 0
  #blocks: Buffer[] = []
  #last = nothing
  #used = 0

  put(bytes: Buffer): void {
    if (bytes.length > this.#last.length - this.#used) {
      this.#blocks.push(this.#last.subarray(0, this.#used))
      this.#last = Buffer.allocUnsafe(Math.max(bytes.length, 1024, Math.min(this.size, limits.body.chunkBytes)))
      this.#used = 0
    }
    bytes.copy(this.#last, this.#used)
    this.#used += bytes.length
    this.size += bytes.length
  }

  whole(): Buffer {
    return Buffer.concat([...this.#blocks, this.#last.subarray(0, this.#used)])
  }

  /** Lets the bytes go, and goes on counting. */
  forget(): void {
    this.#blocks = []
    this.#last = nothing
    this.#used = 0
  }

  clear(): void {
    this.forget()
    this.size = 0
  }
}

const nothing: Buffer = Buffer.alloc(0)
const greater = 62
const letterF = 70

function pile(doubtful: Pile, current: Current, piece: Line): void {
  doubtful.put(piece.bytes)
  if (piece.ends) doubtful.put(newline)
  current.left -= lengthOf(piece)
}

function* linesOf(bytes: Buffer): Generator<Line> {
  for (let from = 0; from < bytes.length; ) {
    const at = bytes.indexOf(lf, from)
    const ends = at >= 0
    yield { bytes: bytes.subarray(from, ends ? at : bytes.length), begins: true, ends }
    from = ends ? at + 1 : bytes.length
  }
}

function textOf({ bytes, begins }: Line): string {
  return begins ? bytes.subarray(0, 1024).toString('latin1') : ''
}

const contentLength = /^content-length:[ \t]*(\d{1,12})\s*$/i

/** Whether it is as many bytes as its header says; the end of the last line may not be counted. */
function isWhole({ left }: Current): boolean {
  return left <= 0 && left >= -2
}

function isEnvelope(piece: Line, current: Current | undefined): boolean {
  if (!piece.begins || piece.bytes[0] !== letterF) return false
  const text = textOf(piece)
  return text.startsWith('From ') && (current === undefined || separating.test(text))
}

function isEmpty({ bytes, begins, ends }: Line): boolean {
  return begins && ends && (bytes.length === 0 || (bytes.length === 1 && bytes[0] === 13))
}

function lengthOf({ bytes, ends }: Line): number {
  return bytes.length + (ends ? 1 : 0)
}

interface Line {
  readonly bytes: Buffer
  /** It begins and ends here, and is not cut because of its length or the end of the file. */
  readonly begins: boolean
  readonly ends: boolean
}

/** Lines without their LF, as many as each chunk completes. */
async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let rest: Buffer = Buffer.alloc(0)
  let begins = true
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const found: Line[] = []
    let from = 0
    for (let at = bytes.indexOf(lf); at >= 0; at = bytes.indexOf(lf, from)) {
      found.push({ bytes: bytes.subarray(from, at), begins, ends: true })
      begins = true
      from = at + 1
    }
    rest = bytes.subarray(from)
    if (rest.length > limits.transfer.lineBytesMax) {
      found.push({ bytes: rest, begins, ends: false })
      begins = false
      rest = Buffer.alloc(0)
    }
    if (found.length > 0) yield found
  }
  if (rest.length > 0) yield [{ bytes: rest, begins, ends: false }]
}
