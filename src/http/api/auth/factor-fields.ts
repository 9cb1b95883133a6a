// What the endpoints around credentials have in common: who changed what, for the log, and whether the caller may.
//
// A token of a user opens the account, but what would lock its owner out or leave a stranger a way in also needs the
// password, or a login that was just now: a token that was stolen is not enough.

import type { Authentication } from '#actors/auth/authentication.ts'
import { liveUser, type Origin } from '#actors/auth/one-time-code.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { actorOf } from '../../audit/actor.ts'
import type { Request } from '../../endpoint.ts'
import type { Caller } from '../../guard/access.ts'
import { optional, text } from '../../schema.ts'

export interface FreshDeps {
  readonly system: ActorSystem
  readonly authentication: Pick<Authentication, 'confirm'>
  /** How long after a login its token may change credentials without the password, in milliseconds. */
  readonly freshMs: number
}

/** Beside the fields of an endpoint that needs a fresh login or the password. */
export const existingPassword = {
  existingPassword: optional(
    text({
      max: limits.password.lengthMax,
      trim: false,
      description: 'The main password; needed with the token of a user whose login was a while ago',
    }),
  ),
} as const

/** Faults of `requireFresh`. */
export const freshFaults = ['FreshLoginRequired', 'AuthFail', 'RateLimitedError'] as const

interface Fresh {
  readonly caller: Caller
  readonly input: { readonly user: string; readonly existingPassword?: string | undefined; readonly ip?: string }
  readonly signal: AbortSignal
}

/** Refuses a user's own token that is neither fresh nor comes with the password. @throws Fault FreshLoginRequired, AuthFail */
export async function requireFresh(deps: FreshDeps, { caller, input, signal }: Fresh): Promise<void> {
  if (caller.user === null) return
  const user = await liveUser(deps.system, input.user)
  const hasOne = user.password !== '' || user.temporary !== null
  if (input.existingPassword !== undefined && hasOne) {
    return deps.authentication.confirm(user, input.existingPassword, input.ip, signal)
  }
  if (now() - (caller.loginAt ?? 0) >= deps.freshMs) throw new Fault('FreshLoginRequired')
}

/** The hash of the caller's token where it is the account's own: it outlives the change it makes. */
export function ownToken(caller: Caller, token: string | null, user: string): string | null {
  return caller.user === user && token !== null ? tokenDigest(token) : null
}

/** A call, as far as it tells who is behind it. */
export interface Behind {
  readonly input: { readonly ip?: string; readonly sess?: string }
  readonly caller: Caller
  readonly request: Pick<Request, 'address'>
}

/** Who is behind a call, for the log: whom it is made for (`ip`, `sess`), and who makes it. */
export function originOf({ input, caller, request }: Behind, protocol = 'API'): Origin {
  return { ip: input.ip, sess: input.sess, protocol, by: actorOf(caller, request.address) }
}
