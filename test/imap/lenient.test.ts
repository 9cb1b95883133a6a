// What old, sloppy and simple programs send: superfluous spaces, numbers that are not there, XLIST, PLAIN-CLIENTTOKEN,
// lines and literals that are too long or come at the wrong time. Each gets its tagged answer.

import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
let number = 0
let user = ''

beforeEach(async () => {
  user = `lax${++number}`
  await service.user(user)
})

const at = () => service.at('imap')
const login = (mailbox?: string) => Client.login(at(), user, mailbox)
const statusOf = async (client: Client, command: string) => (await client.ask(command)).status

describe('numbers that are not there', () => {
  test('find nothing in SEARCH', async () => {
    const client = await login('INBOX')
    expect(await client.ok('SEARCH 1')).toEqual(['* SEARCH'])
    expect(await client.ok('SEARCH *')).toEqual(['* SEARCH'])
    for (const name of ['a', 'b']) await client.ok(append('INBOX', mail(name)))
    expect(await client.ok('SEARCH 7')).toEqual(['* SEARCH'])
    expect(await client.ok('SEARCH 2:9')).toEqual(['* SEARCH 2'])
    expect(await client.ok('SEARCH OR 9 1')).toEqual(['* SEARCH 1'])
    expect(await client.ok('SEARCH NOT 9')).toEqual(['* SEARCH 1 2'])
    expect(await client.ok('SEARCH 9:*')).toEqual(['* SEARCH 2'])
    expect(await client.ok('UID SEARCH 1 UID 1:99')).toEqual(['* SEARCH 1'])
    expect(await client.ok('SORT (ARRIVAL) UTF-8 2:9')).toEqual(['* SORT 2'])
    expect(await client.ok('THREAD REFERENCES UTF-8 9')).toEqual(['* THREAD'])
    client.close()
  })

  test('are BAD in FETCH and STORE; the last message of none is no mistake', async () => {
    const client = await login('INBOX')
    for (const set of ['*', '1:*', '*:5']) {
      expect(await client.ask(`FETCH ${set} FLAGS`), set).toMatchObject({ status: 'OK', lines: [] })
      expect(await client.ask(`STORE ${set} +FLAGS (\\Seen)`), set).toMatchObject({ status: 'OK', lines: [] })
      expect(await client.ask(`COPY ${set} Trash`), set).toMatchObject({ status: 'OK', lines: [] })
    }
    expect(await statusOf(client, 'FETCH 1 FLAGS')).toBe('BAD')
    client.close()
  })
})

describe('one space too many', () => {
  test.each([
    'FETCH 1  FLAGS',
    'FETCH  1 FLAGS',
    ' FETCH 1 FLAGS',
    'FETCH 1 FLAGS ',
    'FETCH 1 (FLAGS  UID)',
    'FETCH 1 ( FLAGS UID )',
    'UID  FETCH 1 FLAGS',
    'STORE 1  +FLAGS  (\\Seen )',
    'STORE 1 +FLAGS \\Seen ',
    'SELECT  INBOX',
    'SELECT INBOX ',
    'SELECT INBOX  (CONDSTORE)',
    'NOOP ',
    'CAPABILITY ',
    'LIST  ""  "*" ',
    'LIST "" "*"  RETURN  (CHILDREN)',
    'STATUS INBOX  (MESSAGES  UNSEEN )',
    'SEARCH  ALL',
    'SEARCH SUBJECT  a ',
    'SEARCH CHARSET  UTF-8  ALL',
    'SEARCH RETURN  (COUNT)  ALL',
    'SORT  (DATE)  UTF-8  ALL',
    'UID SEARCH UID  1:* ',
    'ENABLE  CONDSTORE ',
    'ID  ("name"  "x" )',
    'COPY 1  Trash ',
    'APPEND  INBOX  (\\Seen)  {5+}\r\nx: y\n ',
    'CREATE  folder ',
    'RENAME  Archive2  other',
  ])('is forgiven: %s', async command => {
    const client = await login('INBOX')
    await client.ok('CREATE Archive2')
    await client.ok(append('INBOX', mail('a')))
    const answer = await client.ask(command)
    expect(`${answer.status} ${answer.text}`).toMatch(/^OK /)
    client.close()
  })

  test('but not where something is missing', async () => {
    const client = await login('INBOX')
    for (const command of [
      'SELECT ',
      'FETCH 1 ',
      'SEARCH ',
      'LIST "" ',
      'STORE 1 FLAGS ',
      'FETCH 1   FLAGS',
      'FETCH 1: 2 FLAGS',
    ]) {
      expect(await statusOf(client, command), command).toBe('BAD')
    }
    client.close()
  })
})

