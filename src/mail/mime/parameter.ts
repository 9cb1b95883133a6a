// Structured values with parameters: Content-Type and Content-Disposition (RFC 2045 5.1, 2183, 2231).
//
// Promises: never throws, linear, bounded. Understands quotes, comments, continuations (`name*0`), character sets
// (`name*=utf-8''...`) and what real senders do instead: encoded words in quotes, missing quotes, missing semicolons.

import { commentEnd } from '../header/comment.ts'
import { decodeWords, hexDigit } from '../header/words.ts'
import { decodeCharset } from './charset.ts'

const parametersMax = 200
const segmentsMax = 1000

export interface Valued {
  /** Lower case, without comments: `text/plain`, `attachment`. */
  readonly value: string
  /** Decoded, names in lower case; a plain object with own keys only. */
  readonly params: Readonly<Record<string, string>>
  /** As written, in order, without quotes; `joinedParameters` makes of it what IMAP shows. */
  readonly written: readonly (readonly [name: string, value: string])[]
}

/** `value; name=value; ...` taken apart. */
export function parseValued(text: string): Valued {
  const reader: Reader = { text, at: 0, literal: false }
  const head = readUntilSemicolon(reader, false)
  const found = headValue.exec(head)
  const isParameter = found !== null && head[found[0].length] === '='
  const value = found === null || isParameter ? '' : (found[1] as string).replace(/\s+/g, '')
  // `multipart/mixed boundary=x`: the semicolon was forgotten.
  const written = looseParameters(value === '' ? head : head.slice(found?.[0].length))
  while (reader.at < text.length && written.length < parametersMax) {
    reader.at++ // the semicolon
    written.push(...readParameters(reader))
  }
  // As long as they are: what an array may grow by is more than all else that is known of a short part.
  return { value: value.toLowerCase(), params: decodeParameters(written), written: written.slice(0, parametersMax) }
}

