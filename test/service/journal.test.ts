// What the log says of the traffic: a line for each message in, each attempt out and each failed login; nothing secret.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Dialogue, deliver, openLmtp, stuffed } from '../dialogue.ts'
import { type Body, useTeal } from '../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-journal-'))
const file = join(root, 'teal.log')
afterAll(() => rmSync(root, { recursive: true, force: true }))

const service = useTeal({
  log: { level: 'debug', file },
  smtp: { port: 0, unjudged: [], greylist: false, dnsServers: ['127.0.0.1:9'] },
  outbound: { port: 1 },
  mail: { maxSize: '1MB' },
  auth: { cleartext: 'always' },
})

function lines(event: string): Body[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
    .filter(line => line.event === event)
}

/** The lines of a kind that fit, as soon as there are so many. */
async function told(event: string, fits: (line: Body) => boolean, count = 1): Promise<Body[]> {
  await expect.poll(() => lines(event).filter(fits).length).toBe(count)
  return lines(event).filter(fits)
}

test('one line for a message says who brought it, from whom, to whom, and where it went', async () => {
  const anna = await service.user('anna')
  const ben = await service.user('ben', { targets: ['elsewhere@example.net'] })
  const lmtp = await openLmtp(service.at('lmtp'))
  const text = Buffer.from('From: x@example.org\r\nMessage-ID: <one@example.org>\r\nSubject: hush\r\n\r\nwords\r\n')
  const to = ['anna@example.com', 'nobody@example.com', 'ben@example.com']
  const replies = await deliver(lmtp, 'x@example.org', to, text)
  expect(replies.map(reply => reply.slice(0, 3))).toEqual(['250', '550', '250'])
  lmtp.close()
  const [line] = await told('message', ({ messageId }) => messageId === '<one@example.org>')
  expect(line).toMatchObject({
    ...{ level: 'info', ip: '127.0.0.1', service: 'lmtp', protocol: 'LMTP', helo: 'test', from: 'x@example.org' },
    size: text.length,
    to: [
      { address: 'anna@example.com', user: anna, action: 'stored', folder: 'INBOX' },
      { address: 'ben@example.com', user: ben, action: 'stored', folder: 'INBOX', queued: [expect.any(String)] },
    ],
  })
  expect(replies[0]).toContain(line.id)
  await told('refused', ({ to, result, ip }) => to === 'nobody@example.com' && result === 'UserNotFound' && ip !== '')
  const [attempt] = await told('attempt', ({ queueId }) => queueId === line.to[1].queued[0])
  expect(attempt).toMatchObject({ to: 'elsewhere@example.net', user: ben, attempt: 1, messageId: '<one@example.org>' })
  expect(readFileSync(file, 'utf8')).not.toMatch(/hush|words/)
})

test('a message of a stranger comes with what was found out about it', async () => {
  await service.user('cara')
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  for (const command of ['EHLO other', 'MAIL FROM:<y@example.org>', 'RCPT TO:<cara@example.com>', 'DATA']) {
    expect(await smtp.ask(command)).toMatch(/^[23]/)
  }
  smtp.send(stuffed(Buffer.from('From: y@example.org\r\nMessage-ID: <two@example.org>\r\n\r\nx\r\n')))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
  const [line] = await told('message', ({ messageId }) => messageId === '<two@example.org>')
  expect(line).toMatchObject({ service: 'smtp', spf: false, dkim: false, helo: 'other' })
})