test('wildcards and backslashes without quotes in the name of a folder mean themselves', async () => {
  const client = await login()
  await client.ok('CREATE 50%*')
  await client.ok(append('50%*', mail('kept')))
  await client.ok('CREATE 500')
  expect(await client.ok('STATUS 50%* (MESSAGES)')).toEqual(['* STATUS "50%*" (MESSAGES 1)'])
  await client.ok('RENAME "50%*" %')
  await client.ok('SELECT %')
  expect((await client.ask('COPY 1 50*')).text).toMatch(/^\[TRYCREATE\]/)
  await client.ok('DELETE %')
  await client.ok('CREATE back\\slash')
  expect(await client.ok('LIST "" back\\*')).toEqual(['* LIST (\\HasNoChildren) "/" "back\\\\slash"'])
  client.close()
})

test('XLIST is LIST with the names special uses had', async () => {
  const client = await login()
  await client.ok('CREATE x/y')
  expect((await client.ok('CAPABILITY'))[0]).toContain(' XLIST ')
  const lines = await client.ok('XLIST "" "*"')
  expect(lines).toContain('* XLIST (\\HasNoChildren \\Inbox) "/" "INBOX"')
  expect(lines).toContain('* XLIST (\\HasNoChildren \\Junk \\Spam) "/" "Junk"')
  expect(lines).toContain('* XLIST (\\HasNoChildren \\Trash) "/" "Trash"')
  expect(lines).toContain('* XLIST (\\NonExistent \\Noselect \\HasChildren) "/" "x"')
  expect(await client.ok('XLIST "" ""')).toEqual(['* XLIST (\\Noselect) "/" ""'])
  client.close()
})

describe('PLAIN-CLIENTTOKEN', () => {
  const response = (...fields: string[]) => Buffer.from(fields.join('\0')).toString('base64')

  test('is PLAIN with one more field', async () => {
    const client = await Client.open(at())
    expect((await client.ok('CAPABILITY'))[0]).toContain(' AUTH=PLAIN-CLIENTTOKEN')
    const token = response('', user, `secret of ${user}`, 'my webmail 7')
    const tag = client.command('AUTHENTICATE PLAIN-CLIENTTOKEN')
    expect(await client.line()).toBe('+ ')
    client.send(`${token}\r\n`)
    expect(await client.answer(tag)).toMatchObject({ status: 'OK' })
    const other = await Client.open(at())
    expect(await statusOf(other, `AUTHENTICATE PLAIN-CLIENTTOKEN ${token}`)).toBe('OK')
    for (const one of [client, other]) one.close()
  })

  test('three fields, five, or a wrong password are refused', async () => {
    const client = await Client.open(at())
    const secret = `secret of ${user}`
    const refused = async (...fields: string[]) =>
      statusOf(client, `AUTHENTICATE PLAIN-CLIENTTOKEN ${response(...fields)}`)
    expect(await refused('', user, secret)).toBe('BAD')
    expect(await refused('', user, secret, 'a', 'b')).toBe('BAD')
    expect(await refused('', user, secret, 'line\nbreak')).toBe('BAD')
    expect(await refused('', user, secret, 'x'.repeat(limits.net.clientTokenLengthMax + 1))).toBe('BAD')
    expect(await refused('', user, 'wrong', 'token')).toBe('NO')
    expect(await refused('someone', user, secret, 'token')).toBe('NO')
    expect(await refused('', user, secret, '')).toBe('OK')
    client.close()
  })
})

describe('CONDSTORE', () => {
  test.each([
    'FETCH 1 (MODSEQ)',
    'SEARCH MODSEQ 1',
    'STATUS INBOX (HIGHESTMODSEQ)',
    'ENABLE CONDSTORE',
    'STORE 1 (UNCHANGEDSINCE 1) +FLAGS (\\Seen)',
  ])('begins with the highest number: %s', async command => {
    const client = await login('INBOX')
    await client.ok(append('INBOX', mail('a')))
    const first = await client.ok(command)
    expect(first.filter(line => /HIGHESTMODSEQ \d+\]/.test(line))).toHaveLength(1)
    expect((await client.ok('FETCH 1 (MODSEQ)')).join()).not.toContain('HIGHESTMODSEQ')
    client.close()
  })
})

