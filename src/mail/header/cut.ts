// Taking fields out of a header block that must not be believed, on a mail's way in.
//
// Every other byte stays as it is. A bare CR ends a line here, unlike elsewhere: some programs read it so, and would find a
// field that we did not see. Linear in the block; never looks behind it.

const carriageReturn = 0x0d
const lineFeed = 0x0a

/**
 * The block without unwanted fields; the same buffer where there are none of them.
 *
 * @param unwanted is given the name in lower case and the text behind the colon
 */
export function cutUnwanted(block: Buffer, unwanted: (key: string, value: () => string) => boolean): Buffer {
  const pieces: Buffer[] = []
  const lines = new Lines(block)
  let kept = 0
  for (let start = 0; start < block.length; ) {
    let end = lines.endFrom(start)
    let next = lines.after(end)
    while (next < block.length && isSpace(block[next])) {
      end = lines.endFrom(next)
      next = lines.after(end)
    }
    const key = fieldName(block, start, end)
    if (key !== '' && unwanted(key, () => block.toString('latin1', block.indexOf(0x3a, start) + 1, end))) {
      pieces.push(block.subarray(kept, start))
      // The line before ended in a bare CR: whoever sees one line there sees it end as it did.
      kept = start > 0 && block[start - 1] === carriageReturn ? end : next
    }
    start = next
  }
  return kept === 0 ? block : Buffer.concat([...pieces, block.subarray(kept)])
}

/** Line ends of a block, asked for in rising order: CR LF, LF, CR and CR CR LF are one each. */
class Lines {
  readonly #block: Buffer
  #feed = -1
  #return = -1

  constructor(block: Buffer) {
    this.#block = block
  }

  /** Where the next line end begins. */
  endFrom(from: number): number {
    if (this.#feed < from) this.#feed = this.#find(lineFeed, from)
    if (this.#return < from) this.#return = this.#find(carriageReturn, from)
    return Math.min(this.#feed, this.#return)
  }

  /** Where the next line begins. */
  after(end: number): number {
    let at = end
    while (this.#block[at] === carriageReturn) at += 1
    return this.#block[at] === lineFeed ? at + 1 : at
  }

  #find(byte: number, from: number): number {
    const found = this.#block.indexOf(byte, from)
    return found < 0 ? this.#block.length : found
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09
}

/** What shows as nothing at the ends of a name, to one program or another: white space of any kind, controls, what is not ASCII. */
function isUnseen(byte: number): boolean {
  return byte <= 0x20 || byte >= 0x7f
}

/** The name of the field on a line, in lower case; '' where none is named. Some find a colon on the line after the name. */
function fieldName(block: Buffer, start: number, end: number): string {
  const colon = block.subarray(start, end).indexOf(0x3a)
  if (colon <= 0) return ''
  let [first, last] = [start, start + colon]
  while (first < last && isUnseen(block[first] as number)) first += 1
  while (last > first && isUnseen(block[last - 1] as number)) last -= 1
  // Programs of old end a text at NUL, or leave it out.
  const name = block.toString('latin1', first, last).replace(/\0/g, '')
  return /^[!-9;-~]+$/.test(name) ? name.toLowerCase() : ''
}
