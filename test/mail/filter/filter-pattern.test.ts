// Expressions of filters: told from text, analysed without being run, and never taken for cheaper than they are.

import { expect, test } from 'vitest'
import { analyse, faultPosition, readPattern, steps } from '#mail/filter/filter-pattern.ts'

test.each([
  ['/a/', { source: 'a', flags: '' }],
  ['/a\\/b/ims', { source: 'a\\/b', flags: 'ims' }],
  ['/[/]/', { source: '[/]', flags: '' }],
  ['/a/ii', undefined],
  ['/a/g', undefined],
  ['/a', undefined],
  ['//', undefined],
  ['/usr/local/', undefined],
  ['text', undefined],
])('%s', (value, wanted) => {
  expect(readPattern(value)).toEqual(wanted)
})

test.each([
  ['invoice \\d+', '', 'invoice ', 1],
  ['^re: .*ticket-7', 'i', 'ticket-7', 1],
  ['(urgent|alarm) 7$', '', ' 7', 0],
  ['colou?r', '', 'colo', 0],
  ['a|b', '', '', 0],
  ['fo+bar', '', 'bar', 1],
  ['(?:ab)+c', '', 'ab', Number.POSITIVE_INFINITY],
  ['(a+)+$', '', 'a', Number.POSITIVE_INFINITY],
  ['(a*)*b', '', 'b', Number.POSITIVE_INFINITY],
  ['.*x.*y', '', 'x', 2],
  ['task', 'iu', 'ta', 0],
  ['größe', 'i', 'gr', 0],
  ['a{3}b', '', 'a', 0],
])('what is known about %s with "%s"', (source, flags, literal, loops) => {
  expect(analyse({ source, flags })).toMatchObject({ literal, loops })
})

test.each(['(?=a)b', '(a)\\1', '(?<!a)b', '\\p{L}', '\\x41', '(?i:a)'])(
  'what cannot be followed is costly: %s',
  source => {
    expect(steps(analyse({ source, flags: '' }), 10)).toBe(Number.POSITIVE_INFINITY)
  },
)

test('every text that matches contains the literal', () => {
  const sources = ['invoice \\d+', 'fo+bar', '(ab|cd)ef?g', 'x{2,}y', '^a b$', '[ab]cd*e', 'a\\.b', '(?:re|fw): x']
  const texts = ['Invoice 7', 'fooobar', 'abeg', 'cdefg', 'xxxy', 'a b', 'bcddde', 'a.b', 'RE: x', 'nothing']
  for (const source of sources) {
    for (const flags of ['', 'i']) {
      const { literal } = analyse({ source, flags })
      for (const text of texts) {
        if (new RegExp(source, flags).test(text)) expect(text.toLowerCase()).toContain(literal)
      }
    }
  }
})

test.each([
  ['a(b', 1],
  ['ab)', 2],
  ['a**', 2],
  ['[a', 0],
  ['a\\', 1],
])('the place of what is wrong in %s', (source, position) => {
  expect(faultPosition({ source, flags: '' })).toBe(position)
})

test('long and deep expressions are read in time', () => {
  for (const source of ['('.repeat(500), 'a{1,9}'.repeat(150), '(a|b)'.repeat(200), '(?:'.repeat(300)]) {
    expect(analyse({ source, flags: '' }).ways).toBeGreaterThan(0)
  }
})