describe('a selected folder that is deleted', () => {
  test('elsewhere ends the session', async () => {
    const [one, other, waiting] = [await login('INBOX'), await login(), await login()]
    await one.ok('CREATE Temp')
    for (const client of [other, waiting]) await client.ok('SELECT Temp')
    waiting.command('IDLE')
    await waiting.line()
    await one.ok('DELETE Temp')
    for (const client of [other, waiting]) {
      expect(await client.line()).toMatch(/^\* BYE /)
      await client.closed()
    }
    expect(await statusOf(one, 'NOOP')).toBe('OK')
    one.close()
  })

  test('by the session itself leaves it without one, and one that stays stays selected', async () => {
    const client = await login()
    await client.ok('CREATE Temp')
    await client.ok('SELECT Temp')
    await client.ok('DELETE Temp')
    expect(await statusOf(client, 'FETCH 1:* FLAGS')).toBe('BAD')
    await client.ok('SELECT INBOX')
    expect(await statusOf(client, 'DELETE INBOX')).toBe('NO')
    expect(await statusOf(client, 'FETCH 1:* FLAGS')).toBe('OK')
    client.close()
  })
})

describe('too long, or at the wrong time', () => {
  test('a line that is too long is answered with its tag', async () => {
    const client = await Client.open(at())
    const long = 'x'.repeat(2 * limits.imap.commandBytesBeforeLoginMax)
    expect(await client.ask(`LOGIN ${user} ${long}`)).toMatchObject({ status: 'BAD', lines: [] })
    // A literal behind it is not taken for a command.
    expect(await client.ask(`LOGIN ${long} {9+}\r\nx LOGOUT\n`)).toMatchObject({ status: 'BAD', lines: [] })
    expect(await client.ask(`LOGIN ${long} {9}`)).toMatchObject({ status: 'BAD', lines: [] })
    expect(await statusOf(client, 'NOOP')).toBe('OK')
    client.send(`${long}\r\n`)
    expect(await client.line()).toMatch(/^\* BAD/)
    // A literal without a command is not invited, and one that comes uninvited is none.
    for (const line of ['{3}', '{9+}\r\nx LOGOUT\n', '(x) {3}']) {
      client.send(`${line}\r\n`)
      expect(await client.line(), line).toMatch(/^\* BAD/)
    }
    expect(await statusOf(client, `LOGIN ${user} "secret of ${user}"`)).toBe('OK')
    expect(await client.ask(`SEARCH SUBJECT ${'y'.repeat(limits.imap.commandBytesMax)}`)).toMatchObject({
      status: 'BAD',
    })
    expect(await statusOf(client, 'NOOP')).toBe('OK')
    client.close()
  })

  test('a literal is not asked for where the command is out of place', async () => {
    const client = await Client.open(at())
    for (const command of ['SELECT {5}', 'APPEND INBOX {5}', 'XYZZY {5}', 'UID FETCH {5}']) {
      expect(await client.ask(command), command).toMatchObject({ status: 'BAD', lines: [] })
    }
    for (const command of [
      'SELECT {5+}\r\nINBOX',
      'APPEND INBOX {5+}\r\nx: y\n',
      `APPEND INBOX {200000+}\r\n${'x'.repeat(200_000)}`,
    ]) {
      expect(await client.ask(command)).toMatchObject({ status: 'BAD', lines: [] })
    }
    expect(await statusOf(client, 'NOOP')).toBe('OK')
    // What nobody would read to its end ends the session.
    client.command('APPEND INBOX {4000000000+}')
    expect(await client.line()).toMatch(/^\* BYE \[TOOBIG\]/)
    await client.closed()
  })

  test('a large message that is refused does not end a session that has logged in', async () => {
    const client = await login()
    const large = mail('large', `${'0123456789abcdef\r\n'.repeat(200_000)}`)
    expect(await client.ask(append('nowhere', large))).toMatchObject({
      status: 'NO',
      text: expect.stringMatching(/^\[TRYCREATE\]/),
    })
    expect(await statusOf(client, 'NOOP')).toBe('OK')
    client.close()
  })
})

