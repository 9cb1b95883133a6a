// Getting in: STARTTLS, LOGIN and AUTHENTICATE (RFC 9051 6.2, RFC 4959).
//
// A password is taken only where the configuration allows it on this connection; what a client pipelined behind STARTTLS
// is dropped by the connection. Who the account is and whether it may come in is decided by the central authentication.

import { Fault } from '#lib/fault.ts'
import { beginClientToken, beginSasl, type Credentials, clientTokenMechanism, mechanisms } from '#net/sasl.ts'
import { findUser } from '#store/accounts/users.ts'
import { command, type Done } from '../command.ts'
import type { Session } from '../session.ts'

const startTls = command({
  name: 'STARTTLS',
  states: ['greeted'],
  parse: decoder => decoder.end(),
  async run(session) {
    const { tls } = session.services
    if (session.connection.secure || tls === undefined) throw new Fault('BadCommand', { text: 'TLS is active already' })
    session.startTls = true
    return { text: 'Begin TLS' }
  },
})

const login = command({
  name: 'LOGIN',
  states: ['greeted'],
  parse(decoder) {
    decoder.space()
    const username = decoder.astring()
    decoder.space()
    const password = decoder.astring()
    decoder.end()
    return { username, password }
  },
  run(session, credentials) {
    requirePrivacy(session)
    return enter(session, credentials)
  },
})

const authenticate = command({
  name: 'AUTHENTICATE',
  states: ['greeted'],
  capabilities: ['SASL-IR'],
  parse(decoder) {
    decoder.space()
    const mechanism = decoder.word()
    const initial = decoder.more() ? decoder.rest().trimEnd() : undefined
    decoder.end()
    return { mechanism, initial }
  },
  async run(session, { mechanism, initial }) {
    const exchange = mechanism === clientTokenMechanism ? beginClientToken() : beginSasl(mechanism)
    if (exchange === undefined) throw new Fault('AuthUnknown', { text: 'Unknown mechanism' })
    requirePrivacy(session)
    let response = initial ?? (await respond(session, exchange.challenge))
    for (;;) {
      const step = exchange.next(response)
      if ('credentials' in step) return enter(session, step.credentials)
      response = await respond(session, step.challenge)
    }
  },
})

export const loginCommands = [startTls, login, authenticate]

/** What a session may be told about getting in; empty once it is in. */
export function loginCapabilities(session: Session): string[] {
  if (session.loggedIn) return []
  const { tls } = session.services
  const offers = session.connection.secure || tls === undefined ? [] : ['STARTTLS']
  if (!session.services.takesPasswords(session.connection)) return [...offers, 'LOGINDISABLED']
  return [...offers, ...[...mechanisms, clientTokenMechanism].map(name => `AUTH=${name}`)]
}

function requirePrivacy(session: Session): void {
  if (!session.services.takesPasswords(session.connection)) throw new Fault('AuthNeedsTls')
}

async function respond(session: Session, challenge: string): Promise<string> {
  session.out.line(`+ ${challenge}`).flush()
  const line = session.connection.takeLine() ?? (await session.connection.line())
  return line.toString('latin1')
}

async function enter(session: Session, credentials: Credentials): Promise<Done> {
  const { services } = session
  const { username, password, clientToken } = credentials
  const { user: id, grant } = await services.authenticate({
    username,
    password,
    scope: 'imap',
    protocol: 'IMAP',
    session: session.id,
    ip: session.connection.remoteAddress,
  })
  session.stand(grant)
  const handle = services.handle(id)
  const user = await findUser(handle.read, id)
  if (user === undefined) throw new Fault('AuthFailed')
  services.entered(session, id, user.options.limits?.imapMaxConnections || services.connectionsMax)
  if (clientToken !== undefined)
    services.log.info({ session: session.id, user: id, clientToken }, 'a program named its session')
  const { settings } = services
  const own = user.options.limits
  session.connection.ticket.prove()
  session.login({
    id,
    num: user.num,
    username: user.username,
    handle,
    uploadMax: own?.imapMaxUpload || settings.get('const:max:imap:upload'),
    downloadMax: own?.imapMaxDownload || settings.get('const:max:imap:download'),
  })
  return { code: `CAPABILITY ${services.capabilities(session)}`, text: 'Logged in' }
}
