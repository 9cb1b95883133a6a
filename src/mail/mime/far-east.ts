// Character sets of the Far East that no library here reads: Johab (KS X 1001 annex 3), EUC-TW and ISO-2022-CN (RFC 1922).
//
// Promises: never throws, linear in the bytes. A syllable of Johab is worked out; every other character is one of a set that a library reads
// (EUC-KR, Big5, GB2312), found by its place. Of CNS 11643 the first two planes are known, which are what Big5 has.

import { iconv } from '#lib/process/lazy.ts'

const unknown = '\ufffd'

/** Characters by set and bytes; there are some ten thousand of each. */
const known = new Map<number, string>()

const sets = ['big5', 'euc-kr', 'gbk'] as const

function pair(set: (typeof sets)[number], high: number, low: number): string {
  const key = (sets.indexOf(set) << 16) | (high << 8) | low
  return known.get(key) ?? keep(key, iconv().decode(Buffer.from([high, low]), set))
}

function keep(key: number, text: string): string {
  const one = text.length === 1 ? text : unknown
  known.set(key, one)
  return one
}

const initials = 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ'
const finals = 'ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ'
/** What five bits mean: places of vowels, of final consonants; -1 where they mean nothing. */
const vowels = [
  -1, -1, -1, 0, 1, 2, 3, 4, -1, -1, 5, 6, 7, 8, 9, 10, -1, -1, 11, 12, 13, 14, 15, 16, -1, -1, 17, 18, 19, 20,
]

/** Text in Johab: a syllable is three times five bits, the rest stands where KS X 1001 has it. */
export function decodeJohab(bytes: Buffer): string {
  let text = ''
  for (let at = 0; at < bytes.length; at++) {
    const high = bytes[at] as number
    const low = bytes[at + 1] ?? 0
    if (high < 0x80) {
      text += String.fromCharCode(high)
      continue
    }
    const found = high < 0xd8 ? syllable((high << 8) | low) : symbol(high, low)
    // What cannot be the second byte stands for itself.
    if (low > 0x30) at++
    text += found
  }
  return text
}

function syllable(code: number): string {
  const initial = ((code >> 10) & 31) - 2
  const vowel = vowels[(code >> 5) & 31] ?? -1
  const bits = code & 31
  const final = bits < 1 || bits === 18 || bits > 29 ? -1 : bits < 18 ? bits - 1 : bits - 2
  if (final < 0 || initial < -1 || initial > 18) return unknown
  if (initial >= 0 && vowel >= 0) return String.fromCharCode(0xac00 + (initial * 21 + vowel) * 28 + final)
  // One letter by itself.
  if (initial >= 0 && final === 0) return initials[initial] ?? unknown
  if (vowel >= 0 && final === 0) return String.fromCharCode(0x314f + vowel)
  return vowel < 0 && initial < 0 && final > 0 ? (finals[final - 1] ?? unknown) : unknown
}

function symbol(high: number, low: number): string {
  const second = low > 0xa0
  const first = high < 0xe0 ? (high - 0xd9) * 2 + 1 : (high - 0xe0) * 2 + 42
  const column = second ? low - 0xa0 : low < 0x7f ? low - 0x30 : low - 0x43 + 1
  const row = first + (second ? 1 : 0)
  return high < 0xd9 || high > 0xf9 || column < 1 || column > 94 ? unknown : pair('euc-kr', 0xa0 + row, 0xa0 + column)
}

/** Where Big5 goes on for a plane of CNS 11643: a place there, and how much further the same character is in Big5 from there on. */
const planes = [
  steps(
    '0:0 5: 6:0 21:2 23: 24:-2 29:0 73:1 74:-1 75:0 96: 98:0 127:1 128:-1 129: 130:0 144: 146:0 148:1 149:-1 150:0 154: ' +
      '155:-134 156:0 282:-48 470: 3290:-2819 3307:-3044 3308:-2819 3394:-3129 3395:-2819 4702:-2818 5126:-3243 5127:-2819 ' +
      '7003:-2432 7004:-2820 7391:-2819 7916:-2630 7917:-2820 8022: 8023:-2820 8106:-2819 8190:-2673 8191:-2820 8245:-2819 ' +
      '8246:-2821 8247:-2820 8337:-2819',
  ),
  steps(
    '0:6280 10:6281 43:6329 44:6280 92:6281 138:6448 139:6280 306:6281 2146:6928 2147:6281 2255:6282 2792:5635 2793:6282 ' +
      '2893:5643 2894:6281 3293:6282 4930:6831 4931:6281 5077:6822 5078:6280 5365:7143 5366:6279 5482:6280 5619:6281 5723:6702 ' +
      '5724:6280 5946:6281 6144:6282 6226:6283 6312:5914 6313:6282 6321:6283 6474:6284 6530:6584 6531:6283 6644:5959 6645:6282 ' +
      '6787:5970 6788:6281 6833:6282 6904:6476 6905:6281 7099:6282 7589:6325 7590:6281 7633:6282 7634:6283 7645:6271 7646:6282',
  ),
]

