// The body's hash for DKIM: by the examples of RFC 6376 3.4.5, and the same as the library's on bodies and chunks by chance.

import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { BodyHash } from '#mail/origin/body-hash.ts'
import { Chance } from '../corpus.ts'

interface Oracle {
  readonly canonicalizedLength: number
  readonly bodyHashedBytes: number
  update(chunk: Buffer): void
  digest(encoding: 'base64'): string
}

const oracle = createRequire(import.meta.url)('mailauth/lib/dkim/body') as {
  dkimBody(canonicalization: string, algorithm: string, covered: number | ''): Oracle
}

const sha256 = (text: string) => createHash('sha256').update(text, 'latin1').digest('base64')

function hashOf(relaxed: boolean, chunks: readonly string[], coveredBytes?: number) {
  const hash = new BodyHash({ relaxed, algorithm: 'sha256', coveredBytes })
  for (const chunk of chunks) hash.update(Buffer.from(chunk, 'latin1'))
  return { value: hash.digest(), total: hash.canonicalizedLength, covered: hash.bodyHashedBytes }
}

test.each([
  ['relaxed', ' C \r\nD \t E\r\n\r\n\r\n', ' C\r\nD E\r\n'],
  ['simple', ' C \r\nD \t E\r\n\r\n\r\n', ' C \r\nD \t E\r\n'],
  ['relaxed', '', ''],
  ['simple', '', '\r\n'],
  ['relaxed', '\r\n \r\n\r\n', ''],
  ['relaxed', 'a \r\n \t\r\n\r\n b\t', 'a\r\n\r\n\r\n b\r\n'],
  ['relaxed', 'a \r b\rc\r', 'a \r b\rc\r\r\n'],
  ['simple', 'a\nb\n\n', 'a\r\nb\r\n'],
])('%s: %j becomes %j', (form, body, wanted) => {
  const { value, total } = hashOf(form === 'relaxed', [body])
  expect(value).toBe(sha256(wanted))
  expect(total).toBe(wanted.length)
  expect(hashOf(form === 'relaxed', [...body]).value).toBe(value)
})

test('the library says the same of bodies by chance, however they come and however much is covered', () => {
  const chance = new Chance()
  const pieces = ['a', 'bcd', ' ', '  ', '\t', '\r\n', '\r\n', '\r\n\r\n', '\r', ' \r\n', '\0', 'é', '='.repeat(80)]
  const usual = ['two words\r\n', 'x'.repeat(700), `${'ab cd '.repeat(300)}e`, `${'q'.repeat(75)}\r\n`.repeat(26)]
  for (let round = 0; round < 3000; round++) {
    // Some are long and for the most part what nothing is changed of: they are looked at a stretch at a time.
    const of = round % 10 === 0 ? [...usual, ...usual, ...usual, ...pieces] : pieces
    const chunks = Array.from({ length: chance.below(5) }, () =>
      Array.from({ length: chance.below(12) }, () => chance.pick(of)).join(''),
    )
    const body = Buffer.from(chunks.join(''), 'latin1')
    const coveredBytes = chance.below(3) === 0 ? chance.below(body.length + 5) : undefined
    for (const canon of ['relaxed', 'simple']) {
      const expected = oracle.dkimBody(canon, 'sha256', coveredBytes ?? '')
      // The library is given line ends it knows; those that are cut by chunks are its parser's matter.
      expected.update(body)
      const wanted = expected.digest('base64')
      const found = hashOf(canon === 'relaxed', chunks, coveredBytes)
      expect(found, `seed ${chance.seed}, round ${round}, ${canon}, ${JSON.stringify(chunks)}`).toEqual({
        ...{ value: wanted, total: expected.canonicalizedLength, covered: expected.bodyHashedBytes },
      })
    }
  }
})
