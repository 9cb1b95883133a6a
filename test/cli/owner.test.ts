// The commands of an owner beside a running service: addresses, aliases, forwards, the queue, webhooks, status, log; and what
// shells and `man` are given. Those of addresses, and what is printed without a service, run as processes of their own.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Child, childEnvironment, runTeal, startChild } from '../child.ts'
import type { Body } from '../running.ts'
import { commandsOf } from './inside.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-owner-'))
const dataDir = join(root, 'data')
const log = join(root, 'teal.log')
const env = childEnvironment(dataDir)
let service: Child

beforeAll(async () => {
  service = await startChild(dataDir, {
    ...{
      TEAL_LOG_FILE: log,
      TEAL_LOG_LEVEL: 'info',
      TEAL_HOSTNAME: 'mail.example.com',
      TEAL_OUTBOUND_ENABLED: 'false',
    },
  })
  expect((await teal('user', 'add', 'anna@example.com', '--generate')).code).toBe(0)
})

afterAll(async () => {
  expect(await service?.end('SIGTERM')).toBe(0)
  expect(await runTeal(['verify'], env)).toMatchObject({ code: 0 })
  rmSync(root, { recursive: true, force: true })
})

const { teal, json } = commandsOf(() => dataDir)
const program = (...words: string[]) => runTeal(words, env)

test('addresses are given, listed, shown and taken', async () => {
  expect((await program('address', 'add', 'anna@example.com', 'sales@example.com')).code).toBe(0)
  expect((await json('address', 'list', 'sales')).map(({ address }) => address)).toEqual(['sales@example.com'])
  expect((await program('address', 'show', 'sales@example.com')).out).toMatch(/^sales@example\.com of [0-9a-f]{24}\n$/)
  expect((await program('address', 'remove', 'sales@example.com')).code).toBe(0)
  const gone = await program('address', 'show', 'sales@example.com')
  expect([gone.code, gone.err]).toEqual([1, 'teal: This address does not exist\n'])
  expect((await program('address', 'add', 'anna@example.com', '*@example.com')).code).toBe(1)
  expect((await program('address', 'add', 'anna@example.com', '*@example.com', '--wildcard')).code).toBe(0)
})

test('a password of nothing is none', async () => {
  const empty = join(root, 'empty')
  writeFileSync(empty, '\n')
  for (const words of [
    ['add', 'nobody@example.com'],
    ['passwd', 'anna@example.com'],
  ]) {
    const { code, err } = await teal('user', ...words, '--password-file', empty)
    expect([code, err]).toEqual([1, `teal: ${empty} is empty; nothing was changed\n`])
  }
  expect((await teal('user', 'show', 'nobody@example.com')).code).toBe(1)
})

test('a domain stands for another and for itself again', async () => {
  expect((await teal('alias', 'add', 'example.net', 'example.com')).out).toBe(
    'Mail for example.net is mail for example.com.\n',
  )
  expect(await json('alias', 'list')).toMatchObject([{ alias: 'example.net', domain: 'example.com' }])
  expect((await teal('alias', 'remove', 'example.net')).code).toBe(0)
  expect(await json('alias', 'list')).toEqual([])
})

test('domains are made, seen, changed, closed, opened, looked after and forgotten', async () => {
  const limits = ['--max-users', '3', '--default-quota', '4096', '--description', 'A customer']
  expect((await teal('domain', 'create', 'Customer.Example', ...limits)).out).toBe('Customer.Example is made.\n')
  expect((await teal('user', 'add', 'carl@customer.example', '--generate')).code).toBe(0)
  expect((await json('user', 'show', 'carl@customer.example'))[0].limits.quota.allowed).toBe(4096)
  const [made] = await json('domain', 'show', 'customer.example')
  expect(made).toMatchObject({ name: 'customer.example', description: 'A customer', maxUsers: 3, users: 1 })
  expect((await json('domain', 'list')).map(one => one.name)).toEqual(['customer.example', 'example.com'])
  expect((await teal('domain', 'list', 'customer')).out).toMatch(/^customer\.example +1 accounts, 1 addresses/)
  expect((await teal('domain', 'change', 'customer.example')).code).toBe(1)
  const changed = await json('domain', 'change', 'customer.example', '--max-users', '0', '--default-recipients', '5')
  expect(changed[0]).toMatchObject({ maxUsers: 0, defaultQuota: 4096, defaultLimits: { recipients: 5 } })
  expect((await teal('domain', 'admin', 'add', 'customer.example', 'carl@customer.example')).code).toBe(0)
  expect(await json('domain', 'admin', 'list', 'customer.example')).toMatchObject([
    { username: 'carl@customer.example' },
  ])
  expect((await teal('domain', 'catch-all', 'customer.example', 'carl@customer.example')).code).toBe(0)
  const closed = await teal('domain', 'disable', 'customer.example', '--reason', 'not paid')
  expect(closed.out).toBe('customer.example is closed, and its sessions have ended.\n')
  const { out } = await teal('domain', 'show', 'customer.example')
  for (const line of [/^state +disabled \(not paid\)$/m, /^accounts +1$/m, /^admin +carl@customer\.example$/m])
    expect(out).toMatch(line)
  expect((await teal('domain', 'enable', 'customer.example')).code).toBe(0)
  expect(
    (await json('domain', 'catch-all', 'customer.example', 'x@far.example', '--forward'))[0].catchAll,
  ).toMatchObject({
    targets: ['x@far.example'],
  })
  expect((await teal('domain', 'catch-all', 'customer.example')).code).toBe(1)
  expect((await json('domain', 'catch-all', 'customer.example', '--nobody'))[0].catchAll).toBe(false)
  expect((await json('domain', 'admin', 'remove', 'customer.example', 'carl@customer.example'))[0].admins).toEqual([])
  const kept = await teal('domain', 'remove', 'customer.example')
  expect([kept.code, kept.err]).toEqual([1, expect.stringContaining('Of this domain are still here: 1 addresses')])
  expect((await teal('domain', 'remove', 'customer.example', '--force')).code).toBe(0)
  expect((await json('domain', 'show', 'customer.example'))[0]).toMatchObject({ created: false, maxUsers: 0, users: 1 })
  expect((await teal('domain', 'show', 'nowhere.example')).err).toBe('teal: This domain does not exist\n')
  expect((await teal('user', 'delete', 'carl@customer.example', '--yes')).code).toBe(0)
})

