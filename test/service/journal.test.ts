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
