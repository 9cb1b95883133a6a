import { expect, it } from 'vitest'
import { limits } from '#lib/limits.ts'
import { changeKeywords, deleted, draft, flagList, flagText, isKeyword, parseFlags, seen } from '#mail/flags.ts'

it('writes bits and keywords as IMAP names, and reads them back', () => {
  for (let bits = 0; bits < 32; bits++) {
    const list = flagList(bits, ['$Forwarded'])
    expect(parseFlags(list)).toEqual({ bits, keywords: ['$Forwarded'] })
  }
  expect(flagText(seen | draft)).toBe('\\Seen \\Draft')
  expect(flagText(0)).toBe('')
  expect(flagText(deleted, ['a', 'b'])).toBe('\\Deleted a b')
  expect(flagList(0)).toEqual([])
})

it('does not care about case, repetition and \\Recent', () => {
  expect(parseFlags(['\\SEEN', '\\seen', 'Work', 'WORK', '\\Recent'])).toEqual({ bits: seen, keywords: ['Work'] })
})

it('refuses what is no flag', () => {
  for (const name of ['\\Foo', '\\', '', 'a b', 'a(b', 'a]b', 'a"b', 'a%', 'a*', 'a{', 'õ', 'a\r\n', '\x7f', 'x\\y']) {
    expect(parseFlags([name]), name).toBe(null)
  }
  expect(isKeyword('x'.repeat(limits.name.keywordLengthMax))).toBe(true)
  expect(isKeyword('x'.repeat(limits.name.keywordLengthMax + 1))).toBe(false)
  const many = Array.from({ length: limits.name.keywordsMax + 1 }, (_, at) => `k${at}`)
  expect(parseFlags(many)).toBe(null)
  expect(parseFlags(many.slice(1))?.keywords.length).toBe(limits.name.keywordsMax)
})

it('adds and removes keywords without case', () => {
  expect(changeKeywords(['a', 'B'], ['b', 'c'], ['A'])).toEqual(['B', 'c'])
})
