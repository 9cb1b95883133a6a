// AUTH (RFC 4954) for submission: PLAIN and LOGIN, the password judged by whoever was given to the server.
//
// Promises: no password is asked for or taken where the policy wants TLS first; a wrong exchange and a wrong password are
// told apart only by the form of what was sent; some refusals end the session.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { beginSasl, type Credentials, mechanisms, type Step, takesPasswords } from '#net/sasl.ts'
import type { Session } from './session.ts'

/** As EHLO has it. */
export const mechanismLine = mechanisms.join(' ')

/** The command. @throws Fault BadSequence, AuthNeedsTls, MechanismUnknown, AuthMalformed, AuthCancelled, and the judge's */
export async function authenticate(session: Session, argument: string): Promise<void> {
  const { connection, setting } = session
  const known = session.user !== undefined || session.transaction !== undefined || session.helo === ''
  if (known || setting.authenticate === undefined) throw new Fault('BadSequence')
  if (!takesPasswords(connection, setting.cleartext)) throw new Fault('AuthNeedsTls')
  const credentials = await converse(session, argument)
  try {
    session.entered(await setting.authenticate(credentials.username, credentials.password, session))
  } catch (error) {
    session.authFailures += 1
    session.refuse(error)
    if (session.authFailures >= limits.smtp.authFailuresMax) throw new Fault('TooManyErrors')
    return
  }
  session.reply(235, '2.7.0', 'Welcome')
}

async function converse(session: Session, argument: string): Promise<Credentials> {
  const { connection } = session
  const [mechanism = '', initial, ...rest] = argument.split(' ')
  if (mechanism === '') throw new Fault('InputValidationError', { text: 'AUTH needs a mechanism' })
  const exchange = beginSasl(mechanism)
  if (exchange === undefined) throw new Fault('MechanismUnknown')
  if (rest.length > 0) throw new Fault('AuthMalformed')
  connection.lineBytesMax = limits.net.saslLengthMax
  try {
    let step: Step = initial === undefined ? exchange : exchange.next(initial)
    while ('challenge' in step) {
      connection.write(`334 ${step.challenge}\r\n`)
      const response = await connection.line()
      step = exchange.next(response.toString('latin1'))
    }
    return step.credentials
  } finally {
    connection.lineBytesMax = limits.smtp.commandBytesMax
  }
}
