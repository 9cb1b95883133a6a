// Refusals by their names: each code of the fault table that IMAP raises, provoked over the wire.

import { beforeAll, expect, test } from 'vitest'
import { type FaultCode, faultForms } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()

beforeAll(async () => {
  await service.user('refused', { imapMaxUpload: 1_000_000 })
})

async function open(mailbox = 'INBOX'): Promise<Client> {
  return Client.login(service.at('imap'), 'refused', mailbox)
}

function expectRefusal(answer: { status: string; text: string }, code: FaultCode): void {
  const form: { imap?: string } = faultForms[code]
  expect(answer.status).toBe('NO')
  expect(answer.text).toContain(`[${form.imap}]`)
}

test('TransferLimit: more is uploaded in a day than is allowed', async () => {
  await service.user('uploader', { imapMaxUpload: 5000 })
  const client = await Client.login(service.at('imap'), 'uploader')
  expect((await client.ask(append('INBOX', mail('a', 'x'.repeat(3000))))).status).toBe('OK')
  expectRefusal(await client.ask(append('INBOX', mail('b', 'x'.repeat(3000)))), 'TransferLimit')
  expectRefusal(await client.ask('APPEND INBOX {3000}'), 'TransferLimit')
  client.close()
})

test('TransferLimit: more is downloaded', async () => {
  await service.user('downloader', { imapMaxDownload: 2000 })
  const client = await Client.login(service.at('imap'), 'downloader', 'INBOX')
  await client.ok(append('INBOX', mail('a', 'x'.repeat(3000))))
  expect((await client.ask('FETCH 1 BODY.PEEK[]')).status).toBe('OK')
  expectRefusal(await client.ask('FETCH 1 BODY.PEEK[]'), 'TransferLimit')
  expect((await client.ask('FETCH 1 FLAGS')).status).toBe('OK')
  client.close()
})

test('TransferLimit: what went out counts for who leaves in the middle of it, too', async () => {
  const size = 20_000_000
  const user = await service.user('leaver', { imapMaxDownload: 1_000_000 })
  const client = await Client.login(service.at('imap'), 'leaver', 'INBOX')
  await client.ok(append('INBOX', mail('a', `${'x'.repeat(998)}\r\n`.repeat(size / 1000))))
  client.pause()
  client.send('x FETCH 1 BODY.PEEK[TEXT]\r\n')
  const used = async () => (await service.call('GET', `/users/${user}`)).body.limits.imapDownload.used
  // The service has begun to answer, and waits for the client, by then.
  for (let count = 0; count < 20; count++) await used()
  client.close()
  await expect.poll(used).toBeGreaterThan(64 * 1024)
  expect(await used()).toBeLessThan(size)
})

test('MailboxReadOnly', async () => {
  const client = await open()
  await client.ok('EXAMINE INBOX')
  expectRefusal(await client.ask('EXPUNGE'), 'MailboxReadOnly')
  client.close()
})

test('AuthUnknown', async () => {
  const client = await Client.open(service.at('imap'))
  expectRefusal(await client.ask('AUTHENTICATE FROBNICATE'), 'AuthUnknown')
  client.close()
})

test('AuthNeedsTls: a password over a connection that may be listened to', async () => {
  const { startTeal } = await import('#service')
  const strict = await startTeal({ auth: { cleartext: 'never' } })
  try {
    const at = strict.listeners.imap ?? { host: '', port: 0 }
    const client = await Client.open(at)
    expect((await client.ok('CAPABILITY'))[0]).toContain('LOGINDISABLED')
    expectRefusal(await client.ask('LOGIN a b'), 'AuthNeedsTls')
    client.close()
  } finally {
    await strict.close()
  }
})

test('NoTargetMailbox', async () => {
  const client = await open()
  await client.ok(append('INBOX', mail('target')))
  expectRefusal(await client.ask('COPY 1 Nowhere'), 'NoTargetMailbox')
  client.close()
})

test('LiteralTooLarge', async () => {
  const client = await open()
  expectRefusal(await client.ask(`SEARCH SUBJECT {${limits.imap.commandBytesMax + 1}}`), 'LiteralTooLarge')
  client.close()
})

