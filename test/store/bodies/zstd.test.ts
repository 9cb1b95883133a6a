// Frames made through a kept stream are those of the public calls, and damage never reaches the next value.

import { randomBytes } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { codecZstd, unpack } from '#store/bodies/format/codec.ts'
import { compress, decompress } from '#store/bodies/format/zstd.ts'

/** Text and noise of many sizes, small ones more often, up to past the size that goes through a kept stream. */
function* values(count: number): Generator<Buffer> {
  for (let index = 0; index < count; index++) {
    const size = Math.floor((index / count) ** 3 * 140_000)
    yield index % 3 === 0 ? randomBytes(size) : Buffer.alloc(size, `some text ${index} `)
  }
}

test('what is packed comes back, and the public calls read and write the same', () => {
  for (const value of values(300)) {
    if (value.length === 0) continue
    const packed = compress(value)
    expect(decompress(packed, value.length).equals(value)).toBe(true)
    expect(zstdDecompressSync(packed).equals(value)).toBe(true)
    expect(decompress(zstdCompressSync(value), value.length).equals(value)).toBe(true)
  }
})

test('a bit that was turned is an error, whichever it is', () => {
  for (const value of [Buffer.from('words of a letter '.repeat(20)), Buffer.alloc(150_000, 'much more ')]) {
    const packed = Buffer.from(compress(value))
    for (let bit = 0; bit < packed.length * 8; bit++) {
      const broken = Buffer.from(packed)
      broken[bit >> 3] = (broken[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      let came: Buffer | undefined
      try {
        came = unpack(codecZstd, broken, value.length)
      } catch {}
      if (came !== undefined) expect([bit, came.equals(value)]).toEqual([bit, true])
    }
  }
})

test('damage is an error or another value, and the next value is whole', () => {
  const fine = Buffer.from('a value between the broken ones')
  for (const value of values(200)) {
    if (value.length < 10) continue
    const packed = Buffer.from(compress(value))
    const cut = packed.subarray(0, packed.length - 1 - Math.floor((packed.length - 1) / 3))
    const overlong = Buffer.concat([packed, packed.subarray(0, 3)])
    const noise = Buffer.concat([packed.subarray(0, 9), randomBytes(packed.length)])
    for (const broken of [cut, overlong, noise, Buffer.alloc(0), Buffer.from('no frame')]) {
      let came: Buffer | undefined
      try {
        came = decompress(broken, value.length)
      } catch {}
      if (came !== undefined && broken !== overlong) expect(came.equals(value)).toBe(false)
      expect(decompress(compress(fine), fine.length).equals(fine)).toBe(true)
    }
    expect(() => decompress(packed, value.length - 1)).toThrow()
  }
})
