// Signals that end other programs: read again what can be read again, or do nothing.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startChild } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-signals-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('SIGHUP reads the log level again, SIGUSR1, SIGUSR2 and SIGPIPE do nothing, SIGQUIT drains', async () => {
  const file = join(root, 'teal.toml')
  writeFileSync(file, '[log]\nlevel = "warn"\n')
  // The variable of the test would go before the file.
  const service = await startChild(join(root, 'data'), { TEAL_CONFIG: file, TEAL_LOG_LEVEL: '' })
  expect(service.output()).not.toContain('"level":"info"')
  writeFileSync(file, '[log]\nlevel = "debug"\n')
  service.process.kill('SIGHUP')
  await expect.poll(() => service.output()).toContain('certificates in files')
  writeFileSync(file, 'nonsense')
  service.process.kill('SIGHUP')
  await expect.poll(() => service.output()).toContain('nothing was read again')
  for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const) service.process.kill(signal)
  await expect.poll(() => service.output()).toContain('"signal":"SIGUSR2"')
  expect(service.output()).not.toMatch(/debugger/i)
  const lmtp = await openLmtp(service.listeners.lmtp as { host: string; port: number })
  expect(await deliver(lmtp, 'a@example.org', ['nobody@example.com'], Buffer.from('x'))).toHaveLength(1)
  lmtp.close()
  expect(await service.end('SIGQUIT')).toBe(0)
})
