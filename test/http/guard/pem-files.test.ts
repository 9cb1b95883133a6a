// Certificates as files for a moment: in the first place that takes them, for their owner alone, and gone afterwards.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { withPemFiles } from '#http/guard/pem-files.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-pem-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const pair = { key: 'the key', cert: 'the chain' }

test('a place that takes no folder is passed over', () => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  const names = withPemFiles(
    files => {
      const made = files(pair)
      expect(readFileSync(made.key_file_name, 'utf8')).toBe('the key')
      expect(statSync(made.key_file_name).mode & 0o077).toBe(0)
      return made
    },
    [file, join(root, 'nowhere'), root],
  )
  expect(names.key_file_name.startsWith(`${root}/teal-`)).toBe(true)
  expect(existsSync(names.key_file_name)).toBe(false)
  expect(readdirSync(root)).toEqual(['file'])
})

test('where none takes one it says so, and what to do', () => {
  const places = [join(root, 'nowhere')]
  expect(() => withPemFiles(files => files(pair), places)).toThrow(/none of .*nowhere takes one: mount a tmpfs there/)
})
