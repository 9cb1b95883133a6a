// A body whose file is gone, cut short or damaged: every protocol refuses that message before it promises a length, and
// serves all others.

import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Dialogue } from '../../dialogue.ts'
import { append, Client, mail } from '../../imap/client.ts'
import { useTeal } from '../../running.ts'

const service = useTeal()
let user = ''
let mailbox = ''
let file = ''

/** Large enough for a file of its own, and packed. */
const lines = Array.from({ length: 60_000 }, (_, at) => `line ${at} of a long text, ${(at * 7919) % 10_007}`).join(
  '\r\n',
)
const large = mail('large', 'Look at the attachment.', '').replace(
  '\r\n\r\nLook',
  '\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nLook',
)
const message = `${large}--b\r\nContent-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment; filename=a.txt\r\nContent-Transfer-Encoding: base64\r\n\r\n${(
  Buffer.from(lines)
    .toString('base64')
    .match(/.{1,76}/g) ?? []
).join('\r\n')}\r\n--b--\r\n`

const files = () =>
  readdirSync(join(service.teal.config.dataDir, 'blobs'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

beforeAll(async () => {
  expect(message.length).toBeGreaterThan(limits.body.wholeBytesMax)
  user = await service.user('anna')
  const client = await Client.login(service.at('imap'), 'anna')
  for (const one of [mail('before'), message, mail('after')]) await client.ok(append('INBOX', one))
  client.close()
  mailbox = (await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)).body.id
  const found = files()
  expect(found).toHaveLength(1)
  file = found[0] ?? ''
  copyFileSync(file, `${service.teal.config.dataDir}/kept`)
})

// The checker looks at files, too.
afterEach(() => copyFileSync(`${service.teal.config.dataDir}/kept`, file))

function damaged(): void {
  const bytes = readFileSync(file)
  bytes.fill(0x55, 100, bytes.length - 100)
  writeFileSync(file, bytes)
}

describe.each([
  ['gone', () => rmSync(file)],
  ['cut short', () => truncateSync(file, 1000)],
  ['empty', () => truncateSync(file, 0)],
  ['damaged', damaged],
])('a file that is %s', (_, spoil) => {
  test('IMAP: NO, and the other messages come', async () => {
    spoil()
    const client = await Client.login(service.at('imap'), 'anna', 'INBOX')
    const subjects = (lines: readonly string[]) => lines.map(line => /^\* \d+/.exec(line)?.[0])
    for (const item of [
      'BODY.PEEK[]',
      'BODY.PEEK[2]',
      'BINARY.PEEK[2]',
      'BODY.PEEK[]<900000.100000>',
      'BINARY.SIZE[2]',
    ]) {
      const answer = await client.ask(`UID FETCH 1:3 (${item})`)
      expect(answer.status, item).toBe('NO')
      expect(answer.text, item).toMatch(/^\[CORRUPTION\]/)
      expect(subjects(answer.lines), item).toEqual(['* 1', '* 3'])
    }
    // What does not need the file is there.
    expect(await client.ask('FETCH 2 (ENVELOPE BODYSTRUCTURE BODY.PEEK[HEADER] BODY.PEEK[1])')).toMatchObject({
      status: 'OK',
    })
    expect(await client.ask('FETCH 1:* BODY.PEEK[HEADER.FIELDS (SUBJECT)]')).toMatchObject({ status: 'OK' })
    client.close()
  })

  test('POP3: -ERR, and the session goes on', async () => {
    spoil()
    const pop = await Dialogue.open(service.at('pop3'))
    await pop.reply()
    await pop.ask('USER anna')
    await pop.ask('PASS secret of anna')
    expect(await pop.ask('RETR 2')).toMatch(/^-ERR \[SYS\/PERM\]/)
    expect(await pop.ask('STAT')).toMatch(/^\+OK 3 /)
    pop.close()
  })

  test('HTTP: a fault of its own', async () => {
    spoil()
    const path = `/users/${user}/mailboxes/${mailbox}/messages/2`
    for (const part of ['/message.eml', '/attachments/ATT00001']) {
      const answer = await service.raw('GET', path + part)
      expect(answer.status, part).toBe(500)
      expect(await answer.json(), part).toMatchObject({ code: 'BodyUnreadable' })
    }
    expect((await service.call('GET', path)).status).toBe(200)
    expect((await service.raw('GET', `/users/${user}/mailboxes/${mailbox}/messages/1/message.eml`)).status).toBe(200)
  })
})

test('the operator sees how many there are, and with its file the message is back', async () => {
  const metrics = await (await service.raw('GET', '/metrics')).text()
  expect(metrics).toMatch(/^wildduck_bodies_unreadable 1$/m)
  const client = await Client.login(service.at('imap'), 'anna', 'INBOX')
  expect((await client.ok('FETCH 2 BODY.PEEK[]'))[0]).toContain('--b--')
  client.close()
})
