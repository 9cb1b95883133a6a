// What strangers and broken programs send: each is refused or cut off, and the next command, or the next client, is served.

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()

beforeAll(async () => {
  await service.user('anna')
})

const open = () => Client.open(service.at('imap'))
const login = (mailbox?: string) => Client.login(service.at('imap'), 'anna', mailbox)

/** The service answers somebody else. */
async function serves(): Promise<void> {
  const client = await login('INBOX')
  expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
  client.close()
}

test('a line without end is cut off, before and after login', async () => {
  for (const client of [await open(), await login()]) {
    client.send('x NOOP')
    for (let sent = 0; sent < 4 * limits.net.skipBytesMax; sent += 65_536) client.send('x'.repeat(65_536))
    await client.closed()
  }
  await serves()
})

test('a megabyte of wildcards is refused in a moment, as a quoted string, as a literal and as many patterns', async () => {
  const client = await login()
  const wild = '%*'.repeat(524_288)
  expect(await client.ask(`LIST "" {${wild.length}+}\r\n${wild}`)).toMatchObject({
    status: 'NO',
    text: expect.stringMatching(/^\[TOOBIG\]/),
  })
  client.send(`x LIST "" "${wild}"\r\n`)
  expect(await client.line()).toMatch(/^x BAD/)
  const many = `LIST "" (${'"a%b*" '.repeat(60_000).trim()})`
  expect(await client.ask(many)).toMatchObject({ status: 'BAD' })
  expect(await client.ask(`LIST "${'%*'.repeat(2000)}x" "%"`)).toMatchObject({ status: 'OK', lines: [] })
  expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
  client.close()
})

test.each([
  'FETCH 1:4294967295 FLAGS',
  'FETCH 4294967296 FLAGS',
  'FETCH 0 FLAGS',
  'UID STORE 1:99999999999999999999 +FLAGS (\\Seen)',
  'FETCH 1:2:3 FLAGS',
  'FETCH 1,,2 FLAGS',
  `FETCH 1 (${'('.repeat(3000)}FLAGS${')'.repeat(3000)})`,
  `NOTIFY SET (${'('.repeat(3000)}`,
  `ID (${'"a" "b" '.repeat(3000).trim()})`,
  'SELECT IN\0BOX',
  'SELECT "IN\0BOX"',
  'STORE 1 +FLAGS (a\xffb)',
  'SEARCH \xff',
  'SEARCH HEADER \xff\xfe x',
  'FETCH 1 BODY[HEADER.FIELDS (\xc3\xbc)]',
])('%# is refused and the session goes on', async command => {
  const client = await login('INBOX')
  const answer = await client.ask(Buffer.from(command, 'latin1'))
  expect(['BAD', 'NO']).toContain(answer.status)
  expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
  client.close()
})

describe('a login where there is none to be had', () => {
  test.each(['LOGIN anna "secret of anna"', 'AUTHENTICATE PLAIN AGFubmEAc2VjcmV0IG9mIGFubmE=', 'STARTTLS'])(
    '%s, after login, in a mailbox, and waiting',
    async command => {
      const client = await login()
      expect(await client.ask(command)).toMatchObject({ status: 'BAD', lines: [] })
      await client.ok('SELECT INBOX')
      expect(await client.ask(command)).toMatchObject({ status: 'BAD', lines: [] })
      const tag = client.command('IDLE')
      expect(await client.line()).toBe('+ idling')
      client.send(`${command}\r\n`)
      expect(await client.answer(tag)).toMatchObject({ status: 'BAD' })
      expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
      client.close()
    },
  )

  test('in the middle of another login it is the answer to that one', async () => {
    const client = await open()
    const tag = client.command('AUTHENTICATE PLAIN')
    expect(await client.line()).toBe('+ ')
    client.send('x LOGIN anna "secret of anna"\r\n')
    expect(await client.answer(tag)).toMatchObject({ status: 'BAD' })
    expect(await client.ask('SELECT INBOX')).toMatchObject({ status: 'BAD' })
    client.close()
  })
})

describe('a client that leaves in the middle', () => {
  test.each([
    ['of a name', 'x LOGIN {4+}\r\nan'],
    ['of a password', 'x LOGIN anna {14+}\r\nsecret'],
    ['of a name that was asked for', 'x LOGIN {4}\r\nan'],
  ])('%s, before login', async (_, bytes) => {
    const client = await open()
    client.send(bytes)
    client.close()
    await serves()
  })

  test.each([
    ['of a mailbox', 'x SELECT {5+}\r\nIN'],
    ['of a needle', 'x SEARCH SUBJECT {10+}\r\nabc'],
    ['of a charset', 'x SEARCH CHARSET {5+}\r\nUT'],
    ['of a pattern', 'x LIST "" {4+}\r\n*'],
    ['of a field', 'x FETCH 1 BODY[HEADER.FIELDS ({7+}\r\nSub'],
    ['of a message', `x APPEND INBOX {100+}\r\n${'y'.repeat(50)}`],
    ['of the second message', `x APPEND INBOX {5+}\r\na: b\n {100+}\r\n${'y'.repeat(50)}`],
    ['of an announcement', 'x APPEND INBOX {10'],
    ['of a literal that is thrown away', `x SELECT {700000+}\r\n${'y'.repeat(1000)}`],
    ['of what it asked for', 'x FETCH 1 BODY[]\r\n'],
  ])('%s', async (_, bytes) => {
    const client = await login('INBOX')
    await client.ok('UID STORE 1:* +FLAGS (\\Deleted)')
    await client.ok('EXPUNGE')
    await client.ok(append('INBOX', mail('whole', 'x'.repeat(100_000))))
    client.send(bytes)
    client.close()
    const other = await login('INBOX')
    // What was asked for before may be marked as seen meanwhile, which is told as well.
    const sizes = (await other.ok('FETCH 1:* RFC822.SIZE')).filter(line => line.includes('RFC822.SIZE'))
    expect(sizes).toHaveLength(1)
    other.close()
  })
})

test('a client that asks for much and reads nothing keeps nobody waiting', async () => {
  const client = await login('INBOX')
  for (let count = 0; count < 20; count++) await client.ok(append('INBOX', mail(`m${count}`, 'y'.repeat(200_000))))
  const slow = await login('INBOX')
  slow.pause()
  for (let count = 0; count < 50; count++) slow.command('FETCH 1:* BODY.PEEK[]')
  for (let count = 0; count < 5; count++) {
    expect(await client.ok('FETCH 1:* (FLAGS BODY.PEEK[HEADER])')).toHaveLength(21)
    await serves()
  }
  slow.close()
  client.close()
})