test('a failed login has protocol and address, and neither password nor what may be one', async () => {
  const dora = await service.user('dora')
  const imap = await Dialogue.open(service.at('imap'))
  await imap.line()
  imap.send('a LOGIN dora "wrong Secret1"\r\n')
  await imap.line()
  // A password in the place of the name.
  imap.send('b LOGIN Secret2 "Secret3"\r\n')
  await imap.line()
  imap.send('c LOGIN typo@example.com "Secret4"\r\n')
  await imap.line()
  imap.send('d LOGIN dora "secret of dora"\r\n')
  await imap.line()
  imap.close()
  await service.call('POST', '/authenticate', {
    username: 'dora',
    password: 'Secret5',
    protocol: 'Web',
    ip: '192.0.2.7',
  })
  const [known, unknown, typo, web] = await told('login-failed', () => true, 4)
  expect(known).toMatchObject({ ip: '127.0.0.1', protocol: 'IMAP', name: 'dora', user: dora, result: 'AuthFailed' })
  expect(unknown).toMatchObject({ ip: '127.0.0.1', protocol: 'IMAP', result: 'AuthFailed' })
  expect(unknown).not.toHaveProperty('name')
  expect(typo).toMatchObject({ name: 'typo@example.com' })
  expect(web).toMatchObject({ ip: '192.0.2.7', protocol: 'Web', name: 'dora' })
  expect(readFileSync(file, 'utf8')).not.toMatch(/Secret\d|secret of/)
  expect(readFileSync(file, 'utf8')).not.toContain(service.teal.rootToken)
})

test('a message that is refused for its bytes is told of, however they come', async () => {
  await service.user('ella')
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO big.example')
  expect(await smtp.ask('MAIL FROM:<announced@example.org> SIZE=99999999')).toMatch(/^552/)
  const begin = async (from: string) => {
    expect(await smtp.ask(`MAIL FROM:<${from}>`)).toMatch(/^250/)
    expect(await smtp.ask('RCPT TO:<ella@example.com>')).toMatch(/^250/)
  }
  await begin('long@example.org')
  expect(await smtp.ask('DATA')).toMatch(/^354/)
  smtp.send(stuffed(Buffer.from(`Subject: hush\r\n\r\n${'secret words\r\n'.repeat(90_000)}`)))
  expect(await smtp.reply()).toMatch(/^552/)
  await begin('chunks@example.org')
  smtp.send(Buffer.concat([Buffer.from('BDAT 1200000\r\n'), Buffer.alloc(1_200_000, 'x')]))
  expect(await smtp.reply()).toMatch(/^552/)
  expect(await smtp.ask('RSET')).toMatch(/^250/)
  // Who goes away, or begins anew, was not refused.
  await begin('gone@example.org')
  smtp.send('BDAT 4\r\nabcd')
  expect(await smtp.reply()).toMatch(/^250/)
  expect(await smtp.ask('RSET')).toMatch(/^250/)
  smtp.close()
  for (const from of ['long@example.org', 'chunks@example.org']) {
    const [line] = await told('refused', one => one.from === from)
    expect(line).toMatchObject({ ip: '127.0.0.1', service: 'smtp', helo: 'big.example', result: 'MessageTooLarge' })
    expect(line).toMatchObject({ to: 'ella@example.com', size: expect.any(Number) })
    expect(line.size).toBeGreaterThan(2 ** 20)
  }
  const [announced] = await told('refused', one => one.from === 'announced@example.org')
  expect(announced).toMatchObject({ size: 99_999_999, result: 'MessageTooLarge' })
  expect(lines('refused').filter(one => one.from === 'gone@example.org')).toEqual([])
  expect(readFileSync(file, 'utf8')).not.toContain('secret words')
})

test('a message of an account that is refused for its bytes is told of', async () => {
  const fred = await service.user('fred')
  const sender = await Dialogue.open(service.at('submission'))
  await sender.reply()
  await sender.ask('EHLO laptop')
  const login = Buffer.from('\0fred\0secret of fred').toString('base64')
  expect(await sender.ask(`AUTH PLAIN ${login}`)).toMatch(/^235/)
  for (const command of ['MAIL FROM:<fred@example.com>', 'RCPT TO:<x@example.net>', 'RCPT TO:<y@example.net>']) {
    expect(await sender.ask(command)).toMatch(/^250/)
  }
  expect(await sender.ask('DATA')).toMatch(/^354/)
  sender.send(stuffed(Buffer.from(`Subject: hush\r\n\r\n${'secret words\r\n'.repeat(90_000)}`)))
  expect(await sender.reply()).toMatch(/^552/)
  sender.close()
  const [line] = await told('refused', one => one.from === 'fred@example.com')
  expect(line).toMatchObject({
    service: 'submission',
    user: fred,
    to: 'x@example.net',
    more: 1,
    result: 'MessageTooLarge',
  })
})

