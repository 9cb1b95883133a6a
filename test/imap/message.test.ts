// Messages over the wire: APPEND, FETCH, STORE, COPY, MOVE, EXPUNGE, byte for byte.

import { beforeEach, describe, expect, test } from 'vitest'
import { deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
let number = 0
let user = ''

beforeEach(async () => {
  user = `anna${++number}`
  await service.user(user)
})

const login = (mailbox?: string) => Client.login(service.at('imap'), user, mailbox)
const at = () => service.at('imap')

/** A multipart message with an embedded one. */
const nested = [
  'From: bea@example.net',
  'Subject: outer',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=outer',
  '',
  'preamble',
  '--outer',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'Gr=C3=BC=C3=9Fe =\r\nan alle',
  '--outer',
  'Content-Type: message/rfc822',
  '',
  'From: carl@example.org',
  'Subject: inner',
  'Content-Type: multipart/alternative; boundary=inner',
  '',
  '--inner',
  'Content-Type: text/plain',
  '',
  'inner plain',
  '--inner',
  'Content-Type: text/html',
  '',
  '<p>inner html</p>',
  '--inner--',
  '--outer',
  'Content-Type: application/octet-stream',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from([0, 1, 2, 0, 255]).toString('base64'),
  '--outer--',
  '',
].join('\r\n')

/** The value of a literal or quoted item of a FETCH line. */
function item(line: string | undefined, name: string): string | undefined {
  const at = line?.indexOf(`${name} `) ?? -1
  if (line === undefined || at < 0) return undefined
  const rest = line.slice(at + name.length + 1)
  const literal = /^~?\{(\d+)\}\r\n/.exec(rest)
  if (literal === null) return /^NIL/.test(rest) ? 'NIL' : rest
  const bytes = Buffer.from(rest).subarray(literal[0].length)
  return bytes.subarray(0, Number(literal[1])).toString()
}

describe('APPEND', () => {
  test('goes where a name leads now, whoever made, renamed or deleted the folder', async () => {
    const client = await login()
    const other = await login()
    const put = () => client.ask(append('Box', mail('x')))
    const validity = async () => /APPENDUID (\d+) /.exec((await put()).text)?.[1]
    expect(await put()).toMatchObject({ status: 'NO', text: expect.stringContaining('TRYCREATE') })
    await other.ok('CREATE Box')
    const first = await validity()
    expect(first).toBeDefined()
    await other.ok('RENAME Box Moved')
    expect(await put()).toMatchObject({ status: 'NO', text: expect.stringContaining('TRYCREATE') })
    await other.ok('CREATE Box')
    const second = await validity()
    await other.ok('DELETE Box')
    expect(await put()).toMatchObject({ status: 'NO', text: expect.stringContaining('TRYCREATE') })
    await other.ok('RENAME Moved Box')
    expect(await validity()).toBe(first)
    expect(second).not.toBe(first)
    expect(await client.ok('STATUS Box (MESSAGES)')).toContain('* STATUS "Box" (MESSAGES 2)')
    client.close()
    other.close()
  })

  test('bytes come back as they went in, whatever they are', async () => {
    const client = await login('INBOX')
    const messages = [
      mail('plain'),
      'no header at all',
      'Subject: bare\rCR\r\n\r\nbody\r',
      'Subject: x\r\n\r\n.leading dots\r\n..\r\n.\r\n',
      `Subject: long\r\n\r\n${'x'.repeat(300_000)}`,
      `Subject: large\r\n\r\n${'0123456789abcdef\r\n'.repeat(150_000)}`,
      nested,
      'Subject: no end of line',
      'Subject: =?constructor?q?=e4?=\r\nContent-Type: text/plain; charset=constructor\r\n\r\nä',
    ]
    for (const message of messages) await client.ok(append('INBOX', message))
    const lines = (await client.ok('FETCH 1:* (UID RFC822.SIZE BODY.PEEK[])')).filter(line => / FETCH /.test(line))
    expect(lines).toHaveLength(messages.length)
    for (const [index, message] of messages.entries()) {
      const got = item(lines[index], 'BODY[]') ?? ''
      expect(got.length).toBe(message.length)
      expect(got === message).toBe(true)
      expect(lines[index]).toContain(`RFC822.SIZE ${Buffer.byteLength(message)} `)
    }
    client.close()
  })

  test('what has no header is text, and what was put on top of it ends before that', async () => {
    const client = await login('INBOX')
    const lmtp = await openLmtp(service.at('lmtp'))
    const messages = ['Hello Anna,\r\n\r\nhow are you?\r\n', 'Hello\r\n']
    for (const message of messages) {
      await client.ok(append('INBOX', message))
      await deliver(lmtp, 'b@example.net', [`${user}@example.com`], Buffer.from(message))
    }
    lmtp.close()
    await client.ok('SELECT INBOX')
    const asked = 'BODY.PEEK[] BODY.PEEK[HEADER] BODY.PEEK[TEXT] BODY'
    const lines = (await client.ok(`FETCH 1:* (${asked})`)).filter(line => / FETCH /.test(line))
    expect(lines).toHaveLength(4)
    for (const [at, line] of lines.entries()) {
      const text = messages[at >> 1] ?? ''
      const header = item(line, 'BODY[HEADER]') ?? ''
      if (at % 2 === 0) expect(header).toBe('')
      else expect(header).toMatch(/^Delivered-To: [\s\S]*\S\r\n\r\n$/)
      expect(item(line, 'BODY[TEXT]')).toBe(text)
      expect(item(line, 'BODY[]')).toBe(header + text)
      expect(line).toContain(`"7BIT" ${text.length} ${text.split('\r\n').length - 1})`)
    }
    expect(await client.ok('SEARCH BODY "hello anna"')).toContain('* SEARCH 1 2')
    client.close()
  })

  test('flags, keywords and date are kept; APPENDUID tells where it is', async () => {
    const client = await login()
    const bytes = mail('dated')
    const answer = await client.ask(
      `APPEND Drafts (\\Draft \\Seen $Label1) "01-Feb-2020 03:04:05 +0100" {${bytes.length}+}\r\n${bytes}`,
    )
    expect(answer.text).toMatch(/^\[APPENDUID \d+ 1\]/)
    const lines = await client.ok('EXAMINE Drafts')
    expect(lines.find(line => line.startsWith('* FLAGS'))).toContain('$Label1')
    const [line] = await client.ok('FETCH 1 (FLAGS INTERNALDATE)')
    expect(line).toBe('* 1 FETCH (FLAGS (\\Seen \\Draft $Label1) INTERNALDATE " 1-Feb-2020 02:04:05 +0000")')
    client.close()
  })

  test('a date that no calendar has is refused before the message is asked for', async () => {
    const client = await login()
    for (const date of ['31-Feb-2020 00:00:00 +0000', '01-Jan-2020 24:00:00 +0000', '01-Jan-99 00:00:00 +0000'])
      expect(await client.ask(`APPEND INBOX "${date}" {10}`), date).toMatchObject({ status: 'BAD', lines: [] })
    const bytes = mail('early')
    await client.ok(`APPEND INBOX "01-Jan-0099 00:00:00 +0000" {${bytes.length}+}\r\n${bytes}`)
    await client.ok('SELECT INBOX')
    expect(await client.ok('FETCH 1 INTERNALDATE')).toEqual(['* 1 FETCH (INTERNALDATE " 1-Jan-0099 00:00:00 +0000")'])
    expect(await client.ok('SEARCH BEFORE 1-Jan-0100')).toEqual(['* SEARCH 1'])
    client.close()
  })

  test('several at once are all stored or none', async () => {
    const client = await login('INBOX')
    const [one, two] = [mail('one'), mail('two')]
    const answer = await client.ask(
      `APPEND INBOX (\\Seen) {${one.length}+}\r\n${one} (\\Flagged) "01-Feb-2020 03:04:05 +0000" {${two.length}+}\r\n${two}`,
    )
    expect(answer.text).toMatch(/^\[APPENDUID \d+ 1:2\]/)
    const bad = await client.ask(`APPEND INBOX {${one.length}+}\r\n${one} (\\Frob) {${two.length}+}\r\n${two}`)
    expect(bad).toMatchObject({ status: 'BAD' })
    expect(await client.ok('STATUS INBOX (MESSAGES)')).toContain('* STATUS "INBOX" (MESSAGES 2)')
    client.close()
  })

  test('the invitation comes only when the message would be taken', async () => {
    const client = await login()
    expect(await client.ask('APPEND Nowhere {10}')).toMatchObject({
      status: 'NO',
      text: expect.stringMatching(/^\[TRYCREATE\]/),
    })
    // The last ones are more than an account may bring in a day, and than any number is.
    for (const size of [200 * 1024 * 1024, 99_999_999_999, '9'.repeat(20), '9'.repeat(400)]) {
      expect(await client.ask(`APPEND INBOX {${size}}`)).toMatchObject({
        status: 'NO',
        text: expect.stringMatching(/^\[TOOBIG\]/),
      })
    }
    expect(await client.ask('APPEND INBOX {0}')).toMatchObject({ status: 'NO' })
    expect(await client.ask('APPEND INBOX')).toMatchObject({ status: 'BAD' })
    expect(await client.ask('APPEND INBOX "text"')).toMatchObject({ status: 'BAD' })
    expect(await client.ask(append('Nowhere', mail('x')))).toMatchObject({ status: 'NO' })
    expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
    client.close()
  })

  test('over quota', async () => {
    const small = `small${number}`
    await service.user(small, { quota: 1000 })
    const client = await Client.login(at(), small)
    const refused = { status: 'NO', text: expect.stringMatching(/^\[OVERQUOTA\]/), lines: [] }
    expect(await client.ask(append('INBOX', mail('x', 'y'.repeat(2000))))).toMatchObject(refused)
    expect(await client.ask('APPEND INBOX {2000}')).toMatchObject(refused)
    const half = mail('x', 'y'.repeat(500))
    expect(await client.ask(`APPEND INBOX {${half.length}+}\r\n${half} {${half.length}}`)).toMatchObject(refused)
    await client.ok(append('INBOX', half))
    expect(await client.ask(`APPEND INBOX {${half.length}}`)).toMatchObject(refused)
    client.close()
  })

  test('UTF8 and literal8', async () => {
    const client = await login('INBOX')
    await client.ok('ENABLE UTF8=ACCEPT')
    const bytes = mail('Gr\u00fc\u00dfe')
    const size = Buffer.byteLength(bytes)
    expect(await client.ask(`APPEND INBOX UTF8 (~{${size}+}\r\n${bytes})`)).toMatchObject({ status: 'OK' })
    expect(item((await client.ok('FETCH 1 BODY.PEEK[]'))[0], 'BODY[]')).toBe(bytes)
    client.close()
  })

  test('addresses in UTF-8 are what mail is sent to, for who takes UTF-8', async () => {
    const [plain, client] = [await login('INBOX'), await login()]
    await client.ok('ENABLE UTF8=ACCEPT')
    await client.ok('SELECT INBOX')
    const inner = 'From: \u7532 <\u7532@example.jp>\r\nSubject: (\r\n\r\n.'
    const head =
      'From: J\u00fc <j\u00fc.r"g"@b\u00fccher.example>\r\nTo: =?utf-8?B?DQo=?=@example.org, "a (" <\u00e9@example.org>\r\n'
    const bytes = `${head}Content-Type: message/rfc822\r\n\r\n${inner}`
    await client.ok(`APPEND INBOX UTF8 (~{${Buffer.byteLength(bytes)}+}\r\n${bytes})`)
    const [told = ''] = await client.ok('FETCH 1 (ENVELOPE BODYSTRUCTURE)')
    expect(told).toContain('("a (" NIL "\u00e9" "example.org"))')
    expect(told).toContain('NIL "=?utf-8?B?DQo=?=" "example.org")')
    expect(told).toContain('("=?utf-8?B?55Sy?=" NIL "\u7532" "example.jp")')
    expect(told).toContain('"=?utf-8?B?SsO8?=" NIL "j\u00fc.r\\"g\\"" "xn--bcher-kva.example"')
    expect((await plain.ok('UID FETCH 1 (ENVELOPE BODYSTRUCTURE)')).join('')).toMatch(/^[\x20-\x7e]*$/)
    plain.close()
    client.close()
  })
})

describe('FETCH', () => {
  test('sections of a nested message', async () => {
    const client = await login('INBOX')
    await client.ok(append('INBOX', nested))
    const get = async (section: string) =>
      item((await client.ok(`FETCH 1 BODY.PEEK[${section}]`))[0], `BODY[${section}]`)
    expect(await get('1')).toBe('Gr=C3=BC=C3=9Fe =\r\nan alle')
    expect(await get('1.MIME')).toBe(
      'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n',
    )
    expect(await get('2.HEADER')).toBe(
      'From: carl@example.org\r\nSubject: inner\r\nContent-Type: multipart/alternative; boundary=inner\r\n\r\n',
    )
    expect(await get('2.TEXT')).toMatch(/^--inner\r\n[\s\S]*--inner--$/)
    expect(await get('2.1')).toBe('inner plain')
    expect(await get('2.2')).toBe('<p>inner html</p>')
    expect(await get('2.HEADER.FIELDS (SUBJECT)')).toBe('Subject: inner\r\n\r\n')
    expect(await get('HEADER.FIELDS.NOT (From MIME-Version Content-Type)')).toBe('Subject: outer\r\n\r\n')
    expect(await get('HEADER.FIELDS ("SUBJECT" from)'.replace('"SUBJECT"', 'SUBJECT'))).toBe(
      'From: bea@example.net\r\nSubject: outer\r\n\r\n',
    )
    expect((await get('TEXT'))?.startsWith('preamble')).toBe(true)
    for (const missing of ['4', '1.1.1', '2.3', '1.HEADER', '3.TEXT']) expect(await get(missing)).toBe('NIL')
    expect(item((await client.ok('FETCH 1 BODY.PEEK[1]<3.6>'))[0], 'BODY[1]<3>')).toBe('C3=BC=')
    expect(item((await client.ok('FETCH 1 BODY.PEEK[1]<400.6>'))[0], 'BODY[1]<400>')).toBe('')
    // RFC 9051 9: a count is a number of 64 bits.
    const rest = (await client.ok('FETCH 1 BODY.PEEK[1]<16.9223372036854775807>'))[0]
    expect(item(rest, 'BODY[1]<16>')).toBe('=\r\nan alle')
    expect(item((await client.ok('FETCH 1 BINARY.PEEK[1]'))[0], 'BINARY[1]')).toBe('Gr\u00fc\u00dfe an alle')
    expect(await client.ok('FETCH 1 BINARY.SIZE[3]')).toEqual(['* 1 FETCH (BINARY.SIZE[3] 5)'])
    client.close()
  })

  test('a large message is streamed in parts', async () => {
    const client = await login('INBOX')
    const attachment = Buffer.from('0123456789'.repeat(200_000))
    const large = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b\r\nContent-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n\r\n${attachment.toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n--b--\r\n`
    await client.ok(append('INBOX', large))
    expect(item((await client.ok('FETCH 1 BODY.PEEK[]'))[0], 'BODY[]') === large).toBe(true)
    const middle = large.slice(1_000_000, 1_400_000)
    expect(item((await client.ok('FETCH 1 BODY.PEEK[]<1000000.400000>'))[0], 'BODY[]<1000000>') === middle).toBe(true)
    const [line] = await client.ok('FETCH 1 (BINARY.SIZE[2] BINARY.PEEK[2]<1999990.100>)')
    expect(line).toContain(`BINARY.SIZE[2] ${attachment.length}`)
    expect(item(line, 'BINARY[2]<1999990>')).toBe('0123456789')
    client.close()
  })

  test('a body without PEEK marks the message seen and says so; in EXAMINE it does not', async () => {
    const client = await login('INBOX')
    await client.ok(append('INBOX', mail('a')))
    expect((await client.ok('FETCH 1 BODY.PEEK[TEXT]'))[0]).not.toContain('FLAGS')
    expect(await client.ok('EXAMINE INBOX')).toBeDefined()
    expect((await client.ok('FETCH 1 BODY[TEXT]'))[0]).not.toContain('FLAGS')
    await client.ok('SELECT INBOX')
    expect((await client.ok('FETCH 1 BODY[TEXT]'))[0]).toContain('FLAGS (\\Seen)')
    expect((await client.ok('FETCH 1 RFC822.TEXT'))[0]).not.toContain('FLAGS')
    client.close()
  })

  test('who counts changes hears the number of that one, too', async () => {
    const client = await login('INBOX')
    await client.ok(append('INBOX', mail('a')))
    await client.ok('ENABLE CONDSTORE')
    expect((await client.ok('FETCH 1 BODY[TEXT]'))[0]).toMatch(/FLAGS \(\\Seen\) MODSEQ \(\d+\) UID 1\)$/)
    expect((await client.ok('FETCH 1 BODY[TEXT]'))[0]).not.toMatch(/MODSEQ|UID/)
    client.close()
  })

  test('of an empty mailbox all is nothing', async () => {
    const client = await login('INBOX')
    for (const command of ['FETCH 1:* FLAGS', 'FETCH * BODY[]', 'UID FETCH 1:* FLAGS', 'STORE 1:* +FLAGS (\\Seen)']) {
      expect(await client.ok(command)).toEqual([])
    }
    expect(await client.ok('SEARCH 1:*')).toEqual(['* SEARCH'])
    expect(await client.ask('COPY 1:* Trash')).toMatchObject({ status: 'OK', text: 'COPY completed' })
    client.close()
  })

  test('macros, ids and dates', async () => {
    const client = await login('INBOX')
    await client.ok(append('INBOX', mail('a')))
    await client.ok('COPY 1 INBOX')
    const [first, second] = await client.ok('FETCH 1:2 (EMAILID THREADID SAVEDATE PREVIEW)')
    expect(first).toMatch(/EMAILID \([0-9a-f]{24}\) THREADID \([0-9a-f]{24}\) SAVEDATE "[^"]+" PREVIEW "Hello\."/)
    expect(/EMAILID \(\w+\)/.exec(second ?? '')?.[0]).toBe(/EMAILID \(\w+\)/.exec(first ?? '')?.[0])
    expect((await client.ok('FETCH 1 FAST'))[0]).toMatch(/FLAGS .* INTERNALDATE .* RFC822.SIZE \d+\)$/)
    expect((await client.ok('FETCH 1 FULL'))[0]).toMatch(/ENVELOPE \(.*\) BODY \("TEXT" "PLAIN"/)
    expect((await client.ok('UID FETCH 1 ALL'))[0]).toMatch(/^\* 1 FETCH \(UID 1 FLAGS/)
    client.close()
  })
})

describe('STORE', () => {
  test('adds, removes, replaces, and tells the result', async () => {
    const client = await login('INBOX')
    for (const name of ['a', 'b', 'c']) await client.ok(append('INBOX', mail(name)))
    expect(await client.ok('STORE 1,3 +FLAGS (\\Flagged $One)')).toEqual([
      expect.stringMatching(/^\* FLAGS .*\$One/),
      expect.stringMatching(/^\* OK \[PERMANENTFLAGS/),
      '* 1 FETCH (UID 1 FLAGS (\\Flagged $One))',
      '* 3 FETCH (UID 3 FLAGS (\\Flagged $One))',
    ])
    expect(await client.ok('UID STORE 3 -FLAGS $one')).toEqual(['* 3 FETCH (UID 3 FLAGS (\\Flagged))'])
    expect(await client.ok('STORE 3 FLAGS \\Seen \\Draft')).toEqual(['* 3 FETCH (UID 3 FLAGS (\\Seen \\Draft))'])
    expect(await client.ok('STORE 1:3 FLAGS.SILENT ()')).toEqual([])
    expect(await client.ok('FETCH 1:* FLAGS')).toEqual([1, 2, 3].map(seq => `* ${seq} FETCH (FLAGS ())`))
    expect(await client.ask('STORE 4 +FLAGS (\\Seen)')).toMatchObject({ status: 'BAD' })
    expect(await client.ok('UID STORE 99 +FLAGS (\\Seen)')).toEqual([])
    client.close()
  })

  test('UNCHANGEDSINCE leaves alone what changed', async () => {
    const client = await login('INBOX (CONDSTORE)')
    for (const name of ['a', 'b']) await client.ok(append('INBOX', mail(name)))
    const modseqs = (await client.ok('FETCH 1:2 MODSEQ')).map(line => Number(/MODSEQ \((\d+)\)/.exec(line)?.[1]))
    await client.ok('STORE 1 +FLAGS (\\Seen)')
    const answer = await client.ask(`STORE 1:2 (UNCHANGEDSINCE ${modseqs[1]}) +FLAGS (\\Flagged)`)
    expect(answer.text).toMatch(/^\[MODIFIED 1\]/)
    expect(answer.lines).toEqual([expect.stringMatching(/^\* 2 FETCH \(UID 2 FLAGS \(\\Flagged\) MODSEQ \(\d+\)\)$/)])
    client.close()
  })

  test('a conditional one tells the change number of each message that passed, .SILENT or not', async () => {
    const client = await login('INBOX (CONDSTORE)')
    await client.ok(append('INBOX', mail('a'), '\\Seen'))
    const [line = ''] = await client.ok('FETCH 1 MODSEQ')
    const modseq = /MODSEQ \((\d+)\)/.exec(line)?.[1]
    // It has the flag already, and so keeps its number.
    expect(await client.ok(`STORE 1 (UNCHANGEDSINCE ${modseq}) +FLAGS.SILENT (\\Seen)`)).toEqual([
      `* 1 FETCH (UID 1 MODSEQ (${modseq}))`,
    ])
    expect(await client.ok('STORE 1 +FLAGS.SILENT (\\Seen)')).toEqual([])
    client.close()
  })

  test('EXAMINE does not write', async () => {
    const client = await login('INBOX')
    await client.ok(append('INBOX', mail('a')))
    await client.ok('EXAMINE INBOX')
    for (const command of ['STORE 1 +FLAGS (\\Seen)', 'EXPUNGE', 'MOVE 1 Trash']) {
      expect(await client.ask(command)).toMatchObject({ status: 'NO' })
    }
    expect(await client.ask('COPY 1 Trash')).toMatchObject({ status: 'OK' })
    client.close()
  })
})

describe('COPY, MOVE, EXPUNGE', () => {
  test('copies carry flags and date, and tell the new uids', async () => {
    const client = await login('INBOX')
    for (const name of ['a', 'b', 'c']) await client.ok(append('INBOX', mail(name), '\\Flagged $Key'))
    expect((await client.ask('COPY 2:3 Trash')).text).toMatch(/^\[COPYUID \d+ 2:3 1:2\]/)
    expect(await client.ask('COPY 1 Nowhere')).toMatchObject({
      status: 'NO',
      text: expect.stringMatching(/^\[TRYCREATE\]/),
    })
    expect(await client.ask('UID COPY 99 Trash')).toMatchObject({
      status: 'OK',
      text: expect.not.stringContaining('COPYUID'),
    })
    await client.ok('SELECT Trash')
    expect(await client.ok('FETCH 1:* FLAGS')).toEqual([1, 2].map(seq => `* ${seq} FETCH (FLAGS (\\Flagged $Key))`))
    client.close()
  })

  test('MOVE tells the uids and then that the messages are gone', async () => {
    const client = await login('INBOX')
    for (const name of ['a', 'b', 'c']) await client.ok(append('INBOX', mail(name)))
    expect(await client.ok('MOVE 1:2 Trash')).toEqual([
      expect.stringMatching(/^\* OK \[COPYUID \d+ 1:2 1:2\]/),
      '* 1 EXPUNGE',
      '* 1 EXPUNGE',
      '* 1 RECENT',
    ])
    expect(await client.ok('FETCH 1 UID')).toEqual(['* 1 FETCH (UID 3)'])
    client.close()
  })

  test('EXPUNGE takes what is marked, UID EXPUNGE only of those', async () => {
    const client = await login('INBOX')
    for (const name of ['a', 'b', 'c', 'd']) await client.ok(append('INBOX', mail(name)))
    await client.ok('STORE 1,3,4 +FLAGS.SILENT (\\Deleted)')
    expect(await client.ok('UID EXPUNGE 1:2')).toEqual(['* 1 EXPUNGE', '* 3 RECENT'])
    expect(await client.ok('EXPUNGE')).toEqual(['* 2 EXPUNGE', '* 2 EXPUNGE', '* 1 RECENT'])
    expect(await client.ok('UID SEARCH ALL')).toEqual(['* SEARCH 2'])
    client.close()
  })

  test('CLOSE takes what is marked without a word, UNSELECT takes nothing', async () => {
    const client = await login('INBOX')
    for (const name of ['a', 'b']) await client.ok(append('INBOX', mail(name), '\\Deleted'))
    expect(await client.ok('UNSELECT')).toEqual([])
    expect(await client.ok('STATUS INBOX (MESSAGES DELETED)')).toEqual(['* STATUS "INBOX" (MESSAGES 2 DELETED 2)'])
    await client.ok('SELECT INBOX')
    expect(await client.ok('CLOSE')).toEqual([])
    expect(await client.ok('STATUS INBOX (MESSAGES)')).toEqual(['* STATUS "INBOX" (MESSAGES 0)'])
    expect(await client.ask('FETCH 1 FLAGS')).toMatchObject({ status: 'BAD' })
    client.close()
  })
})
