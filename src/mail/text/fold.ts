// Text as it is compared in searches, and the pieces of it that an index of trigrams finds it by.
//
// Promises: folding is the same wherever text is compared; whatever `grams` gives for a needle stands in `indexText` of
// every text that contains the needle.

/** Lower case, composed. */
export function fold(text: string): string {
  return /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : text.normalize('NFC').toLowerCase()
}

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

/** Trigrams that stand for a squeezed needle, at most `max`; empty where it is too short for the index. */
export function grams(needle: string, max: number): string[] {
  const characters = [...needle]
  if (characters.length === 2 && pairPattern.test(needle)) return [needle + pairMark]
  const all = new Set<string>()
  for (let at = 0; at + 3 <= characters.length; at++) all.add(characters.slice(at, at + 3).join(''))
  const list = [...all]
  if (list.length <= max) return list
  // Some, spread over the whole: fewer only leave more to look into.
  return Array.from({ length: max }, (_, index) => list[Math.floor((index * list.length) / max)] as string)
}
