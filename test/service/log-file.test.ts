// A log in a file: opened anew at SIGHUP after it was moved away, readable where that is asked for, refused where it cannot be.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { childEnvironment, runTeal, startChild } from '../child.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-log-file-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('SIGHUP goes on in a new file when the old one was moved away', async () => {
  const file = join(root, 'teal.log')
  const service = await startChild(join(root, 'data'), { TEAL_LOG_LEVEL: 'info', TEAL_LOG_FILE: file })
  await expect.poll(() => readFileSync(file, 'utf8')).toContain('"msg":"ready"')
  renameSync(file, `${file}.1`)
  service.process.kill('SIGHUP')
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toContain('read the log level')
  expect(await service.end('SIGTERM')).toBe(0)
  expect(readFileSync(file, 'utf8')).toContain('"msg":"stopped"')
  expect(readFileSync(`${file}.1`, 'utf8')).not.toContain('stopped')
  expect(service.output()).toBe('')
})

test('SIGHUP with a folder of the log that is gone is told in the log, and everything else is read again', async () => {
  const folder = join(root, 'logs')
  mkdirSync(folder)
  const file = join(folder, 'teal.log')
  const service = await startChild(join(root, 'kept'), { TEAL_LOG_LEVEL: 'info', TEAL_LOG_FILE: file })
  const moved = join(root, 'moved')
  renameSync(folder, moved)
  const lines = () => readFileSync(join(moved, 'teal.log'), 'utf8').trim().split('\n')
  const line = (words: string) => lines().find(one => one.includes(words)) ?? ''
  service.process.kill('SIGHUP')
  await expect.poll(() => line('read the log level')).not.toBe('')
  expect(line('cannot be opened again')).toContain(`ENOENT: no such file or directory, open '${file}'`)
  expect(line('is not valid')).toBe('')
  // What programs read has each field once.
  for (const one of lines()) expect(JSON.stringify(JSON.parse(one))).toHaveLength(one.length)
  expect(await service.end('SIGTERM')).toBe(0)
  expect(line('"msg":"stopped"')).not.toBe('')
})

test('lines are readable where that is asked for, and a file that cannot be written stops the start', async () => {
  const service = await startChild(join(root, 'more'), { TEAL_LOG_LEVEL: 'info', TEAL_LOG_FORMAT: 'readable' })
  await expect.poll(() => service.output()).toMatch(/INFO.*: ready/)
  expect(await service.end('SIGTERM')).toBe(0)
  const env = childEnvironment(join(root, 'none'), { TEAL_LOG_FILE: join(root, 'no', 'such', 'folder') })
  const { code, err } = await runTeal(['serve'], env)
  expect([code, err]).toEqual([2, expect.stringMatching(/^teal: log\.file: .* cannot be written to \(ENOENT\)\n$/)])
})
