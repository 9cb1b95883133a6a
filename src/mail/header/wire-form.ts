// The bytes of a message as they go over the wire: every line ends in CR LF (RFC 5321 2.3.8), whatever it had before.
//
// This is done before a message is signed, so that nothing changes behind the signature, and so that no lone dot stands
// between line ends that another server reads differently. Must not be asked to judge: what a stranger's header says, it
// says afterwards, too; no new field comes into being.

const cr = 13
const lf = 10
const feed = Buffer.from('\n')
const none = Buffer.alloc(0)

/** Puts the line ends of a message right that comes in pieces: bare CR and bare LF become CR LF. */
export class WireLines {
  #last = 0

  /** The next piece; the same buffer where nothing is missing. */
  mend(piece: Buffer): Buffer {
    const missing = this.#missing(piece)
    let before = this.#last
    this.#last = piece.at(-1) ?? before
    if (missing === 0) return piece
    const mended = Buffer.allocUnsafe(piece.length + missing)
    let to = 0
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] as number
      if ((before === cr) !== (byte === lf)) mended[to++] = before === cr ? lf : cr
      mended[to++] = byte
      before = byte
    }
    return mended
  }

  /** Bytes that stand for half of a line end alone. */
  #missing(piece: Buffer): number {
    let missing = 0
    let before = this.#last
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] as number
      if ((before === cr) !== (byte === lf)) missing += 1
      before = byte
    }
    return missing
  }

  /** What is missing behind the last piece. */
  end(): Buffer {
    return this.#last === cr ? feed : none
  }
}

/** The same for a message that is a stream. */
export async function* wireLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const lines = new WireLines()
  for await (const piece of pieces) yield lines.mend(piece)
  const rest = lines.end()
  if (rest.length > 0) yield rest
}

/**
 * A header block that fields are put on top of: CR LF at the end of each line, white space for a bare CR or NUL inside of
 * one, and no line at the top that would become part of the field above.
 */
export function wireHeader(block: Buffer): Buffer {
  const text = block.toString('latin1')
  const empty = /(?:^|\n)(\r*\n)$/.exec(text)?.[1] ?? ''
  const lines = text
    .slice(0, text.length - empty.length)
    .replace(/^\r+(?!\n)/, '')
    .replace(/\0|\r(?!\n)/g, ' ')
    .replace(/\r?\n/g, '\r\n')
    .replace(/^(?:[ \t].*(?:\r\n|$))+/, '')
  const written = empty === '' ? lines : `${lines}\r\n`
  return written === text ? block : Buffer.from(written, 'latin1')
}
