// \Recent for clients of RFC 3501: the first session that is told of a message sees it as recent, and no other.

import { beforeEach, expect, test } from 'vitest'
import { deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
let number = 0
let user = ''

beforeEach(async () => {
  user = `recent${++number}`
  await service.user(user)
})

async function login(mailbox?: string): Promise<Client> {
  const client = await Client.login(service.at('imap'), user)
  client.showsRecent = true
  if (mailbox !== undefined) await client.ok(`SELECT ${mailbox}`)
  return client
}

/** Messages from elsewhere. */
async function arrive(...subjects: string[]): Promise<void> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const to = [`${user}@example.com`]
  for (const subject of subjects) await deliver(lmtp, 'bea@example.net', to, Buffer.from(mail(subject)))
  lmtp.close()
}

const counts = (lines: readonly string[]) => lines.filter(line => /RECENT|EXISTS/.test(line))
const flags = async (client: Client) =>
  (await client.ok('FETCH 1:* FLAGS')).map(line => /FLAGS \((.*?)\)/.exec(line)?.[1])

test('the first SELECT takes what is recent, EXAMINE and STATUS only show it', async () => {
  await arrive('one', 'two')
  const looker = await login()
  expect(await looker.ok('STATUS INBOX (MESSAGES RECENT)')).toEqual(['* STATUS "INBOX" (MESSAGES 2 RECENT 2)'])
  expect(counts(await looker.ok('EXAMINE INBOX'))).toEqual(['* 2 EXISTS', '* 2 RECENT'])
  expect(await flags(looker)).toEqual(['\\Recent', '\\Recent'])
  const first = await login()
  expect(counts(await first.ok('SELECT INBOX'))).toEqual(['* 2 EXISTS', '* 2 RECENT'])
  await first.ok('STORE 1 +FLAGS (\\Seen)')
  expect(await flags(first)).toEqual(['\\Recent \\Seen', '\\Recent'])
  expect(await first.ok('STATUS INBOX (RECENT)')).toEqual(['* STATUS "INBOX" (RECENT 2)'])
  const second = await login()
  expect(await second.ok('STATUS INBOX (RECENT)')).toEqual(['* STATUS "INBOX" (RECENT 0)'])
  expect(counts(await second.ok('SELECT INBOX'))).toEqual(['* 2 EXISTS', '* 0 RECENT'])
  expect(await flags(second)).toEqual(['\\Seen', ''])
  // To the first session they stay so until it leaves.
  expect(await first.ok('SEARCH RECENT')).toEqual(['* SEARCH 1 2'])
  expect(counts(await first.ok('SELECT INBOX'))).toEqual(['* 2 EXISTS', '* 0 RECENT'])
  for (const client of [looker, first, second]) client.close()
})

test('SEARCH RECENT, NEW and OLD', async () => {
  await arrive('old')
  const before = await login('INBOX')
  await before.ok('LOGOUT')
  await arrive('seen', 'new')
  const client = await login('INBOX')
  await client.ok('STORE 2 +FLAGS.SILENT (\\Seen)')
  expect(await client.ok('SEARCH RECENT')).toEqual(['* SEARCH 2 3'])
  expect(await client.ok('SEARCH NEW')).toEqual(['* SEARCH 3'])
  expect(await client.ok('SEARCH OLD')).toEqual(['* SEARCH 1'])
  expect(await client.ok('SEARCH NOT OLD SEEN')).toEqual(['* SEARCH 2'])
  client.close()
})

test('what arrives is recent to the one who is told first; nobody is told a number that has not changed', async () => {
  const [one, other] = [await login('INBOX'), await login('INBOX')]
  await arrive('a')
  expect(await one.ok('NOOP')).toEqual(['* 1 EXISTS', '* 1 RECENT'])
  expect(await other.ok('NOOP')).toEqual(['* 1 EXISTS'])
  await arrive('b')
  expect(await other.ok('NOOP')).toEqual(['* 2 EXISTS', '* 1 RECENT'])
  expect(await one.ok('NOOP')).toEqual(['* 2 EXISTS'])
  expect(await flags(one)).toEqual(['\\Recent', ''])
  expect(await flags(other)).toEqual(['', '\\Recent'])
  // A recent message that went no longer counts.
  await one.ok('STORE 1 +FLAGS.SILENT (\\Deleted)')
  expect(await one.ok('EXPUNGE')).toEqual(['* 1 EXPUNGE', '* 0 RECENT'])
  expect(await other.ok('NOOP')).toEqual(['* 1 EXPUNGE'])
  expect(await other.ok('SEARCH RECENT')).toEqual(['* SEARCH 1'])
  for (const client of [one, other]) client.close()
})

