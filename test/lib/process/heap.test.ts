// The young part of a service's heap has a bound, and what it may have when there is work.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const mib = 1024 * 1024
const worker = fileURLToPath(new URL('./heap-worker.ts', import.meta.url))
const sizes = async (...flags: string[]) =>
  JSON.parse((await run(process.execPath, [...flags, '--disable-warning=ExperimentalWarning', worker])).stdout)

test('it grows to its bound whenever there is work, never beyond, and is given back with the garbage', async () => {
  const { most, rested, again } = await sizes()
  expect(most).toBe(8 * mib)
  expect(rested).toBeLessThan(8 * mib)
  expect(again).toBe(8 * mib)
})

test('where the engine’s own bound is lower, as in a small container, it is left to that and the work ends', async () => {
  const { most, again } = await sizes('--max-semi-space-size=1')
  expect(most).toBeLessThan(8 * mib)
  expect(again).toBe(most)
})
