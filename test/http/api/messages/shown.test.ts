// How messages of many senders are shown: decoded names, text in both forms, reports, what an attached message carries,
// header fields as an object. Over HTTP, and in ENVELOPE where IMAP shows the same.

import { expect, test } from 'vitest'
import { Client } from '../../../imap/client.ts'
import { useTeal } from '../../../running.ts'
import { type Account, account } from '../mail-world.ts'

const service = useTeal()

async function shown(user: Account, source: string | string[], query = '') {
  const raw = (typeof source === 'string' ? source : source.join('\n')).replace(/\r?\n/g, '\r\n')
  const id = await user.put('INBOX', { raw })
  const { status, body } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${id}${query}`)
  expect(status).toBe(200)
  return body
}

interface File {
  id: string
  filename: string
  contentType: string
  disposition: string | false
  related: boolean
}

test('Japanese subjects and names in several encoded words are read and found', async () => {
  const user = await account(service, 'tanaka')
  const word = (text: string) => `=?ISO-2022-JP?B?${Buffer.from(text, 'latin1').toString('base64')}?=`
  const [one, two] = [word('\x1b$B$3$s\x1b(B'), word('\x1b$B$K$A$O\x1b(B')]
  const body = await shown(user, [`From: ${one} ${two} <a@example.jp>`, `Subject: ${one}`, ` ${two}`, '', 'x'])
  expect(body).toMatchObject({ subject: 'こんにちは', from: { name: 'こんにちは', address: 'a@example.jp' } })
  const found = await user.call('GET', `/search?q=${encodeURIComponent('んにち')}`)
  expect(found.body.total).toBe(1)
  const client = await Client.login(service.at('imap'), 'tanaka', 'INBOX')
  const needle = Buffer.from('んにち')
  expect(await client.ok(`SEARCH CHARSET UTF-8 SUBJECT {${needle.length}+}\r\n${needle}`)).toContain('* SEARCH 1')
  client.close()
})

test('names of attachments are read in the best form that is there', async () => {
  const user = await account(service, 'names')
  const names: [disposition: string, name: string][] = [
    [`attachment; filename*=utf-8''single-report.txt; filename*0*=utf-8''n-re; filename*1*=port.bin`, 'n-report.bin'],
    [`attachment; filename=plain.bin; filename*=utf-8''ext%C3%A9nded.bin`, 'exténded.bin'],
    [`attachment; filename*0="first-"; filename*2="third.bin"`, 'first-third.bin'],
    [`attachment; filename*1*=utf-8''%C3%A9; filename*2=".bin"`, 'é.bin'],
    [String.raw`attachment; filename="say \"hi\" \\ there.bin"`, String.raw`say "hi" \ there.bin`],
    [String.raw`attachment; filename="..\\..\\evil.bin"`, 'evil.bin'],
    [`attachment; filename="=?utf-8?Q?r=C3=A9sum=C3=A9?=\n =?utf-8?Q?=3B_2.bin?="`, 'résumé; 2.bin'],
    [`attachment; filename="../../etc/passwd"`, 'passwd'],
    [`attachment; filename=".."`, 'attachment-9.bin'],
  ]
  const part = ([disposition]: readonly [string, string]) =>
    `--b\nContent-Type: application/octet-stream\nContent-Disposition: ${disposition}\n\nx`
  const body = await shown(user, [
    'Subject: names',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    ...names.map(part),
    '--b--',
  ])
  expect(body.attachments.map(({ filename }: File) => filename)).toEqual(names.map(([, name]) => name))
})

test('a boundary in single quotes is taken where nothing is found with them', async () => {
  const user = await account(service, 'quotes')
  const alike = (boundary: string, more: string[] = []) => [
    'Subject: quotes',
    "Content-Type: multipart/mixed; boundary='q'",
    '',
    ...more,
    `--${boundary}`,
    '',
    'inside',
    `--${boundary}`,
    'Content-Type: application/pdf; name=a.pdf',
    '',
    'x',
    `--${boundary}--`,
  ]
  for (const source of [alike('q'), alike("'q'", ['--qualm', '']), alike("'q'")]) {
    const body = await shown(user, source)
    expect([body.text, body.attachments.length]).toEqual(['inside', 1])
  }
})

test('remarks are no addresses, a bare word is a mailbox, a group may be empty', async () => {
  const user = await account(service, 'people')
  const body = await shown(user, [
    'From: cron (Cron Daemon)',
    'Reply-To: (nobody)',
    'To: root',
    'Cc: unlisted-recipients:; (no To-header on input)',
    '',
    'x',
  ])
  expect(body.from).toEqual({ name: 'Cron Daemon', address: 'cron' })
  expect(body.to).toEqual([{ name: '', address: 'root' }])
  expect([body.replyTo, body.cc]).toEqual([undefined, []])
  const client = await Client.login(service.at('imap'), 'people', 'INBOX')
  const [line] = await client.ok('FETCH 1 ENVELOPE')
  const cron = '(("Cron Daemon" NIL "cron" ""))'
  const group = '((NIL NIL "unlisted-recipients" NIL)(NIL NIL NIL NIL))'
  expect(line).toContain(`ENVELOPE (NIL NIL ${cron} ${cron} ${cron} ((NIL NIL "root" "")) ${group} NIL NIL NIL)`)
  client.close()
})

const bounce = [
  'From: mailer-daemon@example.net',
  'Subject: failed',
  'Content-Type: multipart/report; report-type=delivery-status; boundary=r',
  '',
  '--r',
  '',
  'It failed.',
  '--r',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.example.net',
  '',
  'Final-Recipient: rfc822; nobody@example.net',
  'Status: 5.1.1',
  '--r',
  'Content-Type: text/rfc822-headers',
  '',
  'Subject: what was <sent>',
  '--r--',
]

test('reports are text to read, no attachments', async () => {
  const user = await account(service, 'bounced')
  const body = await shown(user, bounce)
  expect(body.attachments).toEqual([])
  expect(body.text.split('\n')).toEqual([
    'It failed.',
    'Reporting-MTA: dns; mx.example.net',
    '',
    'Final-Recipient: rfc822; nobody@example.net',
    'Status: 5.1.1',
    'Subject: what was <sent>',
  ])
  expect(body.html).toEqual([
    '<p>It failed.</p>',
    '<p>Reporting-MTA: dns; mx.example.net</p><p>Final-Recipient: rfc822; nobody@example.net<br/>Status: 5.1.1</p>',
    '<p>Subject: what was &lt;sent&gt;</p>',
  ])
  const file = bounce.map(line =>
    line === 'Content-Type: text/rfc822-headers' ? `${line}\nContent-Disposition: attachment` : line,
  )
  expect((await shown(user, file)).attachments).toMatchObject([{ contentType: 'text/rfc822-headers' }])
  const read = bounce.map(line => line.replace('delivery-status', 'disposition-notification'))
  expect((await shown(user, read)).attachments).toEqual([])
})

test('half a character, which some character sets can say, is none; two halves in two words are one', async () => {
  const user = await account(service, 'halved')
  const body = await shown(user, [
    'Subject: =?utf-7?Q?a+2AA-b?= =?utf-16be?B?2D0=?= =?utf-16be?B?3gA=?=',
    'Content-Type: multipart/mixed; boundary=h',
    '',
    '--h',
    'Content-Type: text/plain; charset=utf-7',
    '',
    'c+2AA-d',
    '--h',
    "Content-Disposition: attachment; filename*=utf-7''+2AA-.txt",
    '',
    'x',
    '--h--',
  ])
  expect([body.subject, body.text]).toEqual(['a\ufffdb\u{1f600}', 'c\ufffdd'])
  expect(body.attachments[0].filename).toBe('\ufffd.txt')
})

test('what an attached message carries is listed after it and can be had', async () => {
  const user = await account(service, 'carried')
  const body = await shown(user, [
    'Subject: outer',
    'Content-Type: multipart/mixed; boundary=o',
    '',
    '--o',
    '',
    'see below',
    '--o',
    'Content-Type: message/rfc822',
    '',
    'Subject: inner',
    'Content-Type: multipart/mixed; boundary=i',
    '',
    '--i',
    '',
    'inner text',
    '--i',
    'Content-Type: application/pdf; name=inner.pdf',
    'Content-Disposition: attachment',
    'Content-Transfer-Encoding: base64',
    '',
    'JVBERi0=',
    '--i--',
    '--o',
    'Content-Type: image/png; name=last.png',
    '',
    'x',
    '--o--',
  ])
  expect(body.text).toBe('see below')
  const listed = body.attachments.map(({ id, filename, contentType, disposition }: File) => {
    return [id, filename, contentType, disposition]
  })
  expect(listed).toEqual([
    ['ATT00001', 'attachment-1.eml', 'message/rfc822', false],
    ['ATT00002', 'inner.pdf', 'application/pdf', 'attachment'],
    ['ATT00003', 'last.png', 'image/png', false],
  ])
  const box = user.box('INBOX')
  const path = `/mailboxes/${box}/messages/${body.id}/attachments/ATT00002`
  expect(await (await service.raw('GET', `/users/${user.id}${path}`)).text()).toBe('%PDF-')
  // Who takes all of them along takes the message once, with all that it carries.
  const reference = { mailbox: box, id: body.id, action: 'forward', attachments: true }
  const draft = { to: [{ address: 'x@example.com' }], subject: 'Fwd', text: 'y', reference, draft: true }
  const copied = await user.call('POST', `/mailboxes/${user.box('Drafts')}/messages`, draft)
  const { body: forwarded } = await user.call(
    'GET',
    `/mailboxes/${user.box('Drafts')}/messages/${copied.body.message.id}`,
  )
  expect(forwarded.attachments.map(({ filename }: File) => filename)).toEqual([
    'attachment-1.eml',
    'inner.pdf',
    'last.png',
  ])
  expect((await user.call('GET', '/search?q=inner.pdf')).body.total).toBe(2)
})

test('text is shown as HTML, too, and HTML as text', async () => {
  const user = await account(service, 'forms')
  const plain = await shown(user, 'Subject: a\n\n\n  a < b & "c"\nnext\n  \n\n<script>alert(1)</script>\n\n\n')
  expect(plain.text).toBe('a < b & "c"\nnext\n  \n\n<script>alert(1)</script>')
  expect(plain.html).toEqual([
    '<p>a &lt; b &amp; &quot;c&quot;<br/>next</p><p>&lt;script&gt;alert(1)&lt;/script&gt;</p>',
  ])
  const html = await shown(user, 'Content-Type: text/html\n\n\n<p>one</p><p>two</p>\n\n')
  expect([html.text, html.html]).toEqual(['one\n\ntwo', ['<p>one</p><p>two</p>']])
  const mixed = (parts: [string, string][], type = 'mixed') => [
    `Content-Type: multipart/${type}; boundary=m`,
    '',
    ...parts.map(([kind, content]) => `--m\nContent-Type: ${kind}\n\n${content}`),
    '--m--',
  ]
  const both: [string, string][] = [
    ['text/plain', 'before'],
    ['text/html', '<b>middle</b>'],
    ['text/plain', '  '],
    ['text/plain', 'after\n'],
  ]
  const three = await shown(user, mixed(both))
  expect([three.text, three.html]).toEqual([
    'before\nmiddle\nafter',
    ['<p>before</p>', '<b>middle</b>', '<p>after</p>'],
  ])
  const two = await shown(user, mixed(both.slice(0, 2), 'alternative'))
  expect([two.text, two.html]).toEqual(['before', ['<b>middle</b>']])
  const blank = await shown(
    user,
    mixed(
      [
        ['text/plain', ' '],
        ['text/html', '<b>all</b>'],
      ],
      'alternative',
    ),
  )
  expect([blank.text, blank.html]).toEqual(['all', ['<b>all</b>']])
  const lonely = await shown(user, mixed([['text/plain', 'alone']], 'alternative'))
  expect([lonely.text, lonely.html]).toEqual(['alone', ['<p>alone</p>']])
  const nothing = await shown(user, 'Subject: nothing\n\n')
  expect([nothing.text, nothing.html]).toEqual(['', []])
})

test('a page that begins with pages of style has a preview', async () => {
  const user = await account(service, 'styled')
  const style = `<style>p { color: red }\n${'.x { margin: 0 }\n'.repeat(1000)}</style>`
  await shown(user, `Content-Type: text/html\n\n<html><head>${style}</head><p>Hello</p></html>`)
  await shown(user, `Content-Type: text/html\n\n<html><head>${style}</head></html>`)
  const { body } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages?order=asc`)
  expect(body.results.map(({ intro }: { intro: string }) => intro)).toEqual(['Hello', ''])
})

