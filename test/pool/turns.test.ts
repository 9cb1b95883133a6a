// Lanes of keys: who has a turn when, and who loses a place in a queue that is full.

import { describe, expect, test } from 'vitest'
import { Turns } from '../../src/pool/turns.ts'

const filled = (...jobs: [string, string][]) => {
  const turns = new Turns<string>()
  for (const [path, job] of jobs) turns.add(path === '' ? [] : path.split('/'), job)
  return turns
}
const drained = (turns: Turns<string>) => {
  const order: string[] = []
  for (let job = turns.take(); job !== undefined; job = turns.take()) order.push(job)
  return order.join(' ')
}

describe('turns', () => {
  test('go round at every step of a path, so that many keys of one branch have the turns of one', () => {
    const turns = filled(
      ['s/a/1', 'a1'],
      ['s/a/2', 'a2'],
      ['s/a/3', 'a3'],
      ['s/b/1', 'b1'],
      ['k/x', 'x1'],
      ['k/x', 'x2'],
    )
    expect(drained(turns)).toBe('a1 x1 b1 x2 a2 a3')
    expect(turns.size).toBe(0)
  })

  test('of a branch and of the turnKey of the same name are apart', () => {
    const turns = filled(['a', 'own'], ['a/b', 'inner'], ['a', 'later'], ['', 'root'])
    expect([turns.sizeOf(['a']), turns.sizeOf(['a', 'b']), turns.sizeOf([]), turns.sizeOf(['z'])]).toEqual([2, 1, 1, 0])
    expect(drained(turns)).toBe('own root inner later')
  })

  test('are lost by the newest of who has most waiting', () => {
    const turns = filled(['s/a', 'a1'], ['s/a', 'a2'], ['s/b', 'b1'], ['k/x', 'x1'])
    expect(turns.longest()).toBe('a2')
    expect(turns.remove('a2')).toBe(true)
    expect(turns.remove('a2')).toBe(false)
    expect(turns.has('a1')).toBe(true)
    expect(drained(turns)).toBe('a1 x1 b1')
    expect(turns.longest()).toBeUndefined()
  })
})
