// Which of two mails are the same one, over the wire: what is dropped as a repetition, and what never is.

import { expect, test } from 'vitest'
import { openpgp } from '#lib/process/lazy.ts'
import { Dialogue, deliver, openLmtp, stuffed } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal()
let count = 0

/** Delivers each over LMTP; gives the subjects of what is there then. */
async function deliverAll(mails: readonly string[], more: Record<string, unknown> = {}): Promise<string[]> {
  const name = `same${++count}`
  const user = await service.user(name, more)
  const lmtp = await openLmtp(service.at('lmtp'))
  for (const mail of mails) {
    const replies = await deliver(lmtp, 'b@example.net', [`${name}@example.com`], Buffer.from(mail))
    expect(replies).toEqual([expect.stringMatching(/^250/)])
  }
  lmtp.close()
  return subjects(user)
}

async function subjects(user: string): Promise<string[]> {
  const { id } = (await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)).body
  const { body } = await service.call('GET', `/users/${user}/mailboxes/${id}/messages?order=asc&limit=250`)
  return body.results.map((row: { subject: string }) => row.subject)
}

const identified = 'Message-ID: <one@example.net>\r\nDate: Sat, 21 Nov 2026 10:00:00 +0100\r\n'
const disk = (share: string, head = '') =>
  `${head}From: cron@example.net\r\nSubject: disk ${share}\r\n\r\ndisk at ${share}\r\n`

test.each([
  ['both Message-ID and Date', identified],
  ['a Message-ID', 'Message-ID: <two@example.net>\r\n'],
  ['a Date', 'Date: Sat, 21 Nov 2026 10:00:00 +0100\r\n'],
  ['nothing', ''],
])('two mails of one length that share %s are both stored', async (_, head) => {
  expect(await deliverAll([disk('81%', head), disk('99%', head)])).toEqual(['disk 81%', 'disk 99%'])
})

test('a mail without Message-ID and Date that says the same again is another mail', async () => {
  expect(await deliverAll([disk('81%'), disk('81%')])).toEqual(['disk 81%', 'disk 81%'])
})

test.each([
  ['both', identified],
  ['a Message-ID', 'Message-ID: <two@example.net>\r\n'],
  ['a Date', 'Date: Sat, 21 Nov 2026 10:00:00 +0100\r\n'],
])('the same mail by another route is stored once (%s)', async (_, head) => {
  const mail = disk('81%', head)
  const trace =
    'Return-Path: <x@y.example>\r\nReceived: from a.example\r\n\tby b.example; Sat, 21 Nov 2026 10:00:01 +0100\r\n' +
    'Authentication-Results: b.example; spf=pass\r\nARC-Seal: i=1; a=rsa-sha256\r\nDKIM-Signature: v=1;\r\n\tb=abc=\r\n'
  const late = `${trace}X-Original-To: a@b.example\r\nDelivered-To: a@b.example\r\n${mail}`
  expect(await deliverAll([mail, trace + mail, late])).toEqual(['disk 81%'])
})

test('a Received field below the header, or another field, makes another mail', async () => {
  const mail = disk('81%', identified)
  const mails = [
    mail,
    `${mail}Received: from a.example\r\n`,
    `X-Note: one\r\n${mail}`,
    `resent-to: a@b.example\r\n${mail}`,
  ]
  expect(await deliverAll(mails)).toEqual(['disk 81%', 'disk 81%', 'disk 81%', 'disk 81%'])
})

test('mails that differ in an attachment alone are two; the same attachment by another route is one', async () => {
  const file = (letter: string, width = 76) => {
    const base64 = Buffer.alloc(300_000, letter).toString('base64')
    const lines = base64.replace(new RegExp(`.{1,${width}}`, 'g'), '$&\r\n')
    const type = 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nsee\r\n--b\r\n'
    return `${identified}Subject: ${letter}\r\n${type}Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}--b--\r\n`
  }
  const other = file('a', 72)
  const mails = [file('a'), file('b'), `Received: from x\r\n${file('a')}`, other, file('a')]
  expect(await deliverAll(mails)).toEqual(['a', 'b', 'a'])
})

test('a mail that came with bare line feeds is the same with CR LF', async () => {
  const mail = disk('81%', identified)
  expect(await deliverAll([mail, mail.replace(/\r\n(?!$)/g, '\n')])).toEqual(['disk 81%'])
})

test('copies that come at once, and recipients that are one account, are one mail', async () => {
  for (const head of [identified, '']) {
    const name = `once${++count}`
    const user = await service.user(name)
    for (const alias of ['x', 'y']) {
      const address = `${name}-${alias}@example.com`
      expect((await service.call('POST', `/users/${user}/addresses`, { address })).status).toBe(200)
    }
    const to = ['', '-x', '-y'].map(part => `${name}${part}@example.com`)
    const sessions = await Promise.all([1, 2, 3, 4].map(() => openLmtp(service.at('lmtp'))))
    const mails = sessions.map(lmtp => deliver(lmtp, 'b@example.net', to, Buffer.from(disk('81%', head))))
    for (const replies of await Promise.all(mails)) expect(replies.filter(reply => /^250/.test(reply))).toHaveLength(3)
    for (const lmtp of sessions) lmtp.close()
    expect(await subjects(user)).toHaveLength(head === '' ? 4 : 1)
  }
})

test('a mail that is encrypted for the account is known when it comes again', async () => {
  const { publicKey: pubKey } = await openpgp().generateKey({ userIDs: [{ name: 'Key' }], format: 'armored' })
  const mails = [disk('81%', identified), `Received: from x\r\n${disk('81%', identified)}`, disk('99%', identified)]
  expect(await deliverAll(mails, { pubKey, encryptMessages: true })).toEqual(['disk 81%', 'disk 99%'])
})

test('a mail that SMTP brings again after LMTP is known, its own trace notwithstanding', async () => {
  const name = `routes${++count}`
  const user = await service.user(name)
  const mail = Buffer.from(disk('81%', identified))
  const lmtp = await openLmtp(service.at('lmtp'))
  await deliver(lmtp, 'b@example.net', [`${name}@example.com`], mail)
  lmtp.close()
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  for (const line of ['EHLO x', 'MAIL FROM:<b@example.net>', `RCPT TO:<${name}@example.com>`, 'DATA'])
    await smtp.ask(line)
  smtp.send(stuffed(mail))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
  expect(await subjects(user)).toHaveLength(1)
})
