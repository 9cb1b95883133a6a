// Text as it is compared in searches, and the pieces of it that an index of trigrams finds it by.
//
// Promises: folding is the same wherever text is compared (in PostgreSQL, too: engine/postgres/words.ts); whatever `grams` gives
// for a needle stands in `indexText` of every text that contains the needle, also where that was made by an earlier version.

/**
 * Lower case, composed, and characters that are one but for where they stand or for whom they are encoded as that one (CaseFolding.txt
 * of Unicode, status C): Greek words end in another sigma than they go on with.
 */
export function fold(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase()
  return text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\u03c2\u00b5]/g, same)
}

const same = (character: string) => (character === '\u03c2' ? 'σ' : 'μ')

/** What `same` is of, as it stands in an index that was made before. */
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
  return spellings(needle)
    .map(spelled => gramsOf([...spelled], max))
    .filter(list => list.length > 0)
}

/** Whether all that a needle says is one trigram. */
export function isOneGram(needle: string): boolean {
  return [...needle].length <= 3
}

/** Stands for a character that may be one or another; never in squeezed text. */
const either = '\0'

/** What a text may have in the place of a needle that was indexed before some characters were folded; the last few of them are spelled out. */
function spellings(needle: string): string[] {
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
