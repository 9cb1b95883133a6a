// Logging in to send, and TLS on every kind of listener.

import { describe, expect, test } from 'vitest'
import { Fault } from '#lib/fault.ts'
import type { SmtpOptions } from '#smtp/server.ts'
import type { Wire } from '../net/wire.ts'
import { start } from './memory.ts'

const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64')
const plain = (name: string, password: string) => `AUTH PLAIN ${base64(`\0${name}\0${password}`)}`

/** Knows one password; what was tried is in `tried`. */
function judge(): { tried: string[]; authenticate: SmtpOptions<string, Buffer>['authenticate'] } {
  const tried: string[] = []
  return {
    tried,
    authenticate: async (username, password, speaker) => {
      tried.push(`${username}:${password} by ${speaker.protocol}`)
      if (password === 'slow') throw new Fault('RateLimitedError')
      if (password !== 'pässword') throw new Fault('AuthFailed')
      return { id: username }
    },
  }
}

async function send(wire: Wire): Promise<string> {
  wire.send('MAIL FROM:<me@teal.test> AUTH=<>\r\nRCPT TO:<u@teal.test>\r\nDATA\r\n')
  for (let reply = 0; reply < 3; reply++) await wire.line()
  wire.send('Subject: x\r\n\r\n.\r\n')
  return wire.line()
}

describe('submission', () => {
  test('takes no mail before a login, and mail after one carries the user', async () => {
    const { authenticate, tried } = judge()
    const { greeted, backend } = await start('submission', { authenticate })
    const wire = await greeted()
    expect(await wire.ask('MAIL FROM:<me@teal.test>')).toBe('530 5.7.0 Authentication is required')
    expect(await wire.ask(plain('me', 'pässword'))).toBe('235 2.7.0 Welcome')
    expect(await wire.ask(plain('me', 'pässword'))).toMatch(/^503 5\.5\.1 /)
    expect(await send(wire)).toMatch(/^250 /)
    expect(backend.kept[0]).toMatchObject({ user: { id: 'me' }, protocol: 'ESMTPA' })
    expect(tried).toEqual(['me:pässword by ESMTP'])
  })

  test('whoever never logs in is let go after so many commands, whoever did may send', async () => {
    const { authenticate } = judge()
    const { greeted } = await start('submission', { authenticate, bounds: { loginCommandsMax: 4 } })
    const wire = await greeted()
    for (let count = 0; count < 3; count++) expect(await wire.ask('NOOP')).toMatch(/^250 /)
    expect(await wire.ask('NOOP')).toMatch(/^421 4\.7\.0 /)
    const user = await greeted()
    expect(await user.ask(plain('me', 'pässword'))).toMatch(/^235 /)
    for (let count = 0; count < 10; count++) expect(await user.ask('NOOP')).toMatch(/^250 /)
    expect(await send(user)).toMatch(/^250 /)
  })

  test('LOGIN asks for name and password, and takes the name at once too', async () => {
    const { authenticate } = judge()
    const { greeted } = await start('submission', { authenticate })
    const wire = await greeted()
    expect(await wire.ask('AUTH LOGIN')).toBe(`334 ${base64('Username:')}`)
    expect(await wire.ask(base64('me'))).toBe(`334 ${base64('Password:')}`)
    expect(await wire.ask(base64('pässword'))).toBe('235 2.7.0 Welcome')
    const other = await greeted()
    expect(await other.ask(`AUTH login ${base64('me')}`)).toBe(`334 ${base64('Password:')}`)
    expect(await other.ask(base64('pässword'))).toBe('235 2.7.0 Welcome')
  })

  test('PLAIN without an initial response is asked for it', async () => {
    const { authenticate } = judge()
    const { greeted } = await start('submission', { authenticate })
    const wire = await greeted()
    expect(await wire.ask('AUTH PLAIN')).toBe('334 ')
    expect(await wire.ask(base64('\0me\0pässword'))).toBe('235 2.7.0 Welcome')
  })

  const wrong: [command: string, reply: RegExp][] = [
    [plain('me', 'no'), /^535 5\.7\.8 /],
    [plain('me', 'slow'), /^454 4\.7\.0 /],
    ['AUTH', /^501 5\.5\.4 /],
    ['AUTH CRAM-MD5', /^504 5\.5\.4 /],
    ['AUTH PLAIN =', /^501 5\.5\.2 /],
    ['AUTH PLAIN not*base64', /^501 5\.5\.2 /],
    ['AUTH PLAIN AHUAcA== more', /^501 5\.5\.2 /],
    [`AUTH PLAIN ${base64('me\0me')}`, /^501 5\.5\.2 /],
    [`AUTH PLAIN ${base64('\0me\0p\0ssword')}`, /^501 5\.5\.2 /],
    [`AUTH PLAIN ${base64('\0me\0')}`, /^501 5\.5\.2 /],
    [`AUTH LOGIN ${base64('m\0e')}`, /^501 5\.5\.2 /],
  ]
  test.each(wrong)('%s is refused and the session goes on', async (command, reply) => {
    const { authenticate } = judge()
    const { greeted } = await start('submission', { authenticate })
    const wire = await greeted()
    expect(await wire.ask(command)).toMatch(reply)
    expect(await wire.ask(plain('me', 'pässword'))).toBe('235 2.7.0 Welcome')
  })

  test('an exchange may be cancelled', async () => {
    const { authenticate, tried } = judge()
    const { greeted } = await start('submission', { authenticate })
    const wire = await greeted()
    await wire.ask('AUTH PLAIN')
    expect(await wire.ask('*')).toMatch(/^501 5\.7\.0 /)
    await wire.ask('AUTH LOGIN')
    await wire.ask(base64('me'))
    expect(await wire.ask('*')).toMatch(/^501 5\.7\.0 /)
    expect(tried).toEqual([])
  })

  test('guessing ends the session', async () => {
    const { authenticate, tried } = judge()
    const { greeted } = await start('submission', { authenticate })
    const wire = await greeted()
    wire.send(`${plain('me', 'guess')}\r\n`.repeat(5))
    await wire.closed()
    expect(wire.unread.split('\r\n').map(reply => reply.slice(0, 3))).toEqual(['535', '535', '535', '421', ''])
    expect(tried).toHaveLength(3)
  })

  test('a response of 4 kB is read, one of 20 kB refused', async () => {
    const { authenticate, tried } = judge()
    const { greeted } = await start('submission', { authenticate })
    const wire = await greeted()
    await wire.ask('AUTH PLAIN')
    expect(await wire.ask(base64(`\0me\0${'x'.repeat(3000)}`))).toMatch(/^535 /)
    await wire.ask('AUTH PLAIN')
    expect(await wire.ask('A'.repeat(20_000))).toMatch(/^500 5\.5\.2 The line is too long/)
    expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
    expect(tried).toHaveLength(1)
  })

  test('where the policy wants TLS first, AUTH is neither announced nor taken without it', async () => {
    const { authenticate, tried } = judge()
    const { open } = await start('submission', { authenticate, cleartext: 'never', withTls: true })
    const wire = await open()
    wire.send('EHLO c.test\r\n')
    expect((await wire.reply()).filter(line => line.includes('AUTH'))).toEqual([])
    expect(await wire.ask(plain('me', 'pässword'))).toMatch(/^538 5\.7\.11 /)
    expect(await wire.ask('STARTTLS')).toMatch(/^220 /)
    await wire.startTls()
    wire.send('EHLO c.test\r\n')
    expect(await wire.reply()).toContain('250 AUTH PLAIN LOGIN')
    expect(await wire.ask(plain('me', 'pässword'))).toBe('235 2.7.0 Welcome')
    expect(tried).toEqual(['me:pässword by ESMTPS'])
  })

  test('submissions speaks TLS before anything else', async () => {
    const { authenticate } = judge()
    const { greeted, backend } = await start('submissions', { authenticate, cleartext: 'never' })
    const wire = await greeted()
    expect(await wire.ask('STARTTLS')).toMatch(/^500 5\.5\.1 /)
    expect(await wire.ask(plain('me', 'pässword'))).toBe('235 2.7.0 Welcome')
    expect(await send(wire)).toMatch(/^250 /)
    expect(backend.kept[0]?.protocol).toBe('ESMTPSA')
  })
})

