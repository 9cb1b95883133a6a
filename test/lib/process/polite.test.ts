// Whoever was started behind others stays there: coming forward is refused to all but root, and would end the thread.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'

const nobody = 65_534
const as = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
const polite = pathToFileURL(resolve('src/lib/process/polite.ts')).href
const program = `
const { yieldToOthers } = await import('${polite}')
yieldToOthers(12)
process.stdout.write(String((await import('node:os')).getPriority()))`

test.each([
  [5, '12'],
  [12, '12'],
  [17, '17'],
])('one that was started %i steps behind is %s steps behind others then', (steps, then) => {
  const words = ['-n', String(steps), process.execPath, '--input-type=module', '--no-warnings', '-e', program]
  const { stdout, stderr } = spawnSync('nice', words, { ...as, cwd: '/', encoding: 'utf8' })
  expect([stdout, stderr]).toEqual([then, ''])
})
