// Responses on their way out: text gathered into large chunks, values in the form their content needs (RFC 9051 9).
//
// Promises: nothing is kept for a session that has nothing to say; `room` waits while the peer takes nothing, so whoever
// writes much calls it between slices and memory stays bounded. What goes wrong with the socket is thrown by `room`. It
// knows nothing of storage.

/** Where the bytes go (net/connection.ts). */
export interface Sink {
  write(bytes: Uint8Array): void
  /** Resolves when the peer has taken nearly all of it; rejects when it is gone. */
  drain(): Promise<void>
}

/** Text and short bytes are handed to the socket in pieces of about this size. */
const chunkLength = 64 * 1024
/** Shorter bytes are copied to the text around them: thousands of small messages go out in few pieces. */
const gatherBytes = 16 * 1024

export class Encoder {
  readonly #sink: Sink
  #text = ''
  /** What comes before that text, and how long it is. */
  #parts: (string | Buffer)[] = []
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
    return this.bytes(bytes)
  }

  /** Raw bytes, after everything written before. */
  bytes(bytes: Buffer): this {
    if (bytes.length < gatherBytes) {
      this.#parts.push(this.#text, bytes)
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
    if (this.#text === '' && this.#parts.length === 0) return
    const bytes = this.#parts.length === 0 ? Buffer.from(this.#text, 'utf8') : together(this.#parts, this.#text)
    this.#text = ''
    this.#parts = []
    this.#gathered = 0
    this.#write(bytes)
  }

  /** Hands over what has gathered and waits until the socket takes more. */
  room(): Promise<void> {
    this.flush()
    return this.#sink.drain()
  }

  #write(bytes: Buffer): void {
    this.written += bytes.length
    this.#sink.write(bytes)
  }
}

function together(parts: readonly (string | Buffer)[], text: string): Buffer {
  let length = Buffer.byteLength(text)
  for (const part of parts) length += typeof part === 'string' ? Buffer.byteLength(part) : part.length
  const all = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const part of parts) at += typeof part === 'string' ? all.write(part, at) : part.copy(all, at)
  all.write(text, at)
  return all
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
