// vCard as text: its lines with their parameters, folding and quoting, of versions 4.0 (RFC 6350), 3.0 (RFC 2426) and, for
// reading, 2.1, which old phones still write.
//
// Promises: whatever the bytes, reading takes time by their number and ends; lines, properties and cards over their limits
// are left out. What properties mean is card.ts.

import { limits } from '#lib/limits.ts'
import { decodeCharset } from '../mime/charset.ts'

export interface Property {
  /** In upper case, without its group. */
  readonly name: string
  /** Values by the name in lower case. What 2.1 writes without a name is a TYPE. */
  readonly params: ReadonlyMap<string, readonly string[]>
  /** As it stands, still quoted; decoded from quoted-printable. */
  readonly value: string
  /** The whole line without folds. */
  readonly line: string
}

const { lineLengthMax, propertiesMax, cardsMax } = limits.contact

/** The cards of a file, each as its properties without BEGIN, END and VERSION. */
export function* readVcards(bytes: Buffer): Generator<Property[]> {
  let card: Property[] | undefined
  let depth = 0
  let cards = 0
  for (const line of unfolded(textOf(bytes))) {
    const property = readLine(line)
    if (property === undefined) continue
    const isCard = property.value.trim().toUpperCase() === 'VCARD'
    if (property.name === 'BEGIN') {
      depth += 1
      if (isCard && depth === 1) card = []
    } else if (property.name === 'END') {
      if (depth === 1 && card !== undefined) {
        cards += 1
        yield card
        if (cards >= cardsMax) return
        card = undefined
      }
      depth = Math.max(depth - 1, 0)
    } else if (depth === 1 && card !== undefined && property.name !== 'VERSION' && card.length < propertiesMax) {
      card.push(property)
    }
  }
}

/** UTF-8, or what programs wrote before it. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  return text.includes('\ufffd') ? bytes.toString('latin1') : text
}

/** Lines with their continuations: after a fold (RFC 6350 3.2), or after the soft break of quoted-printable. */
function* unfolded(text: string): Generator<string> {
  let line = ''
  let length = 0
  let soft = false
  const whole = () => (length <= lineLengthMax ? line : '')
  for (const part of text.split(/\r\n|\n|\r/)) {
    const folded = part.startsWith(' ') || part.startsWith('\t')
    if (soft || (folded && line !== '')) {
      const more = folded && !soft ? part.slice(1) : part
      length += more.length
      if (length <= lineLengthMax) line += soft ? `\r\n${more}` : more
    } else {
      if (line !== '') yield whole()
      line = part
      length = part.length
    }
    soft = part.endsWith('=') && /^[^:]*;(?:[^:]*=)?quoted-printable/i.test(line.slice(0, 1000))
  }
  if (line !== '') yield whole()
}

const namePart = /^(?:([A-Za-z0-9-]+)\.)?([A-Za-z0-9-]+)/

function readLine(line: string): Property | undefined {
  const start = namePart.exec(line)
  if (start === null) return undefined
  const params = new Map<string, string[]>()
  let at = start[0].length
  while (line[at] === ';') {
    const end = endOfParam(line, at + 1)
    addParam(params, line.slice(at + 1, end))
    at = end
  }
  if (line[at] !== ':') return undefined
  const name = (start[2] ?? '').toUpperCase()
  const raw = line.slice(at + 1)
  const encoding = params.get('encoding')?.[0]?.toUpperCase()
  const value = encoding === 'QUOTED-PRINTABLE' ? fromQuotedPrintable(raw, params.get('charset')?.[0]) : raw
  return { name, params, value, line }
}

/** Where a parameter ends: a quoted value may hold what else would end it. */
function endOfParam(line: string, from: number): number {
  let quoted = false
  for (let at = from; at < line.length; at++) {
    const char = line[at]
    if (char === '"') quoted = !quoted
    else if (!quoted && (char === ';' || char === ':')) return at
  }
  return line.length
}

const encodings = /^(?:quoted-printable|base64|8bit|7bit)$/i

function addParam(params: Map<string, string[]>, text: string): void {
  const equals = text.indexOf('=')
  const bare = equals < 0
  const key = bare ? (encodings.test(text) ? 'encoding' : 'type') : text.slice(0, equals).trim().toLowerCase()
  const values = (bare ? text : text.slice(equals + 1)).match(/"[^"]*"?|[^,]+/g) ?? []
  const known = params.get(key) ?? []
  if (known.length === 0) params.set(key, known)
  for (const value of values) known.push(unquoteParam(value))
}

/** RFC 6868: what cannot stand in a parameter is written with `^`. */
function unquoteParam(text: string): string {
  const plain = text.replace(/^"([^"]*)"?$/, '$1').trim()
  return plain.replace(/\^([n^'])/g, (_, sign: string) => (sign === 'n' ? '\n' : sign === "'" ? '"' : '^'))
}

function fromQuotedPrintable(text: string, charset: string | undefined): string {
  const joined = text.replace(/=\r\n/g, '')
  const bytes = Buffer.from(
    joined.replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
  return decodeCharset(bytes, charset ?? 'utf-8')
}

/** Parts of a value at `sign` (`;` or `,`), each without its quoting. */
export function splitValue(value: string, sign: ';' | ','): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < value.length; at++) {
    if (value[at] === '\\') at += 1
    else if (value[at] === sign) {
      parts.push(value.slice(from, at))
      from = at + 1
    }
  }
  parts.push(value.slice(from))
  return parts.map(unquote)
}

/** A text without its quoting (RFC 6350 3.4). */
export function unquote(text: string): string {
  return text.replace(/\\([\s\S])/g, (_, sign: string) => (sign === 'n' || sign === 'N' ? '\n' : sign))
}

/** A text as it may stand in a value. */
export function quote(text: string): string {
  return text
    .replace(/[\\,;]/g, '\\$&')
    .replace(/\r\n|\r|\n/g, '\\n')
    .replace(/[\0-\x08\x0b-\x1f\x7f]/g, '')
}

/** A line with its end, folded at 75 octets and never inside a character (RFC 6350 3.2). */
export function folded(line: string): string {
  const out: string[] = []
  let part = ''
  let size = 0
  for (const char of line) {
    const bytes = Buffer.byteLength(char)
    if (size + bytes > 75) {
      out.push(part)
      part = ' '
      size = 1
    }
    part += char
    size += bytes
  }
  out.push(part)
  return `${out.join('\r\n')}\r\n`
}
