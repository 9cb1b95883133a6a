// Header fields of messages: picked of lines that are ready, and of messages of old cut out of their bodies. Both ways give
// the same bytes, whatever a header looks like.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FieldPicker, isListed, listedLines, pickLines } from '#mail/header/pick.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'
import { append, Client } from './client.ts'

const service = useTeal()

/** Messages whose headers are as they should be, and as they are. */
const messages: readonly (string | Buffer)[] = [
  'From: a@example.net\r\nTo: b@example.com\r\nSubject: plain\r\nX-Other: no\r\n\r\ntext\r\n',
  'Received: from x\r\n\tby y\r\nSUBJECT : in capitals\r\n  and folded\r\n\tagain\r\nSubject: twice\r\nFrom: a@example.net\r\n\r\n',
  'From: a@example.net\r\nnot a field\r\n but folded\r\nSubject: behind it\r\n\r\nFrom: in the text\r\n',
  'From x@y Sat Nov 21 10:00:00 2026\r\nSubject: an mbox line\r\n\r\ntext\r\n',
  ' folded at the top\r\nSubject: after\r\n\r\ntext\r\n',
  '\r\nSubject: no header at all\r\n',
  'Subject: the end of it',
  'From: a@example.net\r\nSubject: no text',
  'Subject:\r\nFrom:   \r\nTo\r\nDate:x\r\n\r\n',
  'Subject: grün und 日本\r\nFrom: "Ö" <o@example.net>\r\n\r\ntext\r\n',
  Buffer.from('Subject: gr\xfcn\r\nFrom: a@example.net\r\n\r\ntext\r\n', 'latin1'),
  Buffer.from('Subject: a\0b\r\nFrom\xa0: a@example.net\r\n\r\ntext\r\n', 'latin1'),
  `Subject: ${'long '.repeat(4000)}\r\nReferences:${'\r\n <0123456789@example.net>'.repeat(900)}\r\n\r\n`,
  `X-Huge: ${'y'.repeat(70_000)}\r\nSubject: behind much\r\n\r\ntext\r\n`,
]

const items = [
  'BODY.PEEK[HEADER.FIELDS (From To Subject Date)]',
  'BODY.PEEK[HEADER.FIELDS (SUBJECT)] FLAGS BODY.PEEK[HEADER.FIELDS ("References" Return-Path)]',
  'UID RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER.FIELDS (Content-Type message-id)]',
  'BODY.PEEK[HEADER.FIELDS (From Received)]',
  'BODY.PEEK[HEADER.FIELDS (Subject)]<3.5>',
  'BODY.PEEK[HEADER.FIELDS.NOT (Subject)]',
  'BODY.PEEK[HEADER.FIELDS (Subject)] BODY.PEEK[TEXT]',
]

function forget(): number {
  const handle = openForWriting(join(service.teal.config.dataDir, 'teal.db'))
  try {
    return handle.prepare('DELETE FROM header').run().changes
  } finally {
    handle.close()
  }
}

describe('header fields', () => {
  test('are the same of a message whose fields are ready and of one of old', async () => {
    await service.user('fields')
    const client = await Client.login(service.at('imap'), 'fields')
    for (const message of messages) await client.ok(append('INBOX', message))
    const lmtp = await openLmtp(service.at('lmtp'))
    for (const message of [messages[0], messages[4]])
      await deliver(lmtp, 'b@example.net', ['fields@example.com'], Buffer.from(message as string))
    lmtp.close()
    await client.ok('SELECT INBOX')
    const all = async () => {
      const answers: (readonly string[])[] = []
      for (const item of items) answers.push(await client.ok(`FETCH 1:* (${item})`))
      return answers
    }
    const ready = await all()
    expect(ready[0]?.length).toBe(messages.length + 2)
    expect(ready[0]?.[0]).toBe(
      '* 1 FETCH (BODY[HEADER.FIELDS (From To Subject Date)] {58}\r\n' +
        'From: a@example.net\r\nTo: b@example.com\r\nSubject: plain\r\n\r\n)',
    )
    expect(ready[1]?.at(-2)).toMatch(/Return-Path: <b@example\.net>\r\n\r\n\)$/)
    expect(forget()).toBeGreaterThan(8)
    expect(await all()).toEqual(ready)
    client.close()
  })

  test('mark a message as seen where they are asked for without PEEK, ready or not', async () => {
    await service.user('seen')
    const client = await Client.login(service.at('imap'), 'seen')
    for (let count = 0; count < 2; count++) await client.ok(append('INBOX', messages[0] as string))
    await client.ok('SELECT INBOX')
    const wanted = (seq: number) => [
      `* ${seq} FETCH (BODY[HEADER.FIELDS (Subject)] {18}\r\nSubject: plain\r\n\r\n FLAGS (\\Seen))`,
    ]
    expect(await client.ok('FETCH 1 BODY[HEADER.FIELDS (Subject)]')).toEqual(wanted(1))
    forget()
    expect(await client.ok('FETCH 2 BODY[HEADER.FIELDS (Subject)]')).toEqual(wanted(2))
    client.close()
  })

  test('go with the last message that has them', async () => {
    await service.user('gone')
    const count = async () =>
      (await service.teal.core.read.one<{ n: number }>('SELECT count(*) AS n FROM header'))?.n ?? 0
    const before = await count()
    const client = await Client.login(service.at('imap'), 'gone')
    await client.ok(append('Drafts', messages[0] as string, '\\Deleted \\Draft'))
    await client.ok('SELECT Drafts')
    expect(await count()).toBe(before + 1)
    await client.ok('EXPUNGE')
    expect(await count()).toBe(before)
    client.close()
  })
})

const seeds = [1, 2, 3]

describe('lines that are ready', () => {
  test.each(seeds)('give what the header gives, seed %i', seed => {
    let state = seed
    const next = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return state % below
    }
    const pieces = [
      'Subject',
      'from',
      'X-A',
      'To',
      ':',
      ': ',
      ' ',
      '\t',
      '\r\n',
      '\n',
      '\r\n\t',
      'é',
      'abc',
      '\r',
      'List-Id',
    ]
    let ready = 0
    for (let round = 0; round < 3000; round++) {
      let header = ''
      for (let count = next(14); count > 0; count--) header += pieces[next(pieces.length)]
      const lines = listedLines(Buffer.from(header))
      const prefix = next(2) === 0 ? '' : 'Return-Path: <a@b>\r\nTo: x\r\n y\r\n'
      const names = ['subject', 'to', 'from', 'list-id', 'return-path'].filter(() => next(2) === 0)
      if (lines === null || names.length === 0) continue
      ready += 1
      const picker = new FieldPicker(new Set(names), true)
      const whole = Buffer.concat([picker.write(Buffer.from(prefix + header)), picker.end()]).toString()
      expect(pickLines(prefix + lines, new Set(names)), JSON.stringify({ header, prefix, names })).toBe(whole)
    }
    expect(ready).toBeGreaterThan(1000)
    expect(isListed(['from', 'list-id'])).toBe(true)
    expect(isListed(['from', 'received'])).toBe(false)
  })
})
