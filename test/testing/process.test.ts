// What goes wrong around a test leaves nothing behind: no process that hangs, no folder, no half-open service.

import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startTesting } from '#testing/testing.ts'

const entry = new URL('../../src/testing/testing.ts', import.meta.url).href

test('a process that does not close ends by itself, and its folder goes with it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ends-'))
  const program = `
    const { startTesting } = await import(${JSON.stringify(entry)})
    const mail = await startTesting()
    const inbox = await mail.inbox()
    await mail.send({ to: inbox.address, subject: 'Hello' })
    console.log((await inbox.wait()).subject)`
  const env = { ...process.env, TMPDIR: folder }
  const args = ['--input-type=module', '--no-warnings', '-e', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  expect(stdout).toBe('Hello\n')
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true })
})

test('two in one process are apart; a port and a folder that are taken are told', async () => {
  const one = await startTesting()
  const two = await startTesting()
  const inbox = await one.inbox()
  await two.send({ to: inbox.address, subject: 'elsewhere' })
  await inbox.none({}, { within: 1 })
  const { port } = one.smtp
  await expect(startTesting({ config: { smtp: { port } } })).rejects.toMatchObject({ code: 'PortInUse' })
  const dataDir = await mkdtemp(join(tmpdir(), 'held-'))
  const holder = await startTesting({ config: { dataDir } })
  await expect(startTesting({ config: { dataDir } })).rejects.toMatchObject({ code: 'DataDirectoryInUse' })
  for (const each of [one, two, holder]) {
    expect(await each.check()).toEqual([])
    await each.close()
    await each.close()
  }
  await rm(dataDir, { recursive: true })
})

test('a thousand inboxes, made at once, are a thousand', async () => {
  const mail = await startTesting()
  const inboxes = await Promise.all(Array.from({ length: 1000 }, () => mail.inbox('many')))
  expect(new Set(inboxes.map(({ address }) => address)).size).toBe(1000)
  expect(await mail.check()).toEqual([])
  await mail.close()
})