describe('STARTTLS', () => {
  test('protects the session, which starts anew', async () => {
    for (const service of ['smtp', 'lmtp'] as const) {
      const { greeted, backend } = await start(service, { withTls: true })
      const wire = await greeted()
      await wire.ask('MAIL FROM:<before@b.test>')
      expect(await wire.ask('STARTTLS')).toBe('220 2.0.0 Go ahead')
      await wire.startTls({ servername: 'mx.teal.test' })
      expect(wire.tls.getProtocol()).toBe('TLSv1.3')
      expect(wire.tls.getPeerCertificate().subject.CN).toBe('mx.teal.test')
      expect(await wire.ask('MAIL FROM:<a@b.test>')).toMatch(/^503 5\.5\.1 /)
      await wire.ask(service === 'lmtp' ? 'LHLO c.test' : 'EHLO c.test')
      expect(await wire.ask('STARTTLS')).toMatch(/^503 5\.5\.1 /)
      await wire.ask('MAIL FROM:<a@b.test>')
      await wire.ask('RCPT TO:<u@teal.test>')
      await wire.ask('DATA')
      const big = `${'z'.repeat(1000)}\r\n`.repeat(500)
      wire.send(`${big}.\r\n`)
      expect(await wire.line()).toMatch(/^250 /)
      expect(backend.kept[0]).toMatchObject({ message: big, from: 'a@b.test' })
      expect(backend.kept[0]?.protocol).toBe(service === 'lmtp' ? 'LMTPS' : 'ESMTPS')
    }
  })

  test('what was sent before the handshake is never taken for a command', async () => {
    const { greeted, backend } = await start('smtp', { withTls: true })
    const wire = await greeted()
    wire.send('STARTTLS\r\nEHLO evil.test\r\nMAIL FROM:<evil@b.test>\r\n')
    expect(await wire.line()).toBe('220 2.0.0 Go ahead')
    await wire.startTls()
    expect(await wire.ask('MAIL FROM:<a@b.test>')).toMatch(/^503 5\.5\.1 /)
    expect(wire.unread).toBe('')
    expect(backend.kept).toEqual([])
  })

  test('takes no argument', async () => {
    const { greeted } = await start('smtp', { withTls: true })
    expect(await (await greeted()).ask('STARTTLS now')).toMatch(/^501 5\.5\.4 /)
  })

  test('a peer that speaks no TLS after all is let go, and its session is gone', async () => {
    const { greeted, listener } = await start('smtp', { withTls: true })
    const wire = await greeted()
    await wire.ask('STARTTLS')
    wire.send('EHLO c.test\r\n')
    await wire.closed()
    expect(listener.sessions).toBe(0)
  })
})
