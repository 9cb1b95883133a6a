// An operator begins to act as a user, and ceases to: a token for a while, and the mark in the log of the account and of the service.
//
// Nobody acts as a user whose account is closed. The mark is on disk before the token is told.

import type { Access } from '#actors/auth/access.ts'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import { liveUser } from '#actors/auth/one-time-code.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault } from '#lib/fault.ts'
import type { Log } from '#lib/log.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { findToken } from '#store/accounts/tokens.ts'
import { findStanding, findUser } from '#store/accounts/users.ts'
import { actorOf, callerName } from '../../audit/actor.ts'
import type { Request } from '../../endpoint.ts'
import type { Caller } from '../../guard/access.ts'

export interface ImpersonationDeps {
  readonly system: ActorSystem
  readonly access: Pick<Access, 'impersonate' | 'revoke'>
  readonly authLog: AuthLog
  readonly log: Log
}

interface Wanted {
  readonly user: string
  readonly reason: string
  /** Of the log. */
  readonly ip?: string | undefined
  readonly sess?: string | undefined
}

/** @throws Fault UserNotFound, UserDisabled */
export async function beginActing(deps: ImpersonationDeps, wanted: Wanted, caller: Caller, request: Request) {
  const { system, access, authLog, log } = deps
  const user = await liveUser(system, wanted.user)
  const standing = await findStanding(system.read, user.id)
  if (standing?.open !== true) throw new Fault('UserDisabled')
  const by = callerName(caller)
  const { reason, ip, sess } = wanted
  const said = `${by} ${reason}`.trim()
  const event = {
    action: 'impersonate',
    result: 'success',
    protocol: 'API',
    target: said,
    by: actorOf(caller, request.address),
  } as const
  await authLog.add(user.num, { ...event, ...(ip !== undefined && { ip }), ...(sess !== undefined && { sess }) })
  await authLog.flush()
  const told = { user: user.id, username: user.username, by, reason, ip: ip ?? request.address }
  log.warn(told, 'an operator acts as a user')
  const { token, expires } = await access.impersonate(user.id, standing.authVersion, said)
  return { id: user.id, username: user.username, token, expires: new Date(expires).toISOString() }
}

/** Ends a token of `beginActing`, and says so where its beginning was said; any other token stays. */
export async function endActing(deps: ImpersonationDeps, token: string, request: Request): Promise<void> {
  const { system, access, authLog, log } = deps
  const row = await findToken(system.read, tokenDigest(token))
  if (row === undefined || row.role !== 'impersonated' || row.user === null) return
  await access.revoke(row.hash)
  const user = await findUser(system.read, row.user)
  if (user === undefined) return
  const ended = { action: 'impersonate end', result: 'success', protocol: 'API', target: row.label } as const
  await authLog.add(user.num, { ...ended, ip: request.address })
  log.info({ user: user.id, username: user.username, by: row.label }, 'an operator acts as a user no longer')
}
