// The command line against a directory that nobody serves, and against one that is served.

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Pool } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { controlFile, runFile } from '#store/folder/place.ts'
import { type Child, childEnvironment, runTeal, startChild } from '../child.ts'
import type { Body } from '../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-cli-'))
const dataDir = join(root, 'data')
const env = childEnvironment(dataDir)
let child: Child | undefined

const teal = (...words: string[]) => runTeal(words, env)

async function json(...words: string[]): Promise<Body> {
  const { code, out, err } = await teal(...words, '--json')
  expect(`${code} ${err}`).toMatch(/^0 /)
  return JSON.parse(out)
}

async function api(path: string): Promise<Body> {
  const answer = await fetch(`${child?.url}${path}`, { headers: { 'x-access-token': child?.token ?? '' } })
  return answer.json()
}

function message(subject: string, more = ''): string {
  return `From: a@example.org\nTo: b@example.com\nSubject: ${subject}\nMessage-ID: <${subject}@example.org>\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\nHello ${subject}\n${more}`
}

function maildir(name: string): string {
  const path = join(root, name)
  for (const folder of ['', '.Sent', '.Lists.Teal &- more', '.Trash']) {
    for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(path, folder, part), { recursive: true })
  }
  const at = new Date('2024-01-02T03:04:05Z')
  const put = (file: string, text: string) => {
    writeFileSync(join(path, file), text)
    utimesSync(join(path, file), at, at)
  }
  const stamp = at.getTime() / 1000
  put(`cur/${stamp}.M1.host,S=100:2,FRSa`, message('one'))
  put(`cur/${stamp}.M2.host:2,`, message('two').replaceAll('\n', '\r\n'))
  put(`new/${stamp}.M3.host`, message('three'))
  put(`.Sent/cur/${stamp}.M4.host:2,S`, message('sent'))
  put(`.Lists.Teal &- more/cur/${stamp}.M5.host:2,PT`, message('list'))
  put('dovecot-keywords', '0 $Label1\n1 NonJunk\n')
  put('subscriptions', 'Lists.Teal &- more\n')
  return path
}

beforeAll(async () => {
  expect(await json('user', 'add', 'alice', '--address', 'alice@example.com', '--generate', '--create')).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    password: expect.any(String),
  })
})

afterAll(async () => {
  await child?.end('SIGTERM')
  rmSync(root, { recursive: true, force: true })
})

