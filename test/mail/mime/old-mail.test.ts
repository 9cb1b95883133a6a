// Mail of old and careless programs: what it says can be read, whatever is missing from it or wrong.

import { expect, test } from 'vitest'
import { mailboxes } from '#mail/address/address.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { outline } from '#mail/mime/outline.ts'
import { readText } from '#mail/text/text.ts'

async function read(lines: readonly (string | Buffer)[]) {
  const bytes = Buffer.concat(lines.flatMap(line => [Buffer.from(line as string), Buffer.from('\r\n')]))
  const { summary, texts, attachments } = outline(scanMime(bytes))
  const { text, html } = await readText(texts, (start, end) => bytes.subarray(start, end))
  return {
    subject: summary.subject,
    from: mailboxes(summary.from).map(({ name }) => name)[0],
    text,
    html,
    names: attachments.map(({ info }) => info.filename),
  }
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const line = (...parts: (string | Buffer)[]) => Buffer.concat(parts.map(part => Buffer.from(part as string)))

test.each([
  // As each is written in its character set, without any encoding.
  ['x-sjis', hex('93fa 967b 8cea'), '日本語'],
  ['Windows-31J', hex('93fa 967b 8cea'), '日本語'],
  ['iso-2022-jp', hex('93fa 967b 8cea'), '日本語'],
  ['koi8-r', hex('f0d2 c9d7 c5d4'), 'Привет'],
  ['windows-1251', hex('cff0 e8e2 e5f2'), 'Привет'],
  ['"gb2312"', hex('d6d0 cec4'), '中文'],
  ['ks_c_5601-1987', hex('c7d1 b1b9'), '한국'],
  ['iso-8859-1', hex('4772 fc 7e'), 'Grü~'],
  ['utf-8', hex('4772 fc 7e'), 'Grü~'],
  ['nobody-knows', hex('4772 fc 7e'), 'Grü~'],
  ['constructor', hex('4772 fc 7e'), 'Grü~'],
])('8-bit text of %s is read in the header, too', async (charset, bytes, wanted) => {
  const lines = [
    line('From: ', bytes, ' <a@example.com>'),
    line('Subject: ', bytes),
    `Content-Type: text/plain; charset=${charset}`,
    '',
    bytes,
  ]
  expect(await read(lines)).toMatchObject({ subject: wanted, from: wanted, text: wanted })
})

test('the encoded words beside it say what raw text is written in', async () => {
  const lines = ['From: =?koi8-r?B?6dfBzg==?= <i@example.ru>', line('Subject: ', hex('f0d2 c9d7 c5d4')), '', 'x']
  expect(await read(lines)).toMatchObject({ subject: 'Привет', from: 'Иван' })
})

test('the text of a message says what the raw header fields of all its parts are written in', async () => {
  const name = hex('95 5c 8c 76 8e 5a')
  const lines = [
    line('From: ', hex('93fa 967b 8cea'), ' <a@example.jp>'),
    line('Subject: ', name),
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/plain; charset=shift_jis',
    '',
    hex('93fa 967b 8cea'),
    '--x',
    line('Content-Type: application/msword; name="', name, '.doc"'),
    '',
    'x',
    '--x',
    line('Content-Disposition: attachment; filename="', name, '.xls"'),
    '',
    'x',
    '--x--',
  ]
  expect(await read(lines)).toMatchObject({
    ...{ subject: '表計算', from: '日本語', text: '日本語', names: ['表計算.doc', '表計算.xls'] },
  })
})

test('Japanese in seven bits is read without a label', async () => {
  const words = '\x1b$BF|K\\8l\x1b(B'
  for (const type of [[], ['Content-Type: text/plain'], ['Content-Type: text/plain; charset=us-ascii']]) {
    const lines = [`From: ${words} <a@example.jp>`, `Subject: ${words}`, ...type, '', words]
    expect(await read(lines)).toMatchObject({ subject: '日本語', from: '日本語', text: '日本語' })
  }
})

test.each([
  ['ansi_x3.4-1968', 'YWJj', 'abc'],
  ['cp-850', 'hJSB', 'äöü'],
  ['dos-862', 'mYyFjQ==', 'שלום'],
  ['iso-8859-8-i', '+ezl7Q==', 'שלום'],
  ['x-mac-greek', 'tuzs', 'Ελλ'],
  ['x-mac-ce', '62x1', 'Žlu'],
  ['x-cp1252', 'k2GU', '“a”'],
  ['us', 'YWJj', 'abc'],
  ['unicode-1-1-utf-7', 'R3IrQVB3QTN3LWU=', 'Grüße'],
  ['_iso-2022-jp$ESC', 'GyRCRnxLXDhsGyhC', '日本語'],
  ['cp50221', 'GyRCRnxLXDhsGyhC', '日本語'],
])('%s is a character set', async (charset, content, wanted) => {
  const type = `Content-Type: text/plain; charset=${charset}`
  expect((await read([type, 'Content-Transfer-Encoding: base64', '', content])).text).toBe(wanted)
})

test.each<[string, string[], object]>([
  ['a type without its half', ['Content-Type: text', '', 'old'], { text: 'old', names: [] }],
  ['text of a kind of its own', ['Content-Type: text/enriched', '', 'old'], { text: 'old', names: [] }],
  ['an appointment', ['Content-Type: text/calendar', '', 'BEGIN'], { text: '', names: ['attachment-1.ics'] }],
  [
    'what nobody can unpack',
    ['Content-Type: text/plain; name=.signature', 'Content-Transfer-Encoding: x-gzip64', '', 'H4sI'],
    { text: '', names: ['.signature'] },
  ],
  [
    'an encoding nobody meant',
    ['Content-Type: text/plain', 'Content-Transfer-Encoding: plain', '', 'old'],
    { text: 'old', names: [] },
  ],
  [
    'no end',
    ['Content-Type: multipart/mixed; boundary=x', '', '--x', '', 'one', '--x', 'Content-Type: text/html', '', '<p>two'],
    { text: 'one\ntwo', names: [] },
  ],
  [
    'a boundary that begins another',
    [
      ...['Content-Type: multipart/mixed; boundary=ab', '', '--ab'],
      ...['Content-Type: multipart/alternative; boundary=abc', '', '--abc', '', 'one', '--abc'],
      ...['Content-Type: text/html', '', '<p>two</p>', '--abc--', '--ab', '', 'three', '--ab--'],
    ],
    { text: 'one\nthree', html: ['<p>two</p>', '<p>three</p>'] },
  ],
  [
    'two forks of a file',
    [
      ...['Content-Type: multipart/appledouble; boundary=x', '', '--x'],
      ...['Content-Type: application/applefile; name="%Report"', '', 'a', '--x'],
      ...['Content-Type: application/msword; name=Report', '', 'b', '--x--'],
    ],
    { text: '', names: ['%Report', 'Report'] },
  ],
  [
    'parts without the empty line that ends their header',
    [
      ...['Content-Type: multipart/mixed; boundary=x', '', '--x', 'one', 'two', '--x', '', 'three'],
      ...['--x', 'Content-Type: text/html', '', '<p>four', '--x', 'five', '', 'six', '--x', '--x--'],
    ],
    { text: 'one\ntwo\nthree\nfour\nfive\n\nsix', names: [] },
  ],
  ['a remark before its encoding', ['Content-Transfer-Encoding: (as ever) base64', '', 'b2xk'], { text: 'old' }],
  [
    'a name and no disposition',
    ['Content-Type: application/pdf', 'Content-Disposition: filename="my file.pdf"', '', 'x'],
    { text: '', names: ['my file.pdf'] },
  ],
  [
    'a name that is too long',
    [`Content-Type: application/pdf; name="${'\u{1f600}'.repeat(500)}.pdf"`, '', 'x'],
    { names: [`${'\u{1f600}'.repeat(125)}.pdf`] },
  ],
  ['a page whose type has blanks', ['Content-Type: text / html', '', '<p>old</p>'], { text: 'old' }],
  [
    'plain text that says it is UTF-16',
    ['Content-Type: text/plain; charset=utf-16', '', 'plain and old'],
    { text: 'plain and old' },
  ],
  ['a mark of order', ['Content-Type: text/plain; charset=utf-8', '', '\ufeffold'], { text: 'old' }],
  ['a page that says it is UTF-16', ['Content-Type: text/html', '', '<meta charset=utf-16><p>ü'], { text: 'ü' }],
])('%s', async (_name, lines, wanted) => {
  expect(await read(lines)).toMatchObject(wanted)
})
