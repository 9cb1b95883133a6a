// What strangers say to the service and an admin or an owner then reads: answers of mail servers and of receivers of webhooks, names that
// clients give, Message-IDs, names of files. Nothing of it runs or turns the page round, and the page stays of use.

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Dialogue, deliver } from '../../dialogue.ts'
import { account } from '../../http/api/mail-world.ts'
import { type Sink, startSink } from '../../jobs/mail-sink.ts'
import { startNameServer } from '../../net/name-server.ts'
import { look, settled, usePage } from './page.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-strangers-'))
const relay: Sink = await startSink()
const dns = await startNameServer()
const pages = usePage({
  log: { level: 'debug', file: join(folder, 'log') },
  outbound: { relay: relay.url },
  network: { dnsServers: dns.address, allowPrivate: ['127.0.0.0/8'] },
})
const { service } = pages
const { call } = service

/** Turns round what follows it, and does not end. */
const turned = '\u202e'
const tags = '<img src=x onerror=window.owned=1><script>window.owned=1</script>'
const evil = `"'>${tags}${turned}gnp.exe`
const token = () => service.teal.rootToken

/** Speaks HTTP as badly as the path of the request says. */
const receiver = createServer(socket => {
  socket.on('error', () => {})
  socket.once('data', chunk => {
    const path = /^POST \/(\w+)/.exec(chunk.toString())?.[1] ?? ''
    const answers: Record<string, string> = {
      line: `HTTP/1.1 500 ${evil}\r\nX-Note: ${tags}\r\nContent-Length: 0\r\n\r\n`,
      body: `HTTP/1.1 500 Bad\r\nContent-Type: text/html\r\nContent-Length: 1048576\r\n\r\n${tags.padEnd(1_048_576, 'x')}`,
      away: `HTTP/1.1 302 Found\r\nLocation: javascript:window.owned=1\r\nContent-Length: 0\r\n\r\n`,
      number: `HTTP/1.1 999${'9'.repeat(50)} ${tags}\r\n\r\n`,
      none: `${evil}\r\n\r\n`,
    }
    socket.end(answers[path] ?? '')
  })
})

beforeAll(async () => {
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  receiver.close()
  await relay.close()
  await dns.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Nothing ran, nothing is too wide, and nothing is left that turns text round or that is no text. */
async function harmless(page: Page): Promise<void> {
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 })
    const over = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(over, `${page.url()} at ${width}`).toBeLessThanOrEqual(0)
  }
  const shown = await page.locator('main').evaluate(main => (main as unknown as { innerText: string }).innerText)
  expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]|\[object|undefined|NaN/)
  expect(await page.locator('main img[src=x], main script').count()).toBe(0)
  expect(await page.evaluate('window.owned')).toBeUndefined()
}

test('what receivers of webhooks answer leaves a word and a number, whatever it is', async () => {
  const base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const hooks: string[] = []
  for (const path of ['line', 'body', 'away', 'number', 'none']) {
    const made = await call('POST', '/webhooks', {
      type: ['user.created'],
      url: `${base}/${path}?a=${encodeURIComponent(tags)}`,
    })
    expect(made.body).toMatchObject({ success: true })
    hooks.push(made.body.id)
  }
  await service.user('announced')
  const page = await pages.visit('/app/service/webhooks', { token: token() })
  await harmless(page)
  for (const hook of hooks) {
    await expect
      .poll(async () => (await call('GET', `/webhooks/${hook}/deliveries`)).body.results[0]?.failure, {
        timeout: 20_000,
      })
      .toMatch(/^[\w -]+$/)
    await settled(page, `/app/service/webhooks/${hook}`)
    const row = page.getByRole('row').filter({ hasText: 'user.created' })
    await row.getByText('is retried').waitFor()
    expect(await row.textContent()).not.toMatch(/[<>]|xxx/)
    await harmless(page)
  }
  await look(page)
})

