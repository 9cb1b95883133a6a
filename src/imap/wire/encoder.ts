// Responses on their way out: text gathered into large chunks, values in the form their content needs (RFC 9051 9).
//
// Promises: nothing is kept for a session that has nothing to say; `room` waits while the peer takes nothing, so whoever
// writes much calls it between slices and memory stays bounded. What goes wrong with the socket is thrown by `room`. It
// knows nothing of storage.

import { limits } from '#lib/limits.ts'

/** Where the bytes go (net/connection.ts). */
export interface Sink {
  /** Takes bytes, which do not change before `taken` was called; where that never happens they never do. */
  write(bytes: Uint8Array, taken?: () => void): void
  /** Resolves when the peer has taken nearly all of it; rejects when it is gone. */
  drain(): Promise<void>
  /** Bytes it has not got rid of. */
  readonly backlogBytes: number
}

/** Text and short bytes are handed to the socket in pieces of about this size. */
const chunkLength = 64 * 1024
/** What is shorter waits for the end of its answer: a write costs more than most commands. */
const littleLength = 8 * 1024
const done = Promise.resolve()
/** Shorter bytes are copied to the text around them: thousands of small messages go out in few pieces. */
const gatherBytes = 16 * 1024
/** Holds nearly every such piece. */
const bufferBytes = chunkLength + gatherBytes
/** Buffers of pieces that the kernel has taken: new ones for each would be most of what a large FETCH leaves as garbage. */
const buffers: Buffer[] = []

export class Encoder {
  readonly #sink: Sink
  #text = ''
  /** What comes before that text, and how long it is. */
  #parts: (string | Buffer)[] | undefined
  #gathered = 0
  /** Bytes handed to the sink so far. */
  written = 0

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Text as it is to appear, UTF-8. */
  text(text: string): this {
    this.#text += text
    if (this.#text.length + this.#gathered >= chunkLength) this.flush()
    return this
  }

  /** A whole line without its end. */
  line(text: string): this {
    return this.text(`${text}\r\n`)
  }

  /** A literal of these bytes (RFC 9051 4.3); `binary` as literal8 (RFC 3516). */
  literal(bytes: Buffer, binary = false): this {
    this.text(`${binary ? '~' : ''}{${bytes.length}}\r\n`)
    return this.bytes(bytes, binary)
  }

  /** Bytes of a literal, after everything written before; only such of a literal8 (`binary`) may hold NUL. */
  bytes(raw: Buffer, binary = false): this {
    const bytes = binary ? raw : withoutNul(raw)
    if (bytes.length < gatherBytes) {
      this.#parts ??= []
      this.#parts.push(textWithoutNul(this.#text), bytes)
      this.#gathered += this.#text.length + bytes.length
      this.#text = ''
      if (this.#gathered >= chunkLength) this.flush()
      return this
    }
    this.flush()
    this.#write(bytes)
    return this
  }

  /** Hands what has gathered to the socket, without waiting. */
  flush(): void {
    if (this.#text === '' && this.#parts === undefined) return
    const text = textWithoutNul(this.#text)
    const parts = this.#parts
    this.#text = ''
    this.#parts = undefined
    this.#gathered = 0
    if (parts === undefined) this.#write(Buffer.from(text, 'utf8'))
    else this.#writeTogether(parts, text)
  }

  #writeTogether(parts: readonly (string | Buffer)[], text: string): void {
    let length = Buffer.byteLength(text)
    for (const part of parts) length += typeof part === 'string' ? Buffer.byteLength(part) : part.length
    const apart = length > bufferBytes || length < chunkLength / 2
    const buffer = apart ? Buffer.allocUnsafe(length) : (buffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes))
    let at = 0
    for (const part of parts) at += typeof part === 'string' ? buffer.write(part, at) : part.copy(buffer, at)
    buffer.write(text, at)
    if (apart) {
      this.#write(buffer)
      return
    }
    this.written += length
    this.#sink.write(buffer.subarray(0, length), () => {
      if (buffers.length < limits.imap.buffersMax) buffers.push(buffer)
    })
  }

  /** Waits until the socket takes more, much having been written. A little goes out with what follows it. */
  room(): Promise<void> {
    const length = this.#text.length + this.#gathered
    if (length < littleLength && this.#sink.backlogBytes === 0) return done
    this.flush()
    return this.#sink.drain()
  }

  #write(bytes: Buffer): void {
    this.written += bytes.length
    this.#sink.write(bytes)
  }
}

/** What stands for a NUL, which no ordinary literal and no text may hold (RFC 9051 9 CHAR8): no octet of ASCII. */
const nulByte = 0x80

/** The same bytes, or a copy without NUL of the same length. */
function withoutNul(bytes: Buffer): Buffer {
  let at = bytes.indexOf(0)
  if (at < 0) return bytes
  const copy = Buffer.from(bytes)
  for (; at >= 0; at = copy.indexOf(0, at + 1)) copy[at] = nulByte
  return copy
}

/** Text is UTF-8, and a literal in it keeps its length. */
function textWithoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '?') : text
}

const quotable = /^[\x01-\x09\x0b\x0c\x0e-\x7f]*$/

/** `text` as a quoted string, or a literal where it holds what quotes cannot; `utf8` allows 8-bit text in quotes. */
export function quoted(text: string, utf8 = false): string {
  if (quotable.test(text) || (utf8 && !/[\x00\r\n]/.test(text))) return `"${text.replace(/["\\]/g, '\\$&')}"`
  return `{${Buffer.byteLength(text)}}\r\n${text}`
}

/** As an atom where it can be one, else quoted. */
export function astring(text: string, utf8 = false): string {
  return /^[^\x00-\x20\x7f-\uffff(){%*"\\]+$/.test(text) && text.toUpperCase() !== 'NIL' ? text : quoted(text, utf8)
}
