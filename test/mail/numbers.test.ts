import { expect, it } from 'vitest'
import { limits } from '#lib/limits.ts'
import * as numbers from '#mail/numbers.ts'
import { Chance } from './corpus.ts'

function resolve(text: string, last: number): string | null {
  const set = numbers.parseNumbers(text)
  return set && numbers.formatRanges(numbers.resolveNumbers(set, last))
}

it('reads sets as written', () => {
  expect(resolve('1,2,5:9', 100)).toBe('1:2,5:9')
  expect(resolve('1:*', 7)).toBe('1:7')
  expect(resolve('*', 7)).toBe('7')
  expect(resolve('9:*', 7)).toBe('7:9')
  expect(resolve('*:9', 7)).toBe('7:9')
  expect(resolve('5:3,4', 7)).toBe('3:5')
  expect(resolve('1:4294967295', 7)).toBe('1:4294967295')
  expect(resolve('*', 0)).toBe('')
  expect(resolve('1:*', 0)).toBe('1')
  expect(numbers.hasStar(numbers.parseNumbers('1,3:*') ?? [])).toBe(true)
  expect(numbers.hasStar(numbers.parseNumbers('1,3:4') ?? [])).toBe(false)
})

it('refuses what is no set', () => {
  for (const text of [
    '',
    ',',
    '0',
    '1:0',
    '1,',
    ',1',
    '1::2',
    '1:2:3',
    'a',
    '-1',
    '4294967296',
    '1 2',
    '**',
    '1.5',
    '$',
  ]) {
    expect(numbers.parseNumbers(text), text).toBe(null)
  }
  expect(
    numbers.parseNumbers(
      Array(limits.name.rangesMax + 1)
        .fill('1')
        .join(','),
    ),
  ).toBe(null)
  expect(numbers.parseNumbers(Array(limits.name.rangesMax).fill('1').join(','))).not.toBe(null)
  expect(numbers.parseNumbers('1'.repeat(limits.name.setLengthMax + 1))).toBe(null)
})

const chance = new Chance()

it(`agrees with a plain set of numbers (seed ${chance.seed})`, () => {
  for (let round = 0; round < 300; round++) {
    const items: string[] = []
    const plain = new Set<number>()
    const last = 1 + chance.below(60)
    for (let count = 1 + chance.below(8); count > 0; count--) {
      const a = chance.below(10) === 0 ? '*' : String(1 + chance.below(60))
      const b = chance.below(10) === 0 ? '*' : String(1 + chance.below(60))
      const single = chance.below(2) === 0
      items.push(single ? a : `${a}:${b}`)
      const [x, y] = [a, single ? a : b].map(text => (text === '*' ? last : Number(text))) as [number, number]
      for (let number = Math.min(x, y); number <= Math.max(x, y); number++) plain.add(number)
    }
    const ranges = numbers.resolveNumbers(numbers.parseNumbers(items.join(',')) ?? [], last)
    const sorted = [...plain].sort((a, b) => a - b)
    expect([...numbers.eachNumber(ranges)]).toEqual(sorted)
    expect(numbers.countNumbers(ranges)).toBe(plain.size)
    for (let number = 0; number < 63; number++) expect(numbers.inRanges(ranges, number)).toBe(plain.has(number))
    expect(numbers.toRanges(plain)).toEqual(ranges)
    expect(numbers.formatNumbers([...plain].reverse())).toBe(numbers.formatRanges(ranges))
    const some = Array.from({ length: 60 }, (_, at) => at).filter(() => chance.below(2) === 0)
    expect(numbers.selectNumbers(ranges, some)).toEqual(some.filter(number => plain.has(number)))
  }
})
