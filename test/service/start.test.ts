import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTeal } from '#service'
import { migrations } from '#store/engine/schema.ts'
import { lock, openForWriting, schemaNumber } from '#store/engine/sqlite/handle.ts'
import { databaseFile, lockFile, rootTokenFile, runFile } from '#store/folder/place.ts'
import { childEnvironment, runTeal, startChild } from '../child.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'teal-start-'))
})

afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

test('run.json names every listener while the service runs; SIGTERM drains, removes it and exits with 0', async () => {
  const service = await startChild(dir)
  const run = JSON.parse(readFileSync(runFile(dir), 'utf8'))
  expect(run.pid).toBe(service.process.pid)
  expect(run.version).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version)
  expect(Object.keys(run.listeners)).toContain('lmtp')
  expect((await fetch(`${service.url}/health`, { headers: { 'x-access-token': service.token } })).status).toBe(200)
  expect((await fetch(`${service.url}/users`)).status).toBe(403)
  expect(await service.end('SIGTERM')).toBe(0)
  expect(() => statSync(runFile(dir))).toThrow()
})

test('the root token is in a file only its owner can read, and stays the same over a restart', async () => {
  const first = await startTeal({ dataDir: dir, threads: 0 })
  expect(statSync(rootTokenFile(dir)).mode & 0o777).toBe(0o600)
  await first.close()
  const second = await startTeal({ dataDir: dir, threads: 0 })
  expect(second.rootToken).toBe(first.rootToken)
  await second.close()
})

test('two services run beside each other in one process', async () => {
  const [one, two] = await Promise.all([startTeal({ threads: 0 }), startTeal({ threads: 0 })])
  expect(one.url).not.toBe(two.url)
  for (const teal of [one, two]) {
    const headers = { 'x-access-token': teal.rootToken }
    expect((await fetch(`${teal.url}/health`, { headers })).status).toBe(200)
  }
  await Promise.all([one.close(), two.close()])
})

test('a data directory serves one service at a time', async () => {
  const service = await startTeal({ dataDir: dir, threads: 0 })
  await expect(startTeal({ dataDir: dir, threads: 0 })).rejects.toMatchObject({ code: 'DataDirectoryInUse' })
  const other = await runTeal(['serve'], childEnvironment(dir))
  expect(other.code).toBe(1)
  expect(other.err).toContain('Another process is using this data directory')
  await service.close()
})

/** A module that keeps a package from being loaded, as where its native part wants a newer system. */
function hookWithout(name: string): string {
  const hook = join(dir, 'hook.mjs')
  writeFileSync(
    hook,
    `import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (name.includes('${name}')) throw new Error('too old a system')
      return next(name, context)
    } })`,
  )
  return `--import ${hook}`
}

test('a program that cannot be loaded to its end says so and ends', async () => {
  const data = join(dir, 'data')
  const failed = await runTeal(['serve'], childEnvironment(data, { NODE_OPTIONS: hookWithout('lmdb') }))
  expect(failed.code).toBe(1)
  expect(failed.err).toContain('too old a system')
  const service = await startTeal({ dataDir: data, threads: 0 })
  await service.close()
})

test('what speaks HTTP is told, and is that of Node where the faster one cannot be loaded', async () => {
  const data = join(dir, 'data')
  for (const [front, more] of [
    ['uWebSockets.js', {}],
    ['node:http', { NODE_OPTIONS: hookWithout('uWebSockets.js') }],
    ['node:http', { TEAL_API_FRONT: 'node:http' }],
  ] as const) {
    const service = await startChild(data, { TEAL_LOG_LEVEL: 'info', ...more })
    const ready = () =>
      service
        .output()
        .split('\n')
        .find(line => line.includes('"ready"'))
    // It is up once its ports are written down; what it says of that may be on its way.
    await expect.poll(() => ready() ?? '').toContain(front)
    const answer = await fetch(`${service.url}/health`, { headers: { 'x-access-token': service.token } })
    expect(answer.status).toBe(200)
    expect(await runTeal(['token', 'list'], childEnvironment(data))).toMatchObject({ code: 0, err: '' })
    expect(await service.end('SIGTERM')).toBe(0)
  }
  const env = childEnvironment(data, { NODE_OPTIONS: hookWithout('uWebSockets.js'), TEAL_API_FRONT: 'uWebSockets.js' })
  expect(await runTeal(['serve'], env)).toMatchObject({ code: 1, err: expect.stringContaining('too old a system') })
})

