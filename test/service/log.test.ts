// A log that cannot be written ends nothing and loses no mail.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { rootTokenFile, runFile } from '#store/folder/place.ts'
import { childEnvironment, runTeal } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-log-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test.each([
  ['whose disk is full', '>/dev/full'],
  ['on a closed output', '>&-'],
  ['whose reader has gone', '| exec head -c 1'],
])('a log %s', async (what, where) => {
  const dataDir = join(root, what)
  const env = childEnvironment(dataDir, { TEAL_LOG_LEVEL: 'trace' })
  const service = `echo $$ >"$PIDFILE"; exec "${process.execPath}" dist/main.js serve`
  const pidFile = join(root, 'pid')
  const child = spawn('sh', ['-c', `{ sh -c '${service}'; echo "ended $?" >&2; } ${where}`], {
    env: { ...env, PIDFILE: pidFile },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let err = ''
  child.stderr.on('data', data => {
    err += data
  })
  while (!existsSync(runFile(dataDir))) {
    expect(err).toBe('')
    await sleep(20)
  }
  const { listeners } = JSON.parse(readFileSync(runFile(dataDir), 'utf8'))
  const headers = { 'x-access-token': readFileSync(rootTokenFile(dataDir), 'utf8').trim() }
  const user = { username: 'anna', password: 'a long secret', address: 'anna@example.com' }
  const made = await fetch(`http://127.0.0.1:${listeners.api.port}/users`, {
    ...{ method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(user) },
  })
  expect(made.status).toBe(200)
  const lmtp = await openLmtp(listeners.lmtp)
  for (let at = 0; at < 20; at++) {
    const text = Buffer.from(`Subject: ${at}\r\n\r\n.\r\n`)
    expect(await deliver(lmtp, 'a@example.org', [user.address], text)).toEqual([expect.stringMatching(/^250 /)])
  }
  lmtp.close()
  process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM')
  await once(child, 'close')
  expect(err).toBe('ended 0\n')
  const shown = await runTeal(['user', 'show', 'anna', '--json'], env)
  expect(JSON.parse(shown.out).mailboxes.find((box: { path: string }) => box.path === 'INBOX').total).toBe(20)
  expect(await runTeal(['verify'], env)).toMatchObject({ code: 0 })
})
