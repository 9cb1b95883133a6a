// Who makes a call, as logs tell it: the role, the account whose token it was, the token by its id and its label.
//
// Nothing of a token itself is among it. What acts as a user says so by its role and, in its label, for whom it does.

import type { Actor } from '#actors/auth/auth-log.ts'
import type { Caller } from '../guard/access.ts'

/** For an entry of an account's log. @param address the visitor's; a user's own is in the entry already */
export function actorOf({ role, user, named }: Caller, address: string): Actor {
  return {
    role,
    ...(user !== null && { user }),
    ...(named && { token: named.id, ...(named.label !== '' && { label: named.label }) }),
    ...(user === null && address !== '' && { ip: address }),
  }
}

/** For a line of the service's log: an account, or the token by its id and its label. */
export function callerName({ role, user, named }: Caller): string {
  if (user !== null && role !== 'impersonated') return `user ${user}`
  if (named === undefined) return role
  return `${role} ${named.id}${named.label === '' ? '' : ` (${named.label})`}`
}