test('a token is made from the command line while the service runs, and works at once', async () => {
  const service = await startTeal({ dataDir: dir, threads: 0 })
  const env = childEnvironment(dir)
  const made = await runTeal(['token', 'create', '--role', 'manager', '--label', 'for tests'], env)
  expect(made).toMatchObject({ code: 0, err: '' })
  const token = made.out.trim()
  expect(token).toMatch(/^[0-9a-f]{40}$/)
  const answer = await fetch(`${service.url}/users`, { headers: { 'x-access-token': token } })
  expect(answer.status).toBe(200)
  expect((await runTeal(['token', 'list'], env)).out).toContain('for tests')
  expect((await runTeal(['token', 'create', '--role', 'nobody'], env)).code).toBe(1)
  await service.close()
})

test('tokens bring a database of an earlier version up to date, but never under a service that has it', async () => {
  const steps = 20
  const handle = openForWriting(databaseFile(dir))
  for (const step of migrations.slice(0, steps)) handle.exec(step)
  handle.pragma(`user_version = ${steps}`)
  handle.close()
  const env = childEnvironment(dir)
  const release = lock(lockFile(dir))
  for (const words of [['list'], ['create', '--role', 'root'], ['revoke', 'x']]) {
    const { code, err } = await runTeal(['token', ...words], env)
    expect([code, err]).toEqual([1, expect.stringContaining('The data is of an earlier version than this command')])
  }
  expect(schemaNumber(databaseFile(dir))).toBe(steps)
  release()
  expect(await runTeal(['token', 'list'], env)).toEqual({ code: 0, out: '', err: '' })
  expect((await runTeal(['token', 'create', '--role', 'root'], env)).code).toBe(0)
  expect(schemaNumber(databaseFile(dir))).toBe(migrations.length)
})

test('a port in use is named, and nothing stays behind', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  for (const listener of ['api', 'lmtp'] as const) {
    const started = startTeal({ dataDir: dir, [listener]: { port } })
    await expect(started).rejects.toMatchObject({ code: 'PortInUse', message: expect.stringContaining(String(port)) })
  }
  const service = await startTeal({ dataDir: dir })
  await service.close()
  taken.close()
})

test('a data directory that cannot be one is named with the reason', async () => {
  const file = join(dir, 'file')
  writeFileSync(file, 'not a folder')
  const started = startTeal({ dataDir: join(file, 'data') })
  await expect(started).rejects.toMatchObject({
    code: 'DataDirectoryUnusable',
    message: expect.stringContaining('ENOTDIR'),
  })
})

test('a database of a newer program is left alone', async () => {
  mkdirSync(dir, { recursive: true })
  await (await startTeal({ dataDir: dir, threads: 0 })).close()
  const handle = openForWriting(databaseFile(dir))
  handle.pragma(`user_version = ${migrations.length + 1}`)
  handle.close()
  await expect(startTeal({ dataDir: dir, threads: 0 })).rejects.toMatchObject({ code: 'DatabaseTooNew' })
})

test('a wrong configuration is told with every problem, and the exit code is 2', async () => {
  const env = childEnvironment(dir, { TEAL_API_PORT: 'many', TEAL_NO_SUCH_KEY: '1' })
  const run = await runTeal(['serve'], env)
  expect(run.code).toBe(2)
  expect(run.err).toContain('TEAL_API_PORT')
  expect(run.err).toContain('TEAL_NO_SUCH_KEY')
})

test('access control can be switched off on loopback only', async () => {
  const open = await startTeal({ threads: 0, api: { accessControl: { enabled: false } } })
  expect((await fetch(`${open.url}/users`)).status).toBe(200)
  expect((await fetch(`${open.url}/users`, { headers: { 'x-access-token': 'a'.repeat(40) } })).status).toBe(403)
  await open.close()
  const wide = startTeal({ threads: 0, api: { host: '0.0.0.0', accessControl: { enabled: false } } })
  await expect(wide).rejects.toMatchObject({ code: 'ConfigInvalid' })
})

test('a short token of the configuration works on loopback, with a warning that does not show it', async () => {
  const service = await startChild(dir, { TEAL_API_ACCESS_TOKEN: 'sesame' })
  expect((await fetch(`${service.url}/users?accessToken=sesame`)).status).toBe(200)
  expect((await fetch(`${service.url}/users?accessToken=sesam`)).status).toBe(403)
  await service.end('SIGTERM')
  expect(service.output()).toContain('api.accessToken is short')
  expect(service.output()).not.toContain('sesame')
})

test('a second signal stops at once', async () => {
  const service = await startChild(dir)
  service.process.kill('SIGTERM')
  const code = await service.end('SIGTERM')
  expect([0, 1]).toContain(code)
})