test('TooManyKeywords', async () => {
  const client = await open()
  const words = Array.from({ length: limits.imap.keywordsMax + 1 }, (_, at) => `k${at}`)
  let refused: { status: string; text: string } | undefined
  const told: boolean[] = []
  const mayAdd = (lines: readonly string[]) => lines.some(line => /PERMANENTFLAGS .*\\\*/.test(line))
  for (let at = 0; at < words.length && refused === undefined; at += 50) {
    const answer = await client.ask(`STORE 1 FLAGS (${words.slice(at, at + 50).join(' ')})`)
    if (answer.status !== 'OK') refused = answer
    else told.push(mayAdd(answer.lines))
  }
  expectRefusal(refused ?? { status: '', text: '' }, 'TooManyKeywords')
  // RFC 9051 7.1: when there is no room for another one the client is told so.
  expect(told.at(-2)).toBe(true)
  expect(told.at(-1)).toBe(false)
  expect(mayAdd(await client.ok('SELECT INBOX'))).toBe(false)
  client.close()
})

test('SpecialUseTaken', async () => {
  const client = await open()
  expectRefusal(await client.ask('CREATE another (USE (\\Junk))'), 'SpecialUseTaken')
  client.close()
})

test('UnknownCharset', async () => {
  const client = await open()
  expectRefusal(await client.ask('SEARCH CHARSET X-NOBODY SUBJECT a'), 'UnknownCharset')
  // With UTF-8 all over there is nothing to choose (RFC 6855 3).
  await client.ok('SEARCH CHARSET UTF-8 SUBJECT a')
  await client.ok('ENABLE UTF8=ACCEPT')
  expect((await client.ask('SEARCH CHARSET UTF-8 SUBJECT a')).status).toBe('BAD')
  await client.ok('SEARCH SUBJECT "grüße"')
  client.close()
})

test('UnknownEncoding', async () => {
  const client = await open('Drafts')
  await client.ok(append('Drafts', mail('odd', 'body', 'Content-Transfer-Encoding: frobnicated\r\n')))
  expectRefusal(await client.ask('FETCH 1 BINARY.PEEK[1]'), 'UnknownEncoding')
  expect((await client.ask('NOOP')).status).toBe('OK')
  client.close()
})

test('TooManyMessages in one APPEND', async () => {
  const client = await open()
  const one = ' {10+}\r\nSubject: x'
  const answer = await client.ask(`APPEND Trash${one.repeat(limits.imap.appendMessagesMax + 1)}`)
  expectRefusal(answer, 'TooManyMessages')
  expect(await client.ok('STATUS Trash (MESSAGES)')).toEqual(['* STATUS "Trash" (MESSAGES 0)'])
  client.close()
})

test('TooManyMessages: together they are no larger than the largest message may be', async () => {
  const { startTeal } = await import('#service')
  const small = await startTeal({ mail: { maxSize: 65_536 } })
  const { url, rootToken, listeners } = small
  try {
    const form = { username: 'several', password: 'secret of several', address: 'several@example.com' }
    const headers = { 'content-type': 'application/json', 'x-access-token': rootToken }
    await fetch(`${url}/users`, { method: 'POST', headers, body: JSON.stringify(form) })
    const client = await Client.login(listeners.imap ?? { host: '', port: 0 }, 'several')
    const one = mail('a', 'x'.repeat(30_000))
    const first = `APPEND INBOX {${one.length}+}\r\n${one} {${one.length}+}\r\n${one}`
    expectRefusal(await client.ask(`${first} {${one.length}}`), 'TooManyMessages')
    expect((await client.ask(first)).text).toMatch(/^\[APPENDUID \d+ 1:2\]/)
    client.close()
  } finally {
    await small.close()
  }
})

test('what a person reads is a sentence, never a name of ours', () => {
  for (const [code, { text }] of Object.entries(faultForms)) {
    expect([code, text]).toEqual([code, expect.stringMatching(/^[A-Z][^\r\n]+[a-z0-9)]$/)])
    for (const name of Object.keys(faultForms)) if (/[a-z][A-Z]/.test(name)) expect(text).not.toContain(name)
    expect(text).not.toMatch(/failed with code/)
  }
})

test('what is downloaded counts by what is sent: a large message may be fetched in many pieces', async () => {
  const user = await service.user('pieces', { imapMaxDownload: 200_000 })
  const client = await Client.login(service.at('imap'), 'pieces', 'INBOX')
  await client.ok(append('INBOX', mail('large', 'x'.repeat(100_000))))
  for (let at = 0; at < 100; at++) await client.ok(`FETCH 1 BODY.PEEK[]<${at * 100}.100>`)
  await client.ok('FETCH 1 BODY.PEEK[HEADER]')
  const used = async () => (await service.call('GET', `/users/${user}`)).body.limits.imapDownload.used
  await expect.poll(used).toBeGreaterThan(10_000)
  expect(await used()).toBeLessThan(20_000)
  client.close()
})
