import { expect, test } from 'vitest'
import { fold, grams, indexText, squeeze } from '#mail/text/fold.ts'

test('case, composition and white space do not matter', () => {
  expect(fold('ÄÖÜ A\u0308')).toBe('äöü ä')
  expect(fold('ΟΔΟΣ ΟΔΟΣΑ οδος \u00b5G')).toBe(fold('οδοσ οδοσα οδοσ \u03bcg'))
  expect(squeeze('A \r\n\t B\u00a0C\0D')).toBe('a b c d')
})

/** What an index of trigrams holds of a text. */
function windows(text: string): Set<string> {
  const characters = [...text]
  return new Set(characters.map((_, at) => characters.slice(at, at + 3).join('')))
}

test('every text that contains a needle holds the trigrams of the needle', () => {
  const alphabet = [...'abcß é漢字かな한글  \n"\'%_-日σςΣμ\u00b5']
  let seed = 99
  const next = () => (seed = (seed * 48_271) % 2_147_483_647)
  for (let round = 0; round < 2000; round++) {
    const written = Array.from({ length: 40 }, () => alphabet[next() % alphabet.length]).join('')
    const characters = [...squeeze(written)]
    const start = next() % characters.length
    const needle = characters.slice(start, start + 1 + (next() % 12)).join('')
    const lists = grams(needle, 5)
    // What is indexed now, and what was before these were one.
    for (const text of [squeeze(written), written.normalize('NFC').toLowerCase().replace(/\s+/g, ' ')]) {
      const held = windows(indexText(text))
      const found = lists.length === 0 || lists.some(list => list.every(gram => held.has(gram)))
      expect([text, needle, found]).toEqual([text, needle, true])
    }
  }
})

test('what is too short for the index has no trigrams, but for two characters of a script without spaces', () => {
  expect(grams('ab', 9)).toEqual([])
  expect(grams('漢', 9)).toEqual([])
  expect(grams('漢字', 9)).toHaveLength(1)
  expect(grams('漢a', 9)).toEqual([])
  expect(grams('a'.repeat(500), 9)).toEqual([['aaa']])
  expect(grams('abcdefghijklmnopqrstuvwxyz', 4)[0]).toHaveLength(4)
})

test('of letters that were two in an index the last ones are looked for as both, and the others as neither', () => {
  expect(grams('οδοσ', 9)).toEqual([
    ['οδο', 'δοσ'],
    ['οδο', 'δος'],
  ])
  expect(grams('σοσοσαβγ', 9)).toHaveLength(4)
  expect(grams('σσσσ', 9)).toEqual([])
})
