// Who goes on when, where several work long on one loop. The order is what is looked at, never how long it took.

import { expect, test } from 'vitest'
import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { Pace } from '#lib/pace.ts'

function paceOf(key: string): Pace {
  const pace = new Pace()
  pace.turnKey = key
  return pace
}

function work(ms: number): void {
  for (const until = monotonic() + ms; monotonic() < until; );
}

test('accounts take turns, however many sessions one has', async () => {
  const order: string[] = []
  const take = async (key: string) => {
    await paceOf(key).turn()
    order.push(key)
  }
  await Promise.all([...['many', 'many', 'many'].map(take), take('one'), take('other')])
  expect(order).toEqual(['many', 'one', 'other', 'many', 'many'])
})

test('who asked for little comes before those who had a lot, who come all the same', async () => {
  const greedy = paceOf('greedy')
  await greedy.turn()
  work(limits.pace.costlyMs)
  const order: string[] = []
  const take = async (key: string) => {
    await paceOf(key).turn()
    order.push(key)
  }
  // Counted with the next one's beginning.
  await paceOf('somebody').turn()
  await Promise.all(['greedy', 'greedy', 'modest', 'another'].map(take))
  expect(order).toEqual(['modest', 'another', 'greedy', 'greedy'])
})

test('who had a lot goes on beside those who always ask for a little', async () => {
  const greedy = paceOf('heavy')
  let done = false
  const long = async () => {
    for (let slice = 0; slice < 20; slice++) {
      await greedy.turn()
      work(limits.pace.sliceMs)
    }
    done = true
  }
  let round = 0
  const short = async () => {
    // Each time somebody else, who had nothing before.
    while (!done) await paceOf(`light ${round++}`).turn()
  }
  await Promise.all([long(), ...Array.from({ length: 100 }, short)])
  expect(done).toBe(true)
})
