// A disk of large parts that is full: large messages wait for room, and nobody else does.

import { randomBytes } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { deliver, openLmtp } from '../../dialogue.ts'
import { type Disk, smallDisk } from '../../disk.ts'
import { accessTo } from '../../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-full-blobs-'))
const dataDir = join(root, 'data')
const log = join(root, 'log')
let disk: Disk | undefined
let teal: Teal | undefined
const running = accessTo(() => teal as Teal)

beforeAll(async () => {
  disk = await smallDisk(join(root, 'disk'), '8m')
  mkdirSync(dataDir)
  symlinkSync(disk.seen, join(dataDir, 'blobs'))
  // A copy that a kill left behind long ago, and one that another node may be at.
  mkdirSync(join(disk.seen, 'copies'))
  for (const name of ['old', 'new']) writeFileSync(join(disk.seen, 'copies', name), 'x')
  utimesSync(join(disk.seen, 'copies', 'old'), new Date(0), new Date(0))
  teal = await startTeal({ dataDir, log: { level: 'info', file: log, format: 'json' } }, { strict: true })
  await running.user('anna')
})

afterAll(async () => {
  await teal?.close()
  await disk?.unmount()
  rmSync(root, { recursive: true, force: true })
})

async function send(bytes: number): Promise<string> {
  const lmtp = await openLmtp(running.at('lmtp'))
  const noise = randomBytes(bytes).toString('base64').replace(/.{76}/g, '$&\r\n')
  const message = Buffer.from(`Subject: s\r\nContent-Type: application/octet-stream\r\n\r\n${noise}\r\n`)
  const [reply = ''] = await deliver(lmtp, 'a@example.org', ['anna@example.com'], message)
  lmtp.close()
  return reply.slice(0, 3)
}

test('while there is no room for large messages small ones are taken, and large ones when there is room', async () => {
  const seen = (disk as Disk).seen
  const filler = join(seen, 'filler')
  const { bavail, bsize } = statfsSync(seen)
  writeFileSync(filler, Buffer.alloc(bavail * bsize - 300_000, 1))
  for (let round = 0; round < 5; round++) {
    const [large, ...small] = await Promise.all([send(1_000_000), send(100), send(100), send(100)])
    expect([round, large, ...small]).toEqual([round, '452', '250', '250', '250'])
    // At once behind the refusal, too.
    expect(await send(100)).toBe('250')
  }
  expect(readFileSync(log, 'utf8').match(/the file of a large message could not be stored/g)).toHaveLength(1)
  rmSync(filler)
  expect(await send(1_000_000)).toBe('250')
  expect(readdirSync(join(dataDir, 'tmp'))).toEqual([])
  expect(readdirSync(join(seen, 'copies'))).toEqual(['new'])
  expect(await teal?.check()).toEqual([])
})
