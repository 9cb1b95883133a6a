// Encodings of transfer as bytes come (RFC 2045 6.7, 6.8): a body written anew, however long it or a line of it is.
//
// Pure and linear; what is held back is less than a line. Line ends of what comes are CR LF.

/** Takes a body in pieces and gives it as it leaves. */
export interface Encoder {
  write(piece: Buffer): Buffer
  /** What is left behind the last piece. */
  end(): Buffer
}

const cr = 13
const lf = 10
const tab = 9
const space = 32
const equals = 61
/** Longest line, its soft break included (RFC 2045 6.7, 6.8). */
const lineMax = 76
const softBreak = Buffer.from('=\r\n')
const nothing = Buffer.alloc(0)
const digits = Buffer.from('0123456789ABCDEF')
/** The most that one byte becomes: a break and three letters, and white space that was held back. */
const growth = 9

/** base64 of whatever it is. */
export class Base64Encoder implements Encoder {
  static readonly #bytesOfLine = (lineMax / 4) * 3
  #rest = nothing
  #begun = false

  write(piece: Buffer): Buffer {
    const all = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    const whole = all.length - (all.length % Base64Encoder.#bytesOfLine)
    this.#rest = Buffer.from(all.subarray(whole))
    return this.#lines(all.subarray(0, whole))
  }

  end(): Buffer {
    return this.#lines(this.#rest)
  }

  #lines(bytes: Buffer): Buffer {
    if (bytes.length === 0) return nothing
    const lines = bytes.toString('base64').replace(new RegExp(`.{${lineMax}}(?=.)`, 'g'), '$&\r\n')
    const text = this.#begun ? `\r\n${lines}` : lines
    this.#begun = true
    return Buffer.from(text, 'latin1')
  }
}

/** What is base64 already, in lines that are short: lines of it mean nothing. */
export class Base64Lines implements Encoder {
  #column = 0

  write(piece: Buffer): Buffer {
    const out = Buffer.allocUnsafe(piece.length + 2 * Math.ceil((piece.length + 1) / lineMax) + 2)
    let to = 0
    for (const byte of piece) {
      if (byte === cr || byte === lf) continue
      if (this.#column === lineMax) {
        out[to++] = cr
        out[to++] = lf
        this.#column = 0
      }
      out[to++] = byte
      this.#column += 1
    }
    return out.subarray(0, to)
  }

  end(): Buffer {
    return nothing
  }
}

/** Text as quoted-printable: its line ends stay, no line is too long, none ends in white space. */
export class QuotedEncoder implements Encoder {
  #column = 0
  /** White space of which it is not known whether a line ends behind it; 0 for none. */
  #blank = 0

  write(piece: Buffer): Buffer {
    const out = Buffer.allocUnsafe(growth * (piece.length + 1))
    let to = 0
    const put = (byte: number, coded: boolean) => {
      const length = coded ? 3 : 1
      if (this.#column + length >= lineMax) {
        to += softBreak.copy(out, to)
        this.#column = 0
      }
      this.#column += length
      if (!coded) out[to++] = byte
      else {
        out[to++] = equals
        out[to++] = digits[byte >> 4] as number
        out[to++] = digits[byte & 15] as number
      }
    }
    for (const byte of piece) {
      if (this.#blank !== 0) put(this.#blank, byte === cr || byte === lf)
      this.#blank = 0
      if (byte === tab || byte === space) this.#blank = byte
      else if (byte === cr) out[to++] = cr
      else if (byte === lf) {
        out[to++] = lf
        this.#column = 0
      } else put(byte, byte < space || byte > 126 || byte === equals)
    }
    return Buffer.from(out.subarray(0, to))
  }

  end(): Buffer {
    if (this.#blank === 0) return nothing
    const coded = Buffer.from(`=${this.#blank === tab ? '09' : '20'}`)
    return this.#column + coded.length < lineMax ? coded : Buffer.concat([softBreak, coded])
  }
}

/** What is quoted-printable already, in lines that are short: cut where nothing is meant by it. */
export class QuotedLines implements Encoder {
  #column = 0
  /** Letters of a byte that are still to come. */
  #within = 0

  write(piece: Buffer): Buffer {
    const out = Buffer.allocUnsafe(4 * piece.length)
    let to = 0
    for (const byte of piece) {
      if (byte === cr || byte === lf) {
        this.#within = 0
        out[to++] = byte
        if (byte === lf) this.#column = 0
        continue
      }
      if (this.#within === 0 && this.#column + (byte === equals ? 3 : 1) >= lineMax) {
        to += softBreak.copy(out, to)
        this.#column = 0
      }
      if (byte === equals) this.#within = 2
      else if (this.#within > 0) this.#within -= 1
      out[to++] = byte
      this.#column += 1
    }
    return Buffer.from(out.subarray(0, to))
  }

  end(): Buffer {
    return nothing
  }
}
