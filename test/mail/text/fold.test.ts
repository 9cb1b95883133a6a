import { expect, test } from 'vitest'
import { fold, grams, indexText, squeeze } from '#mail/text/fold.ts'

test('case, composition and white space do not matter', () => {
  expect(fold('ÄÖÜ A\u0308')).toBe('äöü ä')
  expect(squeeze('A \r\n\t B\u00a0C\0D')).toBe('a b c d')
})

/** What an index of trigrams holds of a text. */
function windows(text: string): Set<string> {
  const characters = [...text]
  return new Set(characters.map((_, at) => characters.slice(at, at + 3).join('')))
}

test('every text that contains a needle holds the trigrams of the needle', () => {
  const alphabet = [...'abcß é漢字かな한글  \n"\'%_-日']
  let seed = 99
  const next = () => (seed = (seed * 48_271) % 2_147_483_647)
  for (let round = 0; round < 2000; round++) {
    const text = squeeze(Array.from({ length: 40 }, () => alphabet[next() % alphabet.length]).join(''))
    const characters = [...text]
    const start = next() % characters.length
    const needle = characters.slice(start, start + 1 + (next() % 12)).join('')
    const held = windows(indexText(text))
    for (const gram of grams(needle, 5)) expect([text, needle, held.has(gram)]).toEqual([text, needle, true])
  }
})

test('what is too short for the index has no trigrams, but for two characters of a script without spaces', () => {
  expect(grams('ab', 9)).toEqual([])
  expect(grams('漢', 9)).toEqual([])
  expect(grams('漢字', 9)).toHaveLength(1)
  expect(grams('漢a', 9)).toEqual([])
  expect(grams('a'.repeat(500), 9)).toEqual(['aaa'])
  expect(grams('abcdefghijklmnopqrstuvwxyz', 4)).toHaveLength(4)
})
