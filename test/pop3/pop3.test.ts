// POP3 over the wire.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { Client as Imap } from '../imap/client.ts'
import { useTeal } from '../running.ts'

const service = useTeal()
let number = 0
let user = ''

const message = (id: string, body: string) =>
  `From: bea@example.net\r\nSubject: ${id}\r\nMessage-ID: <${id}@x>\r\n\r\n${body}`

beforeEach(async () => {
  user = `pop${++number}`
  await service.user(user)
})

async function fill(bodies: readonly string[]): Promise<void> {
  const imap = await Imap.login(service.at('imap'), user)
  for (const [at, body] of bodies.entries()) {
    const text = message(`m${at + 1}`, body)
    await imap.ok(`APPEND INBOX {${text.length}+}\r\n${text}`)
  }
  imap.close()
}

async function open(): Promise<Dialogue> {
  const pop = await Dialogue.open(service.at('pop3'))
  expect(await pop.line()).toMatch(/^\+OK/)
  return pop
}

async function ask(pop: Dialogue, command: string): Promise<string> {
  pop.send(`${command}\r\n`)
  return pop.line()
}

async function lines(pop: Dialogue): Promise<string[]> {
  const all: string[] = []
  for (let line = await pop.line(); line !== '.'; line = await pop.line()) all.push(line)
  return all
}

async function login(name = user): Promise<Dialogue> {
  const pop = await open()
  await ask(pop, `USER ${name}`)
  expect(await ask(pop, `PASS secret of ${name}`)).toMatch(/^\+OK/)
  return pop
}

/** A message as a client that undoes the stuffing of lines reads it. */
async function retrieve(pop: Dialogue, command: string): Promise<string> {
  expect(await ask(pop, command)).toMatch(/^\+OK/)
  return (await lines(pop)).map(line => `${line.replace(/^\./, '')}\r\n`).join('')
}

describe('before login', () => {
  test('capabilities', async () => {
    const pop = await open()
    expect(await ask(pop, 'CAPA')).toMatch(/^\+OK/)
    const all = await lines(pop)
    for (const name of [
      'TOP',
      'UIDL',
      'USER',
      'SASL PLAIN LOGIN',
      'STLS',
      'PIPELINING',
      'RESP-CODES',
      'AUTH-RESP-CODE',
    ]) {
      expect(all).toContain(name)
    }
    pop.close()
    // RFC 2595 4: what is named may be given now.
    const own = await login()
    for (const name of ['NOOP', 'STAT', 'RSET']) {
      expect(await ask(own, `${name} 1`)).toMatch(/^-ERR/)
      expect(await ask(own, `${name} `)).toMatch(/^\+OK/)
    }
    expect(await ask(own, 'CAPA')).toMatch(/^\+OK/)
    expect(await lines(own)).toEqual(all.filter(name => name !== 'STLS'))
    own.close()
  })

  test.each([
    'STAT',
    'LIST',
    'RETR 1',
    'DELE 1',
    'RSET',
    'UIDL',
    'TOP 1 1',
    'NOOP',
    'FROB',
    '',
    'PASS x',
    'AUTH FROB',
    'USER',
    '__proto__',
    'STLS x',
    'CAPA x',
    'UTF8 x',
    'QUIT x',
  ])('%j is refused', async command => {
    const pop = await open()
    expect(await ask(pop, command)).toMatch(/^-ERR/)
    expect(await ask(pop, 'QUIT')).toMatch(/^\+OK/)
    await pop.closed()
  })

  test('a wrong password is -ERR [AUTH], and the session goes on', async () => {
    const pop = await open()
    await ask(pop, `USER ${user}`)
    expect(await ask(pop, 'PASS wrong')).toMatch(/^-ERR \[AUTH\]/)
    expect(await ask(pop, 'PASS wrong')).toBe('-ERR USER first')
    const plain = Buffer.from(`\0${user}\0secret of ${user}`).toString('base64')
    expect(await ask(pop, `AUTH PLAIN ${plain}`)).toBe('+OK maildrop has 0 messages (0 octets)')
    pop.close()
  })

  test('AUTH with challenges', async () => {
    const pop = await open()
    expect(await ask(pop, 'AUTH')).toMatch(/^\+OK/)
    expect(await lines(pop)).toEqual(['PLAIN', 'LOGIN'])
    expect(await ask(pop, 'AUTH PLAIN')).toBe('+ ')
    expect(await ask(pop, '*')).toMatch(/^-ERR/)
    await ask(pop, 'AUTH PLAIN')
    expect(await ask(pop, Buffer.from(`\0${user}\0secret of ${user}`).toString('base64'))).toMatch(/^\+OK/)
    pop.close()
  })

  test('many errors end the session, so does a line without end', async () => {
    const pop = await open()
    pop.send('FROB\r\n'.repeat(limits.pop3.errorsMax + 5))
    await pop.closed()
    const other = await open()
    expect(await ask(other, `USER ${'x'.repeat(limits.pop3.lineBytesMax + 1)}`)).toMatch(/^-ERR/)
    expect(await ask(other, 'QUIT')).toMatch(/^\+OK/)
  })
})

