// Dialogues as strict clients hold them, word for word: ENVELOPE, BINARY, LIST-EXTENDED, ID (RFC 9051 7.5.2, RFC 3516,
// RFC 5258, RFC 2971).

import { beforeEach, describe, expect, test } from 'vitest'
import { useTeal } from '../running.ts'
import { Client } from './client.ts'

const service = useTeal()
let number = 0
let client: Client

beforeEach(async () => {
  const user = `strict${++number}`
  await service.user(user)
  client = await Client.login(service.at('imap'), user, 'INBOX')
  return () => client.close()
})

async function put(message: string | Buffer, binary = false): Promise<void> {
  const bytes = Buffer.from(message as string)
  await client.ok(Buffer.concat([Buffer.from(`APPEND INBOX ${binary ? '~' : ''}{${bytes.length}+}\r\n`), bytes]))
}

async function fetched(items: string, set = '*'): Promise<string> {
  return (await client.ok(`FETCH ${set} ${items}`)).filter(line => / FETCH /.test(line)).join('\n')
}

const envelope = async (header: string) => {
  await put(`${header}\r\n\r\nbody\r\n`)
  return /ENVELOPE \((.*)\)\)$/s.exec(await fetched('ENVELOPE'))?.[1]
}

describe('ENVELOPE', () => {
  const anna = '(("Anna" NIL "anna" "example.com"))'

  test.each<[what: string, header: string, expected: string]>([
    [
      'all of it',
      'Date: Mon, 2 Nov 2026 10:00:00 +0100\r\nSubject: Hi\r\nFrom: Anna <anna@example.com>\r\nSender: s@x.org\r\nReply-To: r@x.org\r\nTo: t@x.org\r\nCc: c@x.org\r\nBcc: b@x.org\r\nIn-Reply-To: <i@x>\r\nMessage-ID: <m@x>',
      `"Mon, 2 Nov 2026 10:00:00 +0100" "Hi" ${anna} ((NIL NIL "s" "x.org")) ((NIL NIL "r" "x.org")) ((NIL NIL "t" "x.org")) ((NIL NIL "c" "x.org")) ((NIL NIL "b" "x.org")) "<i@x>" "<m@x>"`,
    ],
    [
      'Sender and Reply-To that are missing are From',
      'From: Anna <anna@example.com>',
      `NIL NIL ${anna} ${anna} ${anna} NIL NIL NIL NIL NIL`,
    ],
    [
      'so are those that are empty',
      'From: Anna <anna@example.com>\r\nSender:\r\nReply-To: ',
      `NIL NIL ${anna} ${anna} ${anna} NIL NIL NIL NIL NIL`,
    ],
    ['nothing', 'X-Other: 1', 'NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL'],
    ['an empty subject is none', 'Subject: \r\nTo:\r\nCc: ', 'NIL "" NIL NIL NIL NIL NIL NIL NIL NIL'],
    [
      'groups',
      'To: Friends: a@x.org, B <b@x.org>;, c@x.org',
      'NIL NIL NIL NIL NIL ((NIL NIL "Friends" NIL)(NIL NIL "a" "x.org")("B" NIL "b" "x.org")(NIL NIL NIL NIL)(NIL NIL "c" "x.org")) NIL NIL NIL NIL',
    ],
    [
      'an empty group',
      'To: undisclosed-recipients:;',
      'NIL NIL NIL NIL NIL ((NIL NIL "undisclosed-recipients" NIL)(NIL NIL NIL NIL)) NIL NIL NIL NIL',
    ],
    [
      'a comment is the name where there is none',
      'From: anna@example.com (Anna)',
      `NIL NIL ${anna} ${anna} ${anna} NIL NIL NIL NIL NIL`,
    ],
    [
      'comments elsewhere are left out',
      'From: Anna (of Graz) <anna(x)@example.com> (home)',
      `NIL NIL ${anna} ${anna} ${anna} NIL NIL NIL NIL NIL`,
    ],
    [
      'quotes within a quoted name',
      'From: "A \\"x\\" \\\\ B" <a@x.org>',
      'NIL NIL (("A \\"x\\" \\\\ B" NIL "a" "x.org")) (("A \\"x\\" \\\\ B" NIL "a" "x.org")) (("A \\"x\\" \\\\ B" NIL "a" "x.org")) NIL NIL NIL NIL NIL',
    ],
    [
      'encoded words stay as they are',
      'Subject: =?utf-8?q?J=C3=BCrgen?=\r\nTo: =?utf-8?b?SsO8cmdlbg==?= <j@x.org>',
      'NIL "=?utf-8?q?J=C3=BCrgen?=" NIL NIL NIL (("=?utf-8?b?SsO8cmdlbg==?=" NIL "j" "x.org")) NIL NIL NIL NIL',
    ],
    [
      'a route is passed over (RFC 5322 4.4)',
      'From: <@relay.org,@b.org:anna@example.com>',
      'NIL NIL ((NIL NIL "anna" "example.com")) ((NIL NIL "anna" "example.com")) ((NIL NIL "anna" "example.com")) NIL NIL NIL NIL NIL',
    ],
    ['a folded subject', 'Subject: one\r\n two\r\n\tthree', 'NIL "one two three" NIL NIL NIL NIL NIL NIL NIL NIL'],
    [
      'ids with what is around them',
      'In-Reply-To: <a@x> <b@x>\r\nMessage-ID:\r\n <c@x>',
      'NIL NIL NIL NIL NIL NIL NIL NIL "<a@x> <b@x>" "<c@x>"',
    ],
  ])('%s', async (_, header, expected) => {
    expect(await envelope(header)).toBe(expected)
  })
})

