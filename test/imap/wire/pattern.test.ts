// Patterns of LIST: what they match is what their definition says, and a long name costs each of them a moment.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { matcher } from '../../../src/imap/wire/pattern.ts'

const alone = { pace: { spent: false }, rest: async () => {} }

/** As RFC 9051 6.3.9 says it. */
function expression(pattern: string): RegExp {
  const parts = pattern.split(/([*%])/)
  return new RegExp(`^${parts.map(part => (part === '*' ? '.*' : part === '%' ? '[^/]*' : part)).join('')}$`)
}

/** All texts of up to `length` letters. */
function* texts(letters: string, length: number): Generator<string> {
  yield ''
  if (length === 0) return
  for (const text of texts(letters, length - 1)) for (const letter of letters) yield text + letter
}

test('match what they mean', async () => {
  const names = [...new Set(texts('ab/', 5))]
  for (const pattern of new Set(texts('a/*%', 5))) {
    const match = matcher('', [pattern], alone)
    const meant = expression(pattern)
    const matched: string[] = []
    for (const name of names) if (await match(name)) matched.push(name)
    expect([pattern, matched]).toEqual([pattern, names.filter(name => meant.test(name))])
  }
})

test('follow all ways through a name', async () => {
  const cases: [pattern: string, name: string][] = [
    ['%a/b%c*d', 'xa/bacbad'],
    ['%a/b%c*d', 'xaa/b/cd'],
    ['*/%b%/a', 'b/bb/ab/a'],
    ['%/%/%', 'a/b/c'],
    ['%/%/%', 'a/b'],
    ['*ab%ab%ab', 'ababab'],
    ['*ab%ab%ab', 'abab/ab'],
    ['*b/a%a/b%', 'ab/aa/b/b/aba/bb'],
  ]
  for (const [pattern, name] of cases) {
    expect([pattern, name, await matcher('', [pattern], alone)(name)]).toEqual([
      pattern,
      name,
      expression(pattern).test(name),
    ])
  }
})

test('cost a moment for the longest name, whatever stands in them', async () => {
  const { mailboxDepthMax, mailboxPartLengthMax } = limits.name
  const name = new Array(mailboxDepthMax).fill('a'.repeat(mailboxPartLengthMax)).join('/')
  const { wildcardsMax, patternLengthMax } = limits.imap
  const many = (wildcard: string) => `${`${wildcard}a`.repeat(wildcardsMax - 1)}${wildcard}b`
  const long = `*b${'a'.repeat(patternLengthMax - 10)}*b`
  const match = matcher('', [many('*'), many('%'), `*${'a%'.repeat(wildcardsMax - 1)}b`, long], alone)
  for (let times = 0; times < 200; times++) expect(await match(name)).toBe(false)
})
