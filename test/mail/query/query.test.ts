import { expect, test } from 'vitest'
import { criterion, parseQuery, parseWords } from '#mail/query/language.ts'
import { both, eachLeaf, either, type Leaf, type Query } from '#mail/query/query.ts'

const word = (needle: string): Query => ({ op: 'words', in: 'anywhere', needle })

test.each<[string, Query | null]>([
  ['', null],
  ['  ', null],
  ['\0', null],
  ['-\0 \0', null],
  ['subject:\0', null],
  ['a\0b', word('a b')],
  ['one', word('one')],
  ['One TWO', { op: 'or', of: [word('one'), word('two')] }],
  ['one AND two', { op: 'and', of: [word('one'), word('two')] }],
  ['a OR b AND c', { op: 'or', of: [word('a'), { op: 'and', of: [word('b'), word('c')] }] }],
  ['-one', { op: 'not', of: word('one') }],
  ['one -two', { op: 'and', of: [word('one'), { op: 'not', of: word('two') }] }],
  ['- one', word('one')],
  ['"A  b "', { op: 'words', in: 'said', needle: 'a b ' }],
  ['"unclosed text', { op: 'words', in: 'said', needle: 'unclosed text' }],
  ['(a OR b) c', { op: 'and', of: [word('c'), { op: 'or', of: [word('a'), word('b')] }] }],
  ['subject:x', { op: 'words', in: 'subject', needle: 'x' }],
  ['SUBJECT:"x y"', { op: 'words', in: 'subject', needle: 'x y' }],
  ['seen:no', null],
  ['flagged:1 word', { op: 'and', of: [word('word'), { op: 'flag', bit: 4 }] }],
  ['https://example.com/a:b', word('https://example.com/a:b')],
  ['12:30', word('12:30')],
  ['in:Work(2024)', { op: 'in', name: 'Work(2024)' }],
  ['(in:Work)', { op: 'in', name: 'Work' }],
  [
    'id:3:*,1',
    {
      op: 'uid',
      ranges: [
        [1, 1],
        [3, 0xffffffff],
      ],
    },
  ],
  ['minsize:2k', { op: 'size', min: 2048, max: Number.MAX_SAFE_INTEGER }],
  ['a) b', { op: 'and', of: [word('a'), word('b')] }],
  ['has:legs is:odd is:constructor nothing:x constructor:y', null],
])('%s', (text, tree) => {
  expect(parseQuery(text)).toEqual(tree)
})

test('all words where that is asked for, and no keywords among plain words', () => {
  expect(parseQuery('one two', { all: true })).toEqual({ op: 'and', of: [word('one'), word('two')] })
  expect(parseWords('from:me "x y"')).toEqual({
    op: 'and',
    of: [word('from:me'), { op: 'words', in: 'said', needle: 'x y' }],
  })
})

test('parts are joined without the empty ones', () => {
  expect(both([null, word('a')])).toEqual(word('a'))
  expect(either([null, null])).toBeNull()
  expect([...eachLeaf<Leaf>(parseQuery('a (b OR -c)') as Query)]).toEqual([word('a'), word('b'), word('c')])
})

test('a criterion that makes no sense is none', () => {
  for (const [keyword, value] of [
    ['mailbox', 'x'],
    ['thread', '12'],
    ['id', '1;2'],
    ['after', 'soon'],
    ['minsize', '-1'],
    ['subject', ' '],
    ['in', ''],
  ] as const) {
    expect([keyword, criterion(keyword, value)]).toEqual([keyword, null])
  }
})

test('whatever is typed is read in time that grows with its length', () => {
  const pieces = ['(', ')', '"', '-', 'OR ', 'AND ', 'from:', 'a', ' ', '\u0000', 'in:(', ':']
  let seed = 7
  const next = () => (seed = (seed * 48_271) % 2_147_483_647)
  for (let round = 0; round < 500; round++) {
    const text = Array.from({ length: next() % 400 }, () => pieces[next() % pieces.length]).join('')
    const tree = parseQuery(text, { all: round % 2 === 0 })
    if (tree !== null) expect([...eachLeaf<Leaf>(tree)].length).toBeLessThanOrEqual(text.length)
  }
})
