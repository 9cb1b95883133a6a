// What is kept of opened bodies: groups that share memory come and go together, and their bytes are bounded.

import { expect, test } from 'vitest'
import { BodyCache } from '#store/bodies-cache.ts'
import { Body } from '#store/bodies-read.ts'

const body = (size: number) => new Body(size, Buffer.alloc(size), null)

test('what was used last stays', () => {
  const cache = new BodyCache(30)
  for (const num of [1, 2, 3]) cache.put([[num, body(10)]])
  expect(cache.get(1)?.size).toBe(10)
  cache.put([[4, body(10)]])
  expect([1, 2, 3, 4].filter(num => cache.has(num))).toEqual([1, 3, 4])
})

test('bodies that share memory go together, however often one of them is used', () => {
  const cache = new BodyCache(100)
  cache.put([1, 2, 3, 4].map(num => [num, body(15)]))
  cache.put([[5, body(30)]])
  cache.get(1)
  cache.put([[6, body(30)]])
  expect([1, 2, 3, 4, 5, 6].filter(num => cache.has(num))).toEqual([1, 2, 3, 4, 6])
  cache.put([[7, body(60)]])
  expect([1, 2, 3, 4, 5, 6, 7].filter(num => cache.has(num))).toEqual([6, 7])
})

test('what is larger than everything together is not kept', () => {
  const cache = new BodyCache(10)
  cache.put([[1, body(11)]])
  cache.put([])
  expect(cache.has(1)).toBe(false)
  expect(cache.get(1)).toBe(undefined)
})
