// The end of a message and nothing but the end: against a plain description of the rule, over every way to cut the bytes.

import { describe, expect, test } from 'vitest'
import { DotReader } from '#smtp/dots.ts'

interface Read {
  message: string
  rest: string | null
  malformed: boolean
}

/** Feeds chunks to a reader; `rest` is what stands behind the end, null where there is none. */
function read(chunks: Buffer[]): Read {
  const reader = new DotReader()
  const pieces: Buffer[] = []
  for (const [index, chunk] of chunks.entries()) {
    const end = reader.feed(chunk)
    pieces.push(...reader.pieces)
    if (end < 0) continue
    const rest = Buffer.concat([chunk.subarray(end), ...chunks.slice(index + 1)])
    return {
      message: Buffer.concat(pieces).toString('latin1'),
      rest: rest.toString('latin1'),
      malformed: reader.malformed,
    }
  }
  return { message: Buffer.concat(pieces).toString('latin1'), rest: null, malformed: reader.malformed }
}

/** The rule as RFC 5321 4.5.2 states it, by regular expression. */
function described(bytes: string): Read {
  const start = bytes.startsWith('.\r\n') ? 0 : bytes.indexOf('\r\n.\r\n')
  const rest = start < 0 ? null : bytes.slice(start === 0 && bytes.startsWith('.\r\n') ? 3 : start + 5)
  const wire = start < 0 ? bytes : bytes.slice(0, bytes.startsWith('.\r\n') ? 0 : start + 2)
  const framed = `\r\n${wire}${start < 0 ? '' : '.\r\n'}`
  const lone = /(?<=[\r\n])\.(?=[\r\n])/g
  const malformed = [...framed.matchAll(lone)].some(({ index }) => {
    const before = framed.slice(0, index).endsWith('\r\n')
    const after = framed.startsWith('\r\n', index + 1) || framed.slice(index + 1) === '\r'
    return !(before && after)
  })
  const message = `\r\n${wire}`.replaceAll('\r\n.', '\r\n').slice(2)
  return { message, rest, malformed }
}

function cut(bytes: Buffer, sizes: () => number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + sizes())
    chunks.push(bytes.subarray(at, end))
    at = end
  }
  return chunks
}

/** A small generator of numbers, so that a failing case can be made again from its seed. */
function generator(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('what ends a message', () => {
  const cases: [wire: string, message: string, rest: string | null][] = [
    ['.\r\nQUIT', '', 'QUIT'],
    ['\r\n.\r\n', '\r\n', ''],
    ['a\r\n.\r\n.\r\n', 'a\r\n', '.\r\n'],
    ['a\r\n..\r\n.\r\n', 'a\r\n.\r\n', ''],
    ['..a\r\n.b\r\n...\r\n.\r\n', '.a\r\nb\r\n..\r\n', ''],
    ['a\r\nb', 'a\r\nb', null],
    ['\0\u00ff\r\r\nb\n\r\n.\r\n', '\0\u00ff\r\r\nb\n\r\n', ''],
    ['a.\r\n.\r\n', 'a.\r\n', ''],
    ['a\n..b\r\n.\r\n', 'a\n..b\r\n', ''],
  ]
  test.each(cases)('%j', (wire, message, rest) => {
    const bytes = Buffer.from(wire, 'latin1')
    for (const sizes of [() => bytes.length, () => 1, () => 2, () => 3]) {
      expect(read(cut(bytes, sizes))).toEqual({ message, rest, malformed: false })
    }
  })
})

describe('what must never end a message, and marks it', () => {
  const forms = [
    '\n.\n',
    '\n.\r\n',
    '\r.\r\n',
    '\r.\r',
    '\r\n.\n',
    '\r\n.\r',
    '\n.\r',
    '\r.\n',
    '\r\n.\r\r\n',
    '\r\n.\r.\r\n',
  ]
  test.each(forms)('%j', form => {
    const wire = Buffer.from(`a${form}b\r\n.\r\nrest`, 'latin1')
    for (const sizes of [() => wire.length, () => 1, () => 2, () => 3]) {
      const { rest, malformed } = read(cut(wire, sizes))
      expect({ rest, malformed }).toEqual({ rest: 'rest', malformed: true })
    }
  })

  test('a bare form right after DATA', () => {
    for (const wire of ['.\nb\r\n.\r\n', '.\rb\r\n.\r\n']) {
      expect(read([Buffer.from(wire)])).toMatchObject({ rest: '', malformed: true })
    }
  })
})

test('any bytes, cut anywhere, are read as the rule describes them', () => {
  const seed = 20_240_817
  const next = generator(seed)
  const alphabet = ['\r', '\n', '.', 'a', '\r\n', '\r\n.', '\0']
  for (let round = 0; round < 20_000; round++) {
    let text = ''
    for (let length = next(14); length >= 0; length--) text += alphabet[next(alphabet.length)]
    const expected = described(text)
    const found = read(cut(Buffer.from(text, 'latin1'), () => 1 + next(6)))
    const label = `seed ${seed}, round ${round}: ${JSON.stringify(text)}`
    expect(found.rest, label).toBe(expected.rest)
    if (expected.rest === null) continue
    expect(found.malformed, label).toBe(expected.malformed)
    if (!expected.malformed) expect(found.message, label).toBe(expected.message)
  }
})

test('a chunk of nothing but stuffed lines becomes one piece', () => {
  const reader = new DotReader()
  reader.feed(Buffer.from('..a\r\n'.repeat(1000)))
  expect(reader.pieces.map(piece => piece.toString())).toEqual(['.a\r\n'.repeat(1000)])
})
