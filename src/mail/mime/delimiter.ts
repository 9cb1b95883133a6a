// What separates the parts of a multipart (RFC 2046 5.1.1): boundaries as bytes, and looking for them in a buffer.
//
// Promises: nothing here copies a body or looks at a byte twice; a boundary that cannot be used is none.

import { limits } from '#lib/limits.ts'
import type { Valued } from './parameter.ts'

/** The boundary's bytes (RFC 2046 5.1.1: it does not end in white space); null where there is none to use. */
export function boundaryOf(type: Valued): Buffer | null {
  const written = type.written.find(([name]) => name.toLowerCase() === 'boundary')
  const text = (written?.[1] ?? type.params.boundary ?? '').trimEnd()
  const bytes = Buffer.from(text)
  return text === '' || bytes.length > limits.mime.boundaryLengthMax ? null : bytes
}

/** What stands in single quotes, which some programs take for quotes; null where there are none. */
export function unquoted(boundary: Buffer): Buffer | null {
  const quoted = boundary.length > 2 && boundary[0] === 0x27 && boundary.at(-1) === 0x27
  return quoted ? boundary.subarray(1, -1) : null
}

/** What may follow a boundary where that is a whole line: an end of line, padding, or the dashes that close. */
export function endsDelimiter(byte: number): boolean {
  return byte === 10 || byte === 13 || byte === 32 || byte === 9 || byte === 45
}

/** Whether `wanted`, as far as `length`, stands at `at`. */
export function startsAt(buffer: Buffer, at: number, wanted: Buffer, length: number): boolean {
  for (let index = 0; index < length; index++) if (buffer[at + index] !== wanted[index]) return false
  return true
}

/** Where the buffer ends in what may be the start of a delimiter (LF, LF and a dash), the offset of that LF. */
export function beforeOpenEnd(buffer: Buffer, from: number): number {
  const end = buffer.length
  if (end - 1 >= from && buffer[end - 1] === 10) return end - 1
  if (end - 2 >= from && buffer[end - 1] === 45 && buffer[end - 2] === 10) return end - 2
  return end
}
