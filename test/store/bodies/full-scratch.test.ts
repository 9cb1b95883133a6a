// A disk of scratch files that is full: whoever brings a large message hears of it, and nothing of the message stays there.

import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { deliver, openLmtp } from '../../dialogue.ts'
import { type Disk, smallDisk } from '../../disk.ts'
import { accessTo, threads } from '../../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-full-scratch-'))
const dataDir = join(root, 'data')
const log = join(root, 'log')
let disk: Disk | undefined
let teal: Teal | undefined
let user = ''
let inbox = ''
const running = accessTo(() => teal as Teal)

beforeAll(async () => {
  disk = await smallDisk(join(root, 'disk'), '4m')
  mkdirSync(dataDir)
  symlinkSync(disk.seen, join(dataDir, 'tmp'))
  teal = await startTeal({ dataDir, threads, log: { level: 'info', file: log, format: 'json' } }, { strict: true })
  user = await running.user('anna')
  const boxes = (await running.call('GET', `/users/${user}/mailboxes`)).body.results as { path: string; id: string }[]
  inbox = boxes.find(({ path }) => path === 'INBOX')?.id ?? ''
})

afterAll(async () => {
  await teal?.close()
  await disk?.unmount()
  rmSync(root, { recursive: true, force: true })
})

/** It fits into scratch, but not with its attachment beside it; a smaller one does. */
function message(bytes: number): Buffer {
  const noise = randomBytes(bytes).toString('base64').replace(/.{76}/g, '$&\r\n')
  const head = 'Subject: s\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  return Buffer.from(`${head}${noise}\r\n`)
}

const upload = async (path: string, body: Buffer, type = 'application/octet-stream') =>
  (await running.raw('POST', `/users/${user}${path}`, { headers: { 'content-type': type }, body })).status

const ways: Readonly<Record<string, (bytes: number) => Promise<boolean>>> = {
  delivery: async bytes => {
    const lmtp = await openLmtp(running.at('lmtp'))
    const [reply = ''] = await deliver(lmtp, 'a@example.org', ['anna@example.com'], message(bytes))
    lmtp.close()
    return reply.startsWith('250')
  },
  upload: async bytes => (await upload(`/mailboxes/${inbox}/messages`, message(bytes), 'message/rfc822')) === 200,
  'a stored file': async bytes => (await upload('/storage?filename=a.bin', randomBytes(bytes), 'image/png')) === 200,
  'a file of messages': async bytes => {
    const envelope = Buffer.from('From a@example.org Sat Feb  3 04:05:06 2001\n')
    return (await upload('/import/file', Buffer.concat([envelope, message(bytes)]))) === 200
  },
}

test.each(Object.keys(ways))('%s', async name => {
  const bring = ways[name] as (bytes: number) => Promise<boolean>
  expect(await bring(2_400_000)).toBe(false)
  expect(readdirSync(join(dataDir, 'tmp'))).toEqual([])
  expect(await bring(1_000_000)).toBe(true)
  expect(readdirSync(join(dataDir, 'tmp'))).toEqual([])
  expect(await teal?.check()).toEqual([])
})

test('the operator is told, and not for each message', () => {
  const lines = readFileSync(log, 'utf8').split('\n')
  const told = lines.filter(line => line.includes('cannot be written to the disk'))
  expect(told.length).toBeGreaterThan(0)
  // Each thread tells its own.
  expect(told.length).toBeLessThanOrEqual(1 + threads)
  expect(told[0]).toContain('ENOSPC')
})
