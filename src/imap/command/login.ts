// Getting in: STARTTLS, LOGIN and AUTHENTICATE (RFC 9051 6.2, RFC 4959).
//
// A password is taken only where the configuration allows it on this connection; what a client pipelined behind STARTTLS
// is dropped by the connection. Who the account is and whether it may come in is decided by the central authentication.

import { Fault } from '#lib/fault.ts'
import { beginClientToken, beginSasl, type Credentials, clientTokenMechanism } from '#net/sasl.ts'
import { capabilitiesOf } from '../capabilities.ts'
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

function requirePrivacy(session: Session): void {
  if (!session.services.takesPasswords(session.connection)) throw new Fault('AuthNeedsTls')
}

async function respond(session: Session, challenge: string): Promise<string> {
  session.out.line(`+ ${challenge}`).flush()
  const line = session.connection.takeLine() ?? (await session.connection.line())
  return line.toString('latin1')
}

async function enter(session: Session, { username, password, clientToken }: Credentials): Promise<Done> {
  const { services, connection } = session
  const attempt = { username, password, session: session.id, ip: connection.remoteAddress }
  const mail = await services.mail.login(attempt, session).catch(error => refused(session, error))
  if (clientToken !== undefined)
    services.log.info({ session: session.id, user: mail.account.id, clientToken }, 'a program named its session')
  connection.ticket.prove()
  session.login(mail)
  return { code: `CAPABILITY ${capabilitiesOf(session)}`, text: 'Logged in' }
}

/**
 * What passes says nothing of the password: too many sessions, a store that is not there now. Programs that may go on after the NO try
 * every mechanism, then ask for another password and forget the right one; where the session ends, they say that the server is away.
 */
function refused(session: Session, error: unknown): never {
  if (error instanceof Fault && error.status === 503 && !session.over) {
    session.out.line(`* BYE ${error.message}`)
    session.leave()
  }
  throw error
}
