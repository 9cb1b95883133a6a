// Header lines with these names, or all others, of a header that comes in pieces (RFC 9051 6.4.5.1 HEADER.FIELDS).
//
// Promises: linear in the header, and no more of it is held than a piece and the beginning of one line: what strangers
// write into a header may have megabytes, in one line too.

/** Characters of a line that are looked at for its name. */
const nameLengthMax = 8192

export class FieldPicker {
  readonly #names: ReadonlySet<string>
  readonly #wanted: boolean
  /** The beginning of a line whose end has not come. */
  #held = ''
  /** The line that goes on now was decided about: the rest of it follows. */
  #midLine = false
  /** Lines of the field that goes on are taken. */
  #taking = false
  #over = false

  /** @param wanted false for all fields but these */
  constructor(names: readonly string[], wanted: boolean) {
    this.#names = new Set(names.map(name => name.toLowerCase()))
    this.#wanted = wanted
  }

  /** What is picked of the next piece. */
  write(piece: Buffer): Buffer {
    const text = this.#held + piece.toString('latin1')
    let out = ''
    let at = 0
    this.#held = ''
    while (!this.#over && at < text.length) {
      const end = text.indexOf('\n', at) + 1
      const line = end === 0 ? text.slice(at) : text.slice(at, end)
      if (end === 0 && !this.#midLine && line.length < nameLengthMax) {
        this.#held = line
        break
      }
      out += this.#line(line)
      this.#midLine = end === 0
      at += line.length
    }
    return Buffer.from(out, 'latin1')
  }

  /** What is picked of the end, and the empty line behind it all. */
  end(): Buffer {
    const rest = this.#over || this.#held === '' ? '' : this.#line(this.#held)
    const cut = this.#over ? false : rest !== '' || (this.#midLine && this.#taking)
    return Buffer.from(`${rest}${cut ? '\r\n' : ''}\r\n`, 'latin1')
  }

  #line(line: string): string {
    if (this.#midLine) return this.#taking ? line : ''
    if (line === '\r\n' || line === '\n') {
      this.#over = true
      return ''
    }
    if (!line.startsWith(' ') && !line.startsWith('\t')) {
      const colon = line.indexOf(':')
      const name = colon < 0 ? '' : line.slice(0, colon).trimEnd().toLowerCase()
      this.#taking = this.#names.has(name) === this.#wanted && (this.#wanted || name !== '')
    }
    return this.#taking ? line : ''
  }
}
