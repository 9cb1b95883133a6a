// What an owner does to accounts and for them on the command line, and what is set for the whole service: the commands themselves,
// beside a service that runs. As processes of their own commands are run in cli.test.ts and, some of them, in owner.test.ts.

import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { append, Client } from '../imap/client.ts'
import { openAuthority } from '../net/authority.ts'
import { type Body, useTeal } from '../running.ts'
import { commandsOf } from './inside.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-belongings-'))
const service = useTeal({ outbound: { enabled: false } })
const { teal, said, json } = commandsOf(() => service.teal.config.dataDir)
const anna = 'anna@example.com'
let password = ''

/** The answer to a login. */
async function login(secret: string): Promise<Body> {
  const body = { username: anna, password: secret, token: true, scope: 'master' }
  return (await service.call('POST', '/authenticate', body)).body
}

beforeAll(async () => {
  const [made] = await json('user', 'add', anna, '--generate')
  password = made?.password
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('accounts', () => {
  test('are changed in what is said, and in nothing else', async () => {
    const words = ['--quota', '5000000', '--recipients', '7', '--tag', 'staff', 'north', '--close', 'pop3']
    expect(await said('user', 'change', anna, ...words, '--forward-to', 'x@example.net')).toBe(`${anna} is changed.`)
    const changed = { tags: ['north', 'staff'], disabledScopes: ['pop3'], targets: ['x@example.net'] }
    const [shown] = await json('user', 'show', anna)
    expect(shown).toMatchObject({ ...changed, tags: expect.arrayContaining(changed.tags) })
    expect(shown?.limits).toMatchObject({ quota: { allowed: 5_000_000 }, recipients: { allowed: 7 } })
    await said('user', 'change', anna, '--open', '--no-forward', '--name', 'Anna')
    const [after] = await json('user', 'show', anna)
    expect(after).toMatchObject({ name: 'Anna', targets: [], limits: { recipients: { allowed: 7 } } })
    expect(after?.disabledScopes ?? []).toEqual([])
    expect(await teal('user', 'change', anna)).toMatchObject({ code: 1, err: 'teal: Say what is to change\n' })
  })

  test('are closed, suspended and opened', async () => {
    await said('user', 'disable', anna)
    expect(await said('user', 'show', anna)).toMatch(/^state +disabled$/m)
    expect(await login(password)).toHaveProperty('error')
    await said('user', 'enable', anna)
    await said('user', 'suspend', anna)
    expect(await said('user', 'show', anna)).toMatch(/^state +suspended$/m)
    await said('user', 'enable', anna)
    expect(await login(password)).toMatchObject({ success: true })
  })

  test('get in again: sessions, a temporary password, second factors, what happened', async () => {
    await login(password)
    const sessions = await json('user', 'sessions', anna)
    expect(sessions.at(-1)).toEqual({ connections: 0 })
    expect(sessions.length).toBeGreaterThan(1)
    await said('user', 'logout', anna)
    expect(await json('user', 'sessions', anna)).toEqual([{ connections: 0 }])
    const [reset] = await json('user', 'reset', anna)
    expect(await login(reset?.password)).toMatchObject({ success: true, requirePasswordChange: true })
    await json('user', 'passwd', anna, '--generate').then(([set]) => {
      password = set?.password
    })
    const { id } = (await json('user', 'show', anna))[0] as Body
    await said('call', 'PUT', `/users/${id}/2fa/custom`)
    expect(await said('user', 'second-factor', anna)).toBe('custom')
    await said('user', 'second-factor', anna, '--off')
    expect(await said('user', 'second-factor', anna)).toBe('none')
    expect(await said('user', 'logins', anna, '--action', 'authentication')).toMatch(/authentication {2}success/)
    expect(await said('user', 'impersonate', anna, '--reason', 'ticket 42')).toMatch(/^\S{20,}$/)
  })

  test('get back what was deleted: messages, and the account itself', async () => {
    const client = await Client.open(service.at('imaps'), true)
    await client.ok(`LOGIN ${anna} "${password}"`)
    await client.ok(append('INBOX', 'Subject: lost\r\n\r\nx\r\n'))
    await client.ok('SELECT INBOX')
    await client.ok('STORE 1 +FLAGS (\\Deleted)')
    await client.ok('EXPUNGE')
    client.close()
    await said(
      'call',
      'POST',
      `/users/${(await json('user', 'show', anna))[0]?.id}/mailboxes`,
      '--data',
      '{"path":"Back"}',
    )
    const [{ task }] = (await json('user', 'undelete', anna, '--folder', 'Back')) as [Body]
    await expect.poll(async () => (await json('task', 'show', task))[0]?.state, { timeout: 30_000 }).toBe('done')
    expect(await said('user', 'show', anna)).toMatch(/^folder +Back \(1 messages/m)
    expect(await said('user', 'recount', anna)).toMatch(/^\d+ bytes, where \d+ had been counted$/)
    expect((await teal('user', 'undelete', anna, '--since', 'yesterday')).err).toContain('yesterday is no time')
    const [{ id }] = (await json('user', 'add', 'ben@example.com', '--generate')) as [Body]
    await said('user', 'delete', 'ben@example.com', '--yes', '--after', '2100-01-01')
    expect(await said('user', 'restore', id)).toMatch(/^ben@example\.com, deleted on .*Add --yes to bring it back\.$/)
    await said('user', 'restore', id, '--yes')
    await expect.poll(async () => (await teal('user', 'show', 'ben@example.com')).code, { timeout: 30_000 }).toBe(0)
  })
})

test('passwords for mail programs are made, listed and taken away', async () => {
  const [made] = await json('app-password', 'add', anna, 'her phone', '--scope', 'imap')
  expect(await said('app-password', 'list', anna)).toMatch(/imap +her phone$/)
  const client = await Client.open(service.at('imaps'), true)
  await client.ok(`LOGIN ${anna} ${made?.password}`)
  client.close()
  await said('app-password', 'remove', anna, made?.id)
  expect(await json('app-password', 'list', anna)).toEqual([])
})

test('an autoreply is set, seen and switched off', async () => {
  await said('autoreply', 'set', anna, '--subject', 'Away', '--text', 'Back on Monday.', '--end', '2100-12-28')
  expect(await said('autoreply', 'show', anna)).toBe(
    'on until 2100-12-28T00:00:00.000Z\nsubject: Away\nBack on Monday.',
  )
  await said('autoreply', 'off', anna)
  expect((await json('autoreply', 'show', anna))[0]).toMatchObject({ status: false, text: 'Back on Monday.' })
})

test('filters are added, seen, put off and deleted', async () => {
  const words = ['--name', 'Lists', '--list-id', 'announce', '--smaller', '9000', '--folder', 'Back', '--seen']
  const [{ id }] = (await json('filter', 'add', anna, ...words)) as [Body]
  const line = await said('filter', 'list', anna)
  for (const part of [id, 'Lists', 'announce', 'Back']) expect(line).toContain(part)
  await said('filter', 'disable', anna, id)
  expect(await said('filter', 'list', anna)).toContain('(off)')
  await said('filter', 'enable', anna, id)
  expect((await teal('filter', 'add', anna, '--list-id', 'x', '--folder', 'Nowhere')).err).toBe(
    'teal: This mailbox does not exist\n',
  )
  await said('filter', 'remove', anna, id)
  expect(await json('filter', 'list', anna)).toEqual([])
})

describe('of the service', () => {
  test('certificates are given, seen and forgotten', async () => {
    const { key, cert } = await (await openAuthority()).issue({ names: ['mx.example.com'] })
    const files = { key: join(root, 'key.pem'), cert: join(root, 'cert.pem') }
    writeFileSync(files.key, key)
    writeFileSync(files.cert, cert)
    await said('cert', 'add', 'mx.example.com', '--cert', files.cert, '--key', files.key)
    expect(await said('cert', 'list')).toMatch(/^mx\.example\.com +until \S+ {2}given$/)
    expect((await json('cert', 'show', 'mx.example.com'))[0]).toMatchObject({ servername: 'mx.example.com' })
    expect((await teal('cert', 'add', 'x.example.com', '--cert', files.cert)).code).toBe(1)
    await said('cert', 'remove', 'mx.example.com')
    expect((await teal('cert', 'show', 'mx.example.com')).code).toBe(1)
  })

  test('settings are seen, set and reset', async () => {
    await said('setting', 'set', 'const:archive:time', '86400000')
    expect(await said('setting', 'list', 'archive')).toMatch(/^\* const:archive:time +86400000 /m)
    await said('setting', 'reset', 'const:archive:time')
    expect((await json('setting', 'list', 'archive')).find(one => one.key === 'const:archive:time')).toMatchObject({
      custom: false,
    })
    expect((await teal('setting', 'set', 'const:none', '1')).code).toBe(1)
  })

  test('senders are allowed and blocked by tag', async () => {
    await said('sender', 'allow', 'staff', 'good.example')
    await said('sender', 'block', 'staff', 'bad.example')
    expect((await said('sender', 'list', 'staff')).split('\n').toSorted()).toEqual([
      'allow    good.example',
      'block    bad.example',
    ])
    await said('sender', 'remove', 'staff', 'good.example')
    expect(await json('sender', 'list', 'staff')).toMatchObject([{ domain: 'bad.example' }])
    expect((await teal('sender', 'remove', 'staff', 'good.example')).err).toContain('is on no list of staff')
  })

  test('an audit is begun, followed and taken along', async () => {
    const [{ id }] = (await json('audit', 'begin', anna, '--expires', '2100-01-01', '--notes', 'case 42')) as [Body]
    await expect
      .poll(async () => (await json('audit', 'show', id))[0]?.import.status, { timeout: 30_000 })
      .toBe('imported')
    expect(await said('audit', 'list')).toContain(anna)
    const file = join(root, 'case.mbox')
    writeFileSync(join(root, 'others'), 'theirs')
    symlinkSync(join(root, 'others'), file)
    await said('audit', 'export', id, file)
    expect([readFileSync(join(root, 'others'), 'utf8'), statSync(file).mode & 0o777]).toEqual(['theirs', 0o600])
    expect(readFileSync(file, 'utf8')).toContain('Subject: lost')
    expect((await teal('audit', 'begin', anna)).code).toBe(1)
  })

  test('keys of its own choosing sign a domain', async () => {
    expect(await said('dkim', 'add', 'example.com', '--selector', 's2027')).toMatch(
      /^s2027\._domainkey\.example\.com\. TXT "v=DKIM1/,
    )
    expect(await said('dkim', 'list')).toMatch(/^example\.com +s2027 +given by hand/m)
    await said('dkim', 'remove', 'example.com')
    expect((await json('dkim', 'list')).filter(({ selector }) => selector === 's2027')).toEqual([])
  })

  test('addresses are changed, and a domain gets another name when it is meant', async () => {
    await said('address', 'add', anna, 'sales@old.example')
    await said('address', 'change', 'sales@old.example', '--name', 'Sales')
    expect((await json('address', 'show', 'sales@old.example'))[0]).toMatchObject({ name: 'Sales' })
    expect((await teal('address', 'rename-domain', 'old.example', 'new.example')).err).toContain('add --yes')
    expect(await said('address', 'rename-domain', 'old.example', 'new.example', '--yes')).toMatch(/^1 addresses are/)
    expect((await teal('address', 'show', 'sales@new.example')).code).toBe(0)
    await said('forward', 'add', 'info@example.com', anna)
    expect(await said('forward', 'list')).toMatch(/^info@example\.com +anna@example\.com$/)
  })

  test('webhooks are signed, and what did not arrive is seen', async () => {
    const [{ id }] = (await json('webhook', 'add', 'https://example.net/hook', 'user.*')) as [Body]
    expect(await said('webhook', 'secret', id)).toMatch(/^\S{16,}$/)
    await said('webhook', 'secret', id, '--off')
    expect(await json('webhook', 'deliveries', id)).toEqual([])
    await said('webhook', 'replay', id)
    await said('webhook', 'remove', id)
  })

  test('all else is a call', async () => {
    expect((await json('call', 'get', '/health'))[0]).toMatchObject({ success: true })
    expect(await said('call', 'GET', '/metrics')).toMatch(/^# HELP /)
    expect((await teal('call', 'PATCH', '/users')).code).toBe(1)
    expect((await teal('call', 'POST', '/users', '--data', 'x')).err).toBe('teal: The body is no object in JSON\n')
    expect((await teal('call', 'GET', '/nowhere')).code).toBe(1)
  })

  test('a token is made for an account by its name, and ended', async () => {
    const [{ id }] = (await json('token', 'create', '--role', 'user', '--user', anna)) as [Body]
    expect(await said('token', 'revoke', id)).toBe('It is good for nothing any more.')
    expect((await json('config', 'show')).find(({ key }) => key === 'dataDir')).toMatchObject({
      value: expect.stringContaining('/'),
    })
    expect(await json('config', 'check')).toEqual([{ problems: [] }])
  })
})
