// The dialogue of SMTP and LMTP, byte by byte: what is announced, what is refused, in which order, and what is kept.

import { describe, expect, test } from 'vitest'
import { Fault } from '#lib/fault.ts'
import { Wire } from '../net/wire.ts'
import { fault, start } from './memory.ts'

const letter = 'Subject: hi\r\n\r\nhello\r\n'

/** Gives commands one by one; the replies. */
async function say(wire: Wire, ...commands: string[]): Promise<string[]> {
  const replies: string[] = []
  for (const command of commands) replies.push(await wire.ask(command))
  return replies
}

const transaction = ['MAIL FROM:<a@remote.test>', 'RCPT TO:<u@teal.test>', 'DATA']

describe('greeting', () => {
  test('SMTP announces exactly what it does', async () => {
    const { open } = await start('smtp')
    const wire = await open()
    wire.send('EHLO client.test\r\n')
    expect(await wire.reply()).toEqual([
      '250-mx.teal.test',
      '250-PIPELINING',
      '250-SIZE 67108864',
      '250-8BITMIME',
      '250-SMTPUTF8',
      '250-ENHANCEDSTATUSCODES',
      '250 CHUNKING',
    ])
  })

  test('with certificates STARTTLS is announced until TLS is on', async () => {
    const { open } = await start('smtp', { withTls: true })
    const wire = await open()
    wire.send('EHLO client.test\r\n')
    expect(await wire.reply()).toContain('250 STARTTLS')
  })

  test('the greeting comes at once and names host and protocol', async () => {
    for (const [service, name] of [['smtp', 'ESMTP'] as const, ['lmtp', 'LMTP'] as const]) {
      const { at } = await start(service)
      const wire = await Wire.open(at)
      expect(await wire.line()).toBe(`220 mx.teal.test ${name} Teal`)
      wire.close()
    }
  })

  test('each protocol has its own hello', async () => {
    const smtp = await (await start('smtp')).open()
    expect(await smtp.ask('LHLO x')).toMatch(/^500 5\.5\.1 /)
    expect(await smtp.ask('HELO x')).toBe('250 mx.teal.test')
    const lmtp = await (await start('lmtp')).open()
    expect(await say(lmtp, 'EHLO x', 'HELO x')).toEqual([
      expect.stringMatching(/^500 5\.5\.1 /),
      expect.stringMatching(/^500 5\.5\.1 /),
    ])
    expect(await lmtp.ask('LHLO x')).toBe('250 CHUNKING')
  })

  test('a hello without a name is refused', async () => {
    const wire = await (await start('smtp')).open()
    expect(await say(wire, 'EHLO', 'HELO ', 'EHLO a b')).toEqual(Array(3).fill(expect.stringMatching(/^501 5\.5\.4 /)))
  })
})

