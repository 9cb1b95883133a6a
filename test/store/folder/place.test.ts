// Where the command line reaches a service: a file of the folder, or on Windows a pipe whose name nobody else comes to.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isPipe } from '#lib/process/socket-path.ts'
import { controlFile } from '#store/folder/place.ts'

test('the socket of the command line lies in the folder, and on Windows is a pipe for each', () => {
  expect(controlFile('/var/lib/teal', 'linux')).toBe(join('/var/lib/teal', 'control.sock'))
  const pipe = controlFile('/var/lib/teal', 'win32')
  expect(pipe).toMatch(/^\\\\\.\\pipe\\teal-[0-9a-f]{32}$/)
  expect(controlFile('/VAR/lib/Teal', 'win32')).toBe(pipe)
  expect(controlFile('/var/lib/other', 'win32')).not.toBe(pipe)
  expect([isPipe(pipe), isPipe(controlFile('/var/lib/teal', 'linux'))]).toEqual([true, false])
})
