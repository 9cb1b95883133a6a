// The main job, over the wire: mail goes in over LMTP and SMTP and comes back over HTTP, byte for byte.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Header } from '#mail/header/header.ts'
import { withoutTrace } from '#mail/header/trace.ts'
import { Dialogue, deliver, openLmtp, stuffed } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal()

const message = (id: string, body = 'Hello.') =>
  Buffer.from(
    `From: "Bea" <bea@example.net>\r\nTo: anna@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n` +
      `Message-ID: <${id}@example.net>\r\nDate: Sat, 21 Nov 2026 10:00:00 +0100\r\n\r\n${body}\r\n`,
  )

async function inboxOf(user: string): Promise<string> {
  return (await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)).body.id
}

/** What is left of a message without its trace and whatever its lines ended in. */
function below(bytes: Buffer): string {
  const lines = Buffer.from(bytes.toString('latin1').replace(/(?<!\r)\n/g, '\r\n'), 'latin1')
  return Buffer.concat(withoutTrace(new Header(lines)))
    .toString('latin1')
    .trimEnd()
}

async function source(user: string, inbox: string, id: number): Promise<Buffer> {
  const response = await service.raw('GET', `/users/${user}/mailboxes/${inbox}/messages/${id}/message.eml`)
  expect(response.headers.get('content-type')).toBe('message/rfc822')
  return Buffer.from(await response.arrayBuffer())
}

test('a message over LMTP is listed, shown and given back as it came', async () => {
  const user = await service.user('anna')
  const inbox = await inboxOf(user)
  const lmtp = await openLmtp(service.at('lmtp'))
  const sent = message('first')
  expect(await deliver(lmtp, 'bea@example.net', ['an.na+label@example.com'], sent)).toEqual([
    expect.stringMatching(/^250/),
  ])
  lmtp.close()
  const { body: list } = await service.call('GET', `/users/${user}/mailboxes/${inbox}/messages`)
  expect(list).toMatchObject({
    total: 1,
    results: [{ id: 1, subject: 'Gr\u00fc\u00dfe', seen: false, intro: 'Hello.' }],
  })
  const { body: one } = await service.call('GET', `/users/${user}/mailboxes/${inbox}/messages/1?markAsSeen=true`)
  expect(one).toMatchObject({
    text: 'Hello.',
    seen: true,
    from: { name: 'Bea', address: 'bea@example.net' },
  })
  const prefix = 'Delivered-To: an.na+label@example.com\r\nReturn-Path: <bea@example.net>\r\nReceived: from test '
  const back = await source(user, inbox, 1)
  expect(back.subarray(0, prefix.length).toString()).toBe(prefix)
  expect(back.subarray(-sent.length).equals(sent)).toBe(true)
})

test('SMTP takes mail for local recipients only', async () => {
  const user = await service.user('smith')
  const smtp = await Dialogue.open(service.at('smtp'))
  expect(await smtp.reply()).toMatch(/^220/)
  expect(await smtp.ask('EHLO there')).toMatch(/^250/)
  expect(await smtp.ask('MAIL FROM:<bea@example.net>')).toMatch(/^250/)
  expect(await smtp.ask('RCPT TO:<someone@elsewhere.example>')).toMatch(/^550 5\.1\.1/)
  expect(await smtp.ask('RCPT TO:<smith@example.com>')).toMatch(/^250/)
  expect(await smtp.ask('DATA')).toMatch(/^354/)
  smtp.send(stuffed(message('smtp')))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
  const { body } = await service.call('GET', `/users/${user}/mailboxes/${await inboxOf(user)}/messages`)
  expect(body.total).toBe(1)
})

test('each recipient of one LMTP message has an answer of its own', async () => {
  const one = await service.user('one')
  await service.user('two', { quota: 1 })
  const lmtp = await openLmtp(service.at('lmtp'))
  const to = ['one@example.com', 'nobody@example.com', 'two@example.com']
  const replies = await deliver(lmtp, 'bea@example.net', to, message('many'))
  expect(replies.map(reply => reply.slice(0, 9))).toEqual([
    '250 2.0.0',
    '550 5.1.1',
    expect.stringMatching(/^(552|452) /),
  ])
  lmtp.close()
  const { body } = await service.call('GET', `/users/${one}/mailboxes/${await inboxOf(one)}/messages`)
  expect(body.total).toBe(1)
})

