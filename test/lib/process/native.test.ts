// Threads that are ended at any moment take nobody along.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

test('a thread that is ended while it loads an addon, at its start or past a deadline, does not end the process', async () => {
  const victim = fileURLToPath(new URL('./native-victim.ts', import.meta.url))
  const { stderr } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', victim, '24'])
  expect(stderr).toBe('')
})
