// A certificate in files that is replaced while it is in use.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { watchPair } from '#net/tls/pair-files.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-pair-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('a pair is read again when a file changes, and tried again until it is taken', () => {
  const files = { cert: join(root, 'cert.pem'), key: join(root, 'key.pem') }
  const put = (cert: string, key: string) => {
    writeFileSync(files.cert, cert)
    writeFileSync(files.key, key)
  }
  put('one', 'one')
  const taken: string[] = []
  const refused: unknown[] = []
  const watch = watchPair(
    files,
    ({ cert, key }) => {
      if (cert !== key) throw new Error('they do not belong together')
      taken.push(cert)
    },
    error => refused.push(error),
  )
  watch.look()
  expect(taken).toEqual([])
  put('second', 'one')
  watch.look()
  expect(refused).toHaveLength(1)
  watch.look()
  expect(refused).toHaveLength(2)
  put('second', 'second')
  watch.look()
  watch.look()
  expect(taken).toEqual(['second'])
  rmSync(files.key)
  watch.look()
  expect(refused).toHaveLength(3)
  put('third one', 'third one')
  watch.look()
  expect(taken).toEqual(['second', 'third one'])
  watch.close()
})
