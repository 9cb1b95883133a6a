// Parts of a data directory that are gone, empty, cut or older than the rest: what can be told is told at the start, and
// nothing is removed that may be somebody's mail.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { startTeal } from '#service'
import { Strays } from '#store/bodies/strays.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { databaseFile } from '#store/folder/place.ts'
import { childEnvironment, runTeal, startChild } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-missing-'))
const whole = join(root, 'whole')
const large = () => Buffer.from(`Subject: large\r\nContent-Type: application/octet-stream\r\n\r\n${noise()}\r\n`)
const noise = () => randomBytes(700_000).toString('base64').replace(/.{76}/g, '$&\r\n')
let number = 0

/** A copy of a directory with an account, a large message and a sealed key. */
function copy(): string {
  const dir = join(root, `copy${++number}`)
  cpSync(whole, dir, { recursive: true })
  return dir
}

async function receive(teal: Awaited<ReturnType<typeof startTeal>>, message: Buffer): Promise<string[]> {
  const lmtp = await openLmtp(teal.listeners.lmtp as { host: string; port: number })
  const replies = await deliver(lmtp, 'a@example.org', ['anna@example.com'], message)
  lmtp.close()
  return replies
}

function filesOf(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()
}

beforeAll(async () => {
  mkdirSync(whole)
  const teal = await startTeal({ dataDir: whole, threads: 0 })
  const call = (path: string, body: object) =>
    fetch(teal.url + path, {
      method: 'POST',
      headers: { 'x-access-token': teal.rootToken, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const user = { username: 'anna', password: 'a long secret', address: 'anna@example.com' }
  expect((await call('/users', user)).status).toBe(200)
  expect((await call('/dkim', { domain: 'example.com', selector: 's1' })).status).toBe(200)
  expect(await receive(teal, large())).toEqual([expect.stringMatching(/^250 /)])
  expect(await teal.check()).toEqual([])
  await teal.close()
})

afterEach(() => shiftClock(0))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('a first start that was cut off while it made its database is done by the next one', async () => {
  const dir = join(root, 'unfinished')
  mkdirSync(dir)
  openForWriting(databaseFile(dir)).close()
  writeFileSync(`${databaseFile(dir)}-wal`, Buffer.alloc(32))
  const teal = await startTeal({ dataDir: dir, threads: 0 })
  expect(await teal.check()).toEqual([])
  await teal.close()
})

describe('the start is refused, and nothing is changed', () => {
  test.each<[string, (dir: string) => void, RegExp]>([
    ['without a database', dir => rmSync(databaseFile(dir)), /teal\.db is missing.*blobs.*keys.*teal restore/],
    ['with an empty database', dir => writeFileSync(databaseFile(dir), ''), /teal\.db is empty/],
    [
      'with a database of no tables',
      dir => {
        rmSync(databaseFile(dir))
        openForWriting(databaseFile(dir)).close()
      },
      /teal\.db.*blobs.*keys/,
    ],
    [
      'with keys alone',
      dir => {
        rmSync(databaseFile(dir))
        rmSync(join(dir, 'blobs'), { recursive: true })
      },
      /teal\.db is missing.*keys/,
    ],
    [
      'without files of bodies',
      dir => rmSync(join(dir, 'blobs'), { recursive: true }),
      /blobs holds no files.*mounted/,
    ],
    [
      'with an empty folder in their place, as where a disk is not mounted',
      dir => {
        rmSync(join(dir, 'blobs'), { recursive: true })
        mkdirSync(join(dir, 'blobs'))
      },
      /blobs holds no files.*mounted/,
    ],
    [
      'without keys that rows are sealed with',
      dir => rmSync(join(dir, 'keys'), { recursive: true }),
      /keys.*seal.*missing/,
    ],
  ])('%s', async (_, damage, text) => {
    const dir = copy()
    damage(dir)
    const before = filesOf(dir)
    for (const _try of [1, 2]) {
      await expect(startTeal({ dataDir: dir, threads: 0 })).rejects.toMatchObject({
        code: 'DataMissing',
        message: expect.stringMatching(text),
      })
    }
    const blobs = (names: string[]) => names.filter(name => /^(blobs|keys)/.test(name))
    expect(blobs(filesOf(dir)).filter(name => name !== 'blobs')).toEqual(blobs(before).filter(name => name !== 'blobs'))
    const { code, err } = await runTeal(['serve'], childEnvironment(dir))
    expect([code, err]).toEqual([1, expect.stringMatching(/^teal: [^\n]+\n$/)])
  })

  test('and verify says which key is missing', async () => {
    const dir = copy()
    rmSync(join(dir, 'keys/seal'))
    const { code, out } = await runTeal(['verify'], childEnvironment(dir))
    expect([code, out]).toEqual([1, expect.stringMatching(/keys\/seal is missing/)])
  })

  test.each<[string, (file: string) => void]>([
    ['is something else', file => writeFileSync(file, randomBytes(20_000))],
    ['was cut short', file => truncateSync(file, statSync(file).size - 40_000)],
  ])('with a database that %s', async (_, damage) => {
    const dir = copy()
    damage(databaseFile(dir))
    await expect(startTeal({ dataDir: dir, threads: 0 })).rejects.toMatchObject({
      code: 'StoreDamaged',
      message: expect.stringContaining('is damaged'),
    })
    const { code, err } = await runTeal(['serve'], childEnvironment(dir))
    expect([code, err]).toEqual([1, expect.stringMatching(/^teal: [^\n]+\n$/)])
  })
})

test('a database older than the files beside it leaves them, and a year that passes in a moment is one day', async () => {
  const dir = copy()
  const older = readFileSync(databaseFile(dir))
  const first = await startTeal({ dataDir: dir, threads: 0 })
  expect(await receive(first, large())).toEqual([expect.stringMatching(/^250 /)])
  await first.close()
  writeFileSync(databaseFile(dir), older)
  const files = filesOf(join(dir, 'blobs'))
  const teal = await startTeal({ dataDir: dir, threads: 0 })
  const { bodies, read, writer } = teal.core
  const gone: unknown[] = []
  const round = async () => {
    const strays = new Strays({
      ...{ dataDir: dir, bodies, read, log: makeLog('silent') },
      async write(write, row) {
        if (write.name === 'part.suspect') gone.push(row)
        else await writer.write(write, row)
      },
    })
    await strays.close()
  }
  const seen = async () => (await read.one<{ days: number }>('SELECT days FROM stray'))?.days
  await round()
  expect(await seen()).toBe(1)
  shiftClock(366 * 86_400_000)
  await round()
  await round()
  expect(await seen()).toBe(2)
  for (let day = 3; day <= 13; day++) {
    shiftClock(now() - Date.now() + 86_400_000)
    await round()
  }
  expect([await seen(), gone]).toEqual([13, []])
  expect(filesOf(join(dir, 'blobs'))).toEqual(files)
  shiftClock(now() - Date.now() + 86_400_000)
  await round()
  expect(gone).toEqual([{ names: [expect.stringMatching(/^[0-9a-f]{72}$/)] }])
  const [name = ''] = (gone[0] as { names: string[] }).names
  expect(existsSync(join(dir, 'blobs', name.slice(0, 2), name.slice(2)))).toBe(true)
  await teal.close()
})

test('files that are missing here and there are told, and the service runs', async () => {
  const dir = copy()
  const first = await startTeal({ dataDir: dir, threads: 0 })
  expect(await receive(first, large())).toEqual([expect.stringMatching(/^250 /)])
  await first.close()
  const [gone = ''] = filesOf(join(dir, 'blobs')).filter(name => name.includes('/'))
  rmSync(join(dir, 'blobs', gone))
  const service = await startChild(dir)
  await expect.poll(() => service.output()).toContain('files of stored mail are missing')
  expect(await service.end('SIGTERM')).toBe(0)
})

test('bodies may lie on a disk of their own', async () => {
  const dir = copy()
  // Memory, which is another file system than that of temporary files, or the test shows nothing.
  const disk = mkdtempSync('/dev/shm/teal-blobs-')
  expect(statSync(disk).dev).not.toBe(statSync(dir).dev)
  cpSync(join(dir, 'blobs'), disk, { recursive: true })
  rmSync(join(dir, 'blobs'), { recursive: true })
  symlinkSync(disk, join(dir, 'blobs'))
  const teal = await startTeal({ dataDir: dir, threads: 0 })
  expect(await receive(teal, large())).toEqual([expect.stringMatching(/^250 /)])
  expect(await teal.check()).toEqual([])
  await teal.close()
  rmSync(disk, { recursive: true })
})

describe('after a kill, a write-ahead log that', () => {
  const dead = join(root, 'dead')

  /** A copy of what a service left that was killed. */
  const killed = (): string => {
    const dir = join(root, `copy${++number}`)
    // With the rights that its files have.
    execFileSync('cp', ['-a', dead, dir])
    return dir
  }

  beforeAll(async () => {
    cpSync(whole, dead, { recursive: true })
    const service = await startChild(dead)
    const lmtp = await openLmtp(service.listeners.lmtp as { host: string; port: number })
    for (let at = 0; at < 20; at++) {
      const [reply] = await deliver(
        lmtp,
        'a@example.org',
        ['anna@example.com'],
        Buffer.from(`Subject: ${at}\r\n\r\n.\r\n`),
      )
      expect(reply).toMatch(/^250 /)
    }
    lmtp.close()
    await service.end('SIGKILL')
  })
  const log = (dir: string) => `${databaseFile(dir)}-wal`

  test.each<[string, (dir: string) => void, RegExp | null]>([
    ['is whole is read without a word', () => {}, null],
    ['was cut is told', dir => truncateSync(log(dir), 60_000), /teal\.db-wal is cut short or damaged: \d+ of \d+/],
    ['was emptied is told', dir => truncateSync(log(dir), 0), /teal\.db-wal is missing or empty/],
    ['was removed is told', dir => rmSync(log(dir)), /teal\.db-wal is missing or empty/],
    [
      'is damaged in its middle is told, also where its index is gone',
      dir => {
        const bytes = readFileSync(log(dir))
        bytes.fill(7, 60_000, 60_100)
        writeFileSync(log(dir), bytes)
        rmSync(`${databaseFile(dir)}-shm`)
      },
      /teal\.db-wal is damaged in its middle: the \d+ changes/,
    ],
  ])('%s', async (_, damage, text) => {
    const dir = killed()
    expect(statSync(log(dir)).size).toBeGreaterThan(100_000)
    damage(dir)
    const service = await startChild(dir)
    expect(await service.end('SIGTERM')).toBe(0)
    if (text === null) expect(service.output()).toBe('')
    else expect(service.output()).toMatch(text)
  })

  test('is there without its database is kept', async () => {
    const dir = killed()
    const aside = join(root, 'aside.db')
    renameSync(databaseFile(dir), aside)
    for (const name of ['blobs', 'keys', 'root-token']) rmSync(join(dir, name), { recursive: true })
    await expect(startTeal({ dataDir: dir, threads: 0 })).rejects.toMatchObject({ code: 'DataMissing' })
    renameSync(aside, databaseFile(dir))
    expect(statSync(log(dir)).size).toBeGreaterThan(100_000)
  })
})
