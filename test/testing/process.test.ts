// What goes wrong around a test leaves nothing behind: no process that hangs, no folder, no half-open service.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTransport } from 'nodemailer'
import { expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
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

/** Runs a program with a temporary folder of its own, which is what `left` lists. */
async function running(program: string, folder: string): Promise<ChildProcess> {
  const env = { ...process.env, TMPDIR: folder }
  const args = ['--input-type=module', '--no-warnings', '-e', program]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  for await (const chunk of child.stdout ?? []) if (String(chunk).includes('up')) break
  return child
}

test('a process that is killed leaves its folder to the next start, which leaves those of the living alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'killed-'))
  const program = `
    const { startTesting } = await import(${JSON.stringify(entry)})
    const mail = await startTesting()
    await mail.send({ to: 'a@example.com', subject: 'Hello' })
    console.log('up')
    setInterval(() => {}, 1000)`
  const [killed, living] = await Promise.all([running(program, folder), running(program, folder)])
  expect(await readdir(folder)).toHaveLength(2)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  // As old as those whose owner may be asked for.
  const then = new Date(now() - 2 * limits.process.temporaryGraceMs)
  for (const name of await readdir(folder))
    for (const path of [join(folder, name), join(folder, name, 'lock')]) await utimes(path, then, then)
  const next = await running(program, folder)
  expect(await readdir(folder)).toHaveLength(2)
  for (const child of [living, next]) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await rm(folder, { recursive: true })
})

test('an error that nobody catches ends the process as ever, and the folder goes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crashed-'))
  const program = `
    const { startTesting } = await import(${JSON.stringify(entry)})
    const mail = await startTesting()
    void mail.all.wait({ subject: 'never' })
    setTimeout(() => { throw new Error('of the test') }, 1)`
  const env = { ...process.env, TMPDIR: folder }
  const args = ['--input-type=module', '--no-warnings', '-e', program]
  const failed = promisify(execFile)(process.execPath, args, { env })
  await expect(failed).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('Error: of the test') })
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true })
})

test('after close there is nothing to send to, and waiting ends with an error', async () => {
  const mail = await startTesting()
  await mail.send({ to: 'a@example.com', subject: 'Before' })
  await mail.close()
  await expect(mail.send({ to: 'a@example.com' })).rejects.toThrow(/ECONNREFUSED/)
  await expect(mail.all.wait({ subject: 'x' }, { timeout: 1 })).rejects.toThrow('Waited 1 ms')
})

test('a mail of 100 MB is refused with its size, the largest that is taken is given out whole', async () => {
  const mail = await startTesting()
  const transport = createTransport({ ...mail.smtp, ignoreTLS: true })
  const sent = (bytes: number) => {
    const attachments = [{ filename: 'large.bin', content: Buffer.alloc(bytes, 'teal') }]
    return transport.sendMail({ from: 'a@example.com', to: 'b@example.com', subject: 'Large', attachments })
  }
  await expect(sent(75_000_000)).rejects.toThrow(/552 5\.3\.4/)
  await mail.all.none({}, { within: 1 })
  await sent(45_000_000)
  const got = await mail.all.wait({ attachment: 'large.bin' })
  expect(got.raw.length).toBeGreaterThan(60_000_000)
  expect(got.attachments[0]?.content.equals(Buffer.alloc(45_000_000, 'teal'))).toBe(true)
  expect(await mail.check()).toEqual([])
  await mail.close()
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
  // What fails after the service is up lets its folder go as well.
  await expect(startTesting({ config: { dataDir, pop3: { enabled: false } } })).rejects.toThrow(/listener pop3 is off/)
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
