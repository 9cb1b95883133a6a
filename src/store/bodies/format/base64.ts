// Canonical base64 in lines, both ways: what can be decoded for storing and encoded again to the very same bytes.
//
// `decodeLines` answers null unless encoding its result gives its input again, byte for byte; that is proved by lengths
// and positions instead of encoding again, so it costs little more than the decoding itself. The end of a body that is
// only line ends is the caller's to leave out.

import type { Lines } from './codec.ts'

/** Longest line that is looked for; mail knows no longer ones (RFC 5322 2.1.1). */
const widthMax = 1000

/** How the base64 that starts with `head` is broken into lines; null where it cannot be canonical. */
export function detectLines(head: Buffer): Lines | null {
  const end = head.indexOf(10)
  if (end < 1 || end > widthMax + 1) return null
  const ending = head[end - 1] === 13 ? 2 : 1
  const width = end + 1 - ending
  return width % 4 === 0 && width > 0 ? { width, ending } : null
}

/** Bytes of the encoded form from line ends on that end of `encoded`; they belong to no line. */
export function lineEndsAtEnd(encoded: Buffer): number {
  let end = encoded.length
  while (end > 0 && (encoded[end - 1] === 10 || encoded[end - 1] === 13)) end -= 1
  return encoded.length - end
}

/** Bytes that `size` decoded bytes take when they are encoded in lines. */
export function encodedLength(size: number, lines: Lines): number {
  const characters = Math.ceil(size / 3) * 4
  return characters + Math.max(0, Math.ceil(characters / lines.width) - 1) * lines.ending
}

/**
 * Decodes whole lines. With `last`, `encoded` ends the value and has no line end behind it; without, it ends with a line
 * end and the value goes on. Null where it is not exactly what `encodeLines` makes.
 */
export function decodeLines(encoded: Buffer, lines: Lines, last: boolean): Buffer | null {
  const { width, ending } = lines
  const step = width + ending
  const breaks = last ? Math.ceil(encoded.length / step) - 1 : encoded.length / step
  if (!Number.isInteger(breaks) || breaks < 0) return null
  for (let line = 1, at = width; line <= breaks; line++, at += step) {
    if (encoded[at + ending - 1] !== 10 || (ending === 2 && encoded[at] !== 13)) return null
  }
  const characters = encoded.length - breaks * ending
  if (characters % 4 !== 0 || characters === 0) return null
  // The decoder takes the alphabet of URLs too.
  if (encoded.includes(45) || encoded.includes(95)) return null
  let padding = 0
  if (last) {
    if (encoded[encoded.length - 1] === 61) padding = encoded[encoded.length - 2] === 61 ? 2 : 1
  }
  const decoded = Buffer.from(encoded.toString('latin1'), 'base64')
  // Anything foreign to the alphabet is skipped by the decoder, or ends it: either shows in the length.
  if (decoded.length !== (characters / 4) * 3 - padding) return null
  // Bits behind the end must be zero.
  if (padding > 0) {
    const rest = decoded.subarray(decoded.length - (3 - padding))
    if (rest.toString('base64') !== encoded.toString('latin1', encoded.length - 4)) return null
  }
  return decoded
}

/**
 * Encodes `value` in lines, the inverse of `decodeLines`: with `last` without a line end behind it; without, `value`
 * must fill its lines and a line end follows.
 */
export function encodeLines(value: Buffer, lines: Lines, last: boolean): Buffer {
  const { width, ending } = lines
  const characters = Math.ceil(value.length / 3) * 4
  const breaks = last ? Math.max(0, Math.ceil(characters / width) - 1) : characters / width
  const encoded = Buffer.allocUnsafe(characters + breaks * ending)
  // Written to the end and moved forward line by line: the lines never overtake what is still to be moved.
  const start = encoded.length - characters
  encoded.write(value.toString('base64'), start, 'latin1')
  let to = 0
  for (let from = start; from < encoded.length; from += width) {
    const end = Math.min(from + width, encoded.length)
    encoded.copyWithin(to, from, end)
    to += end - from
    if (last && end === encoded.length) break
    if (ending === 2) encoded[to++] = 13
    encoded[to++] = 10
  }
  return encoded
}
