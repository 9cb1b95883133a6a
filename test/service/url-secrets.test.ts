// Passwords in URLs (relays, forwarding targets, webhooks): sealed in every file, masked in every answer, and still right
// where the URL is called.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SMTPServerOptions } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTeal } from '#service'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { databaseFile } from '#store/folder/place.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { type Sink, startSink } from '../jobs/mail-sink.ts'
import { accessTo, useTeal } from '../running.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-url-secrets-'))
const local = { network: { allowPrivate: ['127.0.0.0/8'] }, mail: { defaultDomain: 'example.com' } }
const service = useTeal({ ...local, dataDir: dir })
const passwords = { relay: 'Relay-5ecret', target: 'Target-5ecret', hook: 'Hook-5ecret', token: 'Token-5ecret' }

const logins: string[] = []
const calls: { authorization: string; text: string }[] = []
let sink: Sink
let web: ReturnType<typeof createServer>
let base = ''

beforeAll(async () => {
  const options: SMTPServerOptions = {
    authOptional: false,
    disabledCommands: [],
    onAuth({ username = '', password = '' }, _session, done) {
      logins.push(`${username}:${password}`)
      done(null, { user: username })
    },
  }
  sink = await startSink(0, options)
  web = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const authorization = Buffer.from(request.headers.authorization?.split(' ')[1] ?? '', 'base64').toString()
    calls.push({ authorization, text: Buffer.concat(chunks).toString() })
    response.end()
  })
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  base = `127.0.0.1:${(web.address() as AddressInfo).port}`
})
afterAll(async () => {
  await sink.close()
  web.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Files of a folder that hold a text. */
function holding(folder: string, texts: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => {
    const file = join(folder, name)
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return false
    const content = readFileSync(file)
    return texts.some(text => content.includes(text))
  })
}

const relayUrl = (password: string) => `smtp://me:${password}@127.0.0.1:${sink.port}`

describe('a password in a URL', () => {
  test('is in no file and no answer, and is given where the URL is called', async () => {
    const hookUrl = `http://hook:${passwords.hook}@${base}/hook`
    const hook = await service.call('POST', '/webhooks', { type: ['*'], url: hookUrl })
    const bare = await service.call('POST', '/webhooks', {
      type: ['user.created'],
      url: `http://${passwords.token}@${base}/`,
    })
    const target = `http://post:${passwords.target}@${base}/in`
    const user = await service.user('sends', { mtaRelay: relayUrl(passwords.relay), targets: [target] })
    const filter = await service.call('POST', `/users/${user}/filters`, {
      query: { subject: 'on' },
      action: { targets: [target, relayUrl(passwords.target)] },
    })
    const forwarded = await service.call('POST', '/addresses/forwarded', {
      address: 'on@example.com',
      targets: [target],
    })
    const sent = await service.call('POST', `/users/${user}/submit`, {
      to: [{ address: 'far@elsewhere.test' }],
      subject: 'out',
      text: 'x',
    })
    const lmtp = await openLmtp(service.at('lmtp'))
    await deliver(
      lmtp,
      'a@remote.test',
      ['sends@example.com'],
      Buffer.from('Subject: on\r\nMessage-ID: <1@r>\r\n\r\nx\r\n'),
    )
    lmtp.close()
    await sink.received(2)
    expect(logins.sort()).toEqual([`me:${passwords.relay}`, `me:${passwords.target}`])
    const called = () => new Set(calls.map(({ authorization }) => authorization))
    const all = [`hook:${passwords.hook}`, `post:${passwords.target}`, `${passwords.token}:`]
    await expect.poll(() => [...called()].sort()).toEqual(all.sort())
    // One target in two places is called once.
    expect(calls.filter(({ authorization }) => authorization.startsWith('post:'))).toHaveLength(1)

    const answers = await Promise.all(
      [
        ...[`/users/${user}`, '/users', '/filters', `/users/${user}/filters`, `/users/${user}/authlog`],
        ...[`/users/${user}/filters/${filter.body.id}`, `/users/${user}/filters/trace`, '/addresses'],
        ...[`/addresses/forwarded/${forwarded.body.id}`, '/addresses/resolve/on@example.com'],
        ...[
          `/users/${user}/outbound?pending=false`,
          `/users/${user}/outbound/${sent.body.message?.queueId ?? sent.body.queueId}`,
        ],
        ...['/webhooks', `/webhooks/${hook.body.id}`, `/webhooks/${bare.body.id}`],
      ].map(async path => JSON.stringify((await service.call('GET', path)).body)),
    )
    const heard = calls.map(({ text }) => text)
    for (const text of [...answers, ...heard]) {
      for (const secret of [...Object.values(passwords), '$wd01$']) expect(text).not.toContain(secret)
    }
    expect((await service.call('GET', `/users/${user}`)).body).toMatchObject({
      mtaRelay: relayUrl('***'),
      targets: [`http://post:***@${base}/in`],
    })
    expect((await service.call('GET', `/webhooks/${hook.body.id}`)).body.url).toBe(`http://hook:***@${base}/hook`)
    expect((await service.call('GET', `/webhooks/${bare.body.id}`)).body.url).toBe(`http://***@${base}/`)
    expect(holding(dir, Object.values(passwords))).toEqual([])
    for (const { body } of [hook, bare]) await service.call('DELETE', `/webhooks/${body.id}`)
  })

  test('that comes back masked stays what it was, for its own URL alone', async () => {
    const user = await service.user('form', {
      mtaRelay: relayUrl('First-5ecret'),
      targets: [`smtp://a:b-5ecret@x.test`],
    })
    const shown = (await service.call('GET', `/users/${user}`)).body
    const stored = () => service.teal.core.read.one<{ options: string }>('SELECT options FROM user WHERE id = ?', user)
    const before = await stored()
    const again = { mtaRelay: shown.mtaRelay, targets: shown.targets }
    expect((await service.call('PUT', `/users/${user}`, again)).body).toMatchObject({ success: true })
    expect(await stored()).toEqual(before)
    for (const wrong of [{ mtaRelay: 'smtp://me:***@evil.test' }, { targets: ['smtp://a:***@evil.test'] }]) {
      const { status, body } = await service.call('PUT', `/users/${user}`, wrong)
      expect([status, body.code]).toEqual([400, 'InputValidationError'])
    }
    expect(await stored()).toEqual(before)
    const wrong = await service.call('POST', '/webhooks', { type: ['*'], url: 'https://a:***@evil.test/' })
    expect(wrong.body.code).toBe('InputValidationError')
    const action = { targets: ['smtp://a:c-5ecret@x.test'] }
    const filter = (await service.call('POST', `/users/${user}/filters`, { query: { from: 'a' }, action })).body.id
    const kept = () => service.teal.core.read.one('SELECT action FROM filter WHERE id = ?', filter)
    const was = await kept()
    const form = { action: (await service.call('GET', `/users/${user}/filters/${filter}`)).body.action }
    expect(form.action.targets).toEqual(['smtp://a:***@x.test'])
    await service.call('PUT', `/users/${user}/filters/${filter}`, form)
    expect(await kept()).toEqual(was)
  })

  test('that looks sealed is a password like any other', async () => {
    const one = await service.user('own', { mtaRelay: relayUrl('Own-5ecret') })
    const { options = '' } =
      (await service.teal.core.read.one<{ options: string }>('SELECT options FROM user WHERE id = ?', one)) ?? {}
    const sealed = String(JSON.parse(options).mtaRelay)
    const secret = new URL(sealed).password
    expect(secret).toContain('$wd01$')
    const thief = await service.user('thief', { mtaRelay: sealed })
    const at = sink.messages.length
    await service.call('POST', `/users/${thief}/submit`, { to: [{ address: 'x@y.test' }], text: 'x' })
    await sink.received(at + 1)
    expect(logins).toContain(`me:${secret}`)
    expect(logins).not.toContain('me:Own-5ecret')
  })

  test('is not in the report of a failure, which names the address that was written to', async () => {
    await service.user('writer')
    const user = await service.user('refused')
    const action = { targets: [relayUrl('Report-5ecret')] }
    await service.call('POST', `/users/${user}/filters`, { query: { subject: 'on' }, action })
    sink.recipient = () => ({ code: 550, text: '5.1.1 no' })
    const lmtp = await openLmtp(service.at('lmtp'))
    const message = 'Subject: on\r\nMessage-ID: <2@r>\r\n\r\nx\r\n'
    await deliver(lmtp, 'writer@example.com', ['refused@example.com'], Buffer.from(message))
    lmtp.close()
    const folders = (await service.call('GET', `/users/${user}/mailboxes`)).body.results
    const inbox = folders.find(({ path }: { path: string }) => path === 'INBOX').id
    const list = () => service.call('GET', `/users/${user}/mailboxes/${inbox}/messages`)
    await expect.poll(async () => (await list()).body.total).toBe(2)
    const report = await (await service.raw('GET', `/users/${user}/mailboxes/${inbox}/messages/2/message.eml`)).text()
    sink.recipient = () => undefined
    expect(logins).toContain('me:Report-5ecret')
    expect(report).toContain('Final-Recipient: rfc822; refused@example.com\r\n')
    for (const secret of ['Report-5ecret', '$wd01$', String(sink.port)]) expect(report).not.toContain(secret)
  })

  test('two webhooks of one URL are one endpoint', async () => {
    const url = `http://same:${passwords.hook}@${base}/same`
    const ids: string[] = []
    for (let n = 0; n < 2; n++) ids.push((await service.call('POST', '/webhooks', { type: ['x.y'], url })).body.id)
    const { read } = service.teal.core
    expect(await read.one('SELECT count(DISTINCT endpoint) AS n FROM webhook WHERE id IN (?, ?)', ...ids)).toEqual({
      n: 1,
    })
    for (const id of ids) await service.call('DELETE', `/webhooks/${id}`)
  })
})

test('what an earlier version stored in clear is sealed at the next start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'teal-clear-urls-'))
  const clear = 'smtp://me:Clear-5ecret@relay.test'
  const first = await startTeal({ ...local, dataDir: folder })
  const running = accessTo(() => first)
  const user = await running.user('old', { mtaRelay: 'smtp://relay.test', targets: ['smtp://relay.test'] })
  const action = { targets: ['smtp://relay.test'] }
  await running.call('POST', `/users/${user}/filters`, { query: { from: 'a' }, action })
  await running.call('POST', '/addresses/forwarded', { address: 'old-on@example.com', targets: ['smtp://relay.test'] })
  for (const path of ['/a', '/b'])
    await running.call('POST', '/webhooks', { type: ['x.y'], url: `https://hook.test${path}` })
  await running.call('POST', `/users/${user}/submit`, {
    to: [{ address: 'x@y.test' }],
    text: 'x',
    sendTime: new Date(2_000_000_000_000).toISOString(),
  })
  await first.close()
  const handle = openForWriting(databaseFile(folder))
  for (const [table, column] of [
    ['user', 'options'],
    ['filter', 'action'],
    ['address', 'forward'],
    ['outbound', 'options'],
  ]) {
    handle.exec(`UPDATE "${table}" SET ${column} = replace(${column}, 'smtp://relay.test', '${clear}')`)
  }
  // Two spellings of one URL.
  handle.exec(`UPDATE endpoint SET url = 'https://me:Clear-5ecret@hook.test' WHERE url LIKE '%/a'`)
  handle.exec(`UPDATE endpoint SET url = 'https://me:Clear-5ecret@hook.test/' WHERE url LIKE '%/b'`)
  handle.exec("DELETE FROM meta WHERE key = 'urls.sealed'")
  handle.pragma('wal_checkpoint(TRUNCATE)')
  handle.close()
  expect(holding(folder, ['Clear-5ecret'])).toEqual(['teal.db'])

  const second = await startTeal({ ...local, dataDir: folder }, { strict: true })
  const { call } = accessTo(() => second)
  expect((await call('GET', `/users/${user}`)).body.mtaRelay).toBe('smtp://me:***@relay.test')
  const hooks = (await call('GET', '/webhooks')).body.results.map(({ url }: { url: string }) => url)
  expect(hooks).toEqual(['https://me:***@hook.test/', 'https://me:***@hook.test/'])
  expect(second.core.webhooks.subscriptions.all.map(({ url }) => url)).toEqual(
    Array(2).fill('https://me:Clear-5ecret@hook.test/'),
  )
  const { secrets } = second.core.system
  const queued = await second.core.read.one<{ relay: string }>("SELECT options ->> '$.relay' AS relay FROM outbound")
  expect(await secrets.open(queued?.relay ?? '')).toBe(clear)
  expect(await second.check()).toEqual([])
  await second.close()
  expect(holding(folder, ['Clear-5ecret'])).toEqual([])

  // The checker says so where one comes back, and the key that they are sealed with is missed.
  const later = openForWriting(databaseFile(folder))
  later.exec(`UPDATE "user" SET options = json_set(options, '$.mtaRelay', '${clear}')`)
  later.close()
  const third = await startTeal({ ...local, dataDir: folder })
  expect((await third.check()).join()).toContain('the passwords of relays, targets and webhooks are sealed')
  await third.close()
  rmSync(join(folder, 'keys', 'seal'))
  await expect(startTeal({ ...local, dataDir: folder })).rejects.toMatchObject({ code: 'DataMissing' })
  rmSync(folder, { recursive: true, force: true })
})