describe('a directory that nobody serves', () => {
  test('knows the account that was made', async () => {
    expect(await json('user', 'list')).toMatchObject({ username: 'alice', address: 'alice@example.com' })
    expect((await teal('user', 'show', 'alice@example.com')).out).toContain('username   alice')
    expect(await teal('user', 'show', 'nobody')).toMatchObject({ code: 1, err: expect.stringContaining('nobody') })
  })

  test('takes a Maildir with flags, dates, folders and keywords', async () => {
    const path = maildir('plain')
    expect(await json('import-maildir', `alice@example.com:${path}`)).toMatchObject({
      imported: 5,
      failed: 0,
      skipped: 0,
    })
    const { mailboxes } = await json('user', 'show', 'alice')
    const totals = Object.fromEntries(mailboxes.map((one: Body) => [one.path, one.total]))
    expect(totals).toMatchObject({ INBOX: 3, 'Sent Mail': 1, 'Lists/Teal & more': 1, Trash: 0 })
    const again = await json('import-maildir', `alice:${path}`)
    expect(again).toMatchObject({ imported: 0, known: 5 })
  })

  test('takes only what is new, and not what was renamed by its flags', async () => {
    const path = maildir('plain')
    rmSync(join(path, 'cur'), { recursive: true })
    mkdirSync(join(path, 'cur'))
    writeFileSync(join(path, 'cur/1704164645.M1.host:2,S'), message('one'))
    writeFileSync(join(path, 'cur/1704164645.M9.host:2,S'), message('nine'))
    expect(await json('import-maildir', `alice:${path}`)).toMatchObject({ imported: 1 })
  })

  test('is consistent afterwards', async () => {
    expect(await teal('verify')).toMatchObject({ code: 0, out: 'All is well.\n' })
  })

  test('elsewhere says where it looked, and makes nothing', async () => {
    const nowhere = join(root, 'nowhere')
    const other = childEnvironment(nowhere)
    for (const words of [
      ['user', 'add', 'eve', '--generate'],
      ['user', 'list'],
      ['token', 'create', '--role', 'root'],
      ['token', 'list'],
      ['import', '/dev/null'],
      ['export', '-'],
      ['verify'],
      ['verify', '--repair'],
      ['backup', join(root, 'never')],
    ]) {
      const { code, out, err } = await runTeal(words, other)
      expect([words, code, out, err]).toEqual([
        words,
        1,
        '',
        expect.stringMatching(/^teal: There is no data in .*nowhere.*\n$/),
      ])
    }
    expect(existsSync(nowhere)).toBe(false)
  })

  test('typed in a folder that is gone says so', () => {
    const gone = ['-c', 'cd "$1" && rmdir "$1" && shift && exec "$@"', 'sh', mkdtempSync(join(tmpdir(), 'teal-gone-'))]
    const command = [process.execPath, resolve('dist/main.js'), 'user', 'list']
    const { status, stderr } = spawnSync('sh', [...gone, ...command], {
      env: childEnvironment(join(root, 'nowhere')),
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([
      1,
      'teal: The folder that this was typed in is gone: change into one that is there\n',
    ])
  })

  test('wants help to be asked for rightly', async () => {
    expect((await teal('user', 'frobnicate')).code).toBe(2)
    const names = ['user', 'token', 'import-maildir', 'export', 'import', 'backup', 'restore', 'verify']
    const shown = await Promise.all(names.map(name => teal(name, '--help')))
    for (const [index, { code, out }] of shown.entries()) {
      expect(code).toBe(0)
      expect(out).toContain(`Usage: teal ${names[index]}`)
    }
  })
})

describe('a directory that is served', () => {
  beforeAll(async () => {
    child = await startChild(dataDir)
  })

  test('shows what was imported', async () => {
    const { results } = await api('/users')
    const { results: boxes } = await api(`/users/${results[0].id}/mailboxes`)
    const idOf = (path: string) => boxes.find((one: Body) => one.path === path).id
    const inbox = await api(`/users/${results[0].id}/mailboxes/${idOf('INBOX')}/messages?order=asc`)
    const one = inbox.results.find((row: Body) => row.subject === 'one')
    expect(one).toMatchObject({ seen: true, flagged: true, answered: true, idate: '2024-01-02T03:04:05.000Z' })
    const list = await api(`/users/${results[0].id}/mailboxes/${idOf('Lists/Teal & more')}/messages`)
    expect(list.results[0]).toMatchObject({ forwarded: true, deleted: true })
    expect(boxes.find((box: Body) => box.path === 'Lists/Teal & more').subscribed).toBe(true)
  })

  test('says so where what is asked for is not there, and the service is of another version', async () => {
    const run = readFileSync(runFile(dataDir), 'utf8')
    const asked = async () => (await teal('call', 'GET', '/new-things')).err
    expect(await asked()).toBe('teal: /new-things does not exist\n')
    const { version } = JSON.parse(run)
    writeFileSync(runFile(dataDir), JSON.stringify({ ...JSON.parse(run), version: '0.0.9' }))
    const restart = `the service that runs is of version 0.0.9, this command of ${version}. Restart the service`
    expect(await asked()).toContain(`/new-things does not exist: ${restart}`)
    writeFileSync(runFile(dataDir), run)
  })

  test('is reached over its socket, which is for its owner', async () => {
    expect(statSync(controlFile(dataDir)).mode & 0o777).toBe(0o600)
    expect(await json('user', 'add', 'bob', '--generate', '--address', 'bob@example.com')).toMatchObject({
      password: expect.any(String),
    })
    const path = maildir('served')
    expect(
      await json('import-maildir', `bob@example.com:${path}`, `alice:${path}`, '--uploaders', '2').catch(() => null),
    ).toBeNull()
    const { out, code } = await teal('import-maildir', `bob@example.com:${path}`, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ imported: 0, known: 5 })
    expect((await teal('user', 'delete', 'bob')).code).toBe(1)
    expect((await teal('user', 'delete', 'bob', '--yes')).code).toBe(0)
  })

  test('exports and imports', async () => {
    const file = join(root, 'accounts.teal')
    // Others may write to the folder: what they put in the way is not followed. What a kill left goes.
    const others = join(root, 'others')
    writeFileSync(others, 'theirs')
    for (const name of [file, `${file}.part`]) symlinkSync(others, name)
    const left = `${file}.${'0'.repeat(24)}.part`
    writeFileSync(left, '')
    utimesSync(left, 0, 0)
    expect((await teal('export', file)).code).toBe(0)
    expect([readFileSync(others, 'utf8'), existsSync(left)]).toEqual(['theirs', false])
    expect([lstatSync(file).isFile(), statSync(file).mode & 0o777]).toEqual([true, 0o600])
    const { entries, existing } = await json('import', file)
    expect(existing).toBe(entries)
    writeFileSync(file, readFileSync(file).subarray(0, -5))
    expect(await teal('import', file)).toMatchObject({ code: 1, err: expect.stringContaining('cut short') })
    const other = childEnvironment(join(root, 'elsewhere'))
    expect((await teal('export', file)).code).toBe(0)
    const moved = await runTeal(['import', file, '--json', '--create'], other)
    expect(JSON.parse(moved.out)).toMatchObject({ failed: 0, existing: 0, imported: entries })
  })

  test('its socket refuses what has no sense', async () => {
    const pool = new Pool('http://control', { socketPath: controlFile(dataDir) })
    const { id } = (await json('user', 'show', 'alice')) as { id: string }
    const call = async (path: string, body: string | object, type = 'application/json') => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const answer = await pool.request({ method: 'POST', path, body: text, headers: { 'content-type': type } })
      return { status: answer.statusCode, body: (await answer.body.json()) as Body }
    }
    const post = { method: 'POST' }
    expect(post.method).toBe('POST')
    const found = await call(`/control/accounts`, { identifiers: ['alice', 'nobody'] }) // POST
    expect(found.body.results).toEqual([{ id, username: 'alice' }, null])
    const folder = await call(`/control/users/${id}/folders`, { path: 'Deep/Er' }) // POST
    expect(folder.body).toMatchObject({ path: 'Deep/Er' })
    const mailbox = folder.body.id
    const missing = { mailbox, source: 'test', keys: ['a', 'b'] }
    expect((await call(`/control/users/${id}/missing`, missing)).body.keys).toEqual(['a', 'b']) // POST
    const query = `?mailbox=${mailbox}&source=test`
    const send = (body: string) => call(`/control/users/${id}/messages${query}`, body, 'application/octet-stream') // POST
    const head = { key: 'a', size: 5, flags: 0, keywords: [], idate: null }
    for (const bad of [
      'x',
      '{}\n',
      `${JSON.stringify(head)}\nabc`,
      `${JSON.stringify({ ...head, flags: 99 })}\nabcde`,
    ]) {
      expect((await send(bad)).status).toBe(400)
    }
    expect((await send(`${JSON.stringify(head)}\nabcde`)).body.results).toEqual(['imported'])
    expect((await send(`${JSON.stringify(head)}\nabcde`)).body.results).toEqual(['known'])
    await pool.close()
  })
})

