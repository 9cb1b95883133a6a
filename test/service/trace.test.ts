// What stands on top of mail that came in (RFC 5321 4.4, RFC 8601), and what is shown of how it came.

import { expect, test } from 'vitest'
import { shownMessageId } from '#store/mailboxes/outlines.ts'
import { Dialogue, deliver, openLmtp, stuffed } from '../dialogue.ts'
import { Client } from '../imap/client.ts'
import { Wire } from '../net/wire.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ hostname: 'mx.teal.test', auth: { cleartext: 'always' } })
let count = 0

async function account(): Promise<{ id: string; address: string; name: string; messages: string }> {
  const name = `trace${++count}`
  const id = await service.user(name)
  const { body } = await service.call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)
  return { id, name, address: `${name}@example.com`, messages: `/users/${id}/mailboxes/${body.id}/messages` }
}

async function newest(messages: string) {
  const [{ id }] = (await service.call('GET', messages)).body.results
  const source = await (await service.raw('GET', `${messages}/${id}/message.eml`)).text()
  return { source, ...(await service.call('GET', `${messages}/${id}`)).body }
}

const mail = (head = '') => Buffer.from(`${head}From: a@example.net\r\nSubject: x${++count}\r\n\r\nHello.\r\n`)
const stamp = '\\w{3}, \\d\\d? \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d \\+0000'

async function overSmtp(to: readonly string[], bytes: Buffer, { hello = 'EHLO out.example.net', more = '' } = {}) {
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask(hello)
  await smtp.ask(`MAIL FROM:<b@example.net>${more}`)
  for (const one of to) await smtp.ask(`RCPT TO:<${one}>`)
  await smtp.ask('DATA')
  smtp.send(stuffed(bytes))
  const reply = await smtp.reply()
  smtp.close()
  return reply
}

test('SMTP: results, then Received with who brought it and for whom, below Return-Path', async () => {
  const { address, messages } = await account()
  const sent = mail()
  const reply = await overSmtp([address], sent)
  const shown = await newest(messages)
  const id = /Stored as (\S+)/.exec(reply)?.[1]
  expect(shown.source).toMatch(
    new RegExp(
      `^Delivered-To: ${address}\\r\\nReturn-Path: <b@example\\.net>\\r\\n` +
        'Authentication-Results: mx\\.teal\\.test; none\\r\\n' +
        'Received: from out\\.example\\.net \\(\\[127\\.0\\.0\\.1\\]\\)\\r\\n' +
        `\\tby mx\\.teal\\.test with ESMTP id ${id}\\r\\n\\tfor <${address}>;\\r\\n\\t${stamp}\\r\\n`,
    ),
  )
  expect(shown.source.endsWith(sent.toString())).toBe(true)
  expect(shown.size).toBe(Buffer.byteLength(shown.source))
  expect(shown.transport).toEqual({
    ...{ origin: '127.0.0.1', transhost: 'out.example.net', transtype: 'ESMTP' },
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  })
  expect(shown.verificationResults).toEqual({ tls: false })
})

test('several recipients are not told of each other', async () => {
  const [one, two] = [await account(), await account()]
  await overSmtp([one.address, two.address], mail())
  for (const { messages } of [one, two]) expect((await newest(messages)).source).not.toMatch(/\tfor </)
})

test('a name that is none gives way to the address; UTF-8 and HELO have protocol names of their own', async () => {
  const { address, messages } = await account()
  await overSmtp([address], mail(), { hello: 'EHLO (evil);for', more: ' SMTPUTF8' })
  const shown = await newest(messages)
  expect(shown.source).toContain('Received: from [127.0.0.1] ([127.0.0.1])\r\n\tby mx.teal.test with UTF8SMTP id ')
  expect(shown.transport.transhost).toBe('(evil);for')
  await overSmtp([address], mail(), { hello: 'HELO old' })
  expect((await newest(messages)).source).toContain(' with SMTP id ')
})

test('TLS is said by version, and its cipher in a clause of its own (RFC 8314)', async () => {
  const { address, messages } = await account()
  const wire = await Wire.open(service.at('smtp'))
  await wire.reply()
  for (const command of ['EHLO x', 'STARTTLS']) await wire.ask(command)
  await wire.startTls()
  for (const command of ['EHLO x', 'MAIL FROM:<>', `RCPT TO:<${address}>`, 'DATA']) await wire.ask(command)
  expect(await wire.ask(`${mail()}.`)).toMatch(/^250/)
  wire.close()
  const shown = await newest(messages)
  expect(shown.source).toMatch(/with ESMTPS \(TLSv1\.3\) id \S+\r\n\tfor <\S+>\r\n\ttls TLS_[A-Z0-9_]+;\r\n\t\w{3}, /)
  expect(shown.verificationResults.tls).toEqual({ version: 'TLSv1.3', name: expect.stringMatching(/^TLS_/) })
})

test('LMTP: Received alone; what the host before it says in our name stays', async () => {
  const { address, messages } = await account()
  const lmtp = await openLmtp(service.at('lmtp'))
  const results = 'Authentication-Results: mx.teal.test; spf=pass\r\n'
  await deliver(lmtp, 'b@example.net', [address], mail(results))
  lmtp.close()
  const { source } = await newest(messages)
  expect(source).toMatch(
    /Return-Path: <\S+>\r\nReceived: from test \(\[127\.0\.0\.1\]\)\r\n\tby mx\.teal\.test with LMTP /,
  )
  expect(source).toContain(results)
})