test('what a mail server answers is text in the queue and on the way of a message', async () => {
  relay.recipient = () => ({ code: 451, text: `4.3.0 ${evil} ${'W'.repeat(400)}` })
  const user = await account(service, 'sender')
  const sent = await user.call('POST', '/submit', { to: [{ address: 'ben@far.example' }], subject: evil, text: 'x' })
  expect(sent.body.success).toBe(true)
  const queueId: string = sent.body.queueId ?? sent.body.message?.queueId
  await expect
    .poll(async () => (await call('GET', '/outbound/messages')).body.results[0]?.response ?? '', { timeout: 20_000 })
    .toContain('onerror')
  const page = await pages.visit('/app/service/queue', { token: token() })
  await page.getByRole('cell').filter({ hasText: '<script>window.owned=1</script>' }).waitFor()
  await harmless(page)
  await look(page)
  await settled(page, `/app/service/queue/${queueId}`)
  await page.getByRole('cell').filter({ hasText: '<script>window.owned=1</script>' }).first().waitFor()
  await harmless(page)
  await look(page)
})

test('names that clients give, Message-IDs and what filters are called are text on the way of a message and in the log', async () => {
  const user = await account(service, 'reader')
  const filter = { name: evil, query: { subject: 'hostile' }, action: { seen: true } }
  expect((await user.call('POST', '/filters', filter)).body.success).toBe(true)
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask(`EHLO [${tags}]`)
  if (!(await smtp.ask(`EHLO ${tags}`)).startsWith('250')) await smtp.ask('EHLO stranger.example')
  const id = `<${tags.replaceAll(' ', '/')}@evil.example>`
  const from = '"<script>window.owned=1</script>"@evil.example'
  const text = `From: ${evil} <a@evil.example>\r\nSubject: hostile\r\nMessage-ID: ${id}\r\nUser-Agent: ${evil}\r\n\r\nx\r\n`
  const [reply] = await deliver(smtp, from, ['reader@example.com'], Buffer.from(text))
  expect(reply).toMatch(/^250/)
  smtp.close()
  // As it was read: up to the first bracket that closes.
  const { messageId } = (await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/1`)).body
  expect(messageId).toContain('onerror')
  const page = await pages.visit('/app/service/trace', { token: token() })
  await page.getByLabel('Message-ID, or id in the queue').fill(messageId)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'How it came' }).waitFor()
  await harmless(page)
  await look(page)
  await settled(page, '/app/service/log')
  await page.getByLabel('At least').selectOption('debug')
  await page.getByRole('searchbox').fill('evil.example')
  await page.getByRole('row').filter({ hasText: 'evil.example' }).first().waitFor()
  await harmless(page)
})

test('what a browser calls itself and what a program says at its login are text in the log of an account', async () => {
  const id = await service.user('watchful')
  const agent = `Mozilla/5.0 ${tags}`
  const headers = { 'x-teal-page': '1', origin: pages.origin, 'content-type': 'application/json', 'user-agent': agent }
  const body = JSON.stringify({ username: 'watchful', password: 'secret of watchful' })
  expect((await fetch(`${pages.origin}/session`, { method: 'POST', headers, body })).status).toBe(200)
  const claims = { username: 'watchful', protocol: evil, appId: evil, scope: 'imap', sess: 'x', ip: '127.0.0.1' }
  await call('POST', '/authenticate', { ...claims, password: 'wrong' })
  await call('POST', '/authenticate', { username: evil, password: 'wrong' })
  const made = await call('POST', `/users/${id}/asps`, { description: evil, scopes: ['imap'] })
  expect(made.body.success).toBe(true)
  const own = await pages.visit('/app/account/activity', { as: 'watchful' })
  await own.getByRole('table', { name: 'Log' }).waitFor()
  await harmless(own)
  await look(own)
  const page = await pages.visit(`/app/service/users/${id}`, { token: token() })
  await page.getByRole('table', { name: 'What happened around logins' }).waitFor()
  await harmless(page)
  await look(page)
})

test('a file of five gigabytes with a name that pretends another is refused or stopped, and the page goes on', async () => {
  const user = await account(service, 'hauler')
  const page = await pages.visit('/app/account/data', { as: 'hauler' })
  const input = page.getByLabel('Files', { exact: true })
  const nothing = join(folder, `${tags.replaceAll('/', ':')}${turned}xobm.exe`)
  writeFileSync(nothing, '')
  truncateSync(nothing, 5 * 1024 ** 3)
  await input.setInputFiles(nothing)
  await page.locator('.notice', { hasText: 'This is no mail' }).waitFor()
  await harmless(page)

  const mail = join(folder, `${turned}lme.${tags.replaceAll('/', ':')}.mbox`)
  writeFileSync(mail, 'From a@b Mon Nov 23 10:00:00 2026\nSubject: Endless\n\n')
  truncateSync(mail, 5 * 1024 ** 3)
  pages.expectErrors('net::ERR', 'status of')
  await input.setInputFiles(mail)
  const stop = page.getByRole('button', { name: 'Stop' })
  await stop.click()
  await stop.waitFor({ state: 'detached' })
  await expect.poll(() => input.isEnabled()).toBe(true)
  await harmless(page)
  expect((await user.call('GET', `/mailboxes/${user.box('INBOX')}`)).body.total).toBe(0)
})

test('names of domains and accounts that pretend, turn round or are far too long are shown as what they are, and break no page', async () => {
  const long = [63, 63, 63, 57]
    .map((length, at) => 'abcd'.charAt(at).repeat(length))
    .join('.')
    .concat('.de')
  // As Latin letters look, from the right, with a sign between letters, and as programs write it.
  const names = ['раураl.example', 'שלום.example', 'موقع.شبكة', 'xn--pple-43d.example', long]
  for (const name of names) {
    const made = await call('POST', '/domains', { name, description: evil, tags: [tags, `a${turned}b`] })
    expect(made.body, name).toMatchObject({ success: true })
    await call('PUT', `/domains/${encodeURIComponent(name)}`, { disabled: true, disabledReason: evil })
  }
  const shown: Readonly<Record<string, string>> = {
    'раураl.example': 'xn--l-7sba6dbr.example',
    'שלום.example': 'xn--9dbne9b.example',
    'аpple.example': 'xn--pple-43d.example',
  }
  await call('POST', '/domainaliases', { alias: `alias.${'e'.repeat(63)}.${'f'.repeat(63)}.example`, domain: names[0] })
  const address = `${'x'.repeat(64)}@${long}`
  const id = await service.user('pretends', { address, name: `admin@example.com ${evil} ${'W'.repeat(60)}` })
  await call('POST', `/users/${id}/addresses`, { address: 'security@раураl.example', name: evil })

  const page = await pages.visit('/app/service/domains', { token: token() })
  for (const [name, plain] of Object.entries(shown)) {
    const row = page.getByRole('row').filter({ hasText: name })
    await row.getByText(plain, { exact: true }).waitFor()
  }
  await harmless(page)
  await look(page)
  for (const name of ['раураl.example', long]) {
    await settled(page, `/app/service/domains/${encodeURIComponent(name)}`)
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await page.getByText('<script>window.owned=1</script>', { exact: false }).first().waitFor()
    await harmless(page)
    await look(page)
  }
  for (const [path, text] of [
    ['/app/service/users', 'pretends'],
    [`/app/service/users/${id}`, 'xn--l-7sba6dbr.example'],
    ['/app/service/addresses', 'xn--l-7sba6dbr.example'],
  ] as const) {
    await settled(page, path)
    await page.getByText(text).first().waitFor()
    await harmless(page)
    await look(page)
  }
  const arabic = await pages.visit('/app/service/domains', { token: token(), locale: 'ar' })
  await arabic.getByText('xn--9dbne9b.example', { exact: true }).waitFor()
  await harmless(arabic)
})
