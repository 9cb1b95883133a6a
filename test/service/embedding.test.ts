// The examples of docs/embedding.md, run as they stand against what is built for the package.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const page = readFileSync('docs/embedding.md', 'utf8')
const examples = [...page.matchAll(/^## (.+)\n(?:(?!^## )[\s\S])*?^```(js|cjs)\n([\s\S]*?)^```$/gm)].map(
  ([, title = '', kind = '', code = '']) => ({ title, ending: kind === 'js' ? 'mjs' : 'cjs', code }),
)

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'embedding-'))
  mkdirSync(join(root, 'node_modules'))
  mkdirSync(join(root, 'tmp'))
  symlinkSync(join(process.cwd(), 'dist'), join(root, 'node_modules/teal'))
})
afterAll(() => rmSync(root, { recursive: true }))

test('there are examples', () => {
  expect(examples).toHaveLength([...page.matchAll(/^```c?js$/gm)].length)
  expect(examples.length).toBeGreaterThanOrEqual(5)
})

test.each(examples)('$title', async ({ code, ending }) => {
  const file = join(root, `example.${ending}`)
  writeFileSync(file, code)
  const env = { PATH: process.env.PATH, TMPDIR: join(root, 'tmp') }
  const { stderr } = await promisify(execFile)(process.execPath, [file], { cwd: root, env, timeout: 30_000 })
  expect(stderr).toBe('')
  expect(readdirSync(join(root, 'tmp'))).toEqual([])
})
