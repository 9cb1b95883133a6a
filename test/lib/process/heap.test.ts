// The young part of a service's heap has a bound, and what it may have when there is work.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const mib = 1024 * 1024

test('it grows to its bound whenever there is work, never beyond, and is given back with the garbage', async () => {
  const worker = fileURLToPath(new URL('./heap-worker.ts', import.meta.url))
  const { stdout } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', worker])
  const { most, rested, again } = JSON.parse(stdout)
  expect(most).toBe(8 * mib)
  expect(rested).toBeLessThan(8 * mib)
  expect(again).toBe(8 * mib)
})
