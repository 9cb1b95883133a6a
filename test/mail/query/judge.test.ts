// A tree of criteria in three values: whatever is known settles it as early as it can, and nothing is looked into needlessly.

import { expect, test } from 'vitest'
import { decide, judge, type Verdict } from '#mail/query/judge.ts'
import { both, either, mapLeaves, type Query, requiredLeaves } from '#mail/query/query.ts'

interface Letter {
  readonly op: string
}

const letters = ['a', 'b', 'c', 'd']
const [a, b, c] = letters.map((op): Letter => ({ op })) as [Letter, Letter, Letter]
const not = (of: Query<Letter>): Query<Letter> => ({ op: 'not', of })

test.each<[string, Query<Letter>, Verdict]>([
  ['a leaf', a, true],
  ['one that is not known', c, undefined],
  ['its opposite', not(c), undefined],
  ['all, one of which fails', both([c, b]) as Query<Letter>, false],
  ['all, one of which is open', both([a, c]) as Query<Letter>, undefined],
  ['any, one of which holds', either([c, a]) as Query<Letter>, true],
  ['any, one of which is open', either([b, c]) as Query<Letter>, undefined],
  ['none of them', not({ op: 'or', of: [b, a] }), false],
  ['nothing at all', { op: 'and', of: [] }, true],
  ['one of nothing', { op: 'or', of: [] }, false],
])('%s', (_, query, verdict) => {
  expect(judge(query, ({ op }) => ({ a: true, b: false })[op], null)).toBe(verdict)
})

test('what is known stays true whatever is found later, and looking into the rest ends as two values do', async () => {
  let seed = 11
  const next = (most: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % most
  }
  const grow = (depth: number): Query<Letter> => {
    const kind = depth === 0 ? 3 : next(4)
    if (kind === 3) return { op: letters[next(letters.length)] as string }
    if (kind === 2) return not(grow(depth - 1))
    return { op: kind === 0 ? 'and' : 'or', of: Array.from({ length: next(4) }, () => grow(depth - 1)) }
  }
  for (let round = 0; round < 2000; round++) {
    const query = grow(4)
    const truth = new Map(letters.map(letter => [letter, next(2) === 0]))
    const known = new Set(letters.filter(() => next(2) === 0))
    const all = judge(query, ({ op }) => truth.get(op), null)
    const first = judge(query, ({ op }) => (known.has(op) ? truth.get(op) : undefined), null)
    expect([undefined, all]).toContain(first)
    const looked: string[] = []
    const found = await decide(
      query,
      ({ op }) => (known.has(op) ? truth.get(op) : undefined),
      null,
      async ({ op }) => {
        looked.push(op)
        return truth.get(op) === true
      },
    )
    expect(found).toBe(all)
    expect(looked.filter(op => known.has(op))).toEqual([])
    if (first !== undefined) expect(looked).toEqual([])
  }
})

test('leaves are found, and put in the place of others', () => {
  const query: Query<Letter> = { op: 'and', of: [a, { op: 'and', of: [b, not(c)] }, { op: 'or', of: [a, c] }] }
  expect(requiredLeaves(query)).toEqual([a, b])
  expect(mapLeaves(query, ({ op }) => ({ op: op.toUpperCase() }))).toEqual({
    op: 'and',
    of: [{ op: 'A' }, { op: 'and', of: [{ op: 'B' }, not({ op: 'C' })] }, { op: 'or', of: [{ op: 'A' }, { op: 'C' }] }],
  })
})