function steps(text: string): readonly (readonly [from: number, further: number])[] {
  return text.split(' ').map(step => {
    const [from, further] = step.split(':')
    return [Number(from), further === '' ? Number.NaN : Number(further)] as const
  })
}

/** What the first plane has and Big5 does not: a place, and the characters from there on. */
const ownCharacters: readonly (readonly [place: number, characters: string])[] = [
  [5, '・'],
  [23, '︲'],
  [96, '‾'],
  [129, '∼'],
  [144, '♁☉'],
  [154, '‖'],
  [470, '①②③④⑤⑥⑦⑧⑨⑩⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹ'],
  [571, '亠'],
  [578, '冫'],
  [583, '勹'],
  [3102, '␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟␡'],
  [8022, '彞'],
]

/** A character of CNS 11643 by the high bytes of its row and column. */
function cns(plane: number, high: number, low: number): string {
  if (plane < 1 || plane > planes.length || high < 0xa1 || low < 0xa1 || low > 0xfe) return unknown
  const key = ((sets.length + plane) << 16) | (high << 8) | low
  return known.get(key) ?? keep(key, cnsAt(plane, (high - 0xa1) * 94 + low - 0xa1))
}

function cnsAt(plane: number, place: number): string {
  const [from, own] = (plane === 1 && ownCharacters.findLast(([start]) => start <= place)) || [0, '']
  if (own[place - from] !== undefined) return own[place - from] as string
  const at = place + (planes[plane - 1]?.findLast(([start]) => start <= place)?.[1] ?? Number.NaN)
  if (!(at >= 0)) return unknown
  const column = at % 157
  return pair('big5', 0xa1 + Math.floor(at / 157), column < 63 ? 0x40 + column : 0x62 + column)
}

/** Text in EUC-TW. */
export function decodeEucTw(bytes: Buffer): string {
  let text = ''
  for (let at = 0; at < bytes.length; at++) {
    const high = bytes[at] as number
    if (high < 0x80) text += String.fromCharCode(high)
    else if (high === 0x8e && at + 3 < bytes.length) {
      text += cns((bytes[at + 1] as number) - 0xa0, bytes[at + 2] as number, bytes[at + 3] as number)
      at += 3
    } else if (high > 0xa0 && (bytes[at + 1] ?? 0) > 0xa0) text += cns(1, high, bytes[++at] as number)
    else text += unknown
  }
  return text
}

/** Text in ISO-2022-CN: shifts say for a line which set follows SO, and which one the two bytes behind ESC N are of. */
export function decodeIso2022Cn(bytes: Buffer): string {
  let text = ''
  let set = ''
  let shifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    const said = byte === 0x1b ? bytes.toString('latin1', at + 1, at + 4) : ''
    if (/^\$[)*+]./.test(said)) {
      if (said[1] === ')') set = said[2] as string
      at += 3
    } else if (said.startsWith('N') && said.length === 3) {
      text += cns(2, said.charCodeAt(1) | 0x80, said.charCodeAt(2) | 0x80)
      at += 3
    } else if (byte === 0x0e || byte === 0x0f) shifted = byte === 0x0e
    else if (shifted && byte > 0x20 && at + 1 < bytes.length) {
      const [high, low] = [byte | 0x80, (bytes[++at] as number) | 0x80]
      text += set === 'G' ? cns(1, high, low) : pair('gbk', high, low)
    } else {
      if (byte === 0x0a) shifted = false
      text += String.fromCharCode(byte)
    }
  }
  return text
}