test('NUL goes out in literals of BINARY alone, and sizes hold', async () => {
  const client = await login('INBOX')
  const text = Buffer.from('Subject: a\0b\r\nFrom: "a\0b" <x@y>\r\nMIME-Version: 1.0\r\n\r\none\0two\r\n')
  await client.ok(Buffer.concat([Buffer.from(`APPEND INBOX ~{${text.length}+}\r\n`), text]))
  const size = /RFC822.SIZE (\d+)/.exec((await client.ok('FETCH 1 RFC822.SIZE'))[0] ?? '')?.[1]
  for (const item of [
    'BODY.PEEK[]',
    'RFC822',
    'BODY.PEEK[TEXT]',
    'BODY.PEEK[1]',
    'BODY.PEEK[HEADER.FIELDS (SUBJECT)]',
    'ENVELOPE',
    'BODYSTRUCTURE',
    'PREVIEW',
  ]) {
    const tag = client.command(`FETCH 1 ${item}`)
    expect(await client.line(), item).not.toContain('\0')
    expect(await client.answer(tag), item).toMatchObject({ status: 'OK' })
  }
  const whole = (await client.ok('FETCH 1 BODY.PEEK[]'))[0] ?? ''
  expect(whole).toMatch(new RegExp(`BODY\\[\\] \\{${size}\\}\r\n`))
  expect((await client.ok('FETCH 1 BINARY.PEEK[1]'))[0]).toContain('~{9}\r\none\0two')
  expect((await client.ok('FETCH 1 BINARY.PEEK[]'))[0]).toContain('one\0two')
  client.close()
})

describe('what cannot be a name', () => {
  test('of a content type makes plain text, with the fields that text has', async () => {
    const client = await login('INBOX')
    const message = Buffer.from('Content-Type: te\xffxt/pl\xe4in; x=1\r\n\r\nbody\r\n', 'latin1')
    await client.ok(append('INBOX', message))
    const structure = '("TEXT" "PLAIN" ("x" "1") NIL NIL "7BIT" 6 1'
    expect(await client.ok('FETCH 1 (BODY BODYSTRUCTURE)')).toEqual([
      `* 1 FETCH (BODY ${structure}) BODYSTRUCTURE ${structure} NIL NIL NIL NIL))`,
    ])
    client.close()
  })
})

