// Structured values with parameters: Content-Type and Content-Disposition (RFC 2045 5.1, 2183, 2231).
//
// Promises: never throws, linear, bounded. Understands quotes, comments, continuations (`name*0`), character sets
// (`name*=utf-8''...`) and what real senders do instead: encoded words in quotes, missing quotes, missing semicolons.

import { decodeCharset } from './charset.ts'
import { decodeWords, hexDigit } from './words.ts'

const parametersMax = 200
const segmentsMax = 1000

export interface Valued {
  /** Lower case, without comments: `text/plain`, `attachment`. */
  readonly value: string
  /** Decoded, names in lower case; a plain object with own keys only. */
  readonly params: Readonly<Record<string, string>>
  /** As written, in order, without quotes: what IMAP shows (RFC 9051 7.5.2 body-fld-param). */
  readonly written: readonly (readonly [name: string, value: string])[]
}

/** `value; name=value; ...` taken apart. */
export function parseValued(text: string): Valued {
  const reader: Reader = { text, at: 0, literal: false }
  const head = readUntilSemicolon(reader, false)
  const [value = '', ...rest] = head.split(/\s+/)
  const written: [string, string][] = []
  // `multipart/mixed boundary=x`: the semicolon was forgotten.
  for (const word of rest.slice(0, parametersMax)) {
    const equals = word.indexOf('=')
    if (equals > 0) written.push([word.slice(0, equals), word.slice(equals + 1).replace(/^"|"$/g, '')])
  }
  while (reader.at < text.length && written.length < parametersMax) {
    reader.at++ // the semicolon
    const parameter = readParameter(reader)
    if (parameter) written.push(parameter)
  }
  return { value: value.toLowerCase(), params: decodeParameters(written), written }
}

interface Reader {
  readonly text: string
  at: number
  /** A bracket was opened that never closes: from now on brackets are ordinary characters. */
  literal: boolean
}

/**
 * Text up to the next semicolon, comments taken out, trimmed; the reader stops at the semicolon. `name=a(1).txt` is no
 * comment to anyone who writes it: in a parameter a comment starts after white space only.
 */
function readUntilSemicolon(reader: Reader, parameter: boolean): string {
  const { text } = reader
  let out = ''
  let from = reader.at
  let quoted = false
  for (; reader.at < text.length; reader.at++) {
    const code = text.charCodeAt(reader.at)
    if (code === 0x22) quoted = !quoted
    else if (code === 0x3b && !quoted) break
    else if (code === 0x28 && !quoted && (!parameter || isSpace(text.charCodeAt(reader.at - 1)))) {
      const end = reader.literal ? -1 : commentEnd(text, reader.at)
      if (end < 0) reader.literal = true
      else {
        out += text.slice(from, reader.at)
        reader.at = end
        from = end + 1
      }
    }
  }
  return (out + text.slice(from, reader.at)).trim()
}

/** Offset of the bracket that closes the comment at `start`, or -1. */
function commentEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5c) at++
    else if (code === 0x28) depth++
    else if (code === 0x29 && --depth === 0) return at
  }
  return -1
}

function readParameter(reader: Reader): [string, string] | null {
  const { text } = reader
  const nameStart = reader.at
  let code = 0
  for (; reader.at < text.length; reader.at++) {
    code = text.charCodeAt(reader.at)
    if (code === 0x3d || code === 0x3b) break
  }
  const name = text.slice(nameStart, reader.at).trim()
  if (code !== 0x3d || reader.at >= text.length) return null
  reader.at++
  while (isSpace(text.charCodeAt(reader.at))) reader.at++
  const value = text.charCodeAt(reader.at) === 0x22 ? readQuoted(reader) : readUntilSemicolon(reader, true)
  return name === '' ? null : [name, value]
}

/** A quoted string; what stands between it and the next semicolon is dropped. */
function readQuoted(reader: Reader): string {
  const { text } = reader
  let out = ''
  let from = ++reader.at
  for (; reader.at < text.length; reader.at++) {
    const code = text.charCodeAt(reader.at)
    if (code === 0x22) break
    if (code === 0x5c && reader.at + 1 < text.length) {
      out += text.slice(from, reader.at)
      from = ++reader.at
    }
  }
  out += text.slice(from, reader.at)
  reader.at++
  readUntilSemicolon(reader, true)
  return out
}

interface Segments {
  charset: string
  readonly parts: Map<number, { readonly text: string; readonly encoded: boolean }>
}

function decodeParameters(written: readonly (readonly [string, string])[]): Record<string, string> {
  const plain = new Map<string, string>()
  let extended: Map<string, Segments> | undefined
  for (const [name, value] of written) {
    const star = name.indexOf('*')
    if (star < 0) {
      const key = name.toLowerCase()
      if (!plain.has(key)) plain.set(key, decodeWords(value).trim())
      continue
    }
    extended ??= new Map()
    addSegment(extended, name.slice(0, star).trim().toLowerCase(), name.slice(star + 1), value)
  }
  if (extended) for (const [key, segments] of extended) plain.set(key, joinSegments(segments))
  return Object.fromEntries(plain)
}

/** RFC 2231 3 and 4: `suffix` is what follows the first star: `` (whole, encoded), `0`, `0*`. */
function addSegment(extended: Map<string, Segments>, key: string, suffix: string, value: string): void {
  const match = /^(\d{0,4})(\*?)\s*$/.exec(suffix)
  if (!match || key === '') return
  const index = match[1] === '' ? 0 : Number(match[1])
  const encoded = match[1] === '' || match[2] === '*'
  let segments = extended.get(key)
  if (!segments) {
    segments = { charset: '', parts: new Map() }
    extended.set(key, segments)
  }
  if (index >= segmentsMax || segments.parts.has(index)) return
  let text = value
  if (index === 0 && encoded) {
    const first = value.indexOf("'")
    const second = first < 0 ? -1 : value.indexOf("'", first + 1)
    if (second >= 0) {
      segments.charset = value.slice(0, first)
      text = value.slice(second + 1)
    }
  }
  segments.parts.set(index, { text, encoded })
}

function joinSegments(segments: Segments): string {
  const bytes: Buffer[] = []
  for (let index = 0; ; index++) {
    const part = segments.parts.get(index)
    if (!part) break
    bytes.push(part.encoded ? percentDecode(part.text) : Buffer.from(part.text))
  }
  // Some senders cut encoded words into continuations.
  const text = decodeCharset(Buffer.concat(bytes), segments.charset === '' ? 'utf-8' : segments.charset)
  return decodeWords(text)
    .replace(/[\x00-\x1f\x7f]/g, ' ')
    .trim()
}

function percentDecode(text: string): Buffer {
  const source = Buffer.from(text)
  let length = 0
  for (let at = 0; at < source.length; at++) {
    const byte = source[at] as number
    const high = byte === 0x25 ? hexDigit(source[at + 1]) : -1
    const low = high < 0 ? -1 : hexDigit(source[at + 2])
    if (low < 0) source[length++] = byte
    else {
      source[length++] = high * 16 + low
      at += 2
    }
  }
  return source.subarray(0, length)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d
}
