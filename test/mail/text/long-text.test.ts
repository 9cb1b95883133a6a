// Texts in pieces: whatever they are made of, what is read is what was written.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { longText, pieceOf, someMatches, weightOf, wholeText } from '#mail/text/long-text.ts'

test('a short text stays a text, a long one is bytes, and both are read as they were', () => {
  for (const letter of ['a', 'é', '€', '😀']) {
    const short = letter.repeat(10)
    expect(longText(short)).toBe(short)
    expect(wholeText(longText(short))).toBe(short)
    const long = letter.repeat(limits.writer.longTextMin)
    expect(longText(long)).not.toBe(long)
    expect(wholeText(longText(long))).toBe(long)
    expect(weightOf(longText(long))).toBe(Buffer.byteLength(long))
  }
})

test('pieces are memory of their own, and stay what they are after they have crossed', () => {
  const pieces = ['{"a":"', 'é€😀', '"}'].map(pieceOf)
  for (const piece of pieces) expect(piece.buffer.byteLength).toBe(piece.length)
  const crossed = structuredClone(pieces)
  expect(wholeText(crossed)).toBe('{"a":"é€😀"}')
  expect(someMatches(crossed, /"}/)).toBe(true)
  expect(someMatches(crossed, /'/)).toBe(false)
  // A part of a piece, too.
  expect(wholeText([pieceOf('[1,2]').subarray(1, -1)])).toBe('1,2')
})
