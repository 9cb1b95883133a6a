// Mail that came back, as servers of many years write it: recipients, what was said of each, and which message it was.

import { describe, expect, test } from 'vitest'
import { sortAnswer, statusIn } from '#mail/report/answer.ts'
import { readBounce } from '#mail/report/bounce.ts'
import { isReturnMark, returnMark, returnMarks } from '#mail/report/return-mark.ts'
import { sample } from '../corpus.ts'

const gem = (name: string) => readBounce(sample(`mail-gem/${name}.eml`))

function letter(text: string, head: readonly string[] = []): Buffer {
  const lines = ['Return-Path: <>', 'From: MAILER-DAEMON@far.test', 'To: anna@example.com', ...head, '', text]
  return Buffer.from(lines.join('\n').replace(/\r?\n/g, '\r\n'))
}

describe('reports by the form (RFC 3464)', () => {
  test('a delay is no failure', () => {
    expect(gem('multipart_report_emails-report_422')).toMatchObject({
      recipients: [{ address: 'fraser@oooooooo.com.au', kind: 'full', final: false, status: '4.2.2' }],
      messageId: '<15655788.13.1200472642578.JavaMail.Administrator@mail.ttttt.com.au>',
      reporter: 'mail11.ttttt.com.au',
    })
    expect(gem('mime_emails-raw_email_with_mimepart_without_content_type')).toMatchObject({
      recipients: [{ address: 'larose.julie@courrier.uqam.ca', kind: 'delayed', final: false, status: '4.5.0' }],
      messageId: '<89d7557c0610181510r6fa5ebd8n66a7deec71ade118@mail.gmail.com>',
    })
  })

  test('the words count where the code says nothing of its own', () => {
    expect(gem('multipart_report_emails-report_530')).toMatchObject({
      recipients: [{ address: 'edwin@zzzzzzz.com', kind: 'unknown', final: true, status: '5.3.0' }],
      messageId: '<200712232303.lBNN3jDq002941@mail12.rrrr.com.au>',
    })
    expect(gem('multipart_report_emails-multipart_report_multiple_status')).toMatchObject({
      recipients: [{ address: 'u@ci.com', original: 'u@ci.com', kind: 'other', final: true, status: '5.3.0' }],
      messageId: '<4c2a146147ac8_61ff157c4ec1652df@s.h.c.mail>',
    })
  })

  test.each(['1', '2'])('several recipients, each by itself (%s)', at => {
    const { recipients = [] } = gem(`multipart_report_emails-multi_address_bounce${at}`) ?? {}
    expect(recipients.length).toBeGreaterThan(3)
    expect(new Set(recipients.map(({ kind }) => kind))).toEqual(new Set(['unknown']))
    expect(new Set(recipients.map(({ address }) => address)).size).toBe(recipients.length)
    expect(recipients.every(({ address }) => address.endsWith('@gmail.com'))).toBe(true)
  })

  test('a receipt, an answer of a program and a letter of a person are none', () => {
    const status = (action: string) =>
      `--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nFinal-Recipient: rfc822; a@b.test\nAction: ${action}\nStatus: 2.0.0\n\n--b--\n`
    const type = ['Content-Type: multipart/report; report-type=delivery-status; boundary=b']
    expect(readBounce(letter(status('delivered'), type))).toBeNull()
    expect(readBounce(letter(status('failed').replace('2.0.0', '5.1.1'), type))?.recipients).toHaveLength(1)
    const answer = 'From: b@far.test\r\nAuto-Submitted: auto-replied\r\n\r\nI am away. <a@b.test>: user unknown\r\n'
    expect(readBounce(Buffer.from(answer))).toBeNull()
    expect(readBounce(Buffer.from('From: b@far.test\r\n\r\n<a@b.test>: user unknown\r\n'))).toBeNull()
  })
})