test('a message that is submitted over HTTP has its line, and so has one that is refused', async () => {
  const greta = await service.user('greta')
  const to = [{ address: 'x@example.net' }, { address: 'y@example.net' }]
  const letter = { to, subject: 'hush', text: 'secret words' }
  const { body } = await service.call('POST', `/users/${greta}/submit`, { ...letter, ip: '192.0.2.9' })
  const { queueId } = body.message
  const [line] = await told('message', one => one.id === queueId)
  expect(line).toMatchObject({
    ...{ ip: '192.0.2.9', service: 'api', protocol: 'HTTP', user: greta, from: 'greta@example.com' },
    ...{ size: expect.any(Number), messageId: expect.stringMatching(/^<.*>$/), msg: 'message taken' },
    to: [
      { address: 'x@example.net', action: 'queued', queued: [queueId] },
      { address: 'y@example.net', action: 'queued', queued: [queueId] },
    ],
  })
  expect((await service.call('POST', `/users/${greta}/submit`, { ...letter, to: [] })).body.code).toBe('ENORECIPIENTS')
  const refused = await told('message', one => one.user === greta && one.refused !== undefined)
  expect(refused[0]).toMatchObject({ service: 'api', refused: 'ENORECIPIENTS', msg: 'message refused' })
  const draft = await service.call('POST', `/users/${greta}/submit`, {
    ...letter,
    // The others are known by now not to exist.
    to: [{ address: 'v@example.net' }, { address: 'w@example.net' }],
    isDraft: true,
  })
  const { mailbox, id } = draft.body.message
  expect(lines('message').filter(one => one.user === greta)).toHaveLength(2)
  const sent = await service.call('POST', `/users/${greta}/mailboxes/${mailbox}/messages/${id}/submit`, {})
  expect(sent.body).toMatchObject({ queueId: expect.any(String) })
  await told('message', one => one.id === sent.body.queueId && one.to.length === 2)
  const place = `/users/${greta}/mailboxes/${sent.body.message.mailbox}/messages/${sent.body.message.id}`
  const url = 'https://someone:hidden@hook.example.net/x'
  const forwarded = await service.call('POST', `${place}/forward`, { addresses: ['z@example.net', url] })
  expect(forwarded.status).toBe(200)
  await told('message', one => one.user === greta && JSON.stringify(one.to ?? '').includes('z@example.net'))
  expect(readFileSync(file, 'utf8')).not.toMatch(/hush|secret words|hidden/)
})

test('a wrong token is a failed login, told of once for each network, without a character of it', async () => {
  const wrong = 'deadbeef'.repeat(5)
  const before = lines('login-failed').length
  for (const token of [wrong, wrong, 'no-token-at-all', wrong]) {
    expect((await service.call('GET', '/users?query=x', undefined, token)).status).toBe(403)
  }
  // None at all is no attempt.
  expect((await service.call('GET', '/users', undefined, null)).status).toBe(403)
  const told = lines('login-failed').slice(before)
  expect(told).toHaveLength(2)
  for (const line of told) {
    expect(line).toMatchObject({
      ip: '127.0.0.1',
      protocol: 'API',
      scope: 'token',
      route: '/users',
      result: 'InvalidToken',
    })
  }
  expect(readFileSync(file, 'utf8')).not.toMatch(/deadbeef|no-token-at-all/)
})

test('sessions are told at debug', async () => {
  const imap = await Dialogue.open(service.at('imap'))
  await imap.line()
  imap.close()
  const ended = ({ service, ms }: Body) => service === 'imap' && ms !== undefined
  await expect.poll(() => lines('session').filter(ended).length).toBeGreaterThan(0)
})

test('GET /healthz says yes or no without a token, and /health asks for one', async () => {
  expect(await service.call('GET', '/healthz', undefined, null)).toEqual({ status: 200, body: { success: true } })
  expect((await service.call('GET', '/health', undefined, null)).status).toBe(403)
})