/** A word, or two with a slash between them, as tokens are (RFC 2045 5.1); in quotes as well, as some write it. */
const headValue = /^"?([^\s"(),:;<=>?@[\\\]/]+(?:\s*\/\s*[^\s"(),:;<=>?@[\\\]/]+)?)(?:"|\s)*/

/** `name=value` after `name="value"`, with nothing between them but white space. */
function looseParameters(text: string): [string, string][] {
  const found: [string, string][] = []
  let at = 0
  while (found.length < parametersMax) {
    const equals = text.indexOf('=', at)
    if (equals < 0) break
    const name = lastWord(text.slice(at, equals))
    const reader: Reader = { text, at: equals + 1, literal: true }
    while (isSpace(text.charCodeAt(reader.at))) reader.at++
    let value = ''
    if (text.charCodeAt(reader.at) === 0x22) value = readQuoted(reader)
    else {
      const start = reader.at
      while (reader.at < text.length && !isSpace(text.charCodeAt(reader.at))) reader.at++
      value = text.slice(start, reader.at)
    }
    if (name !== '') found.push([name, value])
    at = reader.at
  }
  return found
}

function lastWord(text: string): string {
  const trimmed = text.trimEnd()
  let start = trimmed.length
  while (start > 0 && !isSpace(trimmed.charCodeAt(start - 1))) start--
  return trimmed.slice(start)
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

/** The parameter up to the next semicolon, and those behind it whose semicolon was forgotten. */
function readParameters(reader: Reader): [string, string][] {
  const { text } = reader
  let name = ''
  let from = reader.at
  let code = 0
  for (; reader.at < text.length; reader.at++) {
    code = text.charCodeAt(reader.at)
    if (code === 0x3d || code === 0x3b) break
    if (code !== 0x28) continue
    const end = reader.literal ? -1 : commentEnd(text, reader.at)
    if (end < 0) reader.literal = true
    else {
      name += text.slice(from, reader.at)
      reader.at = end
      from = end + 1
    }
  }
  name = (name + text.slice(from, reader.at)).trim()
  if (code !== 0x3d || reader.at >= text.length) return []
  reader.at++
  skipBeforeValue(reader, freeText.test(name))
  if (text.charCodeAt(reader.at) === 0x22) {
    const quoted = readQuoted(reader)
    const others = looseParameters(readUntilSemicolon(reader, true))
    return name === '' ? others : [[name, quoted], ...others]
  }
  const value = readUntilSemicolon(reader, true)
  if (name === '') return []
  // Names of files have blanks, and boundaries what you will.
  const next = freeText.test(name) ? -1 : value.search(/\s[a-z*\d-]{1,40}=/i)
  return next < 0 ? [[name, value]] : [[name, value.slice(0, next)], ...looseParameters(value.slice(next))]
}

/** White space and a comment; where people name something it is one before quotes alone: `name=(1) a.txt` has none. */
function skipBeforeValue(reader: Reader, free: boolean): void {
  const { text } = reader
  while (isSpace(text.charCodeAt(reader.at))) reader.at++
  if (reader.literal || text.charCodeAt(reader.at) !== 0x28) return
  let next = commentEnd(text, reader.at)
  reader.literal = next < 0
  if (next < 0) return
  do next++
  while (isSpace(text.charCodeAt(next)))
  if (!free || text.charCodeAt(next) === 0x22) reader.at = next
}

const freeText = /^(?:file)?name|^boundary/i

/** A quoted string; the reader stops behind it. */
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
  return out
}

interface Segment {
  readonly text: string
  readonly encoded: boolean
}

/** The forms in which one parameter is there. */
interface Forms {
  plain?: string
  /** `name*=`. */
  extended?: string
  /** `name*0=`, `name*1*=` and so on, by number. */
  segments?: Map<number, Segment>
}

const piece = /^[^*]*\*\d{1,4}\*?\s*$/

/**
 * Parameters as written but for those that were cut into pieces (`name*0`, `name*1*`), which are one where their first piece stands: `name`,
 * or `name*` in UTF-8 where a piece is encoded (RFC 9051 7.5.2 body-fld-param, RFC 2231 6). It takes the place of another of that name.
 */
export function joinedParameters(written: Valued['written']): Valued['written'] {
  if (!written.some(([name]) => piece.test(name))) return written
  const joined = new Map<string, readonly [name: string, value: string]>()
  for (const [key, { segments }] of formsOf(written)) {
    if (segments === undefined) continue
    const encoded = [...segments.values()].some(segment => segment.encoded)
    const text = segmentsText(segments)
    joined.set(key, encoded ? [`${key}*`, extendedValue(text)] : [key, text])
  }
  const shown: (readonly [string, string])[] = []
  const said = new Set<string>()
  for (const [name, value] of written) {
    const star = name.indexOf('*')
    const bare = (star < 0 ? name : name.slice(0, star)).trim()
    const key = bare.toLowerCase()
    const whole = joined.get(key)
    if (whole === undefined || !(piece.test(name) || name.trim().toLowerCase() === whole[0])) shown.push([name, value])
    else if (!said.has(key)) {
      said.add(key)
      shown.push([bare + whole[0].slice(key.length), whole[1]])
    }
  }
  return shown
}

/** Text as the value of a parameter whose name ends in a star (RFC 2231 4). */
export function extendedValue(text: string): string {
  return `utf-8''${encodeURIComponent(text.toWellFormed()).replace(/['()*]/g, percent)}`
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** Continuations win over `name*=`, that over the plain form: each says more, and who writes the first adds the others for old readers. */
function decodeParameters(written: Valued['written']): Record<string, string> {
  const params: [string, string][] = []
  for (const [key, { plain, extended, segments }] of formsOf(written)) {
    if (segments) params.push([key, joinSegments(segments)])
    else if (extended !== undefined) params.push([key, joinSegments(new Map([[0, { text: extended, encoded: true }]]))])
    else if (plain !== undefined) params.push([key, decodeWords(plain).trim()])
  }
  return Object.fromEntries(params)
}

/** By names in lower case. */
function formsOf(written: Valued['written']): Map<string, Forms> {
  const all = new Map<string, Forms>()
  for (const [name, value] of written) {
    const star = name.indexOf('*')
    const key = (star < 0 ? name : name.slice(0, star)).trim().toLowerCase()
    if (key === '') continue
    let forms = all.get(key)
    if (!forms) {
      forms = {}
      all.set(key, forms)
    }
    if (star < 0) forms.plain ??= value
    else addForm(forms, name.slice(star + 1), value)
  }
  return all
}

/** RFC 2231 3 and 4: `suffix` is what follows the first star: `` (whole, encoded), `0`, `0*`. */
function addForm(forms: Forms, suffix: string, value: string): void {
  const match = /^(\d{0,4})(\*?)\s*$/.exec(suffix)
  if (!match) return
  if (match[1] === '') {
    forms.extended ??= value
    return
  }
  const index = Number(match[1])
  if (index >= segmentsMax) return
  forms.segments ??= new Map()
  if (!forms.segments.has(index)) forms.segments.set(index, { text: value, encoded: match[2] === '*' })
}

function joinSegments(segments: ReadonlyMap<number, Segment>): string {
  // Some senders cut encoded words into continuations.
  return decodeWords(segmentsText(segments))
    .replace(/[\x00-\x1f\x7f]/g, ' ')
    .trim()
}

/** The segments that are there, in order of their numbers; the first says the character set of all. */
function segmentsText(segments: ReadonlyMap<number, Segment>): string {
  let charset = ''
  const bytes: Buffer[] = []
  for (const [, { text, encoded }] of [...segments].sort(([one], [other]) => one - other)) {
    const named = bytes.length === 0 && encoded ? /^([^']*)'[^']*'/.exec(text) : null
    if (named) charset = named[1] ?? ''
    const value = text.slice(named?.[0].length ?? 0)
    bytes.push(encoded ? percentDecode(value) : Buffer.from(value))
  }
  return decodeCharset(Buffer.concat(bytes), charset === '' ? 'utf-8' : charset)
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
