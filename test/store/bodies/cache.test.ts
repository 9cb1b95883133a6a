// What is kept of opened bodies: groups that share memory come and go together, and their bytes are bounded.

import { expect, test } from 'vitest'
import { BodyCache, type Run } from '#store/bodies/cache.ts'
import { Body } from '#store/bodies/read.ts'

/** Bodies of `size` bytes that were read together. */
function run(size: number, ...nums: number[]): Run {
  const body = new Body(size, Buffer.alloc(size), null)
  return { nums, bytes: size * nums.length, get: () => body }
}

test('what was used last stays', () => {
  const cache = new BodyCache(30)
  for (const num of [1, 2, 3]) cache.put(run(10, num))
  expect(cache.get(1)?.size).toBe(10)
  cache.put(run(10, 4))
  expect([1, 2, 3, 4].filter(num => cache.has(num))).toEqual([1, 3, 4])
})

test('bodies that share memory go together, however often one of them is used', () => {
  const cache = new BodyCache(100)
  cache.put(run(15, 1, 2, 3, 4))
  cache.put(run(30, 5))
  cache.get(1)
  cache.put(run(30, 6))
  expect([1, 2, 3, 4, 5, 6].filter(num => cache.has(num))).toEqual([1, 2, 3, 4, 6])
  cache.put(run(60, 7))
  expect([1, 2, 3, 4, 5, 6, 7].filter(num => cache.has(num))).toEqual([6, 7])
})

test('what two read at once is kept once, and goes with the run that has it', () => {
  const cache = new BodyCache(100)
  cache.put(run(20, 1, 2))
  cache.put(run(20, 2, 3))
  expect(cache.bytes).toBe(80)
  cache.put(run(20, 1, 3))
  expect(cache.bytes).toBe(80)
  cache.get(1)
  cache.put(run(40, 4))
  expect([1, 2, 3, 4].filter(num => cache.has(num))).toEqual([1, 2, 4])
})

test('what is larger than everything together is not kept', () => {
  const cache = new BodyCache(10)
  cache.put(run(11, 1))
  cache.put(run(11))
  expect(cache.has(1)).toBe(false)
  expect(cache.get(1)).toBe(undefined)
})