describe('BINARY', () => {
  const part = (encoding: string, body: string) =>
    `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n--b--\r\n`

  test.each<[encoding: string, body: string, content: string]>([
    ['quoted-printable', 'plain text', 'plain text'],
    ['quoted-printable', 'trailing \t \r\nnext  \r\n', 'trailing\r\nnext\r\n'],
    ['quoted-printable', 'soft=\r\n break = \t\r\nhere=', 'soft break here'],
    ['quoted-printable', 'Gr=c3=BC=c3=9F=65', 'Grüße'],
    ['quoted-printable', 'kept =20\r\n=09\r\n', 'kept  \r\n\t\r\n'],
    ['quoted-printable', 'no =GG escape =', 'no =GG escape '],
    ['quoted-printable', 'nul =00 here', 'nul \0 here'],
    ['base64', 'aGVs\r\nbG8=', 'hello'],
    ['7bit', 'as it is  ', 'as it is  '],
    ['8bit', 'Grüße', 'Grüße'],
  ])('of %s %j', async (encoding, body, content) => {
    await put(part(encoding, body))
    const size = Buffer.byteLength(content)
    expect(await fetched('(BINARY.SIZE[1] BINARY.PEEK[1])')).toBe(
      `* 1 FETCH (BINARY.SIZE[1] ${size} BINARY[1] ~{${size}}\r\n${content})`,
    )
    expect(await fetched('BINARY.PEEK[1]<1.3>')).toContain(`BINARY[1]<1> ~{${Math.max(0, Math.min(3, size - 1))}}\r\n`)
    expect(await fetched('BINARY.PEEK[9]')).toBe('* 1 FETCH (BINARY[9] NIL)')
  })

  test('an encoding nobody knows is NO [UNKNOWN-CTE], and the part comes as it is', async () => {
    await put(part('x-secret', 'abc'))
    const answer = await client.ask('FETCH 1 BINARY.PEEK[1]')
    expect(answer).toMatchObject({ status: 'NO', text: expect.stringMatching(/^\[UNKNOWN-CTE\]/) })
    expect(await fetched('BODY.PEEK[1]')).toContain('{3}\r\nabc')
  })

  test('it keeps no other message from coming, and what was marked seen is told', async () => {
    await put(part('7bit', 'first'))
    await put(part('x-secret', 'abc'))
    await put(part('7bit', 'third'))
    const { lines, status, text } = await client.ask('FETCH 1:3 BINARY[1]')
    expect([status, text]).toEqual(['NO', expect.stringMatching(/^\[UNKNOWN-CTE\]/)])
    expect(lines.filter(line => line.includes('FETCH'))).toEqual([
      expect.stringMatching(/^\* 1 FETCH \(BINARY\[1\] ~\{5\}\r\nfirst FLAGS \(.*\\Seen.*\)\)$/),
      expect.stringMatching(/^\* 2 FETCH \(UID 2 FLAGS \(.*\\Seen.*\)\)$/),
      expect.stringMatching(/^\* 3 FETCH \(BINARY\[1\] ~\{5\}\r\nthird FLAGS \(.*\\Seen.*\)\)$/),
    ])
  })

  test('what is appended as ~{} comes back byte for byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256))
    const head =
      'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n\r\n'
    await put(Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--b--\r\n')]), true)
    // The test client reads text as UTF-8; the size and a piece of ASCII tell.
    expect(await fetched('BINARY.SIZE[1]')).toBe('* 1 FETCH (BINARY.SIZE[1] 512)')
    expect(await fetched('BINARY.PEEK[1]<48.10>')).toBe('* 1 FETCH (BINARY[1]<48> ~{10}\r\n0123456789)')
    expect(await fetched('BINARY.PEEK[1]<0.3>')).toBe('* 1 FETCH (BINARY[1]<0> ~{3}\r\n\0\x01\x02)')
    const seen = await client.ok('FETCH 1 (FLAGS BINARY[1]<0.1>)')
    expect(seen.join()).toContain('\\Seen')
  })
})

