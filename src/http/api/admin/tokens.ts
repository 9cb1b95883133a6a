// Access tokens over HTTP: what there is, a new one, the end of one; and a token with which an operator acts as a user for a while.
//
// Nobody hands out, sees or ends what may do more than the caller. The text of a token is in the answer that makes it and nowhere else; only its
// digest is stored. Whoever acts as a user stands in that account's own log and in the service's.

import { Type } from 'typebox'
import type { Access } from '#actors/auth/access.ts'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { findProvisioned, listTokens, type TokenRow } from '#store/accounts/tokens.ts'
import { callerName } from '../../audit/actor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { type Caller, isRole, mayHandOut, roles } from '../../guard/access.ts'
import { id, list as list_, moment, oneOf, optional, text, userId } from '../../schema.ts'
import { domainName } from '../accounts/domains.ts'
import { originOf } from '../auth/factor-fields.ts'
import { beginActing } from '../auth/impersonation.ts'

export interface TokenDeps {
  readonly system: ActorSystem
  readonly access: Pick<Access, 'provision' | 'revoke' | 'impersonate'>
  readonly authLog: AuthLog
  readonly log: Log
}

const tokenId = id({ description: 'Id of the token' })
const label = text({ max: limits.token.labelLengthMax, trim: true, empty: true })

const shape = Type.Object({
  id: tokenId,
  role: Type.String(),
  label: Type.String(),
  domains: Type.Optional(Type.Array(Type.String(), { description: 'Those it is for, of the role `domain`' })),
  created: moment,
  own: Type.Boolean({ description: 'Whether it is the one of this call' }),
})

export function tokenEndpoints(deps: TokenDeps): Endpoint[] {
  const { system, access, log } = deps
  const { read } = system

  const list = endpoint({
    method: 'GET',
    path: '/tokens',
    tag: 'Tokens',
    summary: 'List access tokens that belong to no account',
    description: 'Those that may do nothing the caller may not, the oldest first. The texts of tokens are not known.',
    allow: 'tokens.read',
    reply: { results: Type.Array(shape), roles: Type.Array(Type.String({ description: 'Role a new one may have' })) },
    async run({ caller, request }) {
      const own = request.token === null ? '' : tokenDigest(request.token)
      const rows = await listTokens(read)
      const results = rows.filter(row => within(caller, row)).map(row => shown(row, own))
      return { results, roles: roles.filter(role => mayHandOut(caller.role, role)) }
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/tokens',
    tag: 'Tokens',
    summary: 'Make an access token',
    description: 'It ends when it is revoked. Its text is in this answer only.',
    allow: 'tokens.create',
    body: {
      role: oneOf(roles, { description: 'One that may do nothing the caller may not' }),
      label: optional(label),
      domains: optional(
        list_(domainName, {
          min: 1,
          max: limits.token.domainsMax,
          distinct: String,
          description: 'With the role `domain`: those it is for',
        }),
      ),
    },
    reply: { id: tokenId, token: Type.String() },
    async run({ input, caller }) {
      if (!mayHandOut(caller.role, input.role)) throw new Fault('MissingPrivileges')
      const bound = input.role === 'domain'
      if (bound !== (input.domains !== undefined)) throw invalid('domains', 'goes with the role "domain" and no other')
      const made = await access.provision(input.label ?? '', input.role, input.domains ?? null)
      log.info({ id: made.id, role: input.role, by: callerName(caller) }, 'a token was made')
      return made
    },
  })

  const revoke = endpoint({
    method: 'DELETE',
    path: '/tokens/:token',
    tag: 'Tokens',
    summary: 'End an access token',
    allow: 'tokens.delete',
    params: { token: tokenId },
    faults: ['TokenNotFound'],
    async run({ input, caller }) {
      const row = await findProvisioned(read, input.token)
      if (row === undefined || !within(caller, row)) throw new Fault('TokenNotFound')
      await access.revoke(row.hash)
      log.info({ id: row.id, role: row.role, by: callerName(caller) }, 'a token was ended')
    },
  })

  const impersonate = endpoint({
    method: 'POST',
    path: '/users/:user/impersonate',
    tag: 'Tokens',
    summary: 'Act as a user for a while',
    description:
      'The token does what the user may, but neither sees nor changes passwords and second factors. It ends by itself, stands in the log of ' +
      'the account with who asked for it, and ends with `DELETE /authenticate`.',
    allow: 'impersonation.create',
    params: { user: userId },
    body: { reason: optional(label) },
    reply: { id: userId, username: Type.String(), token: Type.String(), expires: moment },
    faults: ['UserNotFound', 'UserDisabled'],
    async run({ input, caller, request }) {
      return beginActing(
        deps,
        { user: input.user, reason: input.reason ?? '', ...originOf({ input, caller, request }) },
        caller,
        request,
      )
    },
  })

  return [list, create, revoke, impersonate]
}

function within({ role }: Caller, row: TokenRow): boolean {
  return isRole(row.role) && mayHandOut(role, row.role)
}

function shown({ id: token, role, label: text, domains, created, hash }: TokenRow, own: string) {
  return {
    id: token,
    role,
    label: text,
    ...(domains !== null && { domains }),
    created: new Date(created).toISOString(),
    own: hash === own,
  }
}
