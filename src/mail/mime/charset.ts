// Bytes in a named character set to text.
//
// Promises: never throws, never returns half a character (a surrogate alone, which UTF-16 and UTF-7 can say and no URL and
// no column takes), never returns fewer characters than the bytes hold information for, and is linear in the bytes. Labels
// are what strangers write, so they are matched loosely and a wrong label is forgiven: text that is valid UTF-8 and labelled
// as ASCII (or not at all, or as something unknown) is read as UTF-8, else as windows-1252.
// Stateless on purpose: a caller that streams must cut at a safe place.

import { isAscii, isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { remember } from '#lib/memoize.ts'
import { iconv } from '#lib/process/lazy.ts'
import { decodeEbcdic, ebcdicNumber } from './ebcdic.ts'
import { decodeEucTw, decodeIso2022Cn, decodeJohab } from './far-east.ts'

const labelLengthMax = 60

const ascii = new Set(['usascii', 'ascii', 'ansix341968', 'us', '646', 'iso646us', 'csascii'])

/** Labels that mean "nothing was said": the bytes decide. */
const unsaid = new Set([
  '',
  ...ascii,
  'unknown8bit',
  'xunknown',
  'unknown',
  'default',
  '8bit',
  'none',
  // No character sets, although the library turns bytes into them.
  'binary',
  'base64',
  'hex',
])

/** Strangers ask for what they like, `constructor` too, which every object has. */
function byName(names: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(names))
}

/** Labels that neither library knows, by the name one of them knows. */
const synonyms = byName({
  utf8mb4: 'utf8',
  unicode11utf8: 'utf8',
  unicode11utf7: 'utf7',
  xunicode20utf7: 'utf7',
  xmacroman: 'macintosh',
  xmacce: 'maccenteuro',
  maccentraleurope: 'maccenteuro',
  iso88598i: 'iso88598',
  iso88596i: 'iso88596',
  xgbk: 'gbk',
  gb23121980: 'gbk',
  ksc56011992: 'cp949',
  iso885911: 'windows874',
  iso88591windows31latin1: 'windows1252',
  xsjis: 'shiftjis',
  windows31j: 'shiftjis',
  cswindows31j: 'shiftjis',
  cp932: 'shiftjis',
  uhc: 'cp949',
  xuhc: 'cp949',
  cp65001: 'utf8',
  utf8sig: 'utf8',
  ibm00858: 'cp858',
  extendedunixcodepackedformatforjapanese: 'eucjp',
  xeucjp: 'eucjp',
  xbig5: 'big5',
  ...{ cngb: 'gbk', ptcp154: 'pt154', kz1048: 'rk1048', strk10482002: 'rk1048', xviettcvn5712: 'tcvn' },
  ...{ macromanian: 'macromania', maclatin2: 'maccenteuro', macis: 'maciceland', macuk: 'macukraine' },
  // Later editions, which say the same but for rare characters.
  ...{ shiftjis2004: 'shiftjis', shiftjisx0213: 'shiftjis', eucjis2004: 'eucjp', eucjisx0213: 'eucjp' },
})

/**
 * `bytes` read as `label` (any spelling, `undefined` for none).
 */
export function decodeCharset(bytes: Buffer, label: string | undefined): string {
  if (bytes.length === 0) return ''
  const name = charsetName(label)
  if (japanese.test(name)) return isAscii(bytes) ? shiftedJapanese(bytes) : japaneseOf(bytes)
  if (korean.test(name)) return decodeCharset(shiftedToHigh(bytes), 'euc-kr')
  if (chinese.test(name)) return decodeCharset(tildedToHigh(bytes), 'gbk')
  if (chineseShifts.test(name)) return isAscii(bytes) ? decodeIso2022Cn(bytes) : decodeUnlabelled(bytes)
  if (isAscii(bytes) && !name.startsWith('utf') && !name.startsWith('ucs')) return plainOf(bytes)
  if (name === 'utf8') return isUtf8(bytes) ? bytes.toString() : forgiving(bytes)
  if (isWide.test(name) && isNarrow(bytes)) return bytes.toString('latin1')
  if (unsaid.has(name)) return isUtf8(bytes) ? bytes.toString() : iconv().decode(bytes, 'windows-1252')
  if (name === 'iso88591' || name === 'latin1') return iconv().decode(bytes, 'windows-1252')
  // RFC 2152 knows no byte above 127.
  if (name.startsWith('utf7') && !isAscii(bytes)) return decodeUnlabelled(bytes)
  if (isKnown(name)) return iconv().decode(bytes, name).toWellFormed()
  return foreign(name, bytes)
}

/**
 * Text that came in pieces, each of which should be whole (RFC 2047 5). Where pieces were cut within a character, they are
 * joined first: in a set with shifts those that do not shift back at their end and what goes on without a shift of its own,
 * in others all of them, if that reads better.
 */
