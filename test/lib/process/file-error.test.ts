// Errors of the operating system about files, in words.

import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { expect, test } from 'vitest'
import { fileProblem } from '#lib/process/file-error.ts'

test.each([
  ['EDQUOT', 'the disk quota is used up'],
  ['ENOSPC', 'there is no room on its disk'],
  ['EROFS', 'its file system is mounted read-only'],
  ['EMFILE', 'too many files are open already (ulimit -n, LimitNOFILE= of a unit)'],
] as const)('%s is told in words, also where the runtime has no name for it', (name, words) => {
  const errno = -constants.errno[name]
  const code = getSystemErrorName(errno)
  const error = Object.assign(new Error(`${code}: some words, write`), { code, errno, syscall: 'write' })
  expect(fileProblem(error, '/data')).toBe(`/data: ${words} (${name})`)
})
