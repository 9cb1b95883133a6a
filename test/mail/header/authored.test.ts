// Whom a header names, read strictly, and the bytes that go over the wire.

import { describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { namesAuthorsClearly, plainHeader, strictMailboxes } from '#mail/header/authored.ts'
import { Header } from '#mail/header/header.ts'
import { WireLines, wireHeader } from '#mail/header/wire-form.ts'
import { Random } from '../../fuzz/random.ts'

describe('a list of mailboxes', () => {
  test.each([
    ['a@x.test', ['a@x.test']],
    [' <a@x.test> ', ['a@x.test']],
    ['Anna B. C <a.b+c@x.test>,"D, \\"E\\"" <d@y.test>', ['a.b+c@x.test', 'd@y.test']],
    ['=?utf-8?q?M=C3=BCller=2C_Anna?= <a@x.test>', ['a@x.test']],
    ['a@x, b@localhost', ['a@x', 'b@localhost']],
    ['"b@y.test" <a@x.test>', ['a@x.test']],
  ])('%s', (value, addresses) => {
    expect(strictMailboxes(value)).toEqual(addresses)
  })

  test.each([
    ...['', ',', 'a', 'a@', '@x.test', 'a@x.test,', ',a@x.test', 'a@x.test b@y.test', '<a@x.test', 'a@x.test>'],
    ...['<a@x.test> <b@y.test>', 'a@x.test <b@y.test>', 'b@y.test:a@x.test;', 'a: b@y.test;', 'undisclosed:;'],
    ...['a@x.test (b@y.test)', '(b) a@x.test', '<@y.test:a@x.test>', '"a"@x.test', '<"a b"@x.test>', 'a@[1.2.3.4]'],
    ...['a..b@x.test', '.a@x.test', 'a.@x.test', 'a@x..test', 'a@-x.test', 'a@x.test.', 'ä@x.test', 'Ä <a@x.test>'],
    ...['"a <a@x.test>', 'a"b" c"<a@x.test>', 'a=?utf-8?q?b?=@x.test', '=?utf-8?q?b=40y=2Etest?= <a@x.test>'],
    ...['=?utf-8?b?PGJAeS50ZXN0Pg==?= <a@x.test>', 'a@x.test;b@y.test', 'a\t@x.test', 'a @x.test', '<a@x.test>b'],
  ])('%j is none', value => {
    expect(strictMailboxes(value)).toBeUndefined()
  })

  test('is read in no time, however long and odd it is', () => {
    for (const piece of ['a', 'a.', 'a@', '"', '\\', 'a-', '<', '=?', ' ', 'a@a,', '(', '.']) {
      strictMailboxes(piece.repeat(limits.mime.headerBytesMax / piece.length))
      strictMailboxes(`a@${piece.repeat(limits.mime.headerBytesMax / piece.length)}`)
      strictMailboxes(`"${piece.repeat(limits.mime.headerBytesMax / piece.length)}`)
    }
  })
})

describe('a header in the form that all read alike', () => {
  const plain = (text: string) => plainHeader(Buffer.from(text, 'latin1')).toString('latin1')

  test.each([
    ['A: 1\r\nB:2\r\n\tfolded\r\n\r\n', 'A: 1\r\nB:2\r\n\tfolded\r\n\r\n'],
    ['A: 1\nB: 2\n\n', 'A: 1\r\nB: 2\r\n\r\n'],
    ['A : 1\r\n\r\n', 'A: 1\r\n\r\n'],
    ['A: 1\r\n \t\r\n more\r\n\r\n', 'A: 1\r\n more\r\n\r\n'],
    ['From x\r\nA: 1\r\nno field\r\n folded\r\n\xe4: 1\r\nB: 2\r\n\r\n', 'A: 1\r\nB: 2\r\n\r\n'],
    [' A: 1\r\nB: 2\r\n\r\n', 'B: 2\r\n\r\n'],
    ['A: 1\x0b\x0c\x1c2\x1b$B\r\n\r\n', 'A: 1   2\x1b$B\r\n\r\n'],
    ['A: 1', 'A: 1\r\n\r\n'],
    ['\r\n', '\r\n'],
    ['', '\r\n'],
  ])('%j', (text, wanted) => {
    expect(plain(text)).toBe(wanted)
    expect(plain(wanted)).toBe(wanted)
  })

  test('is the same buffer where it has it', () => {
    const block = Buffer.from('A: 1\r\n\r\n')
    expect(plainHeader(block)).toBe(block)
  })

  test.each(['A: 1\rB: 2\r\n\r\n', '\rA: 1\r\n\r\n', 'A: 1\r\r\n\r\n', 'A\0: 1\r\n\r\n', 'A: 1\r\n\r\r\n', 'A: 1\r'])(
    '%j is refused',
    text => {
      expect(() => plain(text)).toThrow(expect.objectContaining({ code: 'MessageMalformed' }))
    },
  )

  test('authors that others may find are told', () => {
    const clear = (text: string) => namesAuthorsClearly(new Header(Buffer.from(text)))
    expect(clear('From: a\r\nFrom : b\r\nX-From: c\r\n\r\n')).toBe(true)
    expect(clear('X: y\rFrom: b\r\n\r\n')).toBe(false)
    expect(clear('From\r\n : b\r\n\r\n')).toBe(false)
    expect(clear(`${'X: y\r\n'.repeat(limits.mime.headerFieldsMax)}From: b\r\n\r\n`)).toBe(false)
  })
})

describe('the form of the wire', () => {
  const mend = (pieces: readonly string[]) => {
    const lines = new WireLines()
    const out = pieces.map(piece => lines.mend(Buffer.from(piece, 'latin1')).toString('latin1'))
    return out.join('') + lines.end().toString('latin1')
  }

  test('is that of a whole, however it is cut', () => {
    const seed = Number(process.env.SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
    const random = new Random(seed)
    for (let round = 0; round < 2000; round++) {
      const text = Array.from({ length: 12 }, () => random.pick(['\r', '\n', '.', 'x'])).join('')
      const wanted = text.replace(/\r\n|\r|\n/g, '\r\n')
      const at = random.pick([0, 1, 2, 3, 5, 7, 11, 12])
      expect(mend([text]), `seed ${seed}: ${JSON.stringify(text)}`).toBe(wanted)
      expect(mend([text.slice(0, at), '', text.slice(at)]), `seed ${seed}: ${JSON.stringify(text)} ${at}`).toBe(wanted)
      expect(mend([...text]), `seed ${seed}: ${JSON.stringify(text)}`).toBe(wanted)
    }
  })

  test('costs little where every byte is half of a line end', () => {
    const lines = new WireLines()
    const piece = Buffer.alloc(limits.body.chunkBytes, '\r')
    for (let count = 0; count < 2000; count++) lines.mend(piece)
    expect(lines.mend(piece)).toHaveLength(2 * piece.length)
  })

  test('keeps what needs no change', () => {
    const piece = Buffer.from('a\r\nb')
    expect(new WireLines().mend(piece)).toBe(piece)
    expect(wireHeader(piece)).toBe(piece)
  })

  test.each([
    ['A: 1\rFrom: b\r\n\r\n', 'A: 1 From: b\r\n\r\n'],
    ['\rA: 1\r\n\r\n', 'A: 1\r\n\r\n'],
    [' A: 1\r\n\tmore\nB: 2\n\n', 'B: 2\r\n\r\n'],
    ['A: 1\r\n\r\r\n', 'A: 1\r\n\r\n'],
    ['\r\n', '\r\n'],
    ['\n', '\r\n'],
    ['', ''],
    ['A\0: 1\r\n\r\n', 'A : 1\r\n\r\n'],
    [' \r\n', ''],
  ])('the header %j', (text, wanted) => {
    expect(wireHeader(Buffer.from(text, 'latin1')).toString('latin1')).toBe(wanted)
  })
})