test('nobody speaks in our name, however he spells it', async () => {
  const { address, messages } = await account()
  const forged = [
    'Authentication-Results: mx.teal.test; dkim=pass\r\n',
    'AUTHENTICATION-RESULTS :\r\n (a comment)\r\n\t"MX.teal.test" 1;\r\n dkim=pass\r\n',
    'X-Note: y\rAuthentication-Results: mx.teal.test. ; dkim=pass\r\n',
    'Authentication-Results: ((nested) comment) mx.teal.test; dkim=pass\r\n',
    'Authentication-Results: (\\) quoted \\() mx.teal.test; dkim=pass\r\n',
    'Authentication-Results: (;) "mx\\.teal.test"; dkim=pass\r\n',
    'Authentication-Results: (open mx.teal.test; dkim=pass\r\n',
    'Authentication-Results: =?utf-8?q?mx=2Eteal.test?=; dkim=pass\r\n',
    'Authentication-Results: mx。teal．test; dkim=pass\r\n',
    'Authentication-Results: mx.teal.test(x)1;dkim=pass\r\n',
    `Authentication-Results: (${'x'.repeat(5000)})\r\n ${' '.repeat(900)}\r\n mx.teal.test; dkim=pass\r\n`,
    'Authentication-Results\r\n : mx.teal.test; dkim=pass\r\n',
    'WD-Mail-Classification: not-junk\r\n',
  ]
  const kept =
    'Authentication-Results: other.example (not mxx.teal.test); dkim=fail reason="mx.teal.test"\r\nX-Kept: mx.teal.test\r\n'
  await overSmtp([address], mail(`${forged.join('')}${kept}`))
  const { source, subject } = await newest(messages)
  expect(source).not.toMatch(/dkim=pass|not-junk/)
  expect(source).toContain(`X-Note: y\r\r\n${kept}`)
  expect(source.match(/^Authentication-Results/gim)).toHaveLength(2)
  expect(subject).toMatch(/^x\d+$/)
})

test('submission says how, but neither where its author is nor who else got it', async () => {
  const [one, two] = [await account(), await account()]
  const wire = await Dialogue.open(service.at('submission'))
  await wire.reply()
  await wire.ask('EHLO laptop.home')
  await wire.ask(`AUTH PLAIN ${Buffer.from(`\0${one.name}\0secret of ${one.name}`).toString('base64')}`)
  for (const line of [`MAIL FROM:<${one.address}>`, `RCPT TO:<${two.address}>`, 'DATA']) await wire.ask(line)
  wire.send(stuffed(Buffer.from(`From: ${one.address}\r\nSubject: mine\r\n\r\nHello.\r\n`)))
  expect(await wire.reply()).toMatch(/^250/)
  wire.close()
  const shown = await newest(two.messages)
  expect(shown.source).toMatch(new RegExp(`Received: by mx\\.teal\\.test with ESMTPA id \\S+;\\r\\n\\t${stamp}\\r\\n`))
  expect(shown.source).not.toMatch(/laptop\.home|127\.0\.0\.1/)
  expect(shown.transport).toEqual({ transtype: 'ESMTPA', time: expect.any(String) })
})

test('a mail without Date and Message-ID has both wherever it is shown, and neither in its bytes', async () => {
  const { id, name, address, messages } = await account()
  for (const date of ['', 'Date: some day\r\n']) {
    await overSmtp([address], mail(date))
    const shown = await newest(messages)
    expect(shown.date).toBe(shown.idate)
    expect(shown.messageId).toMatch(/^<[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}@mx\.teal\.test>$/)
    const [row] = (await service.call('GET', messages)).body.results
    const [found] = (await service.call('GET', `/users/${id}/search?query=${shown.subject}`)).body.results
    for (const one of [row, found]) expect(one).toMatchObject({ date: shown.idate, messageId: shown.messageId })
    expect(shown.source).not.toContain(shown.messageId)
    expect((await newest(messages)).messageId).toBe(shown.messageId)
    // An answer belongs to the thread of what it answers.
    await overSmtp([address], mail(`In-Reply-To: ${shown.messageId}\r\nMessage-ID: <answer${count}@x>\r\n`))
    expect((await newest(messages)).thread).toBe(shown.thread)
  }
  const imap = await Client.login(service.at('imap'), name, 'INBOX')
  const envelopes = await imap.ok('FETCH 1 ENVELOPE')
  expect(envelopes.join('')).toMatch(/ENVELOPE \(NIL .* NIL\)\)/)
  imap.close()
  const uid = (await service.call('GET', messages)).body.results.at(-1).id
  const before = (await service.call('GET', `${messages}/${uid}`)).body
  expect((await service.call('DELETE', `${messages}/${uid}`)).status).toBe(200)
  const [archived] = (await service.call('GET', `/users/${id}/archived/messages`)).body.results
  expect(archived).toMatchObject({ date: before.idate, messageId: before.messageId })
})

test('a row from before Message-IDs were made shows one that stays', () => {
  const one = shownMessageId({ messageId: '' }, 7)
  expect(one).toMatch(/^<[0-9a-f-]{36}@message\.invalid>$/)
  expect(shownMessageId({ messageId: '' }, 7)).toBe(one)
  expect(shownMessageId({ messageId: '' }, 8)).not.toBe(one)
  expect(shownMessageId({ messageId: '<a@b>' }, 8)).toBe('<a@b>')
})
