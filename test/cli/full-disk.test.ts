// A disk that fills up in the middle of a command: the error is clear, nothing half-written stays, and the same command
// completes when there is room again.
//
// The disk is a small file system in memory (disk.ts); a file that is removed again makes the room.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { putFile } from '#lib/lasting.ts'
import { databaseFile } from '#store/folder/place.ts'
import { childEnvironment, runTeal } from '../child.ts'
import { type Disk, smallDisk } from '../disk.ts'
import type { Body } from '../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-full-'))
let mounted: Disk | undefined
/** Where it is for commands and for this process. */
let disk = ''
let seen = ''
let filler = ''
const source = join(root, 'source')
/** A directory with an account, for copies. */
const whole = join(root, 'whole')
const messages = 60
const messageBytes = 100_000
let number = 0

beforeAll(async () => {
  mounted = await smallDisk(join(root, 'disk'), '64m')
  disk = mounted.path
  seen = mounted.seen
  filler = join(seen, 'filler')
  mkdirSync(join(source, 'maildir/cur'), { recursive: true })
  let mbox = ''
  for (let at = 0; at < messages; at++) {
    const text = message(at)
    writeFileSync(join(source, `maildir/cur/${1.7e9 + at}.M${at}.host:2,S`), text)
    mbox += `From a@example.org Mon Jan  1 10:00:00 2024\n${text}\n`
  }
  writeFileSync(join(source, 'mbox'), mbox)
  const words = ['user', 'add', 'alice', '--address', 'alice@example.com', '--generate', '--create']
  await good(childEnvironment(whole), ...words)
})

afterEach(() => {
  for (const name of readdirSync(seen)) rmSync(join(seen, name), { recursive: true })
})

afterAll(async () => {
  await mounted?.unmount()
  rmSync(root, { recursive: true, force: true })
})

function message(at: number): string {
  const data = randomBytes(messageBytes * 0.74)
    .toString('base64')
    .replace(/.{76}/g, '$&\n')
  const mime = 'MIME-Version: 1.0\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n'
  return `From: a@example.org\nSubject: ${at}\nMessage-ID: <${at}@example.org>\n${mime}\n${data}\n`
}

/** Leaves so many bytes free. */
function fill(left: number): void {
  rmSync(filler, { force: true })
  const { bavail, bsize } = statfsSync(seen)
  const handle = openSync(filler, 'w')
  const piece = Buffer.alloc(4096, 1)
  for (let bytes = bavail * bsize - left; bytes > 0; bytes -= piece.length) writeSync(handle, piece)
  closeSync(handle)
}

function makeRoom(): void {
  rmSync(filler)
}

/** A directory of its own with an account, on the disk or beside it. */
function directory(on: 'disk' | 'root'): Record<string, string> {
  const name = `data${++number}`
  execFileSync('cp', ['-a', whole, join(on === 'disk' ? seen : root, name)])
  return childEnvironment(join(on === 'disk' ? disk : root, name))
}

async function good(env: Record<string, string>, ...words: string[]): Promise<string> {
  const { code, out, err } = await runTeal(words, env, mounted?.enter)
  expect(`${words[0]} ${code} ${err}`).toMatch(/^\S+ 0 /)
  return out
}

/** @returns what is said */
async function refused(env: Record<string, string>, ...words: string[]): Promise<string> {
  const { code, out, err } = await runTeal(words, env, mounted?.enter)
  expect(`${out}${err}`).toMatch(/storage|no space|disk|room/i)
  expect(code).toBe(1)
  expect(`${out}${err}`).not.toMatch(/\n\s+at /)
  return err
}

async function inboxOf(env: Record<string, string>): Promise<number> {
  const { mailboxes } = JSON.parse(await good(env, 'user', 'show', 'alice', '--json')) as Body
  return mailboxes.find((one: Body) => one.path === 'INBOX').total
}

test.each(['maildir', 'mbox'])('import-%s', async kind => {
  const env = directory('disk')
  // On so small a disk there is little room from the beginning.
  expect((await runTeal(['status'], env, mounted?.enter)).out).toMatch(/^Only \d+ MiB free for .*put off/m)
  fill(3_000_000)
  await refused(env, `import-${kind}`, `alice:${join(source, kind)}`)
  makeRoom()
  await good(env, 'verify')
  const before = await inboxOf(env)
  expect(before).toBeLessThan(messages)
  const again = JSON.parse(await good(env, `import-${kind}`, `alice:${join(source, kind)}`, '--json')) as Body
  expect(again).toMatchObject({ imported: messages - before, known: before, failed: 0 })
  expect(await inboxOf(env)).toBe(messages)
  await good(env, 'verify')
})

