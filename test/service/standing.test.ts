// What opened a session or a stream may end: whatever it was and whatever protocol speaks, the session ends with it, in the
// middle of what it was doing, and nothing is taken or told afterwards.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { Dialogue } from '../dialogue.ts'
import { EventReader } from '../http/api/stream.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ auth: { cleartext: 'always' }, outbound: { enabled: false } })
afterEach(() => shiftClock(0))
afterAll(() => shiftClock(0))

const { call } = service
const day = 24 * 3600 * 1000
let number = 0
let reader = ''
beforeAll(async () => {
  reader = await service.user('reader')
})

async function fresh() {
  const name = `stand${++number}`
  const id = await service.user(name)
  const asp = async (more: object = {}) => (await call('POST', `/users/${id}/asps`, { description: 'x', ...more })).body
  return { name, id, password: `secret of ${name}`, asp }
}
type User = Awaited<ReturnType<typeof fresh>>
type Asp = { id: string; password: string }

async function imap(user: User, password: string): Promise<Dialogue> {
  const session = await Dialogue.open(service.at('imap'))
  await session.line()
  session.send(`a LOGIN ${user.name} "${password}"\r\n`)
  while (!(await session.line()).startsWith('a OK'));
  return session
}

async function pop3(user: User, password: string): Promise<Dialogue> {
  const session = await Dialogue.open(service.at('pop3'))
  await session.line()
  session.send(`USER ${user.name}\r\nPASS ${password}\r\n`)
  await session.line()
  expect(await session.line()).toMatch(/^\+OK/)
  return session
}

async function submission(user: User, password: string): Promise<Dialogue> {
  const session = await Dialogue.open(service.at('submission'))
  await session.reply()
  await session.ask('EHLO test')
  const secret = Buffer.from(`\0${user.name}\0${password}`).toString('base64')
  expect(await session.ask(`AUTH PLAIN ${secret}`)).toMatch(/^235/)
  return session
}

const inbox = async (id: string) => {
  const { results } = (await call('GET', `/users/${id}/mailboxes`)).body
  const box = results.find((one: { path: string }) => one.path === 'INBOX')
  return (await call('GET', `/users/${id}/mailboxes/${box.id}/messages`)).body.results
}

/** A session that is doing something; then proves that it ended and did not come to its end. */
const doors: Record<string, { scope: string; open: (user: User, password: string) => Promise<() => Promise<void>> }> = {
  'IMAP, waiting in IDLE': {
    scope: 'imap',
    async open(user, password) {
      const session = await imap(user, password)
      session.send('b SELECT INBOX\r\nc IDLE\r\n')
      while (!(await session.line()).startsWith('+'));
      return async () => {
        expect(await session.line()).toMatch(/^\* BYE /)
        await session.closed()
      }
    },
  },
  'IMAP, in the middle of an APPEND': {
    scope: 'imap',
    async open(user, password) {
      const session = await imap(user, password)
      session.send('b APPEND INBOX {20}\r\n')
      expect(await session.line()).toMatch(/^\+/)
      session.send('Subject: x')
      return async () => {
        session.send('\r\n\r\nHello\r')
        session.send('\r\n')
        expect(await session.line()).toMatch(/^\* BYE /)
        await session.closed()
        if ((await call('GET', `/users/${user.id}`)).status === 200) expect(await inbox(user.id)).toEqual([])
      }
    },
  },
  'POP3, with a message marked': {
    scope: 'pop3',
    async open(user, password) {
      const { results } = (await call('GET', `/users/${user.id}/mailboxes`)).body
      const raw = 'Subject: x\r\n\r\nIt stays\r\n'
      await call('POST', `/users/${user.id}/mailboxes/${results[0].id}/messages`, { raw })
      const session = await pop3(user, password)
      session.send('DELE 1\r\n')
      expect(await session.line()).toMatch(/^\+OK/)
      return async () => {
        session.send('QUIT\r\n')
        expect(await session.line().catch(error => String(error))).toMatch(/^-ERR \[AUTH\]|closed/)
        await session.closed()
        if ((await call('GET', `/users/${user.id}`)).status === 200) expect(await inbox(user.id)).toHaveLength(1)
      }
    },
  },
  'submission, waiting': {
    scope: 'smtp',
    async open(user, password) {
      const session = await submission(user, password)
      return async () => {
        expect(await session.reply()).toMatch(/^421 4\.7\.0 /)
        await session.closed()
      }
    },
  },
  'submission, in the middle of DATA': {
    scope: 'smtp',
    async open(user, password) {
      const before = (await inbox(reader)).length
      const session = await submission(user, password)
      expect(await session.ask(`MAIL FROM:<${user.name}@example.com>`)).toMatch(/^250/)
      expect(await session.ask('RCPT TO:<reader@example.com>')).toMatch(/^250/)
      expect(await session.ask('DATA')).toMatch(/^354/)
      session.send(`From: ${user.name}@example.com\r\nSubject: late\r\n`)
      return async () => {
        expect(await session.ask('\r\nHello\r\n.')).toMatch(/^421 4\.7\.0 /)
        await session.closed()
        expect(await inbox(reader)).toHaveLength(before)
      }
    },
  },
}

