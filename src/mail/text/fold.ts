// Text as it is compared in searches, and the pieces of it that an index of trigrams finds it by.
//
// Promises: folding is the same wherever text is compared (in PostgreSQL, too: engine/postgres/words.ts), and takes for one what SORT
// takes for one (collate.ts); whatever `grams` gives for a needle stands in `indexText` of every text that contains the needle. One
// that was indexed by an earlier version is found where it is written as the needle, or all of it in another width, or with ligatures, or with ı.

/**
 * Lower case, and characters that are one but for their form (NFKC, as RFC 5051 2 (c) decomposes them: width, ligatures, superscripts), for
 * where they stand (CaseFolding.txt of Unicode, status C: Greek words end in another sigma than they go on with) or for what small letter
 * one capital is of: I is of both i and the ı without a dot, as RFC 5051 has it, so that a Turkish word is found in capitals.
 */
export function fold(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase()
  return oneForm(text)
    .toLowerCase()
    .replace(/[\u03c2\u0131]/g, character => (character === '\u0131' ? 'i' : 'σ'))
}

/** In one form, but for two ligatures of whole sentences, which would make a text many times as long. */
function oneForm(text: string): string {
  if (!/[\ufdfa\ufdfb]/.test(text)) return text.normalize('NFKC')
  return text.replace(/[^\ufdfa\ufdfb]+/g, piece => piece.normalize('NFKC'))
}

/**
 * Ranges of characters, ASCII among them, none of which folds to a letter, a digit or one of `@.+-` in ASCII unless it is one; for the
 * brackets of a pattern. Most texts have no other.
 */
export const unlikeAscii = [
  ...[
    '\u0001-\u00a9',
    '\u00c0-\u012f',
    '\u0150-\u017e',
    '\u0200-\u02af',
    '\u02f0-\u1d2b',
    '\u1e00-\u1e99',
    '\u1e9b-\u2023',
  ],
  ...[
    '\u2027-\u206f',
    '\u20a9-\u20ff',
    '\u2190-\u245f',
    '\u2500-\u2c7b',
    '\u2c80-\u324f',
    '\u3400-\ua7f0',
    '\uac00-\ufaff',
  ],
  '\u{1f200}-\u{1fbef}',
].join('')

const likeAscii = new RegExp(`[^${unlikeAscii}]`, 'u')

/** Whether a text has a character beyond these ranges. */
export function mayFoldToAscii(text: string): boolean {
  return likeAscii.test(text)
}

/** What sigma and mu are of, as they stand in an index that was made before. */
const unfolded: Readonly<Record<string, string>> = { σ: '\u03c2', μ: '\u00b5' }

/** Folded, each run of white space (and NUL) as one space: line ends do not matter to who looks for words. */
export function squeeze(text: string): string {
  return fold(text).replace(/[\s\0]+/g, ' ')
}

/** Closes a pair in the index, so that two characters make a trigram. */
const pairMark = '\u0001'
const pairPattern = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{2}$/u
const runPattern = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{2,}/gu

/** What is indexed of squeezed text: itself, and the pairs of scripts whose words have two characters. */
export function indexText(text: string): string {
  if (/^[\x00-\xff]*$/.test(text)) return text
  const pairs = new Set<string>()
  for (const [run] of text.matchAll(runPattern)) {
    let last = ''
    for (const character of run) {
      if (last !== '') pairs.add(last + character + pairMark)
      last = character
    }
  }
  return pairs.size === 0 ? text : `${text}\n${[...pairs].join('')}`
}

/**
 * Trigrams by which a squeezed needle is found: a text that contains it holds all of one of these lists. Each has at most `max`; there
 * is none where the needle is too short for the index.
 */
export function grams(needle: string, max: number): string[][] {
  const listsOf = (form: string) => sigmasBefore(form).map(spelled => gramsOf([...spelled], max))
  const lists = listsOf(needle).filter(list => list.length > 0)
  if (lists.length === 0) return lists
  for (const form of formsBefore(needle)) lists.push(...listsOf(form).filter(list => list.length > 0))
  return lists
}

/** Whether all that a needle says is one trigram. */
export function isOneGram(needle: string): boolean {
  return [...needle].length <= 3
}

/** Stands for a character that may be one or another; never in squeezed text. */
const either = '\0'

/** What a needle may be in an index that kept forms apart. */
function formsBefore(needle: string): Set<string> {
  const forms = new Set([wide(needle, /[!-~]/g), narrow(needle), ligated(needle)])
  // Beside such scripts signs are wide and digits are not, or the other way about.
  if (/[^\x00-\u02ff]/.test(needle)) forms.add(wide(needle, /[a-z0-9]/g)).add(wide(needle, /[!-/:-@[-`{-~]/g))
  for (const form of dotless(needle)) forms.add(form)
  forms.delete(needle)
  return forms
}

/** With ı for every i, or up to one of them, or from one on: vowels of a Turkish word are alike, and of what is joined to it others. */
function dotless(text: string): string[] {
  const places = Array.from(text.matchAll(/i/g), ({ index }) => index)
  if (places.length === 0) return []
  const cuts = places.length > dotlessMax ? [] : places.slice(1)
  const undotted = (piece: string) => piece.replaceAll('i', 'ı')
  return cuts
    .flatMap(at => {
      const [start, end] = [text.slice(0, at), text.slice(at)]
      return [undotted(start) + end, start + undotted(end)]
    })
    .concat(undotted(text))
}

const dotlessMax = 6

function wide(text: string, which: RegExp): string {
  return text.replace(which, character => String.fromCharCode(character.charCodeAt(0) + 0xfee0))
}

/** Half-width signs and katakana by what they fold to; marks of voice stand beside a letter, as others do when decomposed. */
const narrowOf = new Map(
  Array.from({ length: 0xff9f - 0xff61 + 1 }, (_, at) => String.fromCharCode(0xff61 + at)).map(one => [
    one.normalize('NFKC'),
    one,
  ]),
)

function narrow(text: string): string {
  if (!/[\u3001-\u30ff]/.test(text)) return text
  const characters = [...text.normalize('NFD')].map(character => narrowOf.get(character) ?? character)
  return characters.join('').normalize('NFC')
}

/** Longer ones first. */
const ligatures = [...'ﬃﬄﬀﬁﬂ…㈱㈲'].map(one => [one.normalize('NFKC'), one] as const)

function ligated(text: string): string {
  let joined = text
  for (const [apart, one] of ligatures) joined = joined.replaceAll(apart, one)
  return joined
}

/** With each sigma and mu as it may have been; the last few of them are spelled out. */
function sigmasBefore(needle: string): string[] {
  if (!/[σμ]/.test(needle)) return [needle]
  let all = ['']
  let left = spelledMax
  for (const character of [...needle].reverse()) {
    const other = unfolded[character]
    if (other === undefined) all = all.map(rest => character + rest)
    else if (left-- <= 0) all = all.map(rest => either + rest)
    else all = all.flatMap(rest => [character + rest, other + rest])
  }
  return all
}

const spelledMax = 2

function gramsOf(characters: readonly string[], max: number): string[] {
  if (characters.length === 2 && pairPattern.test(characters.join(''))) return [characters.join('') + pairMark]
  const all = new Set<string>()
  for (let at = 0; at + 3 <= characters.length; at++) {
    const gram = characters.slice(at, at + 3).join('')
    if (!gram.includes(either)) all.add(gram)
  }
  const list = [...all]
  if (list.length <= max) return list
  // Some, spread over the whole: fewer only leave more to look into.
  return Array.from({ length: max }, (_, index) => list[Math.floor((index * list.length) / max)] as string)
}