test('a token of who looks after domains is bound to them', async () => {
  const { code, out } = await teal('token', 'create', '--role', 'domain', '--domain', 'example.com')
  expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f]{40}\n$/)])
  expect((await teal('token', 'create', '--role', 'domain')).code).toBe(1)
  expect((await teal('token', 'create', '--role', 'manager', '--domain', 'example.com')).code).toBe(1)
})

test('forwards are made, changed, put off and deleted', async () => {
  expect((await teal('forward', 'add', 'info@example.com', 'anna@example.com', 'x@example.net')).code).toBe(0)
  expect((await json('forward', 'show', 'info@example.com'))[0].targets).toEqual(['anna@example.com', 'x@example.net'])
  expect((await teal('forward', 'set', 'info@example.com', 'smtps://relay:geheim@example.net')).code).toBe(0)
  expect((await teal('forward', 'show', 'info@example.com')).out).not.toContain('geheim')
  expect((await teal('forward', 'disable', 'info@example.com')).code).toBe(0)
  expect((await json('forward', 'show', 'info@example.com'))[0].forwardedDisabled).toBe(true)
  expect((await teal('forward', 'enable', 'info@example.com')).code).toBe(0)
  expect((await teal('forward', 'show', 'anna@example.com')).code).toBe(1)
  expect((await teal('forward', 'remove', 'info@example.com')).code).toBe(0)
})

test('the queue is seen, held, tried, routed and emptied', async () => {
  const headers = { 'x-access-token': service.token, 'content-type': 'application/json' }
  const [{ user: id }] = (await json('address', 'list', 'anna')) as [Body]
  const form = { from: { address: 'anna@example.com' }, to: [{ address: 'x@example.net' }], subject: 'x', text: 'x' }
  const sent = await fetch(`${service.url}/users/${id}/submit`, { method: 'POST', headers, body: JSON.stringify(form) })
  expect(sent.status).toBe(200)
  const [one] = await json('queue', 'list')
  const queueId = one.queueId ?? one.id
  expect((await teal('queue', 'list')).out).toContain(queueId)
  expect((await json('queue', 'status'))[0]).toMatchObject({ waiting: 1 })
  expect((await json('queue', 'show', queueId))[0]).toMatchObject({ from: 'anna@example.com' })
  for (const words of [
    ['hold', queueId],
    ['retry', queueId],
    ['route', queueId, 'smtp://127.0.0.1:9'],
    ['remove', queueId],
  ]) {
    expect([words[0], (await teal('queue', ...(words as string[]))).code]).toEqual([words[0], 0])
  }
  expect((await json('queue', 'status'))[0]).toMatchObject({ waiting: 0 })
})

test('webhooks are made, listed and ended', async () => {
  const [{ id }] = (await json('webhook', 'add', 'https://example.net/hook', 'message.received')) as [Body]
  expect((await json('webhook', 'list'))[0]).toMatchObject({ id, url: 'https://example.net/hook' })
  expect((await json('webhook', 'show', id))[0]).toMatchObject({ id, paused: false })
  expect((await teal('webhook', 'remove', id)).code).toBe(0)
  expect(await json('webhook', 'list')).toEqual([])
})

test('status says what runs and what there is', async () => {
  const [status] = await json('status')
  expect(status).toMatchObject({ running: true, works: true, users: 1, waiting: 0 })
  expect(status.listeners).toHaveProperty('imap')
  expect((await program('status')).out).toMatch(/^runs as process \d+/)
})