test('a read-only session claims nothing of what arrives', async () => {
  const looker = await login()
  await looker.ok('EXAMINE INBOX')
  await arrive('a')
  expect(await looker.ok('NOOP')).toEqual(['* 1 EXISTS', '* 1 RECENT'])
  const client = await login()
  expect(counts(await client.ok('SELECT INBOX'))).toEqual(['* 1 EXISTS', '* 1 RECENT'])
  await arrive('b')
  expect(await client.ok('NOOP')).toEqual(['* 2 EXISTS', '* 2 RECENT'])
  expect(await looker.ok('NOOP')).toEqual(['* 2 EXISTS'])
  for (const one of [looker, client]) one.close()
})

test('who was told is kept on disk, and copies are recent in their new folder', async () => {
  await arrive('a')
  const client = await login('INBOX')
  await client.ok('CREATE there')
  await client.ok('COPY 1 there')
  await arrive('b')
  await client.ok('NOOP')
  expect(await client.ok('STATUS there (RECENT)')).toEqual(['* STATUS "there" (RECENT 1)'])
  await client.ok('LOGOUT')
  const told = () =>
    service.teal.core.read.one<{ told: number }>(
      `SELECT t.told FROM tally t JOIN mailbox m ON m.num = t.mailbox JOIN user u ON u.num = m.user
       WHERE m.path = 'INBOX' AND u.username = ?`,
      user,
    )
  await expect.poll(told).toEqual({ told: 3 })
  const after = await login()
  expect(counts(await after.ok('SELECT INBOX'))).toEqual(['* 2 EXISTS', '* 0 RECENT'])
  expect(counts(await after.ok('SELECT there'))).toEqual(['* 1 EXISTS', '* 1 RECENT'])
  after.close()
})

test('IMAP4rev2 knows nothing of it', async () => {
  await arrive('a')
  const client = await login()
  await client.ok('ENABLE IMAP4rev2')
  expect((await client.ok('SELECT INBOX')).join()).not.toContain('RECENT')
  expect(await client.ok('FETCH 1 FLAGS')).toEqual(['* 1 FETCH (FLAGS ())'])
  expect(await client.ok('UID SEARCH RECENT')).toEqual(['* ESEARCH (TAG "t5") UID'])
  await arrive('b')
  expect(await client.ok('NOOP')).toEqual(['* 2 EXISTS'])
  // What it was told of is recent to one who asks for such.
  const older = await login()
  expect(counts(await older.ok('SELECT INBOX'))).toEqual(['* 2 EXISTS', '* 2 RECENT'])
  await older.ok('ENABLE IMAP4rev2')
  expect(await flags(older)).toEqual(['', ''])
  for (const one of [client, older]) one.close()
})

test('one that idles is told of recent messages', async () => {
  const client = await login('INBOX')
  const tag = client.command('IDLE')
  await client.line()
  await arrive('a')
  expect([await client.line(), await client.line()]).toEqual(['* 1 EXISTS', '* 1 RECENT'])
  client.send('DONE\r\n')
  expect(await client.answer(tag)).toMatchObject({ status: 'OK' })
  await client.ok(append('INBOX', mail('own')))
  expect(await client.ok('SEARCH RECENT')).toEqual(['* SEARCH 1 2'])
  client.close()
})

test('sessions that take turns each keep what they heard of first', async () => {
  const clients = [await login('INBOX'), await login('INBOX'), await login('INBOX')]
  for (let at = 0; at < 9; at++) {
    await arrive(`turn${at}`)
    for (let next = 0; next < 3; next++) await clients[(at + next) % 3]?.ok('NOOP')
  }
  const found = await Promise.all(clients.map(client => client.ok('SEARCH RECENT')))
  expect(found).toEqual([['* SEARCH 1 4 7'], ['* SEARCH 2 5 8'], ['* SEARCH 3 6 9']])
  await clients[0]?.ok('STORE 4:6 +FLAGS.SILENT (\\Deleted)')
  expect(counts((await clients[0]?.ok('EXPUNGE')) ?? [])).toEqual(['* 2 RECENT'])
  expect(await clients[2]?.ok('UID SEARCH RECENT')).toEqual([
    '* SEARCH 3 9',
    '* 4 EXPUNGE',
    '* 4 EXPUNGE',
    '* 4 EXPUNGE',
    '* 2 RECENT',
  ])
  for (const client of clients) client.close()
})
