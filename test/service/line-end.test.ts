// Line ends over the wire: CR LF for every line feed, whichever handle a mail came through, and nothing else changed.

import { expect, test } from 'vitest'
import { prepare } from '#actors/delivery/prepare.ts'
import { appendMessage } from '#actors/mailbox/append.ts'
import { limits } from '#lib/limits.ts'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { append, Client } from '../imap/client.ts'
import { useTeal } from '../running.ts'

const service = useTeal()
let count = 0

const lf = 'From: a@example.net\nSubject: lines\n\tof old\n\none\n.\n..two\r\nthree\rfour\r\r\n\nlast\n'
const crlf =
  'From: a@example.net\r\nSubject: lines\r\n\tof old\r\n\r\none\r\n.\r\n..two\r\nthree\rfour\r\r\n\r\nlast\r\n'

interface Account {
  readonly name: string
  readonly id: string
  readonly inbox: string
}

async function account(): Promise<Account> {
  const name = `lines${++count}`
  const id = await service.user(name)
  return { name, id, inbox: (await service.call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body.id }
}

/** The newest message as it is stored, what came on top of it left out. */
async function stored({ id, inbox }: Account): Promise<string> {
  const { results } = (await service.call('GET', `/users/${id}/mailboxes/${inbox}/messages`)).body
  const uid = results[0].id
  const answer = await service.raw('GET', `/users/${id}/mailboxes/${inbox}/messages/${uid}/message.eml`)
  const text = Buffer.from(await answer.arrayBuffer()).toString('latin1')
  expect(text).toHaveLength(results[0].size)
  return text.slice(text.indexOf('From: a@'))
}

async function overSmtp(service_: 'smtp' | 'lmtp', { name }: Account, message: string, bdat: boolean): Promise<string> {
  const wire = await Dialogue.open(service.at(service_))
  await wire.reply()
  await wire.ask(service_ === 'lmtp' ? 'LHLO x' : 'EHLO x')
  await wire.ask('MAIL FROM:<b@example.net>')
  await wire.ask(`RCPT TO:<${name}@example.com>`)
  if (bdat) wire.send(`BDAT ${message.length} LAST\r\n${message}`)
  else {
    await wire.ask('DATA')
    wire.send(message)
  }
  const reply = await wire.reply()
  wire.close()
  return reply
}

async function overHttp(user: Account, message: string): Promise<number> {
  const path = `/users/${user.id}/mailboxes/${user.inbox}/messages`
  const headers = { 'content-type': 'message/rfc822' }
  return (await service.raw('POST', path, { headers, body: Buffer.from(message, 'latin1') })).status
}

async function overImap({ name }: Account, message: string): Promise<void> {
  const imap = await Client.login(service.at('imap'), name)
  await imap.ok(append('INBOX', message))
  imap.close()
}

test('bare line feeds become CR LF at every door; a bare CR is no line end and stays', async () => {
  const user = await account()
  expect(await overHttp(user, lf)).toBe(200)
  expect(await stored(user)).toBe(crlf)
  const raw = { raw: lf }
  expect((await service.call('POST', `/users/${user.id}/mailboxes/${user.inbox}/messages`, raw)).status).toBe(200)
  expect(await stored(user)).toBe(crlf)
  await overImap(user, lf)
  expect(await stored(user)).toBe(crlf)
  for (const handle of ['smtp', 'lmtp'] as const) {
    expect(await overSmtp(handle, user, lf, true)).toMatch(/^250/)
    expect(await stored(user)).toBe(crlf)
    // A lone dot between bare line feeds ends nothing, and what carries one is refused (RFC 5321 4.1.1.4).
    expect(await overSmtp(handle, user, `${lf}\r\n.\r\n`, false)).toMatch(/^5/)
    expect(await overSmtp(handle, user, `${lf.replace('.\n.', '')}\r\n.\r\n`, false)).toMatch(/^250/)
    expect(await stored(user)).toBe(`${crlf.replace('.\r\n.', '')}\r\n`)
  }
})

test('a POP3 answer ends, and has the size that was said', async () => {
  const user = await account()
  expect(await overHttp(user, lf)).toBe(200)
  const pop = await Dialogue.open(service.at('pop3'))
  await pop.line()
  for (const line of [`USER ${user.name}`, `PASS secret of ${user.name}`]) {
    pop.send(`${line}\r\n`)
    expect(await pop.line()).toMatch(/^\+OK/)
  }
  pop.send('LIST 1\r\n')
  expect(await pop.line()).toBe(`+OK 1 ${crlf.length}`)
  pop.send('RETR 1\r\n')
  expect(await pop.line()).toMatch(/^\+OK/)
  const lines: string[] = []
  for (let line = await pop.line(); line !== '.'; line = await pop.line()) lines.push(line)
  expect(lines.at(-1)).toBe('last')
  expect(lines).toContain('..')
  pop.close()
})

const binary = Buffer.from([0x25, 0x0a, 0x0a, 0x0d, 0x01, 0x0d, 0x0a, 0x0a]).toString('latin1')
const mixed = (end: string, bytes: string) =>
  `From: a@example.net\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\nof lines\n--b\n${'Content-Type: application/octet-stream\nContent-Transfer-Encoding: BINARY\n\n'}!\n--b\nContent-Type: text/plain\n\nmore\n--b--\n`
    .replaceAll('\n', end)
    .replace('!', bytes)

test('bytes of a binary part stay, around it lines end in CR LF; on the wire of POP3 all do', async () => {
  const user = await account()
  await overImap(user, mixed('\n', binary).slice(0))
  expect(await stored(user)).toBe(mixed('\r\n', binary))
  expect(await overSmtp('smtp', user, mixed('\n', binary), true)).toMatch(/^250/)
  expect(await stored(user)).toBe(mixed('\r\n', binary))
})

test('a large message is put right, too, wherever its pieces begin', async () => {
  const user = await account()
  const filler = 'x'.repeat(70)
  const text = (end: string) => `From: a@example.net${end}${end}${(filler + end).repeat(40_000)}`
  expect(text('\n').length).toBeGreaterThan(2 * limits.body.spillBytes)
  expect(await overHttp(user, text('\n'))).toBe(200)
  expect((await stored(user)) === text('\r\n')).toBe(true)
  const bytes = `${binary}${'\n'.repeat(2 * limits.body.chunkBytes)}${'z'.repeat(limits.body.spillBytes)}`
  expect(await overHttp(user, mixed('\n', bytes))).toBe(200)
  expect((await stored(user)) === mixed('\r\n', bytes)).toBe(true)
})

test('a signature over CR LF holds for a mail that comes with line feeds: the signed part is the same', async () => {
  const user = await account()
  const signed = (end: string) =>
    `From: a@example.net\nContent-Type: multipart/signed; boundary=s\n\n--s\nContent-Type: text/plain\n\nsigned\n--s\nContent-Type: application/pgp-signature\n\nsig\n--s--\n`.replaceAll(
      '\n',
      end,
    )
  expect(await overHttp(user, signed('\n'))).toBe(200)
  expect(await stored(user)).toBe(signed('\r\n'))
})

test('what was stored with bare line feeds long ago is read over POP3 to its end, and as it is over IMAP', async () => {
  const user = await account()
  const { core } = service.teal
  const intake = core.bodies.intakeExact(1000)
  await intake.write(Buffer.from(lf))
  const received = await intake.finish()
  const prepared = await prepare(received, core.sequence)
  const rest = { flags: 0, keywords: [], meta: { source: 'api' }, once: false, limited: false }
  await core.system.handle(user.id).run(appendMessage, { prepared, to: 'INBOX', prefix: '', ...rest })
  await received.discard()
  expect(await stored(user)).toBe(lf)
  const pop = await Dialogue.open(service.at('pop3'))
  pop.send(`USER ${user.name}\r\nPASS secret of ${user.name}\r\nRETR 1\r\nQUIT\r\n`)
  const lines: string[] = []
  for (let line = await pop.line(); line !== '.'; line = await pop.line()) lines.push(line)
  expect(lines.at(-1)).toBe('last')
  expect(await pop.line()).toMatch(/^\+OK/)
  pop.close()
  const imap = await Client.login(service.at('imap'), user.name, 'INBOX')
  const answer = await imap.ok('FETCH 1 (RFC822.SIZE BODY.PEEK[])')
  expect(answer.join('\n')).toContain(`RFC822.SIZE ${lf.length}`)
  imap.close()
})

test('a file of an account keeps every byte', async () => {
  const user = await account()
  const headers = { 'content-type': 'application/octet-stream' }
  const answer = await service.raw('POST', `/users/${user.id}/storage?filename=a.txt`, { headers, body: lf })
  const { id } = JSON.parse(await answer.text())
  const back = await service.raw('GET', `/users/${user.id}/storage/${id}`)
  expect(Buffer.from(await back.arrayBuffer()).toString()).toBe(lf)
})

test('mail of no bytes, of a header alone, and of one long line', async () => {
  const user = await account()
  const lmtp = await openLmtp(service.at('lmtp'))
  for (const one of [
    '',
    'From: a@example.net',
    'From: a@example.net\r\n',
    '\r\n',
    `From: a@x\r\n\r\n${'y'.repeat(1e7)}`,
  ]) {
    const replies = await deliver(lmtp, '', [`${user.name}@example.com`], Buffer.from(one))
    expect(replies).toEqual([expect.stringMatching(/^250/)])
  }
  lmtp.close()
  const { body } = await service.call('GET', `/users/${user.id}/mailboxes/${user.inbox}/messages`)
  expect(body.total).toBe(5)
})