test('export', async () => {
  const env = directory('root')
  const folder = join(seen, 'exports')
  mkdirSync(folder)
  const file = join(disk, 'exports/accounts.teal')
  fill(0)
  expect(await refused(env, 'export', file)).toContain(`${file}: there is no room on its disk`)
  expect(readdirSync(folder)).toEqual([])
  makeRoom()
  await good(env, 'export', file)
  writeFileSync(join(folder, 'before'), '')
  expect(existsSync(join(folder, 'accounts.teal'))).toBe(true)
})

test('import', async () => {
  const from = directory('root')
  const file = join(source, 'accounts.teal')
  await good(from, 'export', file)
  const env = childEnvironment(join(disk, 'data'))
  await good(env, 'user', 'add', 'bob', '--generate', '--create')
  fill(0)
  await refused(env, 'import', file)
  makeRoom()
  const { imported, entries, existing } = JSON.parse(await good(env, 'import', file, '--json')) as Body
  expect({ imported, existing }).toEqual({ imported: entries, existing: 0 })
  await good(env, 'verify')
})

test('backup, and restore', async () => {
  const env = directory('root')
  const folder = join(disk, 'backup')
  await good(env, 'backup', folder)
  const names = () => readdirSync(join(seen, 'backup')).sort()
  const whole = names()
  await good(env, 'import-maildir', `alice:${join(source, 'maildir')}`)
  fill(2_000_000)
  expect(await refused(env, 'backup', folder)).toContain(`There is no room on the disk for ${folder}/teal-`)
  expect(names()).toEqual(whole)
  makeRoom()
  await good(env, 'verify', '--backup', folder)
  await good(env, 'backup', folder)
  await good(env, 'verify', '--backup', folder)
  const target = childEnvironment(join(disk, 'restored'))
  fill(2_000_000)
  await refused(target, 'restore', folder)
  expect(existsSync(join(seen, 'restored/teal.db'))).toBe(false)
  makeRoom()
  await good(target, 'restore', folder)
  await good(target, 'verify')
  expect(await inboxOf(target)).toBe(messages)
})

test('a file of the service that has no room is named, and no half of it stays', () => {
  const file = join(seen, 'run.json')
  writeFileSync(file, 'before')
  fill(0)
  expect(() => putFile(file, 'x'.repeat(100_000), 0o600)).toThrow(
    expect.objectContaining({ code: 'ENOSPC', path: file }),
  )
  expect(readdirSync(seen).toSorted()).toEqual(['filler', 'run.json'])
  expect(readFileSync(file, 'utf8')).toBe('before')
})

test('on a disk that may only be read, commands say so, and what helps', async () => {
  const env = directory('disk')
  const file = databaseFile(join(disk, `data${number}`))
  const remount = (how: string) => {
    const [command = 'mount', ...words] = [...(mounted?.enter ?? []), 'mount', '-o', `remount,${how}`, disk]
    execFileSync(command, words)
  }
  const reason = `${file} cannot be used: its file system is mounted read-only (EROFS)`
  const said = async (...words: string[]) => {
    const { code, err } = await runTeal(words, env, mounted?.enter)
    return [code, err]
  }
  remount('ro')
  try {
    for (const words of [['token', 'create', '--role', 'root'], ['renumber'], ['verify', '--repair']]) {
      expect(await said(...words)).toEqual([1, expect.stringContaining(reason)])
    }
    for (const words of [['verify'], ['backup', join(root, 'from-read-only')], ['token', 'list']]) {
      expect(await said(...words)).toEqual([1, expect.stringContaining(`${reason}. Reading it takes a file beside it`)])
    }
  } finally {
    remount('rw')
  }
  await good(env, 'verify')
})

test('a disk that large parts of mail lie on alone is looked at as that of the data is', async () => {
  const env = directory('root')
  const blobs = join(root, `data${number}`, 'blobs')
  rmSync(blobs, { recursive: true, force: true })
  mkdirSync(join(seen, 'blobs'))
  symlinkSync(join(disk, 'blobs'), blobs)
  const { out } = await runTeal(['status'], env, mounted?.enter)
  expect(out).toMatch(new RegExp(`^Only \\d+ MiB free for ${blobs}\\. .*put off`, 'm'))
  const found = await runTeal(['doctor', '--server', '127.0.0.1:9', '--time-server', '127.0.0.1'], env, mounted?.enter)
  expect(found.out).toMatch(new RegExp(`^WRONG +disk +Only \\d+ MiB free for ${blobs}\\.`, 'm'))
})