export function decodePieces(pieces: readonly Buffer[], label: string | undefined): string {
  const [only] = pieces
  if (only === undefined) return ''
  if (pieces.length === 1) return decodeCharset(only, label)
  const shifts = shiftsOf(charsetName(label))
  const whole = shifts === undefined ? pieces : wholeByShifts(pieces, shifts)
  const text = whole.map(piece => decodeCharset(piece, label)).join('')
  if (shifts !== undefined) return text
  const broken = whole.reduce((sum, piece) => sum + brokenIn(piece, label), 0)
  if (broken === 0) return text
  const joined = Buffer.concat(pieces)
  return brokenIn(joined, label) < broken ? decodeCharset(joined, label) : text
}

/**
 * Bytes that carry no label (raw 8-bit header fields): UTF-8 where valid, else what `hint` says where they are that, else
 * windows-1252.
 */
export function decodeUnlabelled(bytes: Buffer, hint = ''): string {
  if (isAscii(bytes)) return plainOf(bytes)
  if (isUtf8(bytes)) return bytes.toString()
  if (hint !== '') {
    const text = decodeCharset(bytes, hint)
    if (!text.includes('\ufffd')) return text
  }
  return iconv().decode(bytes, 'windows-1252')
}

const isWide = /^(?:utf|ucs)(?:16|2|32|4)/

/** ASCII that somebody calls UTF-16. Real text of that has a zero somewhere: in a line end, a blank, a full stop. */
function isNarrow(bytes: Buffer): boolean {
  return (bytes.length % 2 === 1 || bytes.length >= narrowBytesMin) && isAscii(bytes) && !bytes.includes(0)
}

/** Some names have as many letters of Chinese both of whose bytes are ASCII, and nothing else. */
const narrowBytesMin = 32

/** ASCII, in which many Japanese programs shift without saying so (RFC 1468). */
function plainOf(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  return /\x1b\$[@B]/.test(text) ? shiftedJapanese(bytes) : text
}

/** 8-bit text that is called ISO-2022-JP: what else is written in Japan. */
function japaneseOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  const [best] = ['shift_jis', 'euc-jp', 'windows-1252']
    .map(name => ({ text: iconv().decode(bytes, name), broken: brokenIn(bytes, name) }))
    .sort((one, other) => one.broken - other.broken)
  return best?.text ?? ''
}

/** Whether `label` names a character set in which `decodeCharset` reads. */
export function isCharset(label: string): boolean {
  const name = charsetName(label)
  if (japanese.test(name) || korean.test(name) || chinese.test(name) || chineseShifts.test(name)) return true
  if (others.has(name) || rare.has(name) || ebcdicNumber(name) !== undefined) return true
  return unsaid.has(name) ? ascii.has(name) : isKnown(name)
}

function isKnown(name: string): boolean {
  return iconv().encodingExists(name)
}

/** Names of labels that were met: mail has few of them, thousands of times. */
const charsetNames = new Map<string, string>()
const charsetNamesMax = 200

/** A label as the libraries spell it. */
function charsetName(label: string | undefined): string {
  if (label === undefined || label.length > labelLengthMax) return ''
  const known = charsetNames.get(label)
  if (known !== undefined) return known
  const name = spelled(label)
  remember(charsetNames, label, name, charsetNamesMax)
  return name
}

function spelled(label: string): string {
  const written = label.toLowerCase().replace(/[^a-z0-9]/g, '')
  const name = synonyms.get(written) ?? written
  if (unsaid.has(name) || isKnown(name)) return name
  // `ISO_8859-5:1988`, `x-mac-greek`, `dos-862`.
  const plain = name
    .replace(/^(iso8859\d{1,2})19\d\d$/, '$1')
    .replace(/^x(?=[a-z])/, '')
    .replace(/^(?:dos|oem|ms)(?=\d)/, 'cp')
  return isKnown(plain) || rare.has(plain) ? plain : (synonyms.get(plain) ?? name)
}

/** Mostly UTF-8 with some broken bytes stays UTF-8; text that has hardly a valid sequence is windows-1252. */
function forgiving(bytes: Buffer): string {
  const text = bytes.toString()
  let broken = 0
  let whole = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0xfffd) broken++
    else if (code > 0x7f) whole++
  }
  return broken > whole ? iconv().decode(bytes, 'windows-1252') : text
}

/** Character sets that shift between ASCII and others (RFC 1468, 1557, 1843, 1922). */
const japanese = /^(?:cs)?iso2022jp(?:[123]|ext|2004|ms)?$|^cp5022[012]$|^xwindowsiso2022jp$/
const korean = /^(?:cs)?iso2022kr$/
const chinese = /^(?:hz|hzgb2312|xhz)$/
const chineseShifts = /^(?:cs)?iso2022cn(?:ext)?$/

interface Shifts {
  /** Every shift. */
  readonly each: RegExp
  /** Those back to ASCII. */
  readonly back: RegExp
}