/** With what is about a message that was delivered, named by its header or by its part alone. */
test.each([
  [
    'disposition-notification',
    'Final-Recipient: rfc822; a@b.test\nDisposition: manual-action/MDN-sent-manually; displayed',
  ],
  ['feedback-report', 'Feedback-Type: abuse\nVersion: 1\nOriginal-Rcpt-To: a@b.test'],
])('a report of another kind is none: %s', (kind, fields) => {
  const text = 'Your message\n\n   To: a@b.test\n   Subject: hi\n\nwas read, or is spam.'
  const original =
    'Received: by mail.example.com (Teal) id 00000000000000002a.abcdefghijklmnop;\n x\nMessage-ID: <x1@example.com>'
  const parts = ['text/plain', `message/${kind}`, 'message/rfc822'].map(
    (type, at) => `--b\nContent-Type: ${type}\n\n${[text, fields, original][at]}\n\n`,
  )
  const report = (type: string) =>
    readBounce(letter(`${parts.join('')}--b--`, [`Content-Type: multipart/report; ${type}boundary=b`]))
  expect(report(`report-type=${kind}; `)).toBeNull()
  expect(report('')).toBeNull()
  const [letterOnly, , copy] = parts
  const without = `${letterOnly}${copy}--b--`
  const head = (type: string) => [`Content-Type: multipart/report; report-type=${type}; boundary=b`]
  expect(readBounce(letter(without, head(kind.toUpperCase())))).toBeNull()
  expect(readBounce(letter(without, head('delivery-status')))?.messageId).toBe('<x1@example.com>')
})

describe('letters of servers that know no form', () => {
  test.each([
    [
      'qmail',
      `Hi. This is the qmail-send program at far.test.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<gone@far.test>:
Sorry, no mailbox here by that name. (#5.1.1)

<full@far.test>:
Sorry, the user is over quota. (#5.2.2)

<late@far.test>:
Sorry, I wasn't able to establish an SMTP connection. (#4.4.1)
I'm not going to try again; this message has been in the queue too long.

--- Below this line is a copy of the message.

Return-Path: <anna@example.com>
Received: by mail.example.com (Teal) id 00000000000000002a.abcdefghijklmnop;
  Mon, 1 Jan 2024 10:00:00 +0000
Message-ID: <x1@example.com>
To: other@far.test`,
      {
        'gone@far.test': ['unknown', '5.1.1', true],
        'full@far.test': ['full', '5.2.2', true],
        'late@far.test': ['other', '4.4.1', true],
      },
    ],
    [
      'exim',
      `This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  gone@far.test
    SMTP error from remote mail server after RCPT TO:<gone@far.test>:
    host mx.far.test [192.0.2.7]: 550 5.1.1 <gone@far.test>: Recipient address rejected: User unknown

  spam@far.test
    SMTP error from remote mail server after end of data:
    550 Message rejected as spam, see http://far.test/

------ This is a copy of the message, including all the headers. ------

Received: by mail.example.com (Teal) id 00000000000000002a.abcdefghijklmnop;
Message-Id: <x1@example.com>`,
      { 'gone@far.test': ['unknown', '5.1.1', true], 'spam@far.test': ['policy', '', true] },
    ],
    [
      'Exchange',
      `Your message

  To:      gone@far.test
  Subject: Hello
  Sent:    Mon, 1 Jan 2024 10:00:00 +0100

did not reach the following recipient(s):

gone@far.test on Mon, 1 Jan 2024 10:00:01 +0100
    The e-mail account does not exist at the organization this message was sent to.
    <mx.far.test #5.1.1 smtp;550 5.1.1 User unknown>

Message-ID: <x1@example.com>`,
      { 'gone@far.test': ['unknown', '5.1.1', true] },
    ],
    [
      'Lotus Notes',
      `------- Failure Reasons  --------

User gone (gone@far.test) not listed in public Name & Address Book
gone@far.test

------- Returned Message --------

Received: from mail.example.com ([192.0.2.1])
Message-ID: <x1@example.com>`,
      { 'gone@far.test': ['unknown', '', true] },
    ],
    [
      'Lotus Domino',
      `Your message

  Subject: Hello

was not delivered to:

  gone@far.test

because:

  User gone (gone@far.test) not listed in Domino Directory

Message-ID: <x1@example.com>`,
      { 'gone@far.test': ['unknown', '', true] },
    ],
    [
      'postfix of 1999',
      `This is the Postfix program at host far.test.

I'm sorry to have to inform you that the message returned
below could not be delivered to one or more destinations.

			The Postfix program

<gone@far.test>: unknown user: "gone"

Message-Id: <x1@example.com>`,
      { 'gone@far.test': ['unknown', '', true] },
    ],
    [
      'sendmail that tries further',
      `    **********************************************
    **      THIS IS A WARNING MESSAGE ONLY      **
    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **
    **********************************************

   ----- The following addresses had transient non-fatal errors -----
<gone@far.test>

   ----- Transcript of session follows -----
<gone@far.test>... Deferred: Connection timed out with mx.far.test.
Warning: message still undelivered after 4 hours

   ----- Original message follows -----

Message-Id: <x1@example.com>`,
      { 'gone@far.test': ['delayed', '', false] },
    ],
  ])('%s', (_, text, expected) => {
    const bounce = readBounce(letter(text))
    expect(bounce?.messageId).toBe('<x1@example.com>')
    const found = bounce?.recipients.map(one => [one.address, [one.kind, one.status, one.final]]) ?? []
    expect(Object.fromEntries(found)).toEqual(expected)
    if (text.includes('(Teal)')) {
      expect(bounce?.marks).toEqual([{ queueId: '00000000000000002a', mark: 'abcdefghijklmnop' }])
    }
  })

  test('recipients that only the header names', () => {
    const bounce = readBounce(letter('It failed: 550 5.1.1 no such user', ['X-Failed-Recipients: a@b.test, c@d.test']))
    expect(bounce?.recipients.map(({ address, kind }) => [address, kind])).toEqual([
      ['a@b.test', 'unknown'],
      ['c@d.test', 'unknown'],
    ])
  })
})

