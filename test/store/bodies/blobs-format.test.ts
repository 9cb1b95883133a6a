// The forms bodies have on disk: base64 taken off and put back, packed values, chunk tables, recipes.

import { randomBytes, randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { decodeLines, detectLines, encodedLength, encodeLines, lineEndsAtEnd } from '#store/bodies/format/base64.ts'
import {
  ChunkTable,
  codecRaw,
  codecZstd,
  DamagedBody,
  decodeRecipe,
  encodeRecipe,
  encodeTable,
  type Lines,
  pack,
  packChunk,
  type Span,
  unpack,
  unpackPiece,
} from '#store/bodies/format/codec.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
let state = seed
const random = (below: number) => {
  state = (state * 1103515245 + 12345) % 2147483648
  return Math.floor((state / 2147483648) * below)
}

const shapes: Lines[] = [76, 72, 64, 60, 4, 1000].flatMap(width => [
  { width, ending: 2 },
  { width, ending: 1 },
])

test('base64 in lines comes off and goes back on, at every length', () => {
  for (const lines of shapes) {
    for (let size = 1; size < 200; size++) {
      const value = randomBytes(size)
      const encoded = encodeLines(value, lines, true)
      expect(encoded.length).toBe(encodedLength(size, lines))
      expect(encoded.toString().replaceAll(/\r?\n/g, '')).toBe(value.toString('base64'))
      expect(decodeLines(encoded, lines, true)).toEqual(value)
      const found = detectLines(encoded)
      if (encoded.includes(10)) expect(found).toEqual(lines)
    }
  }
})

test('whole lines in the middle are decoded with their line end', () => {
  for (const lines of shapes) {
    const value = randomBytes((lines.width / 4) * 3 * 5)
    const encoded = encodeLines(value, lines, false)
    expect(encoded.toString().endsWith(lines.ending === 2 ? '\r\n' : '\n')).toBe(true)
    expect(decodeLines(encoded, lines, false)).toEqual(value)
    expect(decodeLines(encoded.subarray(0, -1), lines, false)).toBeNull()
  }
})

test('whatever is changed, decoding gives back the very bytes or refuses', () => {
  const other = Buffer.from('A=\r\n -_+/z\x00\xff\t.', 'latin1')
  for (let round = 0; round < 20_000; round++) {
    const lines = shapes[random(shapes.length)] as Lines
    const encoded = Array.from(encodeLines(randomBytes(1 + random(90)), lines, true))
    for (let change = 0; change <= random(3); change++) {
      const at = random(encoded.length)
      const byte = other[random(other.length)] as number
      const how = random(3)
      if (how === 0) encoded[at] = byte
      else if (how === 1) encoded.splice(at, 0, byte)
      else encoded.splice(at, 1)
    }
    const changed = Buffer.from(encoded)
    for (const last of [true, false]) {
      const decoded = decodeLines(changed, lines, last)
      if (decoded !== null) expect(encodeLines(decoded, lines, last), `seed ${seed}`).toEqual(changed)
    }
  }
})

test('what is no base64 in lines is seen at its start', () => {
  for (const head of ['', '\n', '\r\nAAAA', 'AAA\r\nAAAA', 'A'.repeat(1004), `${'A'.repeat(1004)}\n`]) {
    expect(detectLines(Buffer.from(head))).toBeNull()
  }
  expect(lineEndsAtEnd(Buffer.from('AAAA\r\n\n'))).toBe(3)
})

test('a packed value comes back with its size, or not at all', () => {
  for (const value of [Buffer.alloc(0), Buffer.from('short'), Buffer.alloc(5000, 'words '), randomBytes(5000)]) {
    const { codec, data } = pack(value)
    expect(data.length).toBeLessThanOrEqual(value.length)
    expect(unpack(codec, Buffer.from(data), value.length)).toEqual(value)
    expect(() => unpack(codec, Buffer.from(data), value.length + 1)).toThrow(DamagedBody)
  }
  const { codec, data } = pack(Buffer.alloc(5000, 'words '))
  expect(codec).toBe(codecZstd)
  expect(() => unpack(codecZstd, Buffer.from(data), 4999)).toThrow(DamagedBody)
  expect(() => unpack(codecZstd, Buffer.from(data).subarray(0, -3), 5000)).toThrow(DamagedBody)
  expect(() => unpack(codecZstd, randomBytes(50), 5000)).toThrow(DamagedBody)
  expect(() => unpack(77, randomBytes(50), 50)).toThrow(DamagedBody)
  expect(unpack(codecRaw, Buffer.from('abc'), 3).toString()).toBe('abc')
})

test('a value in chunks is found piece by piece', async () => {
  const chunkBytes = 1000
  const chunks = [Buffer.alloc(1000, 'packs well '), randomBytes(1000), randomBytes(77)]
  const packed = await Promise.all(chunks.map(packChunk))
  expect(packed.map(({ raw }) => raw)).toEqual([false, true, true])
  const pieces = Buffer.concat(packed.map(({ data }) => data))
  const table = encodeTable(
    chunkBytes,
    packed.map(({ data, raw }) => ({ length: data.length, raw })),
  )
  const read = new ChunkTable(Buffer.concat([table, pieces]), 2077)
  expect(read.bytes).toBe(table.length)
  expect(read.stored).toBe(pieces.length)
  for (const at of [0, 999, 1000, 1999, 2000, 2076]) {
    const { piece, start } = read.pieceOf(at)
    const value = unpackPiece(piece, pieces.subarray(piece.offset, piece.offset + piece.length))
    expect(value).toEqual(chunks[start / chunkBytes])
  }
  expect(() => new ChunkTable(table.subarray(0, -1), 2077)).toThrow(DamagedBody)
  expect(() => new ChunkTable(table, 500_000)).toThrow(DamagedBody)
  expect(() => new ChunkTable(Buffer.alloc(4), 10)).toThrow(DamagedBody)
  expect(() => new ChunkTable(Buffer.alloc(2), 0)).toThrow(DamagedBody)
})

test('recipes come back', () => {
  const spans: Span[] = [
    { before: 0, length: 1, lines: null },
    { before: 127, length: 128, lines: { width: 76, ending: 2 } },
    { before: 16_384, length: 2 ** 40, lines: { width: 4, ending: 1 } },
  ]
  expect(decodeRecipe(encodeRecipe(spans))).toEqual(spans)
  expect(decodeRecipe(Buffer.alloc(0))).toEqual([])
  expect(() => decodeRecipe(encodeRecipe(spans).subarray(0, -1))).toThrow(DamagedBody)
})
