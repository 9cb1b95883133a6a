import { expect, test } from 'vitest'
import { Pieces } from '#lib/bytes/pieces.ts'
import { limits } from '#lib/limits.ts'
import { Random } from '../../fuzz/random.ts'

test('bytes are the same in whatever pieces they come, and few pieces hold them', () => {
  const random = new Random(7)
  for (let round = 0; round < 8; round++) {
    const pieces = new Pieces()
    const all: Buffer[] = []
    const longest = random.pick([1, 3, 600, 20_000])
    for (let count = random.below(2000); count > 0; count--) {
      const piece = Buffer.alloc(random.below(longest) + 1, random.below(256))
      all.push(piece)
      pieces.push(piece)
      const { chunksMax, chunkBytesMin } = limits.net
      expect(pieces.count).toBeLessThanOrEqual(chunksMax + pieces.bytes / chunkBytesMin)
    }
    expect(pieces.bytes).toBe(Buffer.concat(all).length)
    const first = round % 2 === 0 ? pieces.shift() : undefined
    expect(Buffer.concat([first ?? Buffer.alloc(0), pieces.whole()]).equals(Buffer.concat(all))).toBe(true)
    expect([pieces.bytes, pieces.count, pieces.shift()]).toEqual([0, 0, undefined])
  }
})
