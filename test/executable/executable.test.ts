// The one executable: built, put alone into an empty directory, and run with an empty environment by a user who owns
// nothing else.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { monotonic, sleep } from '#lib/clock.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import type { Body } from '../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-executable-'))
const teal = join(root, 'teal')
/** The user called nobody, where we may become him. */
const nobody = 65534
const isRoot = process.getuid?.() === 0
const listeners = ['api', 'smtp', 'lmtp', 'submission', 'submissions', 'imap', 'imaps', 'pop3', 'pop3s']
const options = ['--set', ...listeners.map(name => `${name}.port=0`), 'hostname=mail.example.com', 'log.level=warn']
let service: ChildProcess | undefined
/** What the service said: warnings and errors. */
let said = ''
let run: { listeners: Record<string, { host: string; port: number }> } | undefined

function start(words: readonly string[]): ChildProcess {
  const as = isRoot ? { uid: nobody, gid: nobody } : {}
  return spawn(teal, words, { cwd: root, env: {}, stdio: ['ignore', 'pipe', 'pipe'], ...as })
}

async function ended(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let out = ''
  let err = ''
  child.stdout?.on('data', chunk => {
    out += chunk
  })
  child.stderr?.on('data', chunk => {
    err += chunk
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

async function serve(): Promise<number> {
  const began = monotonic()
  service = start(['serve', ...options])
  said = ''
  for (const stream of [service.stdout, service.stderr]) {
    stream?.on('data', chunk => {
      said += chunk
    })
  }
  const file = join(root, 'data/run.json')
  while (!existsSync(file)) {
    if (service.exitCode !== null) throw new Error(`it did not start: ${said}`)
    await sleep(5)
  }
  run = JSON.parse(readFileSync(file, 'utf8'))
  return monotonic() - began
}

async function api(method: string, path: string, body?: object): Promise<Body> {
  const token = readFileSync(join(root, 'data/root-token'), 'utf8').trim()
  const answer = await fetch(`http://127.0.0.1:${run?.listeners.api?.port}${path}`, {
    method,
    headers: { 'x-access-token': token, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return answer.json()
}

beforeAll(() => {
  execFileSync(process.execPath, ['deploy/build.ts', '--executable', '--stale'], { stdio: 'pipe' })
  copyFileSync('dist/teal', teal)
  chmodSync(teal, 0o755)
  chmodSync(root, 0o755)
  if (isRoot) chownSync(root, nobody, nobody)
})

afterAll(async () => {
  if (service !== undefined && service.exitCode === null) {
    service.kill('SIGKILL')
    await once(service, 'exit')
  }
  rmSync(root, { recursive: true, force: true })
})

describe('the executable', () => {
  test('is one file of a size that can be copied about', () => {
    expect(statSync(teal).size / 1e6).toBeLessThan(130)
  })

  test('says what it can do and what it is', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(await ended(start(['--version']))).toMatchObject({ code: 0, out: `${version}\n` })
    const help = await ended(start(['--help']))
    for (const name of ['serve', 'user', 'token', 'import-maildir', 'export', 'backup', 'verify', 'dns', 'config']) {
      expect(help.out).toContain(`  ${name} `)
    }
    expect((await ended(start(['frobnicate']))).code).toBe(2)
  })

  test('serves, takes a message and gives it back', async () => {
    await serve()
    const user = { username: 'first', password: 'a password to keep', address: 'first@example.com' }
    const { id } = await api('POST', '/users', user)
    const lmtp = await openLmtp(run?.listeners.lmtp ?? { host: '', port: 0 })
    const message = Buffer.from('From: a@example.org\r\nSubject: first mail\r\n\r\nHello\r\n')
    expect(await deliver(lmtp, 'a@example.org', ['first@example.com'], message)).toEqual([
      expect.stringMatching(/^250/),
    ])
    lmtp.close()
    const { results } = await api('GET', `/users/${id}/mailboxes`)
    const inbox = results.find((one: Body) => one.path === 'INBOX').id
    const list = await api('GET', `/users/${id}/mailboxes/${inbox}/messages`)
    expect(list.results).toMatchObject([{ subject: 'first mail' }])
    const found = await api('GET', `/users/${id}/search?query=hello`)
    expect(found.results).toHaveLength(1)
    const login = await api('POST', '/authenticate', { username: 'first', password: 'a password to keep' })
    expect(login).toMatchObject({ success: true, id })
  })

  test('keeps every character that is not ASCII: on its pages, and where subjects are compared', async () => {
    const page = await (await fetch(`http://127.0.0.1:${run?.listeners.api?.port}/docs/page.js`)).text()
    expect(page).toContain("' \\u00b7 ' + type")
    expect(page).not.toMatch(/[^\0-\x7f]/)
    const { id } = await api('POST', '/users', {
      username: 'wide',
      password: 'a password',
      address: 'wide@example.com',
    })
    const lmtp = await openLmtp(run?.listeners.lmtp ?? { host: '', port: 0 })
    const mails = ['Message-ID: <1@x>\r\nSubject: 件名', 'In-Reply-To: <1@x>\r\nMessage-ID: <2@x>\r\nSubject: Re：件名']
    for (const mail of mails) {
      const bytes = Buffer.from(`From: a@example.org\r\n${mail}\r\n\r\nHello\r\n`)
      expect(await deliver(lmtp, 'a@example.org', ['wide@example.com'], bytes)).toEqual([expect.stringMatching(/^250/)])
    }
    lmtp.close()
    const { results } = await api('GET', `/users/${id}/search?query=hello`)
    expect(new Set(results.map((one: Body) => one.subject))).toEqual(new Set(['件名', 'Re：件名']))
    expect(new Set(results.map((one: Body) => one.thread)).size).toBe(1)
    expect(await api('DELETE', `/users/${id}`)).toMatchObject({ success: true })
  })

  test('obeys its own command line while it serves, and moves mail in', async () => {
    const maildir = join(root, 'Maildir/cur')
    mkdirSync(maildir, { recursive: true })
    writeFileSync(join(maildir, '1704164645.M1.host:2,S'), 'Subject: moved in\n\nHello\n')
    const moved = await ended(
      start(['import-maildir', `first@example.com:${join(root, 'Maildir')}`, '--json', ...options]),
    )
    expect(moved.err).toBe('')
    expect(JSON.parse(moved.out)).toMatchObject({ imported: 1 })
    const backup = await ended(start(['backup', join(root, 'copy'), '--json', ...options]))
    expect(backup).toMatchObject({ code: 0 })
    expect(await ended(start(['verify', '--backup', join(root, 'copy'), ...options]))).toMatchObject({ code: 0 })
  })

  test('puts its files right where they are torn or somebody changed them', async () => {
    const folder = join(root, readdirSync(root).find(name => /^teal-[0-9a-f]{16}$/.test(name)) ?? '')
    const changed = ['main.cache', 'main.cjs', 'workers/query.cjs', 'packages/bson.js']
    const whole = new Map(changed.map(name => [name, readFileSync(join(folder, name))]))
    truncateSync(join(folder, 'main.cache'), 100)
    writeFileSync(join(folder, 'main.cjs'), 'process.exit(7)')
    rmSync(join(folder, 'workers/query.cjs'))
    rmSync(join(folder, 'packages'), { recursive: true })
    expect((await ended(start(['--version']))).code).toBe(0)
    for (const name of changed) {
      expect(readFileSync(join(folder, name)).equals(whole.get(name) ?? Buffer.of())).toBe(true)
    }
    truncateSync(join(folder, 'whole'), 0)
    rmSync(join(folder, 'main.cjs'))
    expect((await ended(start(['--version']))).code).toBe(0)
  })

  test('says what to do where no folder takes its files', async () => {
    const closed = join(root, 'closed')
    mkdirSync(closed)
    linkSync(teal, join(closed, 'teal'))
    chmodSync(closed, 0o555)
    const as = isRoot ? { uid: nobody, gid: nobody } : {}
    const env = { XDG_CACHE_HOME: join(root, 'teal', 'none'), TMPDIR: join(root, 'teal', 'none') }
    const child = spawn(join(closed, 'teal'), ['--version'], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...as,
    })
    const { code, err } = await ended(child)
    expect([code, err]).toEqual([1, expect.stringMatching(/^teal: found no folder .* XDG_CACHE_HOME .*EACCES.*\n$/)])
  })

  test('stops when it is told to, and starts again with what it had', async () => {
    if (service === undefined) throw new Error('it does not run')
    service.kill('SIGTERM')
    expect((await once(service, 'exit'))[0]).toBe(0)
    await serve()
    expect((await api('GET', '/users')).total).toBe(1)
    expect(await api('GET', '/health')).toMatchObject({ success: true })
    expect(said).toBe('')
  })
})
