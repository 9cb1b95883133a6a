// What a reader sees of a message is found: by BODY and TEXT over IMAP, over HTTP and by filters alike, before and after it
// is indexed. TEXT also finds header fields of parts (RFC 9051 6.4.4).

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { account } from '../http/api/mail-world.ts'
import { Client } from './client.ts'
import { useSearched } from './searched.ts'

const {
  service,
  user: reader,
  client,
  search,
} = useSearched('reader', () => [...[newsletter, files, bounce, long, plain, invitation]])

const crlf = (text: string) => text.replace(/\r?\n/g, '\r\n')

const newsletter = crlf(`From: shop@example.net
Subject: Newsletter
Content-Type: multipart/alternative; boundary=alt

--alt
Content-Type: text/plain; charset=utf-8

Please read this in a browser.
--alt
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable
Content-Description: Pretty half

<!--><p title=3D"a > b">Zwei Stra=DFen, <b>ein</b> Preis</p><!-- secretcomment --><style>p{stylesheet}</style>
<img src=3D"https://example.net/pixel.gif" alt=3D"Sommer&shy;fest &amp; mehr"><a
 href=3D'https://example.net/angebot?a=3D1&amp;b=3D2'>Klick</a><a href=3Dmailto:werk@example.net>Post</a>
--alt--
`)

const files = crlf(`From: office@example.net
Subject: Files
Content-Type: multipart/mixed; boundary=mix

--mix

see the files
--mix
Content-Type: text/plain; charset=koi8-r; name=notes.txt
Content-Disposition: attachment; filename=notes.txt
Content-Transfer-Encoding: base64

8NLJ18XU
--mix
Content-Type: text/csv; charset=utf-8
Content-Disposition: attachment; filename=prices.csv

article;price
sprocket;17
--mix
Content-Type: text/calendar; method=REQUEST; charset=utf-8
X-Part-Field: =?utf-8?Q?B=C3=BCro?=

BEGIN:VCALENDAR
SUMMARY:Planning the quart
 erly report\\, twice
END:VCALENDAR
--mix
Content-Type: application/pdf; name="=?utf-8?Q?Gr=C3=B6=C3=9Fe?=.pdf"
Content-Transfer-Encoding: base64
Content-Disposition: attachment

c3Byb2NrZXRlZXI=
--mix--
`)

const bounce = crlf(`From: daemon@example.net
Subject: Returned
Content-Type: multipart/report; report-type=delivery-status; boundary=rep

--rep

It came back.
--rep
Content-Type: message/delivery-status

Diagnostic-Code: smtp; 550 mailbox overflowing
--rep
Content-Type: text/rfc822-headers

Subject: lost letter
--rep--
`)

/** Longer than what the index holds, in a file. */
const long = crlf(`Subject: Long
Content-Type: multipart/mixed; boundary=lo

--lo

short
--lo
Content-Type: text/csv
Content-Disposition: attachment; filename=long.csv

${'some;cells\n'.repeat(limits.mime.textBytesMax / 8)}lastly;armadillo
--lo--
`)

const plain = crlf('From: bob@example.com\nSubject: Plain\n\nNothing special in here\n')
const invitation = crlf('From: cal@example.com\nSubject: Invited\nContent-Type: text/calendar\n\nSUMMARY:Regatta\n')

