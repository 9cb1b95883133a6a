// Text sorts as i;unicode-casemap says (RFC 5051).

import { expect, test } from 'vitest'
import { casemapKey } from '#mail/text/collate.ts'

const sorted = (texts: readonly string[]) => {
  return [...texts].sort((one, other) => (casemapKey(one) < casemapKey(other) ? -1 : 1))
}

test('case and accents stand behind letters', () => {
  expect(sorted(['Zed', 'apple', 'Äpfel', 'zeta', 'Apfel', 'ÉTÉ', 'eta'])).toEqual([
    'Apfel',
    'apple',
    'Äpfel',
    'eta',
    'ÉTÉ',
    'Zed',
    'zeta',
  ])
})

test('what is the same but for case or composition is the same', () => {
  const pairs = [
    ['äpfel', 'A\u0308PFEL'],
    ['ﬀ', 'ﬀ'],
    ['ﾊﾝ', 'ハン'],
    ['ǆ', 'Ǆ'],
    ['ᾳ', 'ᾼ'],
    ['σ', 'ς'],
    ['２', '2'],
  ] as const
  for (const [one, other] of pairs) expect([one, casemapKey(one)]).toEqual([one, casemapKey(other)])
})

test('a letter without a capital of its own stays as it is', () => {
  expect(casemapKey('straße')).toBe('STRAßE')
  expect(casemapKey('straße')).not.toBe(casemapKey('strasse'))
})

test('the order is that of octets in UTF-8, beyond the first plane too', () => {
  const texts = ['z', 'é', '\u05d0', '\uac00', '\ue000', '\u{10400}', '\u{1f600}', '\u{10ffff}']
  const octets = (text: string) => Buffer.from([...text].map(one => one.toUpperCase().normalize('NFKD')).join(''))
  expect(sorted(texts)).toEqual([...texts].sort((one, other) => Buffer.compare(octets(one), octets(other))))
})