const put = (body: object) => (user: User) => call('PUT', `/users/${user.id}`, body)
const causes: Record<string, (user: User, scope: string) => Promise<{ status: number }>> = {
  'the password is changed': put({ password: 'quite another one' }),
  'the password is reset': user => call('POST', `/users/${user.id}/password/reset`, {}),
  'a first second factor is switched on': user => call('PUT', `/users/${user.id}/2fa/custom`, {}),
  'the account is suspended': put({ suspended: true }),
  'the account is disabled': put({ disabled: true }),
  // Open again at once: what ended does not come back.
  'its domain is disabled': async () => {
    const answer = await call('PUT', '/domains/example.com', { disabled: true })
    await call('PUT', '/domains/example.com', { disabled: false })
    return answer
  },
  'the account is deleted': user => call('DELETE', `/users/${user.id}`),
  'the protocol is closed': (user, scope) => call('PUT', `/users/${user.id}`, { disabledScopes: [scope] }),
  'somebody ends the sessions': user => call('PUT', `/users/${user.id}/logout`, { reason: 'Bye\r\nnow' }),
}

describe.each(Object.entries(doors))('%s', (_, { scope, open }) => {
  test.each(Object.entries(causes))('ends when %s', async (_cause, end) => {
    const user = await fresh()
    const ended = await open(user, user.password)
    expect((await end(user, scope)).status).toBe(200)
    await ended()
  })

  test('ends with the application password that opened it, and with no other', async () => {
    const user = await fresh()
    const [own, other]: Asp[] = [await user.asp({ scopes: [scope] }), await user.asp()]
    const ended = await open(user, own?.password ?? '')
    const { grants } = service.teal.core.credentials
    const held = grants.size
    expect((await call('DELETE', `/users/${user.id}/asps/${other?.id}`)).status).toBe(200)
    const rest = ['imap', 'pop3', 'smtp'].filter(one => one !== scope)
    expect((await put({ disabledScopes: rest, name: 'Somebody else' })(user)).status).toBe(200)
    expect(grants.size).toBe(held)
    expect((await call('DELETE', `/users/${user.id}/asps/${own?.id}`)).status).toBe(200)
    await ended()
  })

  test('ends when the time of its application password is over', async () => {
    const user = await fresh()
    const { password }: Asp = await user.asp({ scopes: [scope], ttl: 3600 })
    const ended = await open(user, password)
    shiftClock(3_700_000)
    await ended()
  })
})

describe('an event stream', () => {
  const streams: EventReader[] = []
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close()
  })
  const follow = async (user: User, token: string) => {
    const stream = await EventReader.open(`${service.teal.url}/users/${user.id}/updates`, token)
    streams.push(stream)
    await stream.until(() => stream.comments.length > 0)
    return stream
  }
  const tokenOf = async (user: User): Promise<string> =>
    (await call('POST', '/authenticate', { username: user.name, password: user.password, token: true })).body.token
  const provisioned = async () => (await service.teal.core.access.provision('a helper', 'webmail')).token
  const makeFolder = (user: User) => call('POST', `/users/${user.id}/mailboxes`, { path: 'Late' })

  const ends: Record<string, (user: User, token: string) => Promise<unknown>> = {
    ...causes,
    'its token is ended by who uses it': (_, token) => call('DELETE', '/authenticate', undefined, token),
    'its token is revoked': (_, token) => service.teal.core.access.revoke(tokenDigest(token)),
    'its token has not been used for long': async () => shiftClock(15 * day),
  }
  delete ends['the protocol is closed']

  test.each(Object.entries(ends))('ends when %s', async (_cause, end) => {
    const user = await fresh()
    const token = await tokenOf(user)
    const stream = await follow(user, token)
    await end(user, token)
    await makeFolder(user)
    await stream.until(() => stream.ended)
    expect(stream.commands()).toEqual(['LOGOUT'])
    shiftClock(0)
  })

  test('of a helper ends when its token is revoked, and with the account', async () => {
    const user = await fresh()
    const token = await provisioned()
    const stream = await follow(user, token)
    const other = await follow(user, await provisioned())
    await service.teal.core.access.revoke(tokenDigest(token))
    await makeFolder(user)
    await stream.until(() => stream.ended)
    expect(stream.commands()).toEqual(['LOGOUT'])
    await other.until(() => other.commands().includes('CREATE'))
    expect((await call('DELETE', `/users/${user.id}`)).status).toBe(200)
    await other.until(() => other.ended)
    expect(other.commands()).toEqual(['CREATE', 'LOGOUT'])
  })
})

test('a session does not begin by what ended between its login and that', async () => {
  const user = await fresh()
  const { authentication, grants } = service.teal.core.credentials
  const form = { username: user.name, password: user.password, scope: 'imap', protocol: 'IMAP' } as const
  const { grant } = await authentication.authenticate(form)
  expect((await put({ password: 'quite another one' })(user)).status).toBe(200)
  const before = grants.size
  await expect(grants.hold(grant, { ended: () => {} })).rejects.toMatchObject({ code: 'SessionEnded' })
  expect(grants.size).toBe(before)
})
