// Lines of a message that are longer than any may be (RFC 5322 2.1.1, RFC 5321 4.5.3.1.6): 998 bytes and their end.
//
// Pure. Header fields are folded where they may be: at white space, which changes nothing that they say; lists behind a separator; text that
// has no place of its own as encoded words. What has none of that stays, and so does all that is short enough.

import { Header, type HeaderField } from '../header/header.ts'
import { asciiText } from './ascii-form.ts'

const lineBytesMax = 998
const lf = 10
const cr = 13

/** Whether a line of these bytes is longer than it may be, its end not counted. */
function hasLongLine(bytes: Buffer): boolean {
  let start = 0
  while (bytes.length - start > lineBytesMax) {
    // The furthest end of a line within reach: those before it are short as well.
    const end = bytes.subarray(start, start + lineBytesMax + 2).lastIndexOf(lf)
    if (end < 0 || (end === lineBytesMax + 1 && bytes[start + end - 1] !== cr)) return true
    start += end + 1
  }
  return false
}

/** The same as bytes come, whose line ends are CR LF. */
export class LineLengths {
  /** Bytes since the last end of a line. */
  #open = 0
  #long = false

  write(piece: Buffer): void {
    if (this.#long) return
    let start = -this.#open
    while (piece.length - start > lineBytesMax) {
      const from = Math.max(0, start)
      const end = piece.subarray(from, Math.max(from, start + lineBytesMax + 2)).lastIndexOf(lf)
      if (end < 0) {
        this.#long = piece.length - start > lineBytesMax + 1
        break
      }
      start = from + end + 1
    }
    const last = piece.lastIndexOf(lf) + 1
    this.#open = piece.length - Math.max(start, last > 0 ? last : start)
  }

  /** All is there: whether a line of it is longer than it may be. */
  end(): boolean {
    return this.#long || this.#open > lineBytesMax
  }
}

/** Fields that are no free text: encoded words stand for themselves in them. */
const structured =
  /^(?:from|sender|reply-to|to|cc|bcc|resent-.*|date|message-id|in-reply-to|references|received|return-path|mime-version|content-.*|list-.*|arc-.*|dkim-signature|authentication-results|.*-to)$/

/** A header block of which no line is longer than it may be, as far as that can be; the same buffer where none is. */
export function shortHeader(block: Buffer): Buffer {
  if (!hasLongLine(block)) return block
  const pieces: Buffer[] = []
  let kept = 0
  for (const field of new Header(block).fields) {
    const { start, end } = field
    if (!hasLongLine(block.subarray(start, end))) continue
    pieces.push(
      block.subarray(kept, start),
      Buffer.from(shortField(block.toString('latin1', start, end), field), 'latin1'),
    )
    kept = end
  }
  return kept === 0 ? block : Buffer.concat([...pieces, block.subarray(kept)])
}

function shortField(text: string, { key, name, start, valueStart }: HeaderField): string {
  const lines = text.split('\r\n').flatMap(line => foldedLine(line, structured.test(key)))
  const fits = lines.every(line => line.length <= lineBytesMax)
  // A word that fills a line by itself.
  if (fits || structured.test(key) || /[^\0-\x7f]/.test(text)) return lines.join('\r\n')
  const value = text
    .slice(valueStart - start)
    .replaceAll('\r\n', '')
    .trim()
  return `${name}: ${asciiText(value, name.length + 2)}`
}

/** A line in pieces, each but the first of which begins with white space. */
function foldedLine(line: string, list: boolean): string[] {
  const pieces: string[] = []
  let rest = line
  while (rest.length > lineBytesMax) {
    const at = placeToFold(rest, list)
    if (at <= 0) break
    pieces.push(rest.slice(0, at))
    rest = /^[ \t]/.test(rest.slice(at)) ? rest.slice(at) : ` ${rest.slice(at)}`
  }
  return [...pieces, rest]
}

function placeToFold(line: string, list: boolean): number {
  const part = line.slice(0, lineBytesMax)
  // Not where a line of white space would be left.
  const blank = /^.*[^ \t](?=[ \t]+[^ \t])/.exec(line.slice(0, lineBytesMax + 1))?.[0].length ?? 0
  const colon = /^[!-9;-~]+:$/.test(line.slice(0, blank))
  if (blank > 0 && !colon) return blank
  const separator = list ? outsideQuotes(part) : 0
  return separator > 1 ? separator : 0
}

/** Behind the last separator that stands in no quotes. */
function outsideQuotes(part: string): number {
  let quoted = false
  let found = 0
  for (let at = 0; at < part.length; at++) {
    const sign = part[at] as string
    if (sign === '\\') at += 1
    else if (sign === '"') quoted = !quoted
    else if (!quoted && /[,;>]/.test(sign) && !/[,;]/.test(part[at + 1] ?? '')) found = at + 1
  }
  return found
}