describe.each([
  ['scanned', false],
  ['indexed', true],
] as const)('%s', (_name, wait) => {
  beforeAll(async () => {
    if (wait) await service.indexed()
  })

  test.each([
    // Both halves, what stands for a picture, where a link leads.
    ['BODY "in a browser"', '1'],
    ['BODY "zwei straßen, ein preis"', '1'],
    ['TEXT "zwei straßen, ein preis"', '1'],
    ['BODY "sommerfest & mehr"', '1'],
    ['BODY "example.net/angebot?a=1&b=2"', '1'],
    ['BODY werk@example.net', '1'],
    // Nobody sees these.
    ['BODY secretcomment', ''],
    ['BODY stylesheet', ''],
    ['BODY pixel.gif', ''],
    // Files of text.
    ['BODY "Привет"', '2'],
    ['BODY sprocket', '2'],
    ['BODY "quarterly report, twice"', '2'],
    ['BODY regatta', '6'],
    ['BODY sprocketeer', ''],
    // Reports.
    ['BODY "mailbox overflowing"', '3'],
    ['BODY "lost letter"', '3'],
    // Behind what the index holds.
    ['BODY armadillo', '4'],
    ['NOT BODY armadillo', '1 2 3 5 6'],
    // Header fields of parts, not of the message: TEXT only.
    ['TEXT "pretty half"', '1'],
    ['BODY "pretty half"', ''],
    ['TEXT "x-part-field: büro"', '2'],
    ['TEXT "größe.pdf"', '2'],
    ['TEXT prices.csv', '2'],
    ['BODY prices.csv', ''],
    ['TEXT "text/calendar; method=request"', '2'],
    ['TEXT report-type=delivery-status', '3'],
    ['TEXT text/calendar', '2 6'],
    ['TEXT message/delivery-status', '3'],
    ['TEXT koi8', '2'],
    ['TEXT k8x', ''],
    ['HEADER Content-Type calendar', '6'],
    ['BODY "nothing special"', '5'],
  ])('%s', async (criteria, wanted) => {
    expect(await search(criteria)).toBe(wanted)
  })

  test('in other character sets', async () => {
    const latin = Buffer.from('SEARCH CHARSET ISO-8859-1 BODY {7+}\r\nstra\xdfen', 'latin1')
    expect(await client().ok(latin)).toContain('* SEARCH 1')
    const cyrillic = Buffer.concat([
      Buffer.from('SEARCH CHARSET KOI8-R TEXT {6+}\r\n'),
      Buffer.from([0xd0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4]),
    ])
    expect(await client().ok(cyrillic)).toContain('* SEARCH 2')
  })

  test.each([
    ['query=sprocket', ['Files']],
    ['q=sommerfest', ['Newsletter']],
    ['q=angebot', ['Newsletter']],
    ['q=%22zwei straßen, ein preis%22', ['Newsletter']],
    ['query=overflowing', ['Returned']],
    ['query=regatta', ['Invited']],
    ['q=Привет', ['Files']],
    ['q=größe', ['Files']],
    ['query=secretcomment', []],
    // Nobody who looks for words means the kind of a part.
    ['query=koi8', []],
  ])('over HTTP: %s', async (query, wanted) => {
    const { body } = await service.call('GET', encodeURI(`/users/${reader()}/search?${query.replaceAll('%22', '"')}`))
    expect(body.results.map((row: { subject: string }) => row.subject)).toEqual(wanted)
  })
})

test('a filter on text sees the same', async () => {
  const user = await account(service, 'sieve')
  const words = {
    newsletter: ['straßen ein preis', 'sommerfest', '"example.net/angebot?a=1"'],
    files: ['sprocket', 'Привет', '"quarterly report, twice"'],
    bounce: ['overflowing'],
  }
  for (const text of Object.values(words).flat()) {
    const made = await user.call('POST', '/filters', { query: { text }, action: { flag: true } })
    expect(made.body).toMatchObject({ success: true })
  }
  const absent = { query: { text: 'secretcomment OR sprocketeer' }, action: { delete: true } }
  expect((await user.call('POST', '/filters', absent)).body).toMatchObject({ success: true })
  const lmtp = await openLmtp(service.at('lmtp'))
  for (const source of [newsletter, files, bounce, plain]) {
    await deliver(lmtp, 'a@example.net', ['sieve@example.com'], Buffer.from(source))
  }
  lmtp.close()
  const { body } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages?order=asc`)
  expect(body.results.map(({ flagged }: { flagged: boolean }) => flagged)).toEqual([true, true, true, false])
  // Each by itself, too.
  for (const text of Object.values(words).flat()) {
    const found = await user.call('GET', `/search?useAndSearch=true&q=${encodeURIComponent(text)}`)
    expect([text, found.body.total]).toEqual([text, 1])
  }
})

test('raw header fields are read in the character set of the text, wherever they are looked at', async () => {
  const user = await account(service, 'raw8')
  const own = await Client.login(service.at('imap'), 'raw8', 'INBOX')
  const [subject, needle] = [Buffer.from([0x95, 0x5c, 0x8c, 0x76, 0x8e, 0x5a]), Buffer.from('計算')]
  const source = Buffer.concat([
    Buffer.from('From: a@example.jp\r\nSubject: '),
    subject,
    Buffer.from('\r\nX-Own: '),
    subject,
    Buffer.from('\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain; '),
    Buffer.from('charset=shift_jis\r\n\r\nabc\r\n--x\r\nContent-Type: application/msword; name="'),
    subject,
    Buffer.from('.doc"\r\n\r\nx\r\n--x--\r\n'),
  ])
  await own.ok(Buffer.concat([Buffer.from(`APPEND INBOX {${source.length}+}\r\n`), source]))
  for (const criteria of ['SUBJECT', 'HEADER X-Own', 'TEXT']) {
    const found = await own.ok(`SEARCH CHARSET UTF-8 ${criteria} {${needle.length}+}\r\n${needle}`)
    expect([criteria, ...found]).toEqual([criteria, '* SEARCH 1'])
  }
  const [line] = await own.ok('FETCH 1 (ENVELOPE BODYSTRUCTURE)')
  expect(line).toContain(`"=?utf-8?B?${Buffer.from('表計算').toString('base64')}?="`)
  expect(line).toContain(`"name*" "utf-8''${encodeURIComponent('表計算.doc')}"`)
  const { body } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages?includeHeaders=true`)
  expect(body.results[0]).toMatchObject({ subject: '表計算', headers: { subject: '表計算', 'x-own': '表計算' } })
  expect(body.results[0].attachmentsList).toMatchObject([{ filename: '表計算.doc' }])
  own.close()
})
