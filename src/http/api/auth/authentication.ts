// Logging in over HTTP: names, passwords, tokens (api-semantics 2).
//
// Whether somebody may come in is decided by the central authentication; here only the answer is put together. A login
// that fails says the same whether or not there is such an account.

import { Type } from 'typebox'
import { type Authentication, scopes } from '#actors/auth/authentication.ts'
import type { Logins } from '#actors/auth/login.ts'
import { factorsOf } from '#actors/user/credential.ts'
import { invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { endpoint } from '../../endpoint.ts'
import { bool, oneOf, optional, text, uri, userId } from '../../schema.ts'

export interface AuthenticationDeps {
  readonly authentication: Authentication
  readonly logins: Logins
  /** Ends a token, by the hash of its text. */
  revoke(hash: string): Promise<void>
}

const name = text({ min: 1, max: 255, description: 'Username or address' })
const scope = oneOf(scopes, { default: 'master', description: 'What the login is for' })
const factors = Type.Union([Type.Array(Type.String()), Type.Literal(false)], {
  description: 'Second factors that are on, or false',
})

export function authenticationEndpoints({ authentication, logins, revoke }: AuthenticationDeps) {
  const preauth = endpoint({
    method: 'POST',
    path: '/preauth',
    tag: 'Authentication',
    summary: 'Find out whom a login name means',
    allow: 'authentication.create',
    body: { username: name, scope },
    reply: {
      id: userId,
      username: Type.String(),
      address: Type.String(),
      scope: Type.String(),
      require2fa: factors,
    },
    faults: ['AuthFailed', 'InvalidAuthScope', 'RateLimitedError'],
    async run({ input, request }) {
      const asker = request.token === null ? '' : tokenDigest(request.token)
      const user = await authentication.lookup(input, asker)
      const { id, username, address } = user
      const on = input.scope === 'master' ? factorsOf(user) : []
      return { id, username, address, scope: input.scope, require2fa: on.length > 0 ? on : (false as const) }
    },
  })

  const login = endpoint({
    method: 'POST',
    path: '/authenticate',
    tag: 'Authentication',
    summary: 'Log in',
    description:
      'With `token` and no second factor (or a custom one) the answer holds an access token of role user. With TOTP or a ' +
      'security key it holds `twoFactorNonce` instead, to be given where the factor is shown. With an application password ' +
      'only `id`, `username`, `scope` and `require2fa` are there.',
    allow: 'authentication.create',
    filterInput: true,
    body: {
      username: name,
      password: text({ min: 1, max: limits.password.lengthMax, trim: false, description: 'A password of any kind' }),
      protocol: text({ max: 64, default: 'API', description: 'For the log' }),
      scope,
      appId: optional(uri({ description: 'URI of the program, for the log' })),
      token: bool({ default: false, description: 'Whether an access token is wanted' }),
    },
    reply: {
      id: userId,
      username: Type.String(),
      address: Type.Optional(Type.String()),
      scope: Type.String(),
      require2fa: factors,
      require2faEnabled: Type.Optional(Type.Boolean()),
      requirePasswordChange: Type.Optional(Type.Boolean()),
      passwordPwned: Type.Optional(Type.Literal(true)),
      token: Type.Optional(Type.String()),
      twoFactorNonce: Type.Optional(Type.String()),
      totpNonce: Type.Optional(Type.String()),
    },
    faults: ['AuthFailed', 'InvalidAuthScope', 'RateLimitedError', 'TempPasswordNotYetValid'],
    async run(context) {
      const { username, password, scope: asked, protocol, sess, ip, appId } = context.input
      // Absent where the caller's role takes none.
      const wantsToken = context.input.token === true
      if (wantsToken && asked !== 'master') throw invalid('scope', 'must be [master] when token is set')
      const attempt = { username, password, scope: asked, protocol, session: sess, ip, appId }
      const entered = await authentication.authenticate(attempt)
      const { account } = entered
      const known = { id: account.id, username: account.username }
      if (entered.source === 'asp') return { ...known, scope: asked, require2fa: false as const }
      return {
        ...known,
        address: account.address,
        scope: asked,
        require2fa: entered.factors.length > 0 ? [...entered.factors] : (false as const),
        require2faEnabled: account.options.require2faEnabled ?? false,
        requirePasswordChange: entered.requirePasswordChange,
        ...(entered.passwordPwned ? { passwordPwned: true as const } : {}),
        ...(wantsToken ? await logins.complete(entered) : {}),
      }
    },
  })

  const logout = endpoint({
    method: 'DELETE',
    path: '/authenticate',
    tag: 'Authentication',
    summary: 'End the token that is used for this call',
    description: 'Tokens that were made on the command line stay.',
    allow: null,
    async run({ caller, request }) {
      if (caller.tokenKind === 'user' && request.token !== null) await revoke(tokenDigest(request.token))
      return {}
    },
  })

  const authenticated = endpoint({
    method: 'GET',
    path: '/authenticated',
    tag: 'Authentication',
    summary: 'Find out whether a token is good',
    allow: 'authentication.read',
    listing: true,
    async run() {
      return {}
    },
  })

  return [preauth, login, logout, authenticated]
}
