// Encoded words (RFC 2047): text in header fields that is not ASCII.
//
// Promises: `decodeWords` never throws, is linear in its input whatever the input, gives back unchanged what is no
// encoded word, and its result never holds a line end or another control character (a decoded word cannot smuggle a
// header line into anything built from it). `encodeWords` gives printable ASCII only.

import { brokenIn, decodeCharset, decodePieces } from '../mime/charset.ts'

const charsetLengthMax = 80
/** RFC 2047 2: an encoded word has 75 characters at most; 45 bytes in base64 and `=?utf-8?B?` `?=` are 72. */
const wordBytesMax = 45

interface Word {
  charset: string
  encoding: 'b' | 'q'
  /** Encoded text as written. */
  text: string
}

/**
 * Header text with its encoded words decoded, the white space between two of them left out (RFC 2047 6.2). Each is decoded
 * by itself (5: a word is whole, and begins and ends in ASCII); where that leaves a piece of a character, since many
 * senders cut them in two, the bytes of neighbours in one character set are joined first.
 */
export function decodeWords(text: string): string {
  let start = text.indexOf('=?')
  if (start < 0) return text
  let out = ''
  let done = 0
  let run: Word[] = []
  while (start >= 0) {
    const found = wordAt(text, start)
    if (found === undefined) break
    if (found === null) {
      start = text.indexOf('=?', start + 2)
      continue
    }
    const between = text.slice(done, start)
    if (run.length === 0 || !isBlank(between)) {
      out += decodeRun(run) + between
      run = []
    }
    run.push(found.word)
    done = found.end
    start = text.indexOf('=?', done)
  }
  return out + decodeRun(run) + text.slice(done)
}

/**
 * `text` as it may stand in an unstructured field or a phrase: unchanged where it is printable ASCII that cannot be
 * taken for an encoded word, else as UTF-8 encoded words separated by single spaces.
 */
export function encodeWords(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) && !text.includes('=?') ? text : encodeAnyWords(text)
}

/** The same, whatever the text holds. */
export function encodeAnyWords(text: string): string {
  const words: string[] = []
  let bytes: Buffer[] = []
  let length = 0
  for (const character of text) {
    const encoded = Buffer.from(character)
    if (length + encoded.length > wordBytesMax) {
      words.push(encodedWord(bytes))
      bytes = []
      length = 0
    }
    bytes.push(encoded)
    length += encoded.length
  }
  if (length > 0) words.push(encodedWord(bytes))
  return words.join(' ')
}

/** Control characters become spaces; a line end with the white space after it becomes one space (unfolding). */
export function unfold(text: string): string {
  if (!/[\x00-\x1f\x7f]/.test(text)) return text.trim()
  return text
    .replace(/\r?\n[ \t]?/g, ' ')
    .replace(/[\x00-\x1f\x7f]/g, ' ')
    .trim()
}

function encodedWord(bytes: Buffer[]): string {
  return `=?utf-8?B?${Buffer.concat(bytes).toString('base64')}?=`
}

/** The word at `start`; null where there is none, undefined where none can follow any more. */
function wordAt(text: string, start: number): { word: Word; end: number } | null | undefined {
  const charsetEnd = text.indexOf('?', start + 2)
  if (charsetEnd < 0) return undefined
  if (charsetEnd === start + 2 || charsetEnd - start > charsetLengthMax) return null
  if (text[charsetEnd + 2] !== '?') return null
  const encoding = text[charsetEnd + 1]?.toLowerCase()
  if (encoding !== 'b' && encoding !== 'q') return null
  const written = text.slice(start + 2, charsetEnd)
  // Quotes belong to other places of a header, and some programs write them here as well.
  const charset = /^"[^"]+"$/.test(written) ? written.slice(1, -1) : written
  if (/[\s()<>@,;:"/[\]]/.test(charset)) return null
  const end = text.indexOf('?=', charsetEnd + 3)
  if (end < 0) return undefined
  const star = charset.indexOf('*') // RFC 2231 5: a language after the character set
  const word: Word = {
    charset: star < 0 ? charset : charset.slice(0, star),
    encoding,
    text: text.slice(charsetEnd + 3, end),
  }
  return { word, end: end + 2 }
}

/** Words that stand next to each other. */
function decodeRun(run: readonly Word[]): string {
  if (run.length === 0) return ''
  let out = ''
  for (let at = 0; at < run.length; ) {
    const { charset, encoding, text } = run[at] as Word
    let end = at + 1
    if (encoding === 'q' && !isPlain(text)) out += decodeRaw(text, charset)
    else {
      const isAlike = (word: Word | undefined) =>
        word?.charset.toLowerCase() === charset.toLowerCase() && (word.encoding === 'b' || isPlain(word.text))
      while (isAlike(run[end])) end++
      out += decodePieces(bytesOf(run.slice(at, end), charset), charset)
    }
    at = end
  }
  return /[\x00-\x1f\x7f]/.test(out) ? out.replace(/[\x00-\x1f\x7f]/g, ' ') : out
}

function isPlain(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text)
}

/** A Q word with raw 8-bit text in it, which was read as text already; what is escaped is in the word's character set. */
function decodeRaw(text: string, charset: string): string {
  return text.replace(/[\x00-\x7f]+/g, plain => decodeCharset(decodeQ(plain), charset))
}

/** What words of one character set hold, in the pieces they were cut in. */
function bytesOf(words: readonly Word[], charset: string): Buffer[] {
  const all: Buffer[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as Word
    if (word.encoding === 'q') {
      all.push(decodeQ(word.text))
      continue
    }
    const texts = [word.text]
    let length = word.text.length
    // A sender that cuts base64 anywhere leaves a length that is no multiple of four and no padding.
    for (let next = words[at + 1]; length % 4 !== 0 && !texts.at(-1)?.endsWith('='); next = words[at + 1]) {
      if (next?.encoding !== 'b') break
      texts.push(next.text)
      length += next.text.length
      at++
    }
    all.push(...joinedBytes(texts, charset))
  }
  return all
}

/**
 * Words in base64 whose length is no multiple of four: one text that was cut anywhere, or several whose padding was left out. The latter
 * end in bits of nothing, and read no worse for themselves.
 */
function joinedBytes(texts: readonly string[], charset: string): Buffer[] {
  const joined = Buffer.from(texts.join(''), 'base64')
  if (texts.length === 1 || !texts.every(isWhole)) return [joined]
  const apart = texts.map(text => Buffer.from(text, 'base64'))
  return brokenIn(Buffer.concat(apart), charset) <= brokenIn(joined, charset) ? apart : [joined]
}

/** Whether base64 ends where a byte does, padding or not. */
function isWhole(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
}

/** The Q encoding (RFC 2047 4.2); a `=` that starts no escape stands for itself. */
function decodeQ(text: string): Buffer {
  if (!/[=_]/.test(text)) return Buffer.from(text)
  const source = Buffer.from(text)
  let length = 0
  for (let at = 0; at < source.length; at++) {
    const byte = source[at] as number
    if (byte === 0x5f) source[length++] = 0x20
    else if (byte === 0x3d) {
      const high = hexDigit(source[at + 1])
      const low = hexDigit(source[at + 2])
      if (high < 0 || low < 0) source[length++] = byte
      else {
        source[length++] = high * 16 + low
        at += 2
      }
    } else source[length++] = byte
  }
  return source.subarray(0, length)
}

/** The value of a hexadecimal digit given as a byte, or -1. */
export function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  if (byte >= 0x41 && byte <= 0x46) return byte - 0x37
  if (byte >= 0x61 && byte <= 0x66) return byte - 0x57
  return -1
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}
