// Line ends: mail on disk has mostly bare line feeds, mail on the wire CR LF (RFC 5322 2.3).

const cr = 13
const lf = 10

/** Counts and puts right bare line feeds of a message that comes in pieces. */
export class LineEnds {
  #last = 0

  /** Bare line feeds in the next piece. */
  count(piece: Uint8Array): number {
    let bare = 0
    for (let at = piece.indexOf(lf); at >= 0; at = piece.indexOf(lf, at + 1)) {
      if ((at === 0 ? this.#last : piece[at - 1]) !== cr) bare += 1
    }
    this.#last = piece.at(-1) ?? this.#last
    return bare
  }

  /** The next piece with CR LF for every line feed. */
  mend(piece: Buffer): Buffer {
    const last = this.#last
    const bare = this.count(piece)
    if (bare === 0) return piece
    const mended = Buffer.allocUnsafe(piece.length + bare)
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
}
