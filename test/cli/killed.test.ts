// Commands that are killed on their way: run again as they were, they come to the end, and nothing that was there is worse
// for it. And folders with names that not every program minds.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { advanceClock, sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { startTeal } from '#service'
import { lock, openForWriting } from '#store/engine/sqlite/handle.ts'
import { controlFile, databaseFile, lockFile } from '#store/folder/place.ts'
import { childEnvironment, runTeal } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { accessTo } from '../running.ts'
import { useWholeFolder } from '../whole-folder.ts'
import { commandsOf } from './inside.ts'

const files = 16
const mime = 'MIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64'
const noise = () => randomBytes(700_000).toString('base64').replace(/.{76}/g, '$&\r\n')
const { root, whole } = useWholeFolder(
  'killed',
  Array.from({ length: files }, (_, at) => `Subject: ${at}\r\n${mime}\r\n\r\n${noise()}\r\n`),
)

function entries(dir: string): number {
  return existsSync(dir) ? readdirSync(dir, { recursive: true }).length : 0
}

/** Runs a command and kills it as soon as `isTime`. @returns whether it was still running then */
async function killed(words: readonly string[], dataDir: string, isTime: () => boolean): Promise<boolean> {
  const env = childEnvironment(dataDir)
  const child = spawn(process.execPath, ['dist/main.js', ...words], { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  while (child.exitCode === null && !isTime()) await sleep(1)
  child.kill('SIGKILL')
  await ended
  return child.signalCode === 'SIGKILL'
}

async function good(words: readonly string[], dataDir: string): Promise<void> {
  const { code, err } = await runTeal(words, childEnvironment(dataDir))
  expect([words, code, err]).toEqual([words, 0, ''])
}

test('a backup, killed again and again, is a whole one after it was left alone; one that was whole stays so', async () => {
  const backup = join(root, 'backup')
  let times = 0
  for (const more of [1, 3, 8]) {
    const before = entries(backup)
    if (await killed(['backup', backup], whole, () => entries(backup) >= before + more)) times += 1
  }
  expect(times).toBeGreaterThan(0)
  await good(['backup', backup], whole)
  await good(['verify', '--backup', backup], whole)
  // Over one that is whole: at its first sign of life.
  await killed(['backup', backup], whole, () => readdirSync(backup).some(name => /part|new|tmp/.test(name)))
  await good(['verify', '--backup', backup], whole)
})

test('a restore, killed again and again, is refused to be served and comes to the end when it is run again', async () => {
  const backup = join(root, 'backup-to-restore')
  await good(['backup', backup], whole)
  const target = join(root, 'restored')
  let times = 0
  for (const count of [1, 6, 15]) {
    if (!(await killed(['restore', backup], target, () => entries(target) >= count))) continue
    times += 1
    if (!existsSync(databaseFile(target)) && existsSync(join(target, 'blobs'))) {
      const { code, err } = await runTeal(['user', 'list'], childEnvironment(target))
      expect([code, err]).toEqual([1, expect.stringMatching(/^teal: [^\n]+\n$/)])
    }
  }
  expect(times).toBeGreaterThan(0)
  if (!existsSync(databaseFile(target))) await good(['restore', backup], target)
  await good(['verify'], target)
})

test('a repair, killed at its first write, is done when it is run again', async () => {
  const dir = join(root, 'to-repair')
  cpSync(whole, dir, { recursive: true })
  const handle = openForWriting(databaseFile(dir))
  handle.unsafeMode(true)
  handle.exec('UPDATE body SET refs = 9; UPDATE part SET refs = 0')
  handle.pragma('wal_checkpoint(TRUNCATE)')
  handle.close()
  const { code } = await runTeal(['verify'], childEnvironment(dir))
  expect(code).toBe(1)
  for (const bytes of ['-shm', '-wal']) {
    await killed(['verify', '--repair'], dir, () => existsSync(`${databaseFile(dir)}${bytes}`))
  }
  await good(['verify', '--repair'], dir)
  await good(['verify'], dir)
})

test.each([
  ['with spaces and letters of many scripts', `a b  c ${'é'.normalize('NFD')} 日本 'quoted' "twice" $HOME %41 #x?y`],
  ['of two hundred characters', 'x'.repeat(200)],
])('a data directory of a name %s is served, backed up, restored and reached by commands', async (_, name) => {
  const dir = join(root, name)
  await good(['user', 'add', 'anna', '--address', 'anna@example.com', '--generate', '--create'], dir)
  const teal = await startTeal({ dataDir: dir, threads: 0 })
  const running = accessTo(() => teal)
  const lmtp = await openLmtp(running.at('lmtp'))
  const noise = randomBytes(1_000_000).toString('base64').replace(/.{76}/g, '$&\r\n')
  const message = Buffer.from(`Subject: s\r\n\r\n${noise}\r\n`)
  expect(await deliver(lmtp, 'a@example.org', ['anna@example.com'], message)).toEqual([expect.stringMatching(/^250 /)])
  lmtp.close()
  const { out } = await runTeal(['user', 'list'], childEnvironment(dir))
  expect(out).toContain('anna')
  expect(await teal.check()).toEqual([])
  await good(['backup', `${dir}.b`], dir)
  await teal.close()
  await good(['restore', `${dir}.b`], `${dir}.r`)
  await good(['verify'], `${dir}.r`)
})

test('commands say what a service beside them meets, wait for one that starts, and do not wait for ever', async () => {
  const held = join(root, 'held')
  const teal = await startTeal({ dataDir: held, threads: 0 })
  const inside = commandsOf(() => held)
  const id = await accessTo(() => teal).user('anna')
  renameSync(join(held, 'blobs'), join(held, 'away'))
  writeFileSync(join(held, 'blobs'), 'in its way')
  const file = JSON.stringify({ content: randomBytes(900_000).toString('base64'), encoding: 'base64' })
  const { code, err } = await inside.teal('call', 'POST', `/users/${id}/storage`, '--data', file)
  expect([code, err]).toEqual([1, expect.stringMatching(/^teal: Storage is not available now; .*teal log/)])
  await teal.core.writer.close()
  expect((await inside.teal('status')).out).toContain('does not work: The data store cannot be written')
  expect(process.exitCode).toBe(1)
  process.exitCode = undefined
  await teal.close()
  rmSync(join(held, 'blobs'))
  renameSync(join(held, 'away'), join(held, 'blobs'))
  const release = lock(lockFile(held))
  const late = inside.teal('user', 'list')
  await sleep(2 * limits.transfer.holderAskedMs)
  release()
  expect(await late).toMatchObject({ code: 0, out: expect.stringContaining('anna') })
  // One that stands still: its socket takes connections, and nobody reads from them.
  const still = createServer().listen(controlFile(held))
  await once(still, 'listening')
  const refused = inside.teal('user', 'list')
  await once(still, 'connection')
  advanceClock(2 * limits.transfer.holderMs)
  expect(await refused).toMatchObject({ code: 1, err: expect.stringContaining('does not answer') })
  still.close()
  // One that is killed while it works on what it was asked.
  const dying = createServer(socket => {
    socket.once('data', head => {
      if (head.toString('latin1').startsWith('GET /control '))
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
      else socket.destroy()
    })
  }).listen(controlFile(held))
  await once(dying, 'listening')
  expect(await inside.teal('user', 'list')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^teal: The service ended before it answered: .*run this again\n$/),
  })
  dying.close()
  // Nobody is there, and somebody has it to himself.
  const alone = lock(lockFile(held))
  let over = false
  const waits = inside.teal('user', 'list').finally(() => {
    over = true
  })
  for (; !over; await sleep(10)) advanceClock(2 * limits.transfer.holderMs)
  expect(await waits).toMatchObject({ code: 1, err: expect.stringContaining('try again') })
  alone()
})