describe('a drill', () => {
  test('loses nothing that was there when the backup was taken', async () => {
    await json('user', 'add', 'dave', '--generate', '--address', 'dave@example.com')
    const folder = join(root, 'backup')
    const large = join(root, 'large')
    mkdirSync(join(large, 'cur'), { recursive: true })
    const attachment = randomBytes(900_000).toString('base64').replace(/.{76}/g, '$&\n')
    const mime = 'MIME-Version: 1.0\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n'
    writeFileSync(join(large, 'cur/1704164645.large.host:2,S'), `${mime}Subject: large\n\n${attachment}\n`)
    await json('import-maildir', `dave:${large}`)
    const [first] = await Promise.all([json('backup', folder), json('import-maildir', `dave:${maildir('meanwhile')}`)])
    expect(first.files).toBe(1)
    const before = await json('user', 'show', 'dave')
    const second = await json('backup', folder)
    expect(second).toMatchObject({ added: 0, files: 1 })
    expect(await teal('verify', '--backup', folder)).toMatchObject({ code: 0 })
    await child?.end('SIGKILL')
    child = undefined
    rmSync(dataDir, { recursive: true })
    expect((await teal('restore', folder)).code).toBe(0)
    expect((await teal('restore', folder)).code).toBe(1)
    expect(await teal('verify')).toMatchObject({ code: 0 })
    expect(await json('user', 'show', 'dave')).toEqual(before)
    child = await startChild(dataDir)
    expect((await api('/users')).total).toBeGreaterThan(1)
  })

  test('names a file that was changed, and refuses a database that was', async () => {
    const folder = join(root, 'backup')
    const note = JSON.parse(readFileSync(join(folder, 'backup.json'), 'utf8'))
    const database = join(folder, note.database)
    const whole = readFileSync(database)
    writeFileSync(database, Buffer.concat([whole.subarray(0, -1), Buffer.from([whole.at(-1) === 0 ? 1 : 0])]))
    const { code, err } = await teal('restore', folder, '--data-dir', join(root, 'fresh'))
    expect(code).toBe(1)
    expect(err).toContain('checksum')
    expect(existsSync(join(root, 'fresh/teal.db'))).toBe(false)
    expect((await teal('backup', join(root, 'large'))).err).toContain('holds no backup')
  })
})
