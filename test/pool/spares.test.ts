// Threads that a pool leaves to the next one of its kind.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeLog } from '#lib/log.ts'
import { Pool } from '#pool'

interface Tasks {
  where: { input: null; value: number }
  given: { input: null; value: unknown }
  spin: { input: null; value: never }
}

let pool: Pool<Tasks>

const make = (changes: { heapMib?: number; spares?: boolean; given?: unknown } = {}) =>
  new Pool<Tasks>({
    name: 'test',
    file: new URL('./worker.ts', import.meta.url),
    threads: 1,
    queueLengthMax: 100,
    deadlineMs: 10_000,
    given: { path: 'here' },
    log: makeLog('silent'),
    metrics: undefined,
    spares: true,
    ...changes,
  })

async function next(changes: Parameters<typeof make>[0] = {}): Promise<void> {
  await pool.close()
  pool = make(changes)
}

beforeEach(() => {
  pool = make()
})

afterEach(() => pool.close())

test('the next one of its kind has the thread of the one before, and gives it what is its own', async () => {
  const first = await pool.run('where', null)
  await next({ given: { path: 'there' } })
  expect(await pool.run('given', null)).toEqual({ path: 'there' })
  expect(await pool.run('where', null)).toBe(first)
  const other = make({ given: { path: 'beside' } })
  expect(await other.run('where', null)).not.toBe(first)
  await other.close()
})

test('one with another heap has a thread of its own, as one that keeps its threads to itself', async () => {
  const first = await pool.run('where', null)
  await next({ heapMib: 128 })
  expect(await pool.run('where', null)).not.toBe(first)
  await next({ spares: false })
  expect(await pool.run('where', null)).not.toBe(first)
  await next()
  expect(await pool.run('where', null)).toBe(first)
})

test('what runs when it is closed is ended, and left to nobody', async () => {
  await next({ heapMib: 96 })
  const first = await pool.run('where', null)
  const running = pool.run('spin', null)
  running.catch(() => {})
  await next({ heapMib: 96 })
  await expect(running).rejects.toMatchObject({ code: 'Stopping' })
  expect(await pool.run('where', null)).not.toBe(first)
})
