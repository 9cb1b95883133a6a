import { expect, test } from 'vitest'
import { fold, grams, indexText, mayFoldToAscii, squeeze } from '#mail/text/fold.ts'

test('case, composition and white space do not matter', () => {
  expect(fold('ÄÖÜ A\u0308')).toBe('äöü ä')
  expect(fold('ΟΔΟΣ ΟΔΟΣΑ οδος \u00b5G')).toBe(fold('οδοσ οδοσα οδοσ \u03bcg'))
  expect(squeeze('A \r\n\t B\u00a0C\0D')).toBe('a b c d')
})

test('characters that are one but for their form are one, as SORT has it', () => {
  const pairs = [
    'ＡＢＣ abc',
    'ﬁn fin',
    'ｶﾞｷﾞ ガギ',
    '㈱ (株)',
    '½ 1⁄2',
    '② 2',
    'ⅳ IV',
    '™ tm',
    '… ...',
    '\u212b å',
    'KIRMIZI kırmızı',
    '\u3000 \u0020',
  ]
  for (const pair of pairs) {
    const [one = '', other = ''] = pair.split(/ (?=.+$)/)
    expect([pair, fold(one)]).toEqual([pair, fold(other)])
  }
  // Not that which would make a text many times as long.
  expect(fold('Ａ\ufdfaＢ\ufdfb')).toBe('a\ufdfab\ufdfb')
})

test('no character becomes ASCII that a list of a folder is not asked for', () => {
  const wrong: string[] = []
  for (let code = 128; code < 0x20000; code++) {
    const character = String.fromCodePoint(code)
    if (/[a-z0-9@.+-]/.test(fold(character)) && !mayFoldToAscii(character)) wrong.push(code.toString(16))
  }
  expect(wrong).toEqual([])
})

/** What an index of trigrams holds of a text. */
function windows(text: string): Set<string> {
  const characters = [...text]
  return new Set(characters.map((_, at) => characters.slice(at, at + 3).join('')))
}

test('every text that contains a needle holds the trigrams of the needle', () => {
  const old = [...'abcß é漢字かな한글  \n"\'%_-日σςΣμ\u00b5']
  const forms = [...'aＡ1① fﬁｶﾞﾟカ漢㈱…\ufdfa´e\u0301']
  let seed = 99
  const next = () => (seed = (seed * 48_271) % 2_147_483_647)
  for (let round = 0; round < 2000; round++) {
    const alphabet = round % 2 === 0 ? old : forms
    const written = Array.from({ length: 40 }, () => alphabet[next() % alphabet.length]).join('')
    const characters = [...squeeze(written)]
    const start = next() % characters.length
    const needle = characters.slice(start, start + 1 + (next() % 12)).join('')
    const lists = grams(needle, 5)
    // What is indexed now, and what was before these were one.
    const before = alphabet === old ? [written.normalize('NFC').toLowerCase().replace(/\s+/g, ' ')] : []
    for (const text of [squeeze(written), ...before]) {
      const held = windows(indexText(text))
      const found = lists.length === 0 || lists.some(list => list.every(gram => held.has(gram)))
      expect([text, needle, found]).toEqual([text, needle, true])
    }
  }
})

test('what an index has in another form from before is looked for, too', () => {
  const before = (text: string) => windows(indexText(text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ')))
  const found = (text: string, needle: string) =>
    grams(squeeze(needle), 24).some(list => list.every(gram => before(text).has(gram)))
  const same = [
    'ＴＥＡＬ　ｖｅｒｓｉｏｎ',
    '第１０回（予算）',
    '２０２４年,度',
    '2024年（予算）',
    'ｶﾞｷﾞｸﾞ･ﾊﾟﾝ',
    'ｶﾅ',
    'oﬃce ﬁnd',
    'kırmızı',
    'bilgisayarı',
    'alışverişimizi',
    'ILIK ışık',
    '株式会社㈱商店…',
  ]
  for (const text of same) {
    expect([text, found(text, text.normalize('NFKC').toUpperCase())]).toEqual([text, true])
    expect([text, found(text, text)]).toEqual([text, true])
  }
})

test('what is too short for the index has no trigrams, but for two characters of a script without spaces', () => {
  expect(grams('ab', 9)).toEqual([])
  expect(grams('漢', 9)).toEqual([])
  expect(grams('漢字', 9)).toHaveLength(1)
  expect(grams('漢a', 9)).toEqual([])
  expect(grams('a'.repeat(500), 9)).toEqual([['aaa'], ['ａａａ']])
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
