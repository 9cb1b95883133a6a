// One handle for every protocol: IMAP and POP3 let in whom the central authentication lets in, and let go whom it no longer does.

import { describe, expect, test } from 'vitest'
import { Dialogue } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal()

let number = 0
const fresh = async () => {
  const name = `handle${++number}`
  const id = await service.user(name)
  const asp = async (scope: string): Promise<string> =>
    (await service.call('POST', `/users/${id}/asps`, { description: scope, scopes: [scope] })).body.password
  return { name, id, password: `secret of ${name}`, imap: await asp('imap'), pop3: await asp('pop3') }
}

/** The tagged answer to LOGIN on a connection of its own. */
async function imapLogin(name: string, password: string) {
  const session = await Dialogue.open(service.at('imap'))
  await session.line()
  session.send(`a LOGIN ${name} "${password}"\r\n`)
  for (;;) {
    const line = await session.line()
    if (line.startsWith('a ')) return { line, session }
  }
}

async function pop3Login(name: string, password: string): Promise<string> {
  const session = await Dialogue.open(service.at('pop3'))
  await session.line()
  session.send(`USER ${name}\r\nPASS ${password}\r\n`)
  await session.line()
  const line = await session.line()
  session.close()
  return line
}

describe('IMAP and POP3', () => {
  test('take the main password, and application passwords of their scope', async () => {
    const user = await fresh()
    for (const password of [user.password, user.imap])
      expect((await imapLogin(user.name, password)).line).toMatch(/^a OK /)
    for (const password of [user.password, user.pop3]) expect(await pop3Login(user.name, password)).toMatch(/^\+OK/)
    expect((await imapLogin(user.name, user.pop3)).line).toMatch(/^a NO \[AUTHORIZATIONFAILED\] /)
    expect(await pop3Login(user.name, user.imap)).toMatch(/^-ERR /)
    await service.call('PUT', `/users/${user.id}/2fa/custom`, {})
    expect((await imapLogin(user.name, user.password)).line).toMatch(/^a NO \[AUTHORIZATIONFAILED\] /)
    expect((await imapLogin(user.name, user.imap)).line).toMatch(/^a OK /)
  })

  test('say the same for a wrong password and for a name nobody has, and lock together with the API', async () => {
    const user = await fresh()
    const wrong = (await imapLogin(user.name, 'wrong')).line
    expect(wrong).toMatch(/^a NO \[AUTHENTICATIONFAILED\] /)
    expect((await imapLogin('nobody-here', 'wrong')).line).toBe(wrong)
    for (let at = 0; at < 11; at++) {
      await service.call('POST', '/authenticate', { username: user.name, password: `wrong ${at}`, ip: '127.0.0.1' })
    }
    expect((await imapLogin(user.name, user.password)).line).toMatch(/^a NO \[LIMIT\] /)
    expect(await pop3Login(user.name, user.password)).toMatch(/^-ERR /)
    expect((await imapLogin(user.name, user.imap)).line).toMatch(/^a OK /)
  })

  test.each([
    ['the password is changed', 'PUT', '', { password: 'another one' }],
    ['the account is suspended', 'PUT', '', { suspended: true }],
    ['the first second factor is switched on', 'PUT', '/2fa/custom', {}],
    ['the password is reset', 'POST', '/password/reset', {}],
  ])('let go of sessions when %s', async (_what, method, path, body) => {
    const user = await fresh()
    const { session } = await imapLogin(user.name, user.password)
    expect((await service.call(method, `/users/${user.id}${path}`, body)).status).toBe(200)
    expect(await session.line()).toMatch(/^\* BYE /)
    await session.closed()
  })
})