describe('LIST-EXTENDED', () => {
  beforeEach(async () => {
    for (const name of ['a', 'a/b', 'c', 'd/e']) await client.ok(`CREATE ${name}`)
    for (const name of ['INBOX', 'Drafts', 'Junk', '"Sent Mail"', 'Trash']) await client.ask(`UNSUBSCRIBE ${name}`)
    for (const name of ['a', 'a/b', 'd/e']) await client.ok(`SUBSCRIBE ${name}`)
    await client.ask('UNSUBSCRIBE a')
    await client.ask('UNSUBSCRIBE c')
  })

  test.each<[command: string, lines: string[]]>([
    [
      'LIST (SUBSCRIBED) "" "*"',
      ['* LIST (\\HasNoChildren \\Subscribed) "/" "a/b"', '* LIST (\\HasNoChildren \\Subscribed) "/" "d/e"'],
    ],
    [
      'LIST (SUBSCRIBED RECURSIVEMATCH) "" "%"',
      [
        '* LIST (\\HasChildren) "/" "a" ("CHILDINFO" ("SUBSCRIBED"))',
        '* LIST (\\NonExistent \\Noselect \\HasChildren) "/" "d" ("CHILDINFO" ("SUBSCRIBED"))',
      ],
    ],
    ['LIST "" (a c) RETURN (CHILDREN)', ['* LIST (\\HasChildren) "/" "a"', '* LIST (\\HasNoChildren) "/" "c"']],
    [
      'LIST "" ("a" "a/%") RETURN (SUBSCRIBED)',
      ['* LIST (\\HasChildren) "/" "a"', '* LIST (\\HasNoChildren \\Subscribed) "/" "a/b"'],
    ],
    ['LIST (REMOTE) "" c', ['* LIST (\\HasNoChildren) "/" "c"']],
    ['LIST (REMOTE SUBSCRIBED) "" "a*"', ['* LIST (\\HasNoChildren \\Subscribed) "/" "a/b"']],
    ['LIST () "" c RETURN ()', ['* LIST (\\HasNoChildren) "/" "c"']],
    [
      'LIST "" c RETURN (STATUS (MESSAGES UIDNEXT) CHILDREN)',
      ['* LIST (\\HasNoChildren) "/" "c"', '* STATUS "c" (MESSAGES 0 UIDNEXT 1)'],
    ],
    ['LIST (SPECIAL-USE) "" "T*"', ['* LIST (\\HasNoChildren \\Trash) "/" "Trash"']],
    ['LIST "" ("" "c")', ['* LIST (\\HasNoChildren) "/" "c"']],
    ['LIST (SUBSCRIBED) "" ""', []],
  ])('%s', async (command, lines) => {
    expect(await client.ok(command)).toEqual(lines)
  })

  test.each([
    'LIST (RECURSIVEMATCH) "" *',
    'LIST (RECURSIVEMATCH REMOTE) "" *',
    'LIST (FROB) "" *',
    'LIST "" * RETURN (FROB)',
    'LIST "" * RETURN',
    'LIST "" () RETURN (CHILDREN)',
    'LIST "" * RETURN (STATUS)',
    'LIST "" * RETURN (STATUS ())',
  ])('%s is BAD', async command => {
    expect(await client.ask(command)).toMatchObject({ status: 'BAD' })
  })
})

describe('ID', () => {
  const own = /^\* ID \("name" "Teal" "version" "[^"]+"\)$/

  test.each([
    'ID NIL',
    'id nil',
    'ID ()',
    'ID ("name" "x" "version" NIL)',
    'ID ("na\\"me" "a\\\\b")',
    'ID ({4+}\r\nname {1+}\r\nx)',
    'ID ("name" "")',
  ])('%j is answered', async command => {
    const lines = await client.ok(command)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(own)
  })

  test.each([
    'ID',
    'ID ("name")',
    'ID (NIL "x")',
    'ID ("name" x)',
    'ID "name"',
    'ID (name "x")',
    `ID (${'"a" "b" '.repeat(40).trim()})`,
    `ID ("name" "${'x'.repeat(2000)}")`,
    `ID ("${'n'.repeat(31)}" "x")`,
  ])('%j is BAD', async command => {
    expect(await client.ask(command)).toMatchObject({ status: 'BAD' })
  })

  test('before login too', async () => {
    const stranger = await Client.open(service.at('imap'))
    expect((await stranger.ok('ID NIL'))[0]).toMatch(own)
    stranger.close()
  })
})
