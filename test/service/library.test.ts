// The library as those get it who use it: built, by its name, in a plain module of their own.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const program = `
import { startTeal } from 'teal'
const teal = await startTeal({ quota: { storage: '10MB' }, imap: { enabled: false } })
const answer = await fetch(teal.url + '/health', { headers: { 'x-access-token': teal.rootToken } })
const { version } = await answer.json()
console.log(JSON.stringify({ version, names: Object.keys(teal).sort(), imap: teal.listeners.imap ?? null, broken: await teal.check() }))
await teal.close()
`

test('a whole service starts from the built library, and nothing of it is left running', () => {
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const names = ['check', 'close', 'listeners', 'rootToken', 'url']
  expect(JSON.parse(out)).toEqual({ version, names, imap: null, broken: [] })
})

test('its types need no package and say nothing of what lies behind', () => {
  expect(readFileSync('dist/index.d.ts', 'utf8')).not.toMatch(/^\s*import\b|: any\b/m)
})
