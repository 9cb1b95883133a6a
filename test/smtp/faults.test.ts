// Every refusal of the protocol, provoked once and answered as the table of faults says.

import { expect, test } from 'vitest'
import { Fault, type FaultCode, faultForms } from '#lib/fault.ts'
import type { SmtpService } from '#smtp/backend.ts'
import { start } from './memory.ts'

const authenticate = async () => {
  throw new Fault('AuthFailed')
}
const mail = 'MAIL FROM:<a@b.test>'
const one = 'RCPT TO:<u@teal.test>'
const before: Partial<Record<FaultCode, SmtpService>> = {
  MechanismUnknown: 'submission',
  AuthRequired: 'submission',
  AuthNeedsTls: 'submission',
  AuthMalformed: 'submission',
  AuthCancelled: 'submission',
  AuthFailed: 'submission',
}

test.each<[code: FaultCode, ...lines: string[]]>([
  ['BadCommand', 'NOOP\u0001'],
  ['CommandUnknown', 'XYZZY'],
  ['CommandNotOffered', 'EXPN list'],
  ['BadSequence', one],
  ['InputValidationError', 'EHLO'],
  ['LineTooLong', `NOOP ${'x'.repeat(5000)}`],
  ['PathMalformed', mail, 'RCPT TO:<u@>'],
  ['SenderMalformed', 'MAIL FROM:<a@>'],
  ['PathNeedsUtf8', 'MAIL FROM:<ä@b.test>'],
  ['TlsNeeded', `${mail} REQUIRETLS`],
  ['ParameterUnknown', `${mail} X=1`],
  ['MessageTooLarge', `${mail} SIZE=99999999999`],
  ['NoRecipients', mail, 'DATA'],
  ['TooManyRecipients', mail, one, one, one],
  ['MessageMalformed', mail, one, 'DATA', 'a\n.\nb\r\n.'],
  ['AuthRequired', mail],
  ['AuthNeedsTls', 'AUTH PLAIN AG1lAHB3'],
  ['MechanismUnknown', 'AUTH X'],
  ['AuthMalformed', 'AUTH PLAIN x'],
  ['AuthCancelled', 'AUTH PLAIN', '*'],
  ['AuthFailed', 'AUTH PLAIN AG1lAHB3'],
  ['TooManyErrors', ...Array<string>(19).fill('X'), 'RSET\r\nX'],
  ['NothingSent', ...Array<string>(200).fill('NOOP')],
  ['IdleTimeout'],
])('%s', async (code, ...lines) => {
  const service = before[code] ?? 'smtp'
  const { greeted } = await start(service, {
    ...(service === 'submission' ? { authenticate } : {}),
    cleartext: code === 'AuthNeedsTls' ? 'never' : 'loopback',
    bounds: { recipientsMax: 2, ...(code === 'IdleTimeout' ? { idleMs: 20 } : {}) },
  })
  const wire = await greeted()
  let reply = ''
  for (const line of lines) reply = await wire.ask(line)
  if (code === 'TooManyErrors') await wire.line()
  if (code === 'TooManyErrors' || code === 'IdleTimeout') reply = await wire.line()
  const form: { smtp?: string } = faultForms[code]
  expect(reply).toMatch(new RegExp(`^${form.smtp} `))
})
