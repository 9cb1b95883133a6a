// Second factors over HTTP: one-time codes, the custom factor, and taking all of them away (api-semantics 3.1, 3.2).
//
// A user changes its own factors with a fresh session and its password; an operator with the right to do so. A secret
// is shown by setup alone and counts only after a first code was right. A code is good once.

import { Type } from 'typebox'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import { liveUser, type OneTimeCodes } from '#actors/auth/one-time-code.ts'
import { clearFactors, disableTotp, switchCustom } from '#actors/user/credential.ts'
import { endpoint } from '../../endpoint.ts'
import { hex, optional, text, userId } from '../../schema.ts'
import { existingPassword, type FreshDeps, freshFaults, originOf, ownToken, requireFresh } from './factor-fields.ts'

export interface SecondFactorDeps extends FreshDeps {
  readonly codes: OneTimeCodes
  readonly authLog: AuthLog
  /** Name of the service in authenticator programs. */
  readonly issuer: string
}

const code = text({ min: 6, max: 6, description: 'The code that the program shows' })
const nonce = hex(40, 40, { description: 'The nonce of a login' })

export function secondFactorEndpoints(deps: SecondFactorDeps) {
  const { system, codes, authLog } = deps

  const setup = endpoint({
    method: 'POST',
    path: '/users/:user/2fa/totp/setup',
    tag: 'TwoFactorAuth',
    summary: 'Make a seed for one-time codes',
    allow: 'credentials.update',
    params: { user: userId },
    body: {
      ...existingPassword,
      label: optional(text({ max: 255, description: 'Name of the account in the program; the username by default' })),
      issuer: optional(
        text({ max: 255, description: 'Name of the service in the program; a configured one by default' }),
      ),
    },
    reply: {
      seed: Type.String({ description: 'In base32' }),
      qrcode: Type.String({ description: 'A picture of it as a data URL' }),
    },
    faults: ['UserNotFound', 'TotpEnabled', ...freshFaults],
    async run({ input, signal, caller }) {
      await requireFresh(deps, { caller, input, signal })
      return codes.begin(input.user, { label: input.label, issuer: input.issuer ?? deps.issuer }, signal)
    },
  })

  const enable = endpoint({
    method: 'POST',
    path: '/users/:user/2fa/totp/enable',
    tag: 'TwoFactorAuth',
    summary: 'Switch one-time codes on',
    allow: 'credentials.update',
    params: { user: userId },
    body: { token: code },
    faults: ['UserNotFound', 'TotpEnabled', 'TotpDisabled', 'InvalidToken', 'RateLimitedError'],
    async run({ input, signal, caller, request }) {
      const keep = ownToken(caller, request.token, input.user)
      await codes.enable(input.user, input.token, keep, originOf({ input, caller, request }), signal)
    },
  })

  const disable = endpoint({
    method: 'DELETE',
    path: '/users/:user/2fa/totp',
    tag: 'TwoFactorAuth',
    summary: 'Switch one-time codes off',
    allow: 'credentials.update',
    params: { user: userId },
    body: existingPassword,
    faults: ['UserNotFound', 'TotpDisabled', ...freshFaults],
    async run({ input, signal, caller, request }) {
      const user = await liveUser(system, input.user)
      await requireFresh(deps, { caller, input, signal })
      await system.handle(user.id).run(disableTotp, undefined, signal)
      await authLog.add(user.num, {
        action: 'disable 2fa totp',
        result: 'success',
        ...originOf({ input, caller, request }),
      })
    },
  })

  const check = endpoint({
    method: 'POST',
    path: '/users/:user/2fa/totp/check',
    tag: 'TwoFactorAuth',
    summary: 'Check a one-time code, and finish the login it is for',
    description: 'Without `totpNonce` the code is checked and nothing follows from it.',
    allow: 'authentication.create',
    params: { user: userId },
    body: { token: code, totpNonce: optional(nonce) },
    reply: { token: Type.Optional(Type.String({ description: 'An access token, where the login asked for one' })) },
    faults: ['UserNotFound', 'RateLimitedError', 'InvalidTotpNonce', 'TotpDisabled', 'InvalidToken'],
    async run({ input, signal, caller, request }) {
      const given = { code: input.token, nonce: input.totpNonce, inside: caller.user !== null }
      const token = await codes.check(input.user, given, originOf({ input, caller, request }), signal)
      return token === undefined ? {} : { token }
    },
  })

  const customOn = endpoint({
    method: 'PUT',
    path: '/users/:user/2fa/custom',
    tag: 'TwoFactorAuth',
    summary: 'Say that a second factor is checked elsewhere',
    allow: 'credentials.update',
    params: { user: userId },
    body: existingPassword,
    faults: ['UserNotFound', 'CustomEnabled', ...freshFaults],
    async run({ input, signal, caller, request }) {
      const user = await liveUser(system, input.user)
      await requireFresh(deps, { caller, input, signal })
      const keep = ownToken(caller, request.token, user.id)
      await system.handle(user.id).run(switchCustom, { on: true, keep }, signal)
      await authLog.add(user.num, {
        action: 'enable 2fa custom',
        result: 'success',
        ...originOf({ input, caller, request }),
      })
    },
  })

  const customOff = endpoint({
    method: 'DELETE',
    path: '/users/:user/2fa/custom',
    tag: 'TwoFactorAuth',
    summary: 'Take that back',
    allow: 'credentials.update',
    params: { user: userId },
    body: existingPassword,
    faults: ['UserNotFound', 'CustomDisabled', ...freshFaults],
    async run({ input, signal, caller, request }) {
      const user = await liveUser(system, input.user)
      await requireFresh(deps, { caller, input, signal })
      await system.handle(user.id).run(switchCustom, { on: false, keep: null }, signal)
      await authLog.add(user.num, {
        action: 'disable 2fa custom',
        result: 'success',
        ...originOf({ input, caller, request }),
      })
    },
  })

  const clear = endpoint({
    method: 'DELETE',
    path: '/users/:user/2fa',
    tag: 'TwoFactorAuth',
    summary: 'Switch every second factor off',
    allow: 'credentials.update',
    params: { user: userId },
    body: existingPassword,
    faults: ['UserNotFound', ...freshFaults],
    async run({ input, signal, caller, request }) {
      const user = await liveUser(system, input.user)
      await requireFresh(deps, { caller, input, signal })
      await system.handle(user.id).run(clearFactors, undefined, signal)
      await authLog.add(user.num, { action: 'disable 2fa', result: 'success', ...originOf({ input, caller, request }) })
    },
  })

  return [setup, enable, disable, check, customOn, customOff, clear]
}