test('whoever only asks and never logs in is let go after so many commands', async () => {
  const pop = await Dialogue.open(service.at('pop3'))
  await pop.line()
  pop.send('UTF8\r\n'.repeat(60))
  for (let count = 0; count < 50; count++) expect(await pop.line()).toMatch(/^\+OK/)
  expect(await pop.line()).toBe('-ERR Too many commands before a login')
})

describe('the maildrop', () => {
  test('is listed, and messages come as they are', async () => {
    const bodies = ['one\r\n', '.dots\r\n..\r\n.\r\nend\r\n', 'no line end', `${'long line '.repeat(50_000)}\r\n`]
    await fill(bodies)
    const pop = await login()
    // Of what is sent (RFC 1939 11): the third message ends with a line end there.
    const sizes = bodies.map((body, at) => message(`m${at + 1}`, body.endsWith('\n') ? body : `${body}\r\n`).length)
    expect(await ask(pop, 'STAT')).toBe(`+OK 4 ${sizes.reduce((sum, size) => sum + size, 0)}`)
    await ask(pop, 'LIST')
    expect(await lines(pop)).toEqual(sizes.map((size, at) => `${at + 1} ${size}`))
    expect(await ask(pop, 'LIST 2')).toBe(`+OK 2 ${sizes[1]}`)
    for (const [at, body] of bodies.entries()) {
      const text = message(`m${at + 1}`, body)
      expect(await retrieve(pop, `RETR ${at + 1}`)).toBe(text.endsWith('\r\n') ? text : `${text}\r\n`)
    }
    for (const wrong of ['RETR 0', 'RETR 5', 'RETR x', 'LIST 9', 'DELE -1', 'TOP 1', 'TOP 9 1', 'UIDL 7']) {
      expect(await ask(pop, wrong)).toMatch(/^-ERR/)
    }
    pop.close()
  })

  test('sizes are those of what is sent, also of bytes that have no lines', async () => {
    await fill(['', 'a carriage return\r'])
    const imap = await Imap.login(service.at('imap'), user)
    const part = (body: string) =>
      `From: bea@example.net\r\nContent-Type: image/gif\r\nContent-Transfer-Encoding: binary\r\n\r\n${body}`
    // Some are taken in in memory, some by way of a file.
    const large = `${'a'.repeat(997)}\nb\r\n`.repeat(limits.body.spillBytes / 1000)
    for (const text of [
      part('a\nb\r\nc\n'),
      part('\n\nc'),
      part(large),
      `${part('').replace('binary', '8bit')}${large}x`,
    ]) {
      await imap.ok(`APPEND INBOX ~{${text.length}+}\r\n${text}`)
    }
    imap.close()
    const pop = await login()
    await ask(pop, 'LIST')
    const sizes = (await lines(pop)).map(line => Number(line.split(' ')[1]))
    const sent: number[] = []
    for (const [at] of sizes.entries()) sent.push((await retrieve(pop, `RETR ${at + 1}`)).length)
    expect(sizes).toEqual(sent)
    expect(await ask(pop, 'STAT')).toBe(`+OK 6 ${sent.reduce((sum, size) => sum + size)}`)
    expect(await ask(pop, `LIST 4`)).toBe(`+OK 4 ${sent[3]}`)
    await ask(pop, 'DELE 4')
    await ask(pop, 'QUIT')
    pop.close()
  })

  test('says what programs look for', async () => {
    await fill(['one\r\n', 'two\r\n'])
    const sizes = ['one\r\n', 'two\r\n'].map((body, at) => message(`m${at + 1}`, body).length)
    const both = (sizes[0] ?? 0) + (sizes[1] ?? 0)
    const pop = await open()
    expect(await ask(pop, `user  ${user} `)).toBe('+OK send PASS')
    expect(await ask(pop, `PASS secret of ${user}`)).toBe(`+OK maildrop has 2 messages (${both} octets)`)
    expect(await ask(pop, 'LIST ')).toBe(`+OK maildrop has 2 messages (${both} octets)`)
    await lines(pop)
    expect(await ask(pop, 'RETR  1')).toBe('+OK message follows')
    await lines(pop)
    expect(await ask(pop, 'TOP 2 0')).toBe('+OK message follows')
    await lines(pop)
    expect(await ask(pop, 'DELE 2')).toBe('+OK message 2 deleted')
    await ask(pop, 'LIST')
    expect(await lines(pop)).toEqual([`1 ${sizes[0]}`])
    expect(await ask(pop, 'RSET')).toBe(`+OK maildrop has 2 messages (${both} octets)`)
    await ask(pop, 'DELE 1')
    expect(await ask(pop, 'LIST')).toBe(`+OK maildrop has 1 message (${sizes[1]} octets)`)
    await lines(pop)
    expect(await ask(pop, 'CAPA')).toMatch(/^\+OK/)
    expect(await lines(pop)).toContain('UIDL')
    expect(await ask(pop, 'APOP anna 0123456789abcdef0123456789abcdef')).toMatch(/^-ERR/)
    pop.close()
  })

  test('TOP gives the header and so many lines', async () => {
    await fill(['1\r\n2\r\n.3\r\n4\r\n'])
    const pop = await login()
    const head = message('m1', '')
    expect(await retrieve(pop, 'TOP 1 0')).toBe(head)
    expect(await retrieve(pop, 'TOP 1 3')).toBe(`${head}1\r\n2\r\n.3\r\n`)
    expect(await retrieve(pop, 'TOP 1 99')).toBe(`${head}1\r\n2\r\n.3\r\n4\r\n`)
    pop.close()
  })

  test('what TOP leaves out counts for nothing', async () => {
    const most = 20_000
    const frugal = `frugal${number}`
    await service.user(frugal, { pop3MaxDownload: most })
    user = frugal
    await fill(['x\r\n'.repeat(most)])
    const pop = await login()
    for (let count = 0; count < 10; count++) await retrieve(pop, 'TOP 1 1')
    await retrieve(pop, 'RETR 1')
    expect(await ask(pop, 'TOP 1 0')).toMatch(/^-ERR \[SYS\/TEMP\]/)
    pop.close()
  })

  test('ids stay the same over sessions and moves', async () => {
    await fill(['a\r\n', 'b\r\n'])
    const ids = async () => {
      const pop = await login()
      await ask(pop, 'UIDL')
      const all = (await lines(pop)).map(line => line.split(' ')[1])
      expect(await ask(pop, 'UIDL 1')).toBe(`+OK 1 ${all[0]}`)
      pop.close()
      return all
    }
    const before = await ids()
    expect(new Set(before).size).toBe(2)
    const imap = await Imap.login(service.at('imap'), user, 'INBOX')
    await imap.ok('MOVE 1 Drafts')
    await imap.ok('SELECT Drafts')
    await imap.ok('MOVE 1 INBOX')
    imap.close()
    expect(await ids()).toEqual([before[1], before[0]])
  })

  test('is frozen at login; deleted messages go at QUIT and only then', async () => {
    await fill(['a\r\n', 'b\r\n', 'c\r\n'])
    const pop = await login()
    expect(await ask(pop, 'DELE 2')).toMatch(/^\+OK/)
    expect(await ask(pop, 'DELE 2')).toMatch(/^-ERR/)
    expect(await ask(pop, 'RETR 2')).toMatch(/^-ERR/)
    const lmtp = await openLmtp(service.at('lmtp'))
    await deliver(lmtp, 'bea@example.net', [`${user}@example.com`], Buffer.from(message('late', 'x\r\n')))
    lmtp.close()
    await ask(pop, 'LIST')
    expect((await lines(pop)).map(line => line.split(' ')[0])).toEqual(['1', '3'])
    expect(await ask(pop, 'RSET')).toMatch(/^\+OK/)
    expect(await ask(pop, 'STAT')).toMatch(/^\+OK 3 /)
    await ask(pop, 'DELE 1')
    pop.close()
    const again = await login()
    expect(await ask(again, 'STAT')).toMatch(/^\+OK 4 /)
    await retrieve(again, 'RETR 3')
    await ask(again, 'DELE 1')
    expect(await ask(again, 'QUIT')).toMatch(/^\+OK/)
    const imap = await Imap.login(service.at('imap'), user, 'INBOX')
    expect(await imap.ok('FETCH 1:* FLAGS')).toEqual([
      '* 1 FETCH (FLAGS ())',
      '* 2 FETCH (FLAGS (\\Seen))',
      '* 3 FETCH (FLAGS ())',
    ])
    expect(await imap.ok('STATUS Trash (MESSAGES)')).toEqual(['* STATUS "Trash" (MESSAGES 1)'])
    imap.close()
  })

  test('a message somebody else took away meanwhile is refused, the rest goes on', async () => {
    await fill(['a\r\n', 'b\r\n'])
    const pop = await login()
    const imap = await Imap.login(service.at('imap'), user, 'INBOX')
    await imap.ok('STORE 1 +FLAGS.SILENT (\\Deleted)')
    await imap.ok('EXPUNGE')
    imap.close()
    await ask(pop, 'DELE 1')
    await ask(pop, 'DELE 2')
    expect(await ask(pop, 'QUIT')).toMatch(/^\+OK/)
    const after = await login()
    expect(await ask(after, 'STAT')).toBe('+OK 0 0')
    after.close()
  })

  test('a message that ends in NUL has an end', async () => {
    await fill(['x\0'])
    const pop = await login()
    expect(await retrieve(pop, 'RETR 1')).toMatch(/\r\nx\0\r\n$/)
    expect(await ask(pop, 'NOOP')).toMatch(/^\+OK/)
    pop.close()
  })

  test('an answer whose end cannot come any more ends with the connection, and nothing is said in it', async () => {
    // Parts that are read one after the other, and more of them than sockets hold.
    const parts = Array.from({ length: 100 }, () => {
      const content = randomBytes(180_000).toString('base64').replace(/.{76}/g, '$&\r\n')
      return `--b\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n${content}\r\n`
    })
    const text = `Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`
    const imap = await Imap.login(service.at('imap'), user, 'INBOX')
    // Drafts go without a stay in the archive.
    await imap.ok(`APPEND INBOX (\\Draft \\Deleted) {${text.length}+}\r\n${text}`)
    const { host, port } = service.at('pop3')
    const slow = connect(port, host)
    slow.write(`USER ${user}\r\nPASS secret of ${user}\r\nRETR 1\r\n`)
    let got = ''
    while (!got.includes('message follows')) got += String((await once(slow, 'data'))[0])
    slow.pause()
    await imap.ok('EXPUNGE')
    slow.on('data', chunk => {
      got += chunk.toString('latin1')
    })
    slow.resume()
    await once(slow, 'close')
    expect(got.length).toBeLessThan(text.length)
    expect(got.slice(got.indexOf('message follows'))).not.toMatch(/\r\n(?:-ERR|\.\r\n)/)
    imap.close()
  })

  test('shows the newest messages of so many', async () => {
    const few = `few${number}`
    await service.user(few, { pop3MaxMessages: 2 })
    user = few
    await fill(['a\r\n', 'b\r\n', 'c\r\n'])
    const pop = await login()
    expect(await ask(pop, 'STAT')).toMatch(/^\+OK 2 /)
    expect(await retrieve(pop, 'RETR 1')).toContain('Subject: m2')
    pop.close()
  })

  test('commands may be pipelined', async () => {
    await fill(['a\r\n'])
    const pop = await open()
    pop.send(`USER ${user}\r\nPASS secret of ${user}\r\nSTAT\r\nUIDL 1\r\nDELE 1\r\nNOOP\r\nRSET\r\nQUIT\r\n`)
    for (let count = 0; count < 8; count++) expect(await pop.line()).toMatch(/^\+OK/)
    await pop.closed()
  })
})

