// A disk that takes no more of the cache: nothing ends, what was kept is still known, and it is written when there is room.
//
// The bound is the one that a process may set for its files, so that this needs no disk of its own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { makeLog } from '#lib/log.ts'
import { startTeal } from '#service'
import { Cache } from '#store/folder/cache.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-cache-full-'))
const victim = fileURLToPath(new URL('./cache-victim.ts', import.meta.url))

afterAll(() => rmSync(root, { recursive: true, force: true }))

test('a cache whose file may not grow goes on, says so, and keeps what was written before', async () => {
  const dir = join(root, 'bounded')
  const child = spawn('sh', ['-c', `ulimit -f 600; exec "$0" "$@"`, process.execPath, victim, dir])
  let out = ''
  let err = ''
  child.stdout.on('data', data => {
    out += data
  })
  child.stderr.on('data', data => {
    err += data
  })
  const [code, signal] = await once(child, 'close')
  expect({ code, signal, uncaught: err.includes('triggerUncaughtException') }, err.slice(-2000)).toEqual({
    ...{ code: 0, signal: null, uncaught: false },
  })
  const lines = out.trim().split('\n')
  const last = JSON.parse(lines.at(-1) ?? '')
  expect(last).toEqual({ broken: true, first: 'kept', newest: 'kept' })
  expect(out).toContain('the cache cannot be written')
  const cache = Cache.open({ dir, log: makeLog('silent') })
  expect(cache.look('full', 'first')?.value).toBe('kept')
  await cache.check()
  await cache.close()
})

test('a cache that has no folder to lie in lies in memory', async () => {
  const dir = join(root, 'file')
  writeFileSync(dir, '')
  const cache = Cache.open({ dir, log: makeLog('silent'), entriesMax: 10 })
  expect(cache.spend('login', 'anna', 60_000, 2)).toMatchObject({ allowed: true, used: 1 })
  cache.keep('nonce', 'n', { of: 'anna' }, 60_000)
  await cache.flush()
  await cache.check()
  expect(cache.counted('login', 'anna').used).toBe(1)
  expect(cache.take('nonce', 'n')?.value).toEqual({ of: 'anna' })
  for (let at = 0; at < 50; at++) cache.keep('many', String(at), at, 1000 + at)
  await cache.flush()
  await expect.poll(() => cache.size).toBeLessThanOrEqual(10)
  await cache.close()
})

test('a service without a folder for its cache lets its users in', async () => {
  const dataDir = join(root, 'data')
  await (await startTeal({ dataDir, threads: 0 })).close()
  rmSync(join(dataDir, 'cache'), { recursive: true })
  writeFileSync(join(dataDir, 'cache'), '')
  const teal = await startTeal({ dataDir, threads: 0 })
  const call = (path: string, body: object) =>
    fetch(teal.url + path, {
      method: 'POST',
      headers: { 'x-access-token': teal.rootToken, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const user = { username: 'anna', password: 'a long secret' }
  expect((await call('/users', user)).status).toBe(200)
  expect((await call('/authenticate', { ...user, password: 'wrong' })).status).toBe(403)
  expect((await call('/authenticate', user)).status).toBe(200)
  expect(await teal.check()).toEqual([])
  await teal.close()
})