test('header fields come as values, lists and objects', async () => {
  const user = await account(service, 'fields')
  await shown(user, [
    'Received: from second',
    'Received: from first',
    'From: =?utf-8?Q?=C3=84nne?= <a@example.net>',
    'To: team: b@example.net, Cy <c@example.net>;, d@example.net',
    'To: e@example.net',
    'Subject: =?utf-8?Q?=C3=BC?=',
    'Message-ID: <one@example.net>',
    'Message-ID: <two@example.net>',
    'X-Once: yes',
    '__proto__: polluted',
    'Content-Type: TEXT/Plain; charset=utf-8; format="flowed"',
    'Content-Disposition: inline',
    'Content-Transfer-Encoding: 8bit',
    '',
    'x',
  ])
  const wanted = {
    received: ['from second', 'from first'],
    from: [{ name: 'Änne', address: 'a@example.net' }],
    to: [
      {
        name: 'team',
        group: [
          { name: '', address: 'b@example.net' },
          { name: 'Cy', address: 'c@example.net' },
        ],
      },
      { name: '', address: 'd@example.net' },
      { name: '', address: 'e@example.net' },
    ],
    subject: 'ü',
    'message-id': '<one@example.net>',
    'x-once': 'yes',
    'content-type': {
      ...{ value: 'text/plain', type: 'text', subtype: 'plain' },
      ...{ params: { charset: 'utf-8', format: 'flowed' }, hasParams: true },
    },
    'content-disposition': { value: 'inline', type: 'inline', subtype: '', params: {}, hasParams: false },
    'content-transfer-encoding': '8bit',
  }
  for (const path of [`/mailboxes/${user.box('INBOX')}/messages?includeHeaders=true`, '/search?q=ü&includeHeaders=1']) {
    const [row] = (await user.call('GET', encodeURI(path))).body.results
    expect(row.headers).toMatchObject(wanted)
    expect(Object.getPrototypeOf(row.headers)).toBe(Object.prototype)
    expect(JSON.stringify(row.headers)).toContain('"__proto__":"polluted"')
  }
})

test('a search that changes things takes what a search takes', async () => {
  const user = await account(service, 'changes')
  await shown(user, 'Subject: one\n\nx')
  const wishes = { includeHeaders: true, metaData: true, threadCounters: true, limit: 5, order: 'asc', page: 1 }
  const more = { includeHasDrafts: false, collapseThreads: false, searchable: true, seen: true }
  const form = { q: 'subject:one', ...wishes, ...more, action: { flagged: true } }
  const { status, body } = await user.call('POST', '/search', form)
  expect([status, body.success]).toEqual([200, true])
  expect((await user.done(body.scheduled)).result).toEqual({ found: 1, changed: 1 })
})