test('a name given without TLS is forgotten with it', async () => {
  const { host, port } = service.at('pop3')
  const plain = connect(port, host)
  const said = async (socket: Socket, line: string) => {
    socket.write(`${line}\r\n`)
    const [chunk] = await once(socket, 'data')
    return String(chunk)
  }
  await once(plain, 'data')
  expect(await said(plain, `USER ${user}`)).toMatch(/^\+OK/)
  expect(await said(plain, 'STLS')).toMatch(/^\+OK/)
  const secure = connectTls({ socket: plain, rejectUnauthorized: false })
  await once(secure, 'secureConnect')
  expect(await said(secure, `PASS secret of ${user}`)).toMatch(/^-ERR USER first/)
  expect(await said(secure, `USER ${user}`)).toMatch(/^\+OK/)
  expect(await said(secure, `PASS secret of ${user}`)).toMatch(/^\+OK/)
  secure.destroy()
})

test('STLS drops what was pipelined behind it', async () => {
  const pop = await open()
  pop.send(`STLS\r\nUSER ${user}\r\n`)
  expect(await pop.line()).toMatch(/^\+OK/)
  pop.send('this is no handshake\r\n')
  await pop.closed()
})

test('a session in which a command is refused now and then goes on, and keeps what is deleted', async () => {
  await fill(['one'])
  const pop = await login()
  expect(await ask(pop, 'DELE 1')).toMatch(/^\+OK/)
  for (let round = 0; round < limits.pop3.errorsMax + 10; round++) {
    expect(await ask(pop, 'RETR 7')).toMatch(/^-ERR/)
    if (round % 10 === 0) expect(await ask(pop, 'NOOP')).toMatch(/^\+OK/)
  }
  expect(await ask(pop, 'QUIT')).toMatch(/^\+OK/)
  expect(await ask(await login(), 'STAT')).toBe('+OK 0 0')
})