test('a message that comes again is not stored twice; another with its id is', async () => {
  const user = await service.user('again')
  const lmtp = await openLmtp(service.at('lmtp'))
  for (const body of ['same', 'same', 'another text']) {
    expect(await deliver(lmtp, 'b@example.net', ['again@example.com'], message('again', body))).toEqual([
      expect.stringMatching(/^250/),
    ])
  }
  lmtp.close()
  const { body } = await service.call('GET', `/users/${user}/mailboxes/${await inboxOf(user)}/messages`)
  expect(body.total).toBe(2)
})

test('answers join the thread of what they answer', async () => {
  const user = await service.user('thread')
  const lmtp = await openLmtp(service.at('lmtp'))
  const answer = Buffer.from(`In-Reply-To: <t1@example.net>\r\n${message('t2').toString()}`)
  const later = Buffer.from(`References: <t1@example.net> <t2@example.net>\r\n${message('t3').toString()}`)
  for (const one of [message('t1'), answer, later, message('other')]) {
    await deliver(lmtp, 'b@example.net', ['thread@example.com'], one)
  }
  lmtp.close()
  const path = `/users/${user}/mailboxes/${await inboxOf(user)}/messages?threadCounters=true&order=asc`
  const threads = (await service.call('GET', path)).body.results.map((row: { thread: string }) => row.thread)
  expect(new Set(threads.slice(0, 3)).size).toBe(1)
  expect(threads[3]).not.toBe(threads[0])
})

test('every message of the corpus comes back byte for byte but for bare line feeds, and its view never fails', async () => {
  const user = await service.user('corpus')
  const inbox = await inboxOf(user)
  const folder = join(import.meta.dirname, '..', 'corpus')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(file => file.name.endsWith('.eml'))
  expect(files.length).toBeGreaterThan(100)
  const prefix = 'Delivered-To: corpus@example.com\r\nReturn-Path: <b@example.net>\r\n'
  const lmtp = await openLmtp(service.at('lmtp'))
  const refused: string[] = []
  const seen = new Set<string>()
  let stored = 0
  for (const file of files) {
    const sent = readFileSync(join(file.parentPath, file.name))
    const [reply] = await deliver(lmtp, 'b@example.net', ['corpus@example.com'], sent)
    if (reply?.startsWith('250') !== true) {
      refused.push(`${file.name}: ${reply}`)
      continue
    }
    const { body: folder } = await service.call('GET', `/users/${user}/mailboxes/${inbox}`)
    if (folder.total === stored) {
      // The same message under another name: it was there already.
      expect(seen.has(below(sent)), file.name).toBe(true)
      continue
    }
    seen.add(below(sent))
    stored += 1
    const back = await source(user, inbox, stored)
    const ended = sent.toString('latin1').endsWith('\r\n') ? sent : Buffer.concat([sent, Buffer.from('\r\n')])
    const lines = Buffer.from(ended.toString('latin1').replace(/(?<!\r)\n/g, '\r\n'), 'latin1')
    const received = back.indexOf('Received: from test ')
    const top = back.indexOf('\r\n', back.indexOf(' +0000', received)) + 2
    expect(back.subarray(0, received).toString()).toBe(prefix)
    // What begins with its text has an empty line between the lines on top and itself.
    const whole = /^[!-9;-~]+[ \t]*:/m.test(ended.toString('latin1').split(/\r?\n\r?\n/, 1)[0] ?? '')
      ? lines
      : Buffer.concat([Buffer.from('\r\n'), lines])
    expect(back.subarray(top).equals(whole), file.name).toBe(true)
    const view = await service.call('GET', `/users/${user}/mailboxes/${inbox}/messages/${stored}`)
    expect(view.status, `${file.name} ${JSON.stringify(view.body).slice(0, 300)}`).toBe(200)
  }
  expect(refused).toEqual([])
  lmtp.close()
  const list = await service.call('GET', `/users/${user}/mailboxes/${inbox}/messages?limit=250&includeHeaders=true`)
  expect(list.status).toBe(200)
  expect(list.body.total).toBe(stored)
})
