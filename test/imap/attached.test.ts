// Messages attached to messages are found by what they say, over IMAP and HTTP, before and after they are indexed.

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Client } from './client.ts'
import { useSearched } from './searched.ts'

const { service, user, search, found } = useSearched('forwarder', () => [forwarded, digest, long, plain])

const crlf = (text: string) => text.replace(/\r?\n/g, '\r\n')

const inner = crlf(`From: "Quentin Sender" <quentin@inner.example>
To: rachel@inner.example
Subject: =?utf-8?q?R=C3=BCckfrage_innen?=
Message-ID: <inner-4711@inner.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=in

--in
Content-Type: multipart/alternative; boundary=alt

--alt
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Der Elefant tr=E4umt
--alt
Content-Type: text/html

<p>Der <b>Elefant</b> tr&auml;umt</p>
--alt--
--in
Content-Type: application/pdf; name=platypus.pdf
Content-Transfer-Encoding: base64

YQ==
--in
Content-Type: message/rfc822

From: deep@inner.example
Subject: Deepest matter

giraffe at the bottom
--in--
`)

const forwarded = crlf(`From: anna@example.com
Subject: Fwd
Content-Type: multipart/mixed; boundary=out

--out

see below
--out
Content-Type: message/rfc822
Content-Disposition: attachment

${inner}
--out--
`)

const digest = crlf(`From: list@example.com
Subject: Digest
Content-Type: multipart/digest; boundary=dig

--dig

From: one@list.example
Subject: First topic

about walruses
--dig

Subject: Second topic
Content-Type: text/html

<p>about nar<b>whals</b></p>
--dig--
`)

/** The message is nothing but another one, with more text before than the index holds. */
const long = crlf(`Subject: Long
Content-Type: message/rfc822

Subject: Hidden crocodile
Content-Type: multipart/mixed; boundary=lo

--lo

${'filler text\n'.repeat(limits.mime.textBytesMax / 8)}
--lo
Content-Type: message/rfc822

Subject: last

armadillo
--lo--
`)

const plain = crlf('From: bob@example.com\nSubject: Plain\n\nNothing in here but Subject: Hidden words\n')

describe.each([
  ['scanned', false],
  ['indexed', true],
] as const)('%s', (_name, wait) => {
  beforeAll(async () => {
    if (wait) await service.indexed()
  })

  test.each([
    // Their texts.
    ['BODY "elefant träumt"', '1'],
    ['TEXT "elefant träumt"', '1'],
    ['BODY giraffe', '1'],
    ['BODY walruses', '2'],
    ['BODY narwhals', '2'],
    ['BODY "see below"', '1'],
    // Who wrote them, about what, and their files: not in BODY, which matches no header field (RFC 9051 6.4.4).
    ['TEXT "Rückfrage"', '1'],
    ['TEXT "quentin sender"', '1'],
    ['TEXT rachel@inner.example', '1'],
    ['TEXT inner-4711', '1'],
    ['TEXT platypus', '1'],
    ['TEXT "deepest matter"', '1'],
    ['TEXT "first topic"', '2'],
    ['TEXT topic', '2'],
    ['TEXT crocodile', '3'],
    ['BODY "Rückfrage"', ''],
    ['BODY quentin', ''],
    ['BODY crocodile', ''],
    ['BODY hidden', '4'],
    ['TEXT hidden', '3 4'],
    // Behind what the index holds.
    ['BODY armadillo', '3'],
    // The message's own fields stay its own.
    ['SUBJECT "Rückfrage"', ''],
    ['FROM quentin', ''],
    ['HEADER Message-ID inner-4711', ''],
    ['OR TEXT giraffe TEXT walruses', '1 2'],
    ['TEXT giraffe BODY elefant SUBJECT fwd', '1'],
    ['NOT TEXT topic', '1 3 4'],
    ['TEXT unheard', ''],
    // Too short for the index.
    ['BODY "äu"', '1'],
  ])('%s', async (criteria, wanted) => {
    expect(await search(criteria)).toBe(wanted)
  })

  test.each([
    ['query=elefant', ['Fwd']],
    ['q=giraffe', ['Fwd']],
    ['q=quentin', ['Fwd']],
    ['q=platypus', ['Fwd']],
    ['q=%22deepest%20matter%22', ['Fwd']],
    ['query=narwhals', ['Digest']],
    ['query=crocodile', ['Long']],
    ['q=subject:topic', []],
    ['q=from:quentin', []],
    ['query=unheard', []],
  ])('over HTTP: %s', async (query, wanted) => {
    expect(await found(query)).toEqual(wanted)
  })
})

test('the text of the message that carries one is its own only', async () => {
  const { body } = await service.call('GET', `/users/${user()}/mailboxes`)
  const inbox = body.results.find((one: { path: string }) => one.path === 'INBOX').id
  const message = (await service.call('GET', `/users/${user()}/mailboxes/${inbox}/messages/1`)).body
  expect(message.text).toContain('see below')
  expect(message.text).not.toContain('Elefant')
})

test('as deep as the scanner looks and as many parts as it makes are found, and no search ends for it', async () => {
  const { depthMax, partsMax } = limits.mime
  let nested = ''
  for (let depth = 0; depth < 3 * depthMax; depth++)
    nested += `Subject: floor${depth}z\r\nContent-Type: message/rfc822\r\n\r\n`
  nested += 'Subject: ground\r\n\r\ncellar\r\n'
  const parts = Array.from({ length: 2 * partsMax }, (_, at) => `--p\r\n\r\nSubject: leaf${at}z\r\n\r\nword${at}z\r\n`)
  const wide = `Subject: Wide\r\nContent-Type: multipart/digest; boundary=p\r\n\r\n${parts.join('')}--p--\r\n`
  const heavy = `Content-Type: message/rfc822\r\n\r\n${'To: a@b.example, (((\r\n'.repeat(200_000)}\r\nkernel\r\n`
  const hostile = await Client.login(service.at('imap'), 'forwarder')
  await hostile.ok('CREATE Hostile')
  for (const text of [nested, wide, heavy]) await hostile.ok(`APPEND Hostile {${text.length}+}\r\n${text}`)
  await hostile.ok('SELECT Hostile')
  const ask = async (criteria: string) =>
    (await hostile.ok(`SEARCH ${criteria}`)).find(line => line.startsWith('* SEARCH'))
  expect(await ask('TEXT floor20z')).toBe('* SEARCH 1')
  expect(await ask('TEXT leaf20z')).toBe('* SEARCH 2')
  expect(await ask('BODY word20z')).toBe('* SEARCH 2')
  expect(await ask('TEXT nothing-of-it')).toBe('* SEARCH')
  await service.indexed()
  expect(await ask('TEXT floor20z')).toBe('* SEARCH 1')
  expect(await ask('TEXT nothing-of-it')).toBe('* SEARCH')
  await hostile.ok('CLOSE')
  await hostile.ok('DELETE Hostile')
  hostile.close()
})
