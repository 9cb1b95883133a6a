// A temporary password for somebody who lost theirs (api-semantics 2.5): given out by an operator, good beside the real one
// until a new password is set or its day is over. It opens the account as a whole, second factors still have to be shown,
// and every token and session ends.

import { Type } from 'typebox'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import { liveUser } from '#actors/auth/one-time-code.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { setTemporary } from '#actors/user/credential.ts'
import { now } from '#lib/clock.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { newTemporaryPassword } from '#lib/secret/token.ts'
import { endpoint } from '../../endpoint.ts'
import { date, moment, optional, orFalse, userId } from '../../schema.ts'
import { originOf } from '../auth/factor-fields.ts'
import type { PasswordMaker } from './user-fields.ts'

export interface PasswordResetDeps {
  readonly system: ActorSystem
  readonly authLog: AuthLog
  readonly passwords: Pick<PasswordMaker, 'hash'>
}

export function passwordResetEndpoints({ system, authLog, passwords }: PasswordResetDeps) {
  const reset = endpoint({
    method: 'POST',
    path: '/users/:user/password/reset',
    tag: 'Users',
    summary: 'Make a temporary password',
    description: 'It is good for a day from `validAfter` on. Not for tokens of users.',
    allow: 'users.update',
    params: { user: userId },
    body: { validAfter: optional(orFalse(date({ description: 'Not good before this moment' }))) },
    reply: { password: Type.String(), validAfter: moment, expires: moment },
    faults: ['UserNotFound'],
    async run({ input, signal, caller, request }) {
      if (caller.user !== null) throw new Fault('MissingPrivileges')
      const user = await liveUser(system, input.user)
      const at = now()
      const validAfter = input.validAfter || at
      const { temporaryMs, temporaryAheadMax } = limits.credential
      if (validAfter > at + temporaryAheadMax) throw invalid('validAfter', 'must lie within a year')
      const password = newTemporaryPassword()
      const hash = await passwords.hash(password, signal)
      const temporary = { hash, validAfter, expires: Math.max(at, validAfter) + temporaryMs }
      await system.handle(user.id).run(setTemporary, temporary, signal)
      await authLog.add(user.num, { action: 'reset', result: 'success', ...originOf({ input, caller, request }) })
      const [begin, end] = [validAfter, temporary.expires].map(time => new Date(time).toISOString())
      return { password, validAfter: begin ?? '', expires: end ?? '' }
    },
  })
  return [reset]
}