describe('log', () => {
  test('finds lines by event, words and time, and is safe to print', async () => {
    const body = JSON.stringify({ username: 'evil\u001b[2J\u009b2J\u202e@example.com', password: 'x', ip: '192.0.2.1' })
    const headers = { 'x-access-token': service.token, 'content-type': 'application/json' }
    await fetch(`${service.url}/authenticate`, { method: 'POST', headers, body })
    await expect
      .poll(async () => (await teal('log', '--file', log, '-e', 'login-failed')).out)
      .toContain('ip=192.0.2.1')
    const { out } = await teal('log', '--file', log, '192.0.2.1', 'EVIL')
    for (const one of ['\u001b', '\u009b', '\u202e']) {
      expect(out).not.toContain(one)
      expect(readFileSync(log, 'utf8')).not.toContain(one)
    }
    expect((await json('log', '--file', log, '--event', 'login-failed'))[0]).toMatchObject({ ip: '192.0.2.1' })
    expect((await teal('log', '--file', log, '--since', '2100-01-01')).out).toBe('')
    expect((await program('log', '--file', join(root, 'none'))).code).toBe(1)
  })

  test('asks the service where none is kept in a file, and says so where none runs', async () => {
    const shown = await json('log', '192.0.2.1', '--event', 'login-failed')
    expect(shown.at(-1)).toMatchObject({ ip: '192.0.2.1', msg: expect.any(String), time: expect.any(String) })
    const all = await json('log')
    expect(all.map(({ time }) => time)).toEqual(all.map(({ time }) => time).toSorted())
    const { code, err } = await program('log', '--data-dir', root)
    expect([code, err]).toEqual([1, expect.stringContaining('no service runs')])
  })
})

describe('completion and manual', () => {
  test('bash completes commands, their commands and options', async () => {
    const script = join(root, 'teal.bash')
    writeFileSync(script, (await program('completion', 'bash')).out)
    const complete = (...words: string[]) => {
      const typed = words.map(word => `'${word}'`).join(' ')
      const line = `source ${script}; COMP_WORDS=(teal ${typed}); COMP_CWORD=${words.length}; _teal; echo "\${COMPREPLY[*]}"`
      return execFileSync('bash', ['--norc', '-c', line], { encoding: 'utf8' }).trim()
    }
    expect(complete('doc')).toBe('doctor')
    expect(complete('queue', 're').split(' ').toSorted()).toEqual(['remove', 'resume', 'retry'])
    expect(complete('user', 'add', 'bob', '--gen')).toBe('--generate')
    expect(complete('--config', 'x', 'backu')).toBe('backup')
    expect(complete('user', '--config', 'x', 'add', '--gen')).toBe('--generate')
    expect(complete('user', 'show', 'anna', '--js')).toBe('--json')
    expect(complete('restore', '--data-dir', join(root, 'da'))).toBe(dataDir)
  })

  test('scripts and manual name every command and every option there is', async () => {
    const pages = await Promise.all([
      ...['bash', 'zsh', 'fish'].map(async shell => (await program('completion', shell)).out),
      (await program('man')).out.replaceAll('\\-', '-'),
    ])
    const { out: help } = await program('--help')
    const names = [...help.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name ?? '')
    expect(names.length).toBeGreaterThan(20)
    for (const page of pages) {
      for (const name of names.filter(name => name !== 'help')) expect(page).toMatch(new RegExp(`\\b${name}\\b`))
      for (const word of ['rotate', 'wildcard', 'password-file', 'time-server']) expect(page).toContain(word)
    }
    expect((await program('completion', 'tcsh')).code).toBe(1)
  })
})

test('addresses are left alone, listed and written to again', async () => {
  const said = 'It is not written to.\n'
  expect((await teal('suppression', 'add', 'gone@example.net', '--reason', 'asked us to')).out).toBe(said)
  expect(await json('suppression', 'list')).toMatchObject([
    { user: false, address: 'gone@example.net', source: 'manual', response: 'asked us to' },
  ])
  expect((await teal('suppression', 'list')).out).toMatch(
    /^gone@example\.net {2}for everybody {2}until \S+ {2}by manual/,
  )
  expect((await teal('suppression', 'remove', 'gone@example.net')).out).toBe('It is written to again.\n')
  expect((await teal('suppression', 'remove', 'gone@example.net')).code).toBe(1)
  expect(await json('suppression', 'list')).toEqual([])
})

test('an account is held back and let go on', async () => {
  const [{ user }] = await json('address', 'list', 'anna')
  expect((await teal('queue', 'pause', user)).out).toBe('It is held back.\n')
  expect(await json('queue', 'paused')).toMatchObject([{ user, address: 'anna@example.com', reason: 'manual' }])
  expect((await teal('queue', 'paused')).out).toMatch(/^[0-9a-f]{24} {2}anna@example\.com {2}since \S+ {2}by hand\n$/)
  expect((await teal('queue', 'resume', user)).out).toBe('It may send again.\n')
  expect((await teal('queue', 'resume', user)).code).toBe(1)
})
