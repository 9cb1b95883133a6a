// What lists of breached passwords say about one that was just verified (api-semantics 2.5).
//
// Asks at most every two weeks, and less often where nobody answered. What was found is stored with the account, unless its
// password was changed meanwhile. A login does not fail by anything of ours that goes wrong here.

import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Pwned } from '#net/outward/pwned.ts'
import type { User } from '#store/accounts/users.ts'
import type { Cache } from '#store/folder/cache.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { judgePassword } from '../user/credential.ts'

export interface BreachDeps {
  readonly pwned: Pwned
  readonly cache: Cache
  readonly system: ActorSystem
  readonly log: Log
}

/** Whether a login with this password goes on, is told that the password is known, or is refused. */
export async function judgeBreach(
  { pwned, cache, system, log }: BreachDeps,
  user: User,
  password: string,
): Promise<'fine' | 'tell' | 'refuse'> {
  if (!pwned.enabled) return 'fine'
  const { passwordPwned = false, lastPwnedCheck = 0 } = user.options
  let known = passwordPwned
  if (now() - lastPwnedCheck > limits.credential.pwnedMs) {
    const unanswered = cache.look('pwned', user.id) !== undefined
    const result = unanswered ? undefined : await pwned.lookup(password)
    if (result === undefined || 'unanswered' in result) {
      if (result !== undefined) cache.keep('pwned', user.id, 1, limits.credential.pwnedRetryMs)
      if (pwned.mode === 'hardfail') return 'refuse'
    } else {
      known = result.known
      const judged = { hash: user.password, pwned: known }
      await system
        .handle(user.id)
        .run(judgePassword, judged)
        .catch(error => log.warn({ error, user: user.id }, 'the result of a breach check could not be stored'))
    }
  }
  if (!known) return 'fine'
  return pwned.mode === 'softfail' ? 'tell' : 'refuse'
}