test.each([
  ['', 550, 'nobody of this name', true, 'unknown'],
  ['', 550, 'mailbox unavailable', true, 'other'],
  ['5.1.1', 550, 'User unknown', true, 'unknown'],
  ['5.1.1', 550, 'Your message looks like spam', true, 'policy'],
  ['5.7.1', 550, 'User unknown', true, 'policy'],
  ['5.1.10', 556, 'takes no mail', true, 'unknown'],
  ['5.2.1', 550, 'account disabled', true, 'unknown'],
  ['5.2.2', 552, 'full', true, 'full'],
  ['4.2.2', 452, 'full', true, 'full'],
  ['4.1.1', 450, 'User unknown', true, 'other'],
  ['4.7.1', 451, 'greylisted', false, 'delayed'],
  ['5.1.3', 553, 'bad syntax', true, 'other'],
  ['', 451, 'user unknown', true, 'other'],
] as const)('%s %s "%s", final: %s, means %s', (status, code, text, final, kind) => {
  expect(sortAnswer({ status, code, text, final })).toBe(kind)
})

test('a code is that of its class, and no part of an address of a host', () => {
  expect(statusIn('host 10.5.1.1 said: 550 5.7.1 no')).toBe('5.7.1')
  expect(statusIn('4.4.7 then 5.1.1', 550)).toBe('5.1.1')
  expect(statusIn('nothing')).toBe('')
})

test('marks are keyed by message and destination', () => {
  const id = '00000000000000002a'
  const mark = returnMark('secret', id, 'far.test')
  expect(isReturnMark('secret', { queueId: id, mark: mark.toUpperCase() }, 'FAR.test')).toBe(true)
  expect(isReturnMark('secret', { queueId: id, mark }, 'other.test')).toBe(false)
  expect(isReturnMark('secret', { queueId: '00000000000000002b', mark }, 'far.test')).toBe(false)
  expect(isReturnMark('other', { queueId: id, mark }, 'far.test')).toBe(false)
  expect(returnMarks(`Received: by x (Teal) id ${id}.${mark};`)).toEqual([{ queueId: id, mark }])
  expect(returnMarks(`(Teal) id ${id}.short; (Teal) id ${id}`)).toEqual([])
})

describe('hostile', () => {
  test.each([
    ['nothing', ''],
    ['no end', `${'a@b.test '.repeat(100_000)}`],
    ['lines', '<a@b.test>:\n'.repeat(100_000)],
    [
      'one address after the other',
      Array.from({ length: 20_000 }, (_, at) => `<u${at}@b.test>: user unknown`).join('\n'),
    ],
    ['words', `${'user '.repeat(200_000)}`],
    ['quota', `<a@b.test>: ${'exceed exceed '.repeat(50_000)}`],
  ])('%s', (_, text) => {
    const bounce = readBounce(letter(text))
    expect(bounce?.recipients.length ?? 0).toBeLessThanOrEqual(100)
  })

  test('parts within parts, groups without end', () => {
    const nested = Array.from({ length: 500 }, () => 'Content-Type: message/rfc822\n\n').join('')
    expect(readBounce(letter(nested, ['Content-Type: message/rfc822']))).toBeNull()
    const groups = 'Final-Recipient: rfc822; a@b.test\nAction: failed\nStatus: 5.1.1\n\n'.repeat(5000)
    const type = ['Content-Type: multipart/report; report-type=delivery-status; boundary=b']
    const many = readBounce(letter(`--b\nContent-Type: message/delivery-status\n\n\n${groups}--b--\n`, type))
    expect(many?.recipients).toHaveLength(100)
  })
})