test('full stops before and behind a local part are part of it: without them it is somebody else', async () => {
  const client = await login('INBOX')
  const fields = ['From: .joe.@example.net.', 'To: ..ann@example.net, (x) .bob@example.net (Bob), <.cy@example.net>']
  await client.ok(append('INBOX', `${fields.join('\r\n')}\r\n\r\nx\r\n`))
  const [line = ''] = await client.ok('FETCH 1 ENVELOPE')
  expect([...line.matchAll(/NIL ("[^"]*" "example.net")/g)].map(([, one]) => one)).toEqual([
    ...Array.from({ length: 3 }, () => '".joe." "example.net"'),
    '"..ann" "example.net"',
    '".bob" "example.net"',
    '".cy" "example.net"',
  ])
  client.close()
})

describe('keywords', () => {
  test('have one spelling in a folder, that of who came first', async () => {
    const client = await login('INBOX')
    await client.ok('CREATE Other')
    for (const name of ['a', 'b', 'c']) await client.ok(append('INBOX', mail(name), name === 'b' ? 'TODO' : ''))
    await client.ok(append('Other', mail('d'), 'todo'))
    expect(await client.ok('STORE 1,3 +FLAGS (Todo done)')).toContain('* 1 FETCH (UID 1 FLAGS (TODO done))')
    expect(await client.ok('STORE 3 FLAGS (toDO)')).toContain('* 3 FETCH (UID 3 FLAGS (TODO))')
    await client.ok('COPY 1 Other')
    await client.ok(append('Other', mail('e'), 'DONE'))
    expect((await client.ok('SELECT Other'))[1]).toBe(
      '* FLAGS (\\Seen \\Answered \\Flagged \\Deleted \\Draft todo done)',
    )
    expect(await client.ok('FETCH 1:3 FLAGS')).toEqual([
      '* 1 FETCH (FLAGS (todo))',
      '* 2 FETCH (FLAGS (todo done))',
      '* 3 FETCH (FLAGS (done))',
    ])
    client.close()
  })
})

test('a session in which a command makes no sense now and then goes on', async () => {
  const client = await login('INBOX')
  for (let round = 0; round < limits.imap.errorsMax + 10; round++) {
    expect(await statusOf(client, 'FROB')).toBe('BAD')
    if (round % 10 === 0) expect(await statusOf(client, 'NOOP')).toBe('OK')
  }
  client.close()
})

test('a parameter that was cut into pieces is one in BODYSTRUCTURE (RFC 9051 7.5.2, RFC 2231 6)', async () => {
  const client = await login('INBOX')
  const shown = async (parameters: string) => {
    const name = `t${++number}`
    await client.ok(
      append('INBOX', `Subject: ${name}\r\nContent-Type: a/b; x=1; ${parameters}; y=2\r\n\r\n${name}\r\n`),
    )
    const [line = ''] = (await client.ok('FETCH * BODYSTRUCTURE')).filter(one => one.includes('BODYSTRUCTURE'))
    return /\("x" "1" (.*) "y" "2"\)/.exec(line)?.[1]
  }
  for (const [written, expected] of [
    ['name*0="ab "; name*1=cd', '"name" "ab cd"'],
    ['Name*1="cd"; z=3; name*0="ab "', '"Name" "ab cd" "z" "3"'],
    ["name*0*=iso-8859-1'de'%E4%20; name*1=b%20; name*2*=%F6", `"name*" "utf-8''%C3%A4%20b%2520%C3%B6"`],
    ["name*0*=utf-8''%e2; name*1*=%82%ac", `"name*" "utf-8''%E2%82%AC"`],
    ["name*0*=utf-8''a; name*1=b", `"name*" "utf-8''ab"`],
    ['name=short; name*0="long "; name*1=er', '"name" "long er"'],
    ["name=short; name*0*=utf-8''%C3%A4; name*1=b", `"name" "short" "name*" "utf-8''%C3%A4b"`],
    ["name*=utf-8''%e4; name*0*=utf-8''%C3%A4", `"name*" "utf-8''%C3%A4"`],
    ['name*0="=?utf-8?Q?=C3"; name*1="=A4?="', '"name" "=?utf-8?Q?=C3=A4?="'],
    ["name*=iso-8859-1'en'%E4", `"name*" "iso-8859-1'en'%E4"`],
    ['a*b=c', '"a*b" "c"'],
  ] as const)
    expect(await shown(written), written).toBe(expected)
  client.close()
})

test('a message/global part has an envelope for those who enabled IMAP4rev2 alone: RFC 3501 knows it as any other part', async () => {
  const client = await login('INBOX')
  const inner =
    'Subject: inner\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y\r\nContent-Type: message/global\r\n\r\nA: (")\r\n\r\nz\r\n--y--'
  const parts = [`Content-Type: message/global; x="(\\"a\\" \\\\"\r\nContent-ID: <a(b>\r\n\r\n${inner}`, '\r\nplain']
  const body = parts.map(part => `--x\r\n${part}\r\n`).join('')
  await client.ok(append('INBOX', `Content-Type: multipart/mixed; boundary=x\r\n\r\n${body}--x--\r\n`))
  const plain = '("TEXT" "PLAIN" ("charset" "us-ascii") NIL NIL "7BIT" 5 1'
  const mixed = 'NIL NIL NIL NIL)'
  const basic = `("MESSAGE" "GLOBAL" ("x" "(\\"a\\" \\\\") "<a(b>" NIL "7BIT" ${inner.length}`
  const old = `${basic} ${mixed}${plain} ${mixed} "MIXED" ("boundary" "x") NIL NIL NIL)`
  expect(await client.ok('FETCH 1 (BODYSTRUCTURE BODY)')).toEqual([
    `* 1 FETCH (BODYSTRUCTURE (${old} BODY (${basic})${plain}) "MIXED"))`,
  ])
  await client.ok('ENABLE IMAP4rev2')
  const [line = ''] = await client.ok('FETCH 1 BODYSTRUCTURE')
  expect(line).toContain(`${basic} (NIL "inner" NIL NIL`)
  expect(line.split('"MESSAGE" "GLOBAL"')).toHaveLength(3)
  client.close()
})
