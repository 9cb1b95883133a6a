import { describe, expect, test } from 'vitest'
import { type CommandParts, Decoder, parseNumberSet } from '#imap/wire/decoder.ts'
import { astring, quoted } from '#imap/wire/encoder.ts'
import { decodeMailboxName, encodeMailboxName } from '#imap/wire/name.ts'
import { Fault } from '#lib/fault.ts'

const decode = (...parts: CommandParts) => new Decoder(parts, false)
const literal = (text: string) => ({ bytes: Buffer.from(text), binary: false })
const bad = expect.objectContaining({ code: 'BadCommand' })

describe('strings', () => {
  test('an astring is an atom, a quoted string or a literal', () => {
    const decoder = decode('atom] "quo\\"ted\\\\" ', literal('lit\r\neral'), ' end')
    expect(decoder.astring()).toBe('atom]')
    decoder.space()
    expect(decoder.astring()).toBe('quo"ted\\')
    decoder.space()
    expect(decoder.astring()).toBe('lit\r\neral')
    decoder.space()
    expect(decoder.word()).toBe('END')
    decoder.end()
  })

  test.each([
    ['an atom with 8-bit text', 'caf\u00e9'],
    ['an atom with a NUL', 'a\0b'],
    ['an open quote', '"abc'],
    ['a quoted NUL', '"a\0b"'],
    ['a bad escape', '"a\\b"'],
    ['quoted text that is no UTF-8', '"\u00ff\u00fe"'],
    ['nothing', ''],
  ])('%s is refused', (_, text) => {
    expect(() => {
      const decoder = decode(text)
      decoder.astring()
      decoder.end()
    }).toThrow(bad)
  })

  test('quoted UTF-8 is text', () => {
    expect(decode(Buffer.from('"Gr\u00fc\u00dfe"').toString('latin1')).string()).toBe('Gr\u00fc\u00dfe')
  })

  test('NIL is no string', () => {
    expect(decode('NIL').nstring()).toBeNull()
    expect(decode('"NIL"').nstring()).toBe('NIL')
  })
})

describe('numbers and sets', () => {
  test.each([
    [
      '1:3,5,*',
      [
        [1, 3],
        [5, 5],
        [Infinity, Infinity],
      ],
    ],
    ['9:2', [[2, 9]]],
    ['*:4', [[4, Infinity]]],
    ['4294967295', [[4294967295, 4294967295]]],
  ])('%s', (text, ranges) => {
    expect(parseNumberSet(text)).toEqual(ranges)
  })

  test.each(['0', '1:0', '4294967296', '1,,2', '1:2:3', ',', '1:', ':'])('%s is no set', text => {
    expect(() => parseNumberSet(text)).toThrow(bad)
  })

  test('a set has so many ranges and no more', () => {
    expect(() => parseNumberSet('1,3,'.repeat(60_000).slice(0, -1))).toThrow(bad)
  })

  test('a number stays in its bounds', () => {
    expect(() => decode('4294967296').number()).toThrow(bad)
    expect(decode('4294967295').number()).toBe(4294967295)
  })
})

test('lists nest so deep and no deeper', () => {
  const parse = (decoder: Decoder): unknown =>
    decoder.list(() => (decoder.peek() === '(' ? parse(decoder) : decoder.atom()))
  expect(parse(decode('(a (b c) d)'))).toEqual(['a', ['b', 'c'], 'd'])
  expect(() => parse(decode('('.repeat(100_000)))).toThrow(bad)
})

describe('mailbox names', () => {
  test.each([
    ['INBOX', 'inbox'],
    ['INBOX/Sub', 'InBoX/Sub'],
    ['Entw\u00fcrfe', 'Entw&APw-rfe'],
    ['\u53f0\u5317/&', '&U,BTFw-/&-'],
    ['~peter/mail/\u53f0\u5317/\u65e5\u672c\u8a9e', '~peter/mail/&U,BTFw-/&ZeVnLIqe-'],
  ])('%s', (path, wire) => {
    expect(decodeMailboxName(wire, false)).toBe(path)
    expect(decodeMailboxName(encodeMailboxName(path, false), false)).toBe(path)
  })

  test.each(['&', '&A', '&AAA-', '&AEE-', 'a&*-', '&2AA-', 'a\0b', 'a\nb'])('%j is refused', wire => {
    expect(() => decodeMailboxName(wire, false)).toThrow(Fault)
  })

  test('every name comes back from its wire form', () => {
    const alphabet = 'a& /-,+\u00e9\u4e2d\u{1f600}~'
    const characters = [...alphabet]
    let seed = 7
    for (let round = 0; round < 2000; round++) {
      let path = ''
      for (let at = 0; at < 12; at++) {
        seed = (seed * 1103515245 + 12345) % 2147483648
        path += characters[seed % characters.length]
      }
      expect(decodeMailboxName(encodeMailboxName(path, false), false)).toBe(path.normalize('NFC'))
    }
  })
})

test('values are written in the form they need', () => {
  expect(quoted('a "b" \\c')).toBe('"a \\"b\\" \\\\c"')
  expect(quoted('two\r\nlines')).toBe('{10}\r\ntwo\r\nlines')
  expect(quoted('Gr\u00fc\u00dfe')).toBe('{7}\r\nGr\u00fc\u00dfe')
  expect(quoted('Gr\u00fc\u00dfe', true)).toBe('"Gr\u00fc\u00dfe"')
  expect(astring('atom')).toBe('atom')
  expect(astring('NIL')).toBe('"NIL"')
  expect(astring('')).toBe('""')
})