describe('a message', () => {
  test('is kept byte for byte and answered with 250', async () => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    expect(await say(wire, ...transaction)).toEqual(['250 2.1.0 OK', '250 2.1.5 OK', expect.stringMatching(/^354 /)])
    const bytes = Buffer.from('X: \0\xff\xfe\r\n\r\n..dot\r\n.one\r\nbare\nfeed and bare\rreturn\r\n.\r\n', 'latin1')
    wire.send(bytes)
    expect(await wire.line()).toMatch(/^250 2\.0\.0 Stored as [0-9a-f]+-1$/)
    expect(backend.kept).toEqual([
      {
        message: 'X: \0\xff\xfe\r\n\r\n.dot\r\none\r\nbare\nfeed and bare\rreturn\r\n',
        from: 'a@remote.test',
        recipients: ['u@teal.test'],
        utf8: false,
        protocol: 'ESMTP',
        user: undefined,
      },
    ])
    expect(await wire.ask('QUIT')).toBe('221 2.0.0 mx.teal.test closes')
    await wire.closed()
  })

  test('arrives the same however it is cut into packets', async () => {
    const { greeted, backend } = await start('lmtp')
    const wire = await greeted()
    await say(wire, ...transaction)
    for (const byte of `${letter}..\r\n.\r\n`) {
      wire.send(byte)
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(await wire.line()).toMatch(/^250 /)
    expect(backend.kept[0]?.message).toBe(`${letter}.\r\n`)
  })

  test('several follow one another, and a whole session may come in one packet', async () => {
    const { open, backend } = await start('smtp')
    const wire = await open()
    const one = `${transaction.join('\r\n')}\r\n`
    wire.send(`EHLO c.test\r\n${one}one\r\n.\r\n${one}two\r\n.\r\nRSET\r\nNOOP\r\nQUIT\r\n`)
    await wire.closed()
    const replies = wire.unread.split('\r\n').map(line => line.slice(0, 4))
    expect(
      replies
        .filter(code => code !== '250-')
        .join('')
        .replaceAll(' ', ','),
    ).toBe('250,250,250,354,250,250,250,354,250,250,250,221,')
    expect(backend.kept.map(({ message }) => message)).toEqual(['one\r\n', 'two\r\n'])
  })

  test('half a connection that the peer closed still gets its answers', async () => {
    const { open, backend } = await start('smtp')
    const wire = await open()
    wire.send(`HELO c.test\r\n${transaction.join('\r\n')}\r\n${letter}.\r\n`)
    wire.finish()
    await wire.closed()
    expect(wire.unread).toMatch(/354 .*\r\n250 2\.0\.0 Stored/)
    expect(backend.kept).toHaveLength(1)
  })

  test('250 is not said before the backend has it', async () => {
    const { greeted, backend } = await start('lmtp')
    let release = () => {}
    backend.gate = new Promise(resolve => {
      release = resolve
    })
    const begun = new Promise<void>(resolve => {
      backend.onDeliver = resolve
    })
    const wire = await greeted()
    await say(wire, ...transaction)
    wire.send(`${letter}.\r\nNOOP\r\n`)
    await begun
    await new Promise(resolve => setImmediate(resolve))
    expect(wire.unread).toBe('')
    release()
    expect([await wire.line(), await wire.line()]).toEqual([
      expect.stringMatching(/^250 2\.0\.0 Stored/),
      '250 2.0.0 OK',
    ])
  })

  test('the null sender, no space, a space, lower case and a source route are understood', async () => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    const senders = [
      'MAIL FROM:<>',
      'mail from: <A@b.test>',
      'MAIL FROM:<@x.test,@y.test:c@d.test> SIZE=10 BODY=8BITMIME',
    ]
    for (const sender of senders) {
      expect(await say(wire, sender, 'rcpt to:<"u"@teal.test>')).toEqual(['250 2.1.0 OK', '250 2.1.5 OK'])
      wire.send('DATA\r\n')
      await wire.line()
      wire.send('.\r\n')
      expect(await wire.line()).toMatch(/^250 /)
    }
    expect(backend.kept.map(({ from, recipients }) => [from, ...recipients])).toEqual([
      ['', 'u@teal.test'],
      ['A@b.test', 'u@teal.test'],
      ['c@d.test', 'u@teal.test'],
    ])
  })

  test('postmaster needs no domain, everybody else does', async () => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    expect(await say(wire, 'RCPT TO:<Postmaster>', 'RCPT TO:<u>')).toEqual([
      '250 2.1.5 OK',
      '501 5.1.3 The address has no domain',
    ])
    await wire.ask('DATA')
    wire.send('.\r\n')
    await wire.line()
    expect(backend.kept[0]?.recipients).toEqual(['Postmaster@mx.teal.test'])
  })

  test('addresses in UTF-8 need SMTPUTF8', async () => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    expect(await wire.ask('MAIL FROM:<jösé@b.test>')).toMatch(/^553 5\.6\.7 /)
    expect(await wire.ask('MAIL FROM:<a@b.test>')).toBe('250 2.1.0 OK')
    expect(await wire.ask('RCPT TO:<ü@teal.test>')).toMatch(/^553 5\.6\.7 /)
    await wire.ask('RSET')
    expect(await say(wire, 'MAIL FROM:<jösé@bücher.test> SMTPUTF8', 'RCPT TO:<ü@teal.test>', 'DATA')).toEqual([
      '250 2.1.0 OK',
      '250 2.1.5 OK',
      expect.stringMatching(/^354/),
    ])
    wire.send('.\r\n')
    await wire.line()
    expect(backend.kept[0]).toMatchObject({ from: 'jösé@bücher.test', recipients: ['ü@teal.test'], utf8: true })
  })
})

