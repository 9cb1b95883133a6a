// Large messages that never end: they leave room on the disk for what has arrived, and mail that comes to its end is taken.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { startTeal, type Teal } from '#service'
import { deliver, openLmtp } from '../../dialogue.ts'
import { type Disk, smallDisk } from '../../disk.ts'
import { accessTo, threads } from '../../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-flood-'))
const dataDir = join(root, 'disk')
let disk: Disk | undefined
let teal: Teal | undefined
const running = accessTo(() => teal as Teal)

beforeAll(async () => {
  disk = await smallDisk(dataDir, '64m')
  teal = await startTeal({ dataDir: disk.seen, threads }, { strict: true })
  await running.user('anna')
})

afterAll(async () => {
  await teal?.close()
  await disk?.unmount()
  rmSync(root, { recursive: true, force: true })
})

/** Begins a message of so many bytes; resolves when they were taken or refused. */
async function begin(bytes: number): Promise<Socket> {
  const { host, port } = running.at('lmtp')
  const socket = connect(port, host)
  let said = ''
  socket.on('data', data => {
    said += data.toString('latin1')
  })
  socket.on('error', () => {})
  socket.write('LHLO x\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<anna@example.com>\r\nDATA\r\n')
  while (!said.includes('\r\n354')) await sleep(5)
  const noise = Buffer.from(
    randomBytes(bytes / 2)
      .toString('hex')
      .replace(/.{64}/g, '$&\r\n'),
  )
  await new Promise(resolve => socket.write(Buffer.concat([Buffer.from('Subject: s\r\n\r\n'), noise]), resolve))
  return socket
}

test('mail is taken while others fill the disk with what does not end', async () => {
  const flood = await Promise.all(Array.from({ length: 12 }, () => begin(8 * 1024 * 1024)))
  const send = async () => {
    const lmtp = await openLmtp(running.at('lmtp'))
    const small = Buffer.from(`Subject: small\r\n\r\n${'x'.repeat(70)}\r\n`)
    const [reply = ''] = await deliver(lmtp, 'a@example.org', ['anna@example.com'], small)
    lmtp.close()
    return reply.slice(0, 3)
  }
  for (let count = 0; count < 50; count++) expect(await send()).toBe('250')
  for (const socket of flood) socket.destroy()
  const scratch = join(disk?.seen ?? '', 'tmp')
  while (readdirSync(scratch).length > 0) await sleep(20)
  const again = await begin(8 * 1024 * 1024)
  again.destroy()
  expect(await send()).toBe('250')
  expect(await teal?.check()).toEqual([])
})
