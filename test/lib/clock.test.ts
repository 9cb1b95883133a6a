// The clock goes by another machine's where it is off.

import { afterEach, expect, test } from 'vitest'
import { clockCorrection, correctClock, now } from '#lib/clock.ts'

const hour = 3_600_000

afterEach(() => {
  correctClock(Date.now(), 0, 0)
})

test.each([
  ['an hour behind', hour],
  ['an hour ahead', -hour],
])('a machine %s is corrected once, and told when it is right again', (_, off) => {
  expect(correctClock(Date.now() + off, 0, 500)).toBe(true)
  expect(Math.abs(now() - Date.now() - off)).toBeLessThan(1000)
  expect(correctClock(Date.now() + off, 0, 500)).toBe(false)
  expect(correctClock(Date.now(), 0, 500)).toBe(true)
  expect(clockCorrection()).toBe(0)
})

test('what does not matter, or may lie in the way of the answer, changes nothing', () => {
  expect(correctClock(Date.now() + 400, 0, 500)).toBe(false)
  // Asked six seconds ago: at some moment since then it was so.
  expect(correctClock(Date.now() - 5900, 6000, 500)).toBe(false)
  expect(correctClock(Date.now() - 100, 6000, 500)).toBe(false)
  expect(clockCorrection()).toBe(0)
  expect(correctClock(Date.now() - 6700, 6000, 500)).toBe(true)
})
