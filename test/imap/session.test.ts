// States, logins, limits and what hostile clients do to them, over the wire.

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()

beforeAll(async () => {
  await service.user('anna')
})

const open = () => Client.open(service.at('imap'))
const login = (mailbox?: string) => Client.login(service.at('imap'), 'anna', mailbox)

describe('before login', () => {
  test('the greeting tells what may be used', async () => {
    const client = await open()
    const [line] = await client.ok('CAPABILITY')
    for (const name of ['IMAP4rev1', 'IMAP4rev2', 'LITERAL+', 'SASL-IR', 'STARTTLS', 'AUTH=PLAIN', 'IDLE', 'QRESYNC']) {
      expect(line?.split(' ')).toContain(name)
    }
    client.close()
  })

  test.each(['SELECT INBOX', 'LIST "" *', 'FETCH 1 FLAGS', 'STORE 1 FLAGS ()', 'EXPUNGE', 'IDLE', 'ENABLE CONDSTORE'])(
    '%s is refused',
    async command => {
      const client = await open()
      expect(await client.ask(command)).toMatchObject({ status: 'BAD', lines: [] })
      client.close()
    },
  )

  test.each([
    ['a wrong password', 'LOGIN anna wrong'],
    ['an unknown name', 'LOGIN nobody secret'],
    ['a wrong PLAIN', `AUTHENTICATE PLAIN ${Buffer.from('\0anna\0wrong').toString('base64')}`],
  ])('%s: NO [AUTHENTICATIONFAILED]', async (_, command) => {
    const client = await open()
    const answer = await client.ask(command)
    expect(answer).toMatchObject({ status: 'NO' })
    expect(answer.text).toMatch(/^\[AUTHENTICATIONFAILED\]/)
    client.close()
  })

  test('PLAIN with and without initial response, LOGIN, and literals', async () => {
    const plain = Buffer.from('\0anna\0secret of anna').toString('base64')
    const first = await open()
    expect((await first.ask(`AUTHENTICATE PLAIN ${plain}`)).text).toMatch(/^\[CAPABILITY /)
    first.close()

    const second = await open()
    const tag = second.command('AUTHENTICATE PLAIN')
    expect(await second.line()).toBe('+ ')
    second.send(`${plain}\r\n`)
    expect(await second.answer(tag)).toMatchObject({ status: 'OK' })
    second.close()

    const third = await open()
    const other = third.command('AUTHENTICATE LOGIN')
    await third.line()
    third.send(`${Buffer.from('anna').toString('base64')}\r\n`)
    await third.line()
    third.send(`${Buffer.from('secret of anna').toString('base64')}\r\n`)
    expect(await third.answer(other)).toMatchObject({ status: 'OK' })
    third.close()

    const fourth = await open()
    const last = fourth.command('LOGIN {4}')
    expect(await fourth.line()).toMatch(/^\+/)
    fourth.send('anna {14+}\r\nsecret of anna\r\n')
    expect(await fourth.answer(last)).toMatchObject({ status: 'OK' })
    fourth.close()
  })

  test('an exchange that is cancelled or broken is BAD and leaves the session usable', async () => {
    const client = await open()
    for (const response of ['*', '!!!', Buffer.from('no nul').toString('base64')]) {
      const tag = client.command('AUTHENTICATE PLAIN')
      await client.line()
      client.send(`${response}\r\n`)
      expect(await client.answer(tag)).toMatchObject({ status: 'BAD' })
    }
    expect(await client.ask('LOGIN anna "secret of anna"')).toMatchObject({ status: 'OK' })
    client.close()
  })

  test('what was pipelined behind STARTTLS is dropped', async () => {
    const client = await open()
    client.send('x1 STARTTLS\r\nx2 LOGIN anna "secret of anna"\r\nx3 NOOP\r\n')
    expect(await client.line()).toMatch(/^x1 OK/)
    await client.startTls()
    const answer = await client.ask('CAPABILITY')
    expect(answer.lines).toHaveLength(1)
    expect(answer.lines[0]).not.toContain('STARTTLS')
    expect(await client.ask('SELECT INBOX')).toMatchObject({ status: 'BAD' })
    expect(await client.ask('LOGIN anna "secret of anna"')).toMatchObject({ status: 'OK' })
    client.close()
  })

  test('imaps speaks TLS from the first byte', async () => {
    const client = await Client.open(service.at('imaps'), true)
    expect(await client.ask('LOGIN anna "secret of anna"')).toMatchObject({ status: 'OK' })
    client.close()
  })
})

test('whoever only asks and never logs in is let go after so many commands', async () => {
  const client = await Client.open(service.at('imap'))
  for (let count = 0; count < 100; count++) expect((await client.ask('NOOP')).status).toBe('OK')
  expect(await client.line()).toBe('* BYE Too many commands before a login')
  const user = await Client.login(service.at('imap'), 'anna', 'INBOX')
  for (let count = 0; count < 150; count++) await user.ok('NOOP')
})

describe('hostile input', () => {
  test('a literal that is too large is refused before it is sent, and the session goes on', async () => {
    const client = await open()
    expect(await client.ask('LOGIN {4000000000}')).toMatchObject({
      status: 'NO',
      text: expect.stringMatching(/^\[TOOBIG\]/),
    })
    expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
    client.close()
  })

  test('one that comes uninvited is thrown away, or the session ends', async () => {
    const client = await open()
    const answer = await client.ask(`LOGIN {5000+}\r\n${'x'.repeat(5000)} y`)
    expect(answer).toMatchObject({ status: 'NO' })
    expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
    client.close()
    for (const size of ['4000000000', '9'.repeat(20)]) {
      const other = await open()
      other.command(`LOGIN {${size}+}\r\nx NOOP`)
      expect(await other.line()).toMatch(/^\* BYE/)
      await other.closed()
    }
  })

  test('a message literal before login is not read', async () => {
    const client = await open()
    expect(await client.ask('APPEND INBOX {100}')).toMatchObject({ status: 'BAD' })
    expect(await client.ask(`APPEND INBOX {100+}\r\n${'x'.repeat(100)}`)).toMatchObject({ status: 'BAD' })
    client.command('APPEND INBOX {4000000000+}')
    expect(await client.line()).toMatch(/^\* BYE/)
    await client.closed()
  })

  test.each([
    ['no tag', '\r\n', /^\* BAD/],
    ['a tag alone', 'x\r\n', /^x BAD/],
    ['an unknown command', 'x FROBNICATE\r\n', /^x BAD/],
    ['a NUL', 'x NO\0OP\r\n', /^x BAD/],
    ['8-bit text', 'x LOGIN \xff\xfe y\r\n', /^x BAD/],
    ['trailing text', 'x NOOP now\r\n', /^x BAD/],
    ['UID without a command', 'x UID\r\n', /^x BAD/],
    ['UID of something else', 'x UID NOOP\r\n', /^x BAD/],
    ['a line that is too long', `x LOGIN ${'a'.repeat(20_000)}\r\n`, /^x BAD/],
  ])('%s', async (_, bytes, answer) => {
    const client = await open()
    client.send(Buffer.from(bytes, 'latin1'))
    expect(await client.line()).toMatch(answer)
    expect(await client.ask('NOOP')).toMatchObject({ status: 'OK' })
    client.close()
  })

  test('after many commands that make no sense the session ends', async () => {
    const client = await open()
    client.send('x y\r\n'.repeat(limits.imap.errorsMax + 10))
    const lines: string[] = []
    await (async () => {
      for (;;) lines.push(await client.line())
    })().catch(() => {})
    expect(lines.filter(line => line.startsWith('x BAD')).length).toBe(limits.imap.errorsMax)
    expect(lines.some(line => line.startsWith('* BYE'))).toBe(true)
  })

  test.each([
    ['deep parentheses', `SEARCH ${'('.repeat(5000)}ALL${')'.repeat(5000)}`],
    ['deep NOT', `SEARCH ${'NOT '.repeat(5000)}ALL`],
    ['deep OR', `SEARCH ${'OR ALL '.repeat(5000)}ALL`],
    ['many wildcards', `LIST "" "${'%*'.repeat(2000)}x%y%z%a%b%c%d%e%f%g%h%i%j%k%l%m%n%o%p%q%r"`],
    ['a long pattern', `LIST "" "${'a'.repeat(5000)}"`],
    ['many flags', `STORE 1 +FLAGS (${'a '.repeat(200)}b)`],
    ['a flag nobody knows', 'STORE 1 +FLAGS (\\Frobnicated)'],
    ['a set without end', `FETCH ${'1,'.repeat(60_000)}1 FLAGS`],
    ['a part of nothing', 'FETCH 1 BODY[]<0.0>'],
    ['a section nobody knows', 'FETCH 1 BODY[1.FROB]'],
    ['a date that is none', 'SEARCH SINCE 31-Feb-2020'],
  ])('%s: a refusal and nothing else', async (_, command) => {
    const client = await login('INBOX')
    expect(await client.ask(command)).toMatchObject({ status: expect.stringMatching(/^(BAD|NO)$/) })
    expect(await client.ask('NOOP')).toMatchObject({ status: 'OK', lines: [] })
    client.close()
  })

  test('a set over everything costs nothing', async () => {
    const client = await login('INBOX')
    expect(await client.ask('UID FETCH 1:4294967295 FLAGS')).toMatchObject({ status: 'OK' })
    expect(await client.ask('SEARCH UID 1:4294967295')).toMatchObject({ status: 'OK' })
    client.close()
  })

  test('a client that leaves in the middle of a literal leaves nothing behind', async () => {
    for (const cut of [0, 1, 50]) {
      const client = await login('INBOX')
      client.send(`x APPEND INBOX {100+}\r\n${'x'.repeat(cut)}`)
      const other = await login()
      other.close()
      client.close()
    }
    const client = await login()
    expect(await client.ok('STATUS INBOX (MESSAGES)')).toEqual(['* STATUS "INBOX" (MESSAGES 0)'])
    client.close()
  })
})

describe('sessions', () => {
  test('a user has only so many at once', async () => {
    await service.user('crowd')
    const clients: Client[] = []
    for (let count = 0; count < service.teal.config.imap.maxConnections; count++) {
      clients.push(await Client.login(service.at('imap'), 'crowd'))
    }
    // A program that may go on would try the other mechanisms, and then ask for another password.
    for (const attempt of ['LOGIN crowd "secret of crowd"', `AUTHENTICATE PLAIN ${btoa('\0crowd\0secret of crowd')}`]) {
      const one = await open()
      expect(await one.ask(attempt)).toMatchObject({
        status: 'NO',
        text: expect.stringMatching(/^\[LIMIT\]/),
        lines: [expect.stringMatching(/^\* BYE Too many sessions/)],
      })
      await one.closed()
    }
    await clients.pop()?.ask('LOGOUT')
    const again = async () => {
      const one = await open()
      clients.push(one)
      return (await one.ask('LOGIN crowd "secret of crowd"')).status
    }
    await expect.poll(again).toBe('OK')
    for (const client of clients) client.close()
  })

  test('LOGOUT says BYE and then OK', async () => {
    const client = await login('INBOX')
    expect(await client.ask('LOGOUT')).toMatchObject({ status: 'OK', lines: [expect.stringMatching(/^\* BYE/)] })
    await client.closed()
  })

  test('commands may be pipelined and are answered in order', async () => {
    const client = await login('INBOX')
    client.send(`a NOOP\r\nb ${append('INBOX', mail('pipelined')).toString()}\r\nc STATUS INBOX (MESSAGES)\r\n`)
    const lines: string[] = []
    while (!lines.at(-1)?.startsWith('c ')) lines.push(await client.line())
    const tags = lines.map(line => line.split(' ')[0]).filter(tag => tag !== '*')
    expect(tags).toEqual(['a', 'b', 'c'])
    expect(lines).toContain('* STATUS "INBOX" (MESSAGES 1)')
    client.close()
  })

  test('a disabled user is put out', async () => {
    const user = await service.user('gone')
    const client = await Client.login(service.at('imap'), 'gone', 'INBOX')
    await service.call('PUT', `/users/${user}`, { disabled: true })
    expect(await client.line()).toMatch(/^\* BYE/)
    await client.closed()
  })

  test('ENABLE answers what was turned on, once', async () => {
    const client = await login()
    expect(await client.ok('ENABLE CONDSTORE FROBNICATE IMAP4rev2')).toEqual(['* ENABLED CONDSTORE IMAP4rev2'])
    expect(await client.ok('ENABLE CONDSTORE')).toEqual(['* ENABLED'])
    client.close()
  })

  test('ID and NAMESPACE', async () => {
    const client = await login()
    expect(await client.ok('ID ("name" "test" "os" NIL)')).toEqual([expect.stringMatching(/^\* ID \("name" "Teal"/)])
    expect(await client.ok('ID NIL')).toHaveLength(1)
    expect(await client.ok('NAMESPACE')).toEqual(['* NAMESPACE (("" "/")) NIL NIL'])
    client.close()
  })
})

describe('the account behind a session', () => {
  test('its sessions are counted, and a logout ends them', async () => {
    const user = await service.user('watched')
    const client = await Client.login(service.at('imap'), 'watched', 'INBOX')
    const used = async () => (await service.call('GET', `/users/${user}`)).body.limits.imapMaxConnections.used
    expect(await used()).toBe(1)
    await service.call('PUT', `/users/${user}/logout`, { reason: 'Time to go' })
    expect(await client.line()).toBe('* BYE Time to go')
    await client.closed()
    await expect.poll(used).toBe(0)
  })

  test('a logout in the middle of a message cuts it short and puts nothing into it', async () => {
    const user = await service.user('reading')
    const client = await Client.login(service.at('imap'), 'reading', 'INBOX')
    const line = `${'x'.repeat(76)}\r\n`
    await client.ok(append('INBOX', mail('large', line.repeat(250_000))))
    client.pause()
    client.send('x FETCH 1 BODY.PEEK[TEXT]\r\n')
    // The service has begun to answer, and waits for the client, by then.
    for (let count = 0; count < 20; count++) await service.call('GET', `/users/${user}`)
    await service.call('PUT', `/users/${user}/logout`, { reason: 'Time to go' })
    client.resume()
    await client.closed()
    const [head = '', ...lines] = client.unread.split('\r\n')
    expect(head).toMatch(/^\* 1 FETCH \(BODY\[TEXT\] \{\d+\}$/)
    expect(lines.every(one => line.startsWith(one))).toBe(true)
    expect(lines.length).toBeLessThan(250_000)
  })

  test('logins are in its log, with protocol and session', async () => {
    const user = await service.user('logged')
    const client = await Client.open(service.at('imap'))
    await client.ask('LOGIN logged wrong')
    await client.ok('LOGIN logged "secret of logged"')
    client.close()
    const results = async () => {
      const { body } = await service.call('GET', `/users/${user}/authlog`)
      const entries: { protocol: string; result: string }[] = body.results
      return entries.filter(entry => entry.protocol === 'IMAP').map(entry => entry.result)
    }
    await expect.poll(async () => (await results()).sort()).toEqual(['fail', 'success'])
  })

  test('an application password of another scope does not come in', async () => {
    const user = await service.user('scoped')
    const { body } = await service.call('POST', `/users/${user}/asps`, { description: 'pop', scopes: ['pop3'] })
    const client = await Client.open(service.at('imap'))
    const answer = await client.ask(`LOGIN scoped ${body.password}`)
    expect(answer).toMatchObject({ status: 'NO', text: expect.stringMatching(/^\[AUTHORIZATIONFAILED\]/) })
    client.close()
  })

  test('a client that reads nothing holds little, and nobody else', async () => {
    await service.user('slow')
    const client = await Client.login(service.at('imap'), 'slow', 'INBOX')
    const megabyte = `Subject: large\r\n\r\n${'0123456789abcdef'.repeat(65_536)}\r\n`
    for (let count = 0; count < 4; count++) await client.ok(append('INBOX', megabyte))
    for (let count = 0; count < 4; count++) await client.ok('COPY 1:* INBOX')
    const before = process.memoryUsage().arrayBuffers
    client.pause()
    client.send('x FETCH 1:* BODY.PEEK[]\r\n')
    const other = await Client.login(service.at('imap'), 'slow', 'INBOX')
    for (let count = 0; count < 20; count++) {
      await other.ok('FETCH 1:* FLAGS')
      await other.ok('NOOP')
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * limits.net.backlogBytesMax)
    client.close()
    other.close()
  })
})