describe('order and form', () => {
  test('commands out of order are refused and change nothing', async () => {
    const { open } = await start('smtp')
    const wire = await open()
    const refused = expect.stringMatching(/^503 5\.5\.1 /)
    expect(await say(wire, 'MAIL FROM:<a@b.test>', 'RCPT TO:<u@teal.test>', 'DATA')).toEqual([
      refused,
      refused,
      refused,
    ])
    await wire.ask('EHLO c.test')
    expect(await say(wire, 'RCPT TO:<u@teal.test>', 'DATA', 'BDAT 0 LAST')).toEqual([refused, refused, refused])
    expect(await say(wire, 'MAIL FROM:<a@b.test>', 'MAIL FROM:<a@b.test>')).toEqual(['250 2.1.0 OK', refused])
    expect(await say(wire, 'DATA', 'RCPT TO:<u@teal.test>')).toEqual([refused, '250 2.1.5 OK'])
    expect(await say(wire, 'EHLO c.test', 'DATA')).toEqual(['250 CHUNKING', refused])
  })

  const malformed: [command: string, reply: RegExp][] = [
    ['MAIL', /^501 5\.5\.4 /],
    ['MAIL TO:<a@b.test>', /^501 5\.5\.4 /],
    ['MAIL FROM:a@b.test', /^501 5\.1\.7 /],
    ['MAIL FROM:<a@b.test', /^501 5\.1\.7 /],
    ['MAIL FROM:<a@b.test>x', /^501 5\.1\.7 /],
    ['MAIL FROM:<a b@c.test>', /^501 5\.1\.7 /],
    ['MAIL FROM:<a@@b.test>', /^501 5\.1\.7 /],
    ['MAIL FROM:<a@b..test>', /^501 5\.1\.7 /],
    ['MAIL FROM:<a@-b.test>', /^501 5\.1\.7 /],
    ['MAIL FROM:<a>', /^501 5\.1\.7 /],
    ['MAIL FROM:<@x.test:>', /^501 5\.1\.7 /],
    [`MAIL FROM:<${'a'.repeat(600)}@b.test>`, /^501 5\.1\.7 /],
    ['MAIL FROM:<a@b.test> SIZE=x', /^501 5\.5\.4 /],
    ['MAIL FROM:<a@b.test> SIZE', /^501 5\.5\.4 /],
    ['MAIL FROM:<a@b.test> SIZE=99999999999999999999', /^552 5\.3\.4 /],
    ['MAIL FROM:<a@b.test> SIZE=999999999999999999999', /^501 5\.5\.4 /],
    ['MAIL FROM:<a@b.test> BODY=BINARYMIME', /^555 5\.5\.4 /],
    ['MAIL FROM:<a@b.test> RET=FULL', /^555 5\.5\.4 /],
    ['MAIL FROM:<a@b.test> AUTH=<>', /^555 5\.5\.4 /],
    ['MAIL FROM:<a@b.test> SIZE=1 SIZE=1', /^501 5\.5\.4 /],
    ['MAIL FROM:<a@b.test> =', /^501 5\.5\.4 /],
    ['RSETT', /^500 5\.5\.1 /],
    ['', /^500 5\.5\.1 /],
    ['EXPN staff', /^502 5\.5\.1 /],
    ['AUTH PLAIN AHUAcA==', /^500 5\.5\.1 /],
    ['STARTTLS', /^500 5\.5\.1 /],
    ['NOOP\0', /^500 5\.5\.2 /],
    ['NO\rOP', /^500 5\.5\.2 /],
    ['MAIL FROM:<a\x7f@b.test>', /^500 5\.5\.2 /],
  ]
  test.each(malformed)('%j is refused', async (command, reply) => {
    const { greeted } = await start('smtp')
    const wire = await greeted()
    expect(await wire.ask(command)).toMatch(reply)
    expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
  })

  test('bytes that are no UTF-8 and lines without CR are refused', async () => {
    const { greeted } = await start('smtp')
    const wire = await greeted()
    wire.send(Buffer.from('MAIL FROM:<\xff@b.test>\r\nNOOP\nNOOP\r\n', 'latin1'))
    expect([await wire.line(), await wire.line(), await wire.line()]).toEqual([
      '500 5.5.2 The line holds what no command may',
      '500 5.5.2 A line must end in CR LF',
      '250 2.0.0 OK',
    ])
  })

  test('a parameter at RCPT is refused', async () => {
    const wire = await (await start('smtp')).greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    expect(await wire.ask('RCPT TO:<u@teal.test> NOTIFY=NEVER')).toMatch(/^555 5\.5\.4 /)
  })

  test('a line that is too long is refused, whatever its packets, and the next one is understood', async () => {
    const wire = await (await start('smtp')).greeted()
    expect(await wire.ask(`NOOP ${'x'.repeat(3000)}`)).toMatch(/^500 5\.5\.2 The line is too long/)
    for (let packet = 0; packet < 50; packet++) {
      wire.send('y'.repeat(1000))
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(await wire.ask('')).toMatch(/^500 5\.5\.2 The line is too long/)
    expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
  })

  test.each(['smtp', 'lmtp', 'submission'] as const)('EXPN is known and not offered: %s', async service => {
    const wire = await (await start(service)).greeted()
    expect(await say(wire, 'EXPN list', 'EXPN')).toEqual(Array(2).fill('502 5.5.1 The command is not offered here'))
  })

  test('VRFY, HELP and NOOP tell nothing', async () => {
    const wire = await (await start('smtp')).greeted()
    expect(await say(wire, 'VRFY u@teal.test', 'VRFY', 'HELP', 'NOOP whatever')).toEqual([
      expect.stringMatching(/^252 2\.1\.5 /),
      expect.stringMatching(/^501 5\.5\.4 /),
      expect.stringMatching(/^214 2\.0\.0 /),
      '250 2.0.0 OK',
    ])
  })
})

describe('refusals', () => {
  const reasons = [
    ['UserNotFound', '550 5.1.1 This user does not exist'],
    ['UserDisabled', '550 5.2.1 This account is disabled'],
    ['OverQuotaError', '552 5.2.2 The user is over quota'],
    ['Overloaded', '451 4.3.2 The service is busy, try again'],
  ] as const
  test.each(reasons)('%s at RCPT', async (code, reply) => {
    const { greeted, backend } = await start('smtp')
    backend.unknown.set('x@teal.test', fault(code))
    const wire = await greeted()
    expect(await say(wire, 'MAIL FROM:<a@b.test>', 'RCPT TO:<x@teal.test>')).toEqual(['250 2.1.0 OK', reply])
    expect(await say(wire, 'DATA', 'RCPT TO:<u@teal.test>')).toEqual([
      expect.stringMatching(/^503 5\.5\.1 /),
      '250 2.1.5 OK',
    ])
  })

  test('an unexpected error is a temporary reply that tells nothing, and is logged', async () => {
    const { greeted, backend, logged } = await start('lmtp')
    backend.unknown.set('x@teal.test', new Error('secret inner thing'))
    backend.refused.set('y@teal.test', new Error('another inner thing'))
    const wire = await greeted()
    expect(await say(wire, 'MAIL FROM:<a@b.test>', 'RCPT TO:<x@teal.test>', 'RCPT TO:<y@teal.test>', 'DATA')).toEqual([
      '250 2.1.0 OK',
      '451 4.3.0 An internal error happened',
      '250 2.1.5 OK',
      expect.stringMatching(/^354/),
    ])
    wire.send('.\r\n')
    expect(await wire.line()).toBe('451 4.3.0 An internal error happened')
    expect(logged.join()).toMatch(/secret inner thing.*another inner thing/s)
  })

  test('text of a fault cannot break the reply', async () => {
    const { greeted, backend } = await start('smtp')
    backend.unknown.set('x@teal.test', new Fault('UserNotFound', { text: `no\r\n250 OK\u00e9${'z'.repeat(1000)}` }))
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    const reply = await wire.ask('RCPT TO:<x@teal.test>')
    expect(reply).toMatch(/^550 5\.1\.1 no\?\?250 OK\?z+$/)
    expect(reply.length).toBeLessThan(512)
    expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
  })

  test('LMTP answers for every recipient, in order', async () => {
    const { greeted, backend } = await start('lmtp')
    backend.refused.set('full@teal.test', fault('OverQuotaError'))
    backend.refused.set('busy@teal.test', fault('Overloaded'))
    backend.unknown.set('gone@teal.test', fault('UserNotFound'))
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    for (const name of ['a', 'full', 'gone', 'busy', 'a']) await wire.ask(`RCPT TO:<${name}@teal.test>`)
    await wire.ask('DATA')
    wire.send(`${letter}.\r\n`)
    const replies = [await wire.line(), await wire.line(), await wire.line(), await wire.line()]
    expect(replies.map(reply => reply.slice(0, 9))).toEqual(['250 2.0.0', '552 5.2.2', '451 4.3.2', '250 2.0.0'])
    expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
    expect(backend.kept[0]?.recipients).toEqual(['a@teal.test', 'a@teal.test'])
  })

  const mixtures: [fates: (string | null)[], reply: RegExp][] = [
    [[null, null], /^250 2\.0\.0 /],
    [['OverQuotaError', 'UserNotFound'], /^552 5\.2\.2 /],
    [['OverQuotaError', 'Overloaded'], /^451 4\.3\.2 The service is busy/],
    [[null, 'Overloaded'], /^451 4\.3\.2 1 of 2 recipients have it/],
    [[null, 'StorageUnavailable'], /^452 4\.3\.1 1 of 2 recipients have it/],
    [['OverQuotaError', null, null], /^451 4\.2\.0 2 of 3 recipients have it/],
  ]
  test.each(mixtures)('SMTP has one reply for %j that loses nothing', async (fates, reply) => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    for (const [index, fate] of fates.entries()) {
      if (fate !== null) backend.refused.set(`u${index}@teal.test`, fault(fate as 'Overloaded'))
      await wire.ask(`RCPT TO:<u${index}@teal.test>`)
    }
    await wire.ask('DATA')
    wire.send(`${letter}.\r\n`)
    expect(await wire.line()).toMatch(reply)
    expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
  })

  test('a store that fails at any step gives a temporary reply and keeps the session', async () => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    backend.openFails = fault('StorageUnavailable')
    expect((await say(wire, ...transaction)).at(-1)).toBe('452 4.3.1 Storage is not available now')
    backend.openFails = undefined
    for (const step of ['writeFails', 'finishFails', 'deliverFails'] as const) {
      backend[step] = fault('StorageUnavailable')
      await wire.ask('RSET')
      await say(wire, ...transaction)
      wire.send(`${letter}.\r\n`)
      expect(await wire.line(), step).toBe('452 4.3.1 Storage is not available now')
      backend[step] = undefined
    }
    await say(wire, ...transaction)
    wire.send(`${letter}.\r\n`)
    expect(await wire.line()).toMatch(/^250 /)
    expect([backend.kept.length, backend.underway]).toEqual([1, 0])
  })

  test('a sender may be refused', async () => {
    const { greeted, backend } = await start('smtp')
    backend.sender = address => {
      if (address === 'bad@b.test') throw fault('UserDisabled')
    }
    const wire = await greeted()
    expect(await say(wire, 'MAIL FROM:<bad@b.test>', 'MAIL FROM:<good@b.test>')).toEqual([
      '550 5.2.1 This account is disabled',
      '250 2.1.0 OK',
    ])
  })
})

describe('false ends of a message', () => {
  for (const form of ['\n.\n', '\r\n.\n', '\n.\r\n', '\r.\r\n', '\r\n.\r', '\r.\r']) {
    test(`${JSON.stringify(form)} ends nothing, and no command comes out of it`, async () => {
      const { greeted, backend } = await start('smtp')
      const wire = await greeted()
      await say(wire, ...transaction)
      wire.send(`a${form}MAIL FROM:<evil@b.test>\r\nRCPT TO:<u@teal.test>\r\nDATA\r\nsmuggled\r\n.\r\n`)
      expect(await wire.line()).toMatch(/^554 5\.6\.0 /)
      expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
      expect([backend.kept.length, backend.underway, backend.aborted]).toEqual([0, 0, 1])
    })
  }
})
