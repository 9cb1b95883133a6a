// kill -9 at random moments while mail is being sent: every message that was accepted reaches the next host at least once.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile, runFile } from '#store/folder/place.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { startChild } from '../../child.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { startSink } from '../mail-sink.ts'

const rounds = 4
const seed = Number(process.env.SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
const dir = mkdtempSync(join(tmpdir(), 'teal-relay-crash-'))
let state = seed
const random = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 4_294_967_296
}

afterAll(() => rmSync(dir, { recursive: true, force: true }))

test(`what was accepted is sent, whatever is killed when (seed ${seed})`, async () => {
  const sink = await startSink()
  const environment = {
    TEAL_OUTBOUND_RELAY: sink.url,
    TEAL_NETWORK_ALLOW_PRIVATE: '127.0.0.0/8',
    TEAL_MAIL_DEFAULT_DOMAIN: 'example.com',
  }
  const accepted: string[] = []
  for (let turn = 0; turn <= rounds; turn++) {
    const service = await startChild(dir, environment)
    if (turn === 0) {
      const form = { username: 'f', password: 'secret of f', address: 'f@example.com', targets: ['to@far.test'] }
      const headers = { 'content-type': 'application/json', 'x-access-token': service.token }
      await fetch(`${service.url}/users`, { method: 'POST', headers, body: JSON.stringify(form) })
    }
    if (turn === rounds) {
      const sent = () => accepted.filter(id => !sink.messages.some(({ raw }) => raw.includes(id)))
      await expect.poll(sent, { timeout: 20_000 }).toEqual([])
      expect(await service.end('SIGTERM')).toBe(0)
      break
    }
    // A life ends some time after it took the first message, however long that took.
    let killed: Promise<unknown> | undefined
    const kill = () => service.end('SIGKILL')
    const at = service.listeners.lmtp as { host: string; port: number }
    try {
      const lmtp = await openLmtp(at)
      for (let n = 0; ; n++) {
        const id = `<${turn}.${n}@remote.test>`
        const message = Buffer.from(`From: a@remote.test\r\nMessage-ID: ${id}\r\n\r\nx\r\n`)
        const [reply] = await deliver(lmtp, 'a@remote.test', ['f@example.com'], message)
        if (!reply?.startsWith('250')) continue
        accepted.push(id)
        killed ??= sleep(random() * 300).then(kill)
      }
    } catch {
      // The service is gone.
    }
    await (killed ?? kill())
    rmSync(runFile(dir), { force: true })
  }
  expect(accepted.length).toBeGreaterThan(0)
  const read = openReader(databaseFile(dir))
  expect(await checkStore(read)).toEqual([])
  read.close()
  await sink.close()
}, 240_000)
