import { expect, test } from 'vitest'
import { memoryIsScarce, memoryOf, withinMemory } from '#lib/process/memory.ts'

const mib = 1024 * 1024

test.each([
  ['a group with a bound', 256 * mib, 4096 * mib, 256 * mib],
  ['a group whose bound is beyond the machine', 2 ** 63, 4096 * mib, 4096 * mib],
  ['a group without one', 0, 512 * mib, 512 * mib],
])('what there is of memory: %s', (_, group, machine, given) => {
  expect(memoryOf(group, machine)).toBe(given)
})

test('what may fill the memory has a part of it as a bound, its own number where there is plenty, and never nothing', () => {
  expect(withinMemory(64 * mib, 16, 256 * mib)).toBe(16 * mib)
  expect(withinMemory(64 * mib, 16, 4096 * mib)).toBe(64 * mib)
  expect(withinMemory(12, 72 * mib, 64 * mib)).toBe(1)
  expect([256 * mib, 384 * mib, 512 * mib, 4096 * mib].map(memoryIsScarce)).toEqual([true, true, false, false])
})
