// Targets of a forward that refused the last message, as they are shown with whoever forwards.
//
// A target that takes mail again is none of them; a forward is never switched off for it.

import { Type } from 'typebox'
import { limits } from '#lib/limits.ts'
import type { Reader } from '#store/engine/reader.ts'
import { listTroubles } from '#store/sending/forward-trouble.ts'
import { suppressionKey } from '#store/sending/suppression.ts'
import { moment } from '../../schema.ts'

export const targetFailuresShape = Type.Optional(
  Type.Array(
    Type.Object({
      target: Type.String(),
      since: moment,
      last: moment,
      failures: Type.Integer(),
      status: Type.Optional(Type.String({ description: 'As in RFC 3463' })),
      response: Type.String({ description: 'What was said last' }),
    }),
    { description: 'Targets of forwards that refused the last message; absent where there is none' },
  ),
)

/** @param owner id of an account, or an address that only forwards */
export async function targetFailures(read: Reader, owner: string) {
  const key = owner.includes('@') ? suppressionKey(owner) : owner
  const found = await listTroubles(read, key, limits.forwardTrouble.shownMax)
  if (found.length === 0) return {}
  const iso = (at: number) => new Date(at).toISOString()
  return {
    targetFailures: found.map(({ target, since, last, failures, status, response }) => ({
      ...{ target, since: iso(since), last: iso(last), failures, response },
      ...(status !== '' && { status }),
    })),
  }
}