function shiftsOf(name: string): Shifts | undefined {
  if (japanese.test(name)) return { each: /\x1b(?:\([A-Z]|\$[@-D]|\$\([@-D])/g, back: /^\x1b\([BJ]$/ }
  if (korean.test(name) || chineseShifts.test(name)) return { each: /[\x0e\x0f]/g, back: /^\x0f$/ }
  if (chinese.test(name)) return { each: /~[{}]/g, back: /^~\}$/ }
  return undefined
}

/** Pieces that end within a shift joined with what goes on in it. */
function wholeByShifts(pieces: readonly Buffer[], { each, back }: Shifts): Buffer[] {
  const out: Buffer[] = []
  let open: Buffer[] = []
  for (const piece of pieces) {
    const shifts = [...piece.toString('latin1').matchAll(each)]
    const [first] = shifts
    if (open.length > 0 && first?.index === 0 && !back.test(first[0])) {
      out.push(Buffer.concat(open))
      open = []
    }
    open.push(piece)
    const last = shifts.at(-1)
    if (last === undefined ? open.length > 1 : !back.test(last[0])) continue
    out.push(Buffer.concat(open))
    open = []
  }
  if (open.length > 0) out.push(Buffer.concat(open))
  return out
}

/** Places where bytes are no text of a character set. */
export function brokenIn(bytes: Buffer, label: string | undefined): number {
  const name = charsetName(label)
  const utf8 = name === 'utf8' || unsaid.has(name)
  if (utf8 && isUtf8(bytes)) return 0
  let broken = /^(?:utf|ucs)16|^ucs2/.test(name) ? bytes.length % 2 : 0
  const text = utf8 ? bytes.toString() : decodeCharset(bytes, label)
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1)) broken++
  return broken
}

/** Names of the WHATWG that the library does not know, by one that it knows. Text in ASCII alone was read before. */
const others = byName({
  ...{ unicode20utf8: 'utf8', xunicode20utf8: 'utf8' },
  ...{ csiso88596e: 'iso88596', csiso88596i: 'iso88596', iso88596e: 'iso88596', suneugreek: 'iso88597' },
  ...{ csiso88598e: 'iso88598', csiso88598i: 'iso88598', visual: 'iso88598', logical: 'iso88598' },
  ...{
    csisolatin9: 'iso885915',
    koi: 'koi8r',
    koi8: 'koi8r',
    xmacukrainian: 'maccyrillic',
    cseucpkdfmtjapanese: 'eucjp',
  },
  ...{
    unicode: 'utf16le',
    csunicode: 'utf16le',
    unicodefeff: 'utf16le',
    iso10646ucs2: 'utf16le',
    unicodefffe: 'utf16be',
  },
})

/** What is read here, by names as they are written. */
const rare = new Map<string, (bytes: Buffer) => string>([
  ...['johab', 'cp1361', 'ms1361'].map(name => [name, decodeJohab] as const),
  ...['euctw', 'cns11643', 'cseuctw'].map(name => [name, decodeEucTw] as const),
])

/** Never by asking the platform whether it knows a name: each that it does not costs an error, and strangers write thousands of them. */
function foreign(name: string, bytes: Buffer): string {
  const ebcdic = ebcdicNumber(name)
  if (ebcdic !== undefined) return decodeEbcdic(bytes, ebcdic)
  const read = rare.get(name)
  if (read !== undefined) return read(bytes)
  const known = others.get(name)
  return known === undefined ? decodeUnlabelled(bytes) : iconv().decode(bytes, known).toWellFormed()
}

let shifting: TextDecoder | undefined

/** ISO-2022-JP, which only the platform knows. */
function shiftedJapanese(bytes: Buffer): string {
  shifting ??= new TextDecoder('iso-2022-jp')
  return shifting.decode(bytes)
}

/** ISO-2022-KR (RFC 1557): between SO and SI each byte lacks its high bit. */
function shiftedToHigh(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  let shifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === 0x0e) shifted = true
    else if (byte === 0x0f) shifted = false
    else if (byte === 0x1b && bytes[at + 1] === 0x24 && bytes[at + 2] === 0x29 && bytes[at + 3] === 0x43) at += 3
    else out[length++] = shifted && byte > 0x20 ? byte | 0x80 : byte
  }
  return out.subarray(0, length)
}

/** HZ (RFC 1843): between `~{` and `~}` each byte lacks its high bit. */
function tildedToHigh(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  let shifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    const next = bytes[at + 1]
    if (byte === 0x7e && next === 0x7b && !shifted) {
      shifted = true
      at++
    } else if (byte === 0x7e && next === 0x7d && shifted) {
      shifted = false
      at++
    } else if (byte === 0x7e && next === 0x7e && !shifted) out[length++] = bytes[at++] as number
    else out[length++] = shifted && byte > 0x20 ? byte | 0x80 : byte
  }
  return out.subarray(0, length)
}
