// The library as those get it who use it: built, by its name, in a plain module of their own.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

const program = `
import { startTeal } from 'teal'
const teal = await startTeal({ quota: { storage: '10MB' }, imap: { enabled: false } })
const answer = await fetch(teal.url + '/health', { headers: { 'x-access-token': teal.rootToken } })
const { version } = await answer.json()
console.log(JSON.stringify({ version, names: Object.keys(teal).sort(), imap: teal.listeners.imap ?? null, broken: await teal.check() }))
await teal.close()
`

test('a whole service starts from the built library, and nothing of it is left running', () => {
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const names = ['check', 'close', 'listeners', 'rootToken', 'url']
  expect(JSON.parse(out)).toEqual({ version, names, imap: null, broken: [] })
})

test('its types need no package and say nothing of what lies behind', () => {
  expect(readFileSync('dist/index.d.ts', 'utf8')).not.toMatch(/^\s*import\b|: any\b/m)
})

describe('a program that never closes what it started', () => {
  const begin = `
import { connect } from 'node:net'
import { once } from 'node:events'
import { startTeal } from 'teal'
const teal = await startTeal()
const headers = { 'x-access-token': teal.rootToken, 'content-type': 'application/json' }
const call = (path, form) => fetch(teal.url + path, { method: 'POST', headers, body: JSON.stringify(form) })
const password = 'correct horse'
await call('/users', { username: 'anna', password, address: 'anna@example.com' })
await call('/authenticate', { username: 'anna', password })
const { host, port } = teal.listeners.imap
const imap = connect(port, host)
await once(imap, 'data')
`
  let tmp: string
  beforeEach(() => {
    tmp = mkdtempSync(join(tmpdir(), 'teal-library-'))
  })
  afterEach(() => rmSync(tmp, { recursive: true }))
  const run = (program: string) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: tmp },
      timeout: 30_000,
    })

  test('ends by itself and leaves nothing', () => {
    expect(run(`${begin}; imap.unref()`)).toMatchObject({ status: 0, stderr: '' })
    expect(readdirSync(tmp)).toEqual([])
  })

  test('ends with an error of its own and leaves nothing', () => {
    const { status, stderr } = run(`${begin}; throw new Error('of the test')`)
    expect([status, stderr]).toEqual([1, expect.stringContaining('of the test')])
    expect(readdirSync(tmp)).toEqual([])
  })

  test('stays where it is told to, until it closes', () => {
    const stay = `import { startTeal } from 'teal'
const teal = await startTeal({}, { keepAlive: true })
setTimeout(async () => { await teal.close(); await teal.close(); console.log('closed') }, 500).unref()`
    expect(run(stay)).toMatchObject({ status: 0, stdout: 'closed\n', stderr: '' })
  })

  test('is killed: the next start removes what it left, and nothing that is in use', async () => {
    expect(run(`${begin}; process.kill(process.pid, 'SIGKILL')`).signal).toBe('SIGKILL')
    const [left = ''] = readdirSync(tmp)
    expect(left).toMatch(/^teal-run-/)
    mkdirSync(join(tmp, 'teal-run-other'))
    // As old as one whose owner may be asked for.
    const before = new Date(now() - 2 * limits.process.temporaryGraceMs)
    for (const name of [left, join(left, 'lock')]) utimesSync(join(tmp, name), before, before)
    const two = `${begin}
import { readdirSync, utimesSync } from 'node:fs'
const [mine] = readdirSync(process.env.TMPDIR).filter(name => name !== 'teal-run-other')
const old = new Date(Date.now() - 60000)
for (const name of [mine, mine + '/lock']) utimesSync(process.env.TMPDIR + '/' + name, old, old)
const { spawnSync } = await import('node:child_process')
const other = "import { startTeal } from 'teal'; await (await startTeal()).close()"
const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', other])
console.log(JSON.stringify([status, readdirSync(process.env.TMPDIR).includes(mine), await teal.check()]))
await teal.close(); imap.destroy()`
    expect(run(two)).toMatchObject({ status: 0, stdout: '[0,true,[]]\n', stderr: '' })
    expect(readdirSync(tmp)).toEqual(['teal-run-other'])
  })
})

test('what cannot be is refused with a code, and the process ends', () => {
  const program = `
import { startTeal } from 'teal'
const code = promise => promise.then(() => 'none', error => error.code)
const teal = await startTeal()
const { mkdtempSync, rmSync } = await import('node:fs')
const dataDir = mkdtempSync('${join(tmpdir(), 'teal-library-')}')
const [one, two] = await Promise.all([startTeal({ dataDir }), startTeal()])
console.log([
  await code(startTeal({ dataDir })),
  await code(startTeal({ smtp: { port: teal.listeners.smtp.port } })),
  await code(startTeal({ api: { port: teal.listeners.api.port } })),
  await code(startTeal({ no: { such: 'setting' } })),
].join())
process.on('exit', () => rmSync(dataDir, { recursive: true }))`
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect(out).toBe('DataDirectoryInUse,PortInUse,PortInUse,ConfigInvalid\n')
})
