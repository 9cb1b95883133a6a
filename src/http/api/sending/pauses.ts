// Accounts that are held back, over HTTP: for operators which, holding one back, letting one go on; for an account that it is and why.
//
// What waits of a paused account is held until then, and goes on when it was due; what it submits is refused for now.

import { Type } from 'typebox'
import { pauseSending, resumeSending } from '#actors/sending/pausing.ts'
import { limits } from '#lib/limits.ts'
import { findUser } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import { findPause, listPauses, type SendingPause } from '#store/sending/pause.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { moment, oneOf, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'
import type { OutboundDeps } from './outbound.ts'

const pauseShape = {
  since: moment,
  reason: oneOf(['burst', 'manual'], { description: 'It sent far more than usual, or somebody holds it back' }),
  recipients: Type.Integer({ description: 'In the ten minutes in which it was paused' }),
  usual: Type.Integer({ description: 'The most that it usually has in such a time; 0 where that is not known' }),
}

/** With the account itself. */
export const heldBackShape = Type.Optional(
  Type.Object(pauseShape, { description: 'Why nothing that the account sends leaves; absent where it does' }),
)

export async function heldBack(read: Reader, user: string) {
  const pause = await findPause(read, user)
  return pause === undefined || pause.resumed !== null ? {} : { sendingPaused: shownPause(pause) }
}

function shownPause({ since, reason, recipients, usual }: SendingPause) {
  return { since: new Date(since).toISOString(), reason, recipients, usual }
}

export function pauseEndpoints({ system }: OutboundDeps): Endpoint[] {
  const { read, directory } = system

  const list = endpoint({
    method: 'GET',
    path: '/outbound/paused',
    tag: 'Outbound',
    summary: 'List users who are held back, the longest first',
    allow: 'queue.read',
    reply: {
      results: Type.Array(Type.Object({ user: Type.String(), address: Type.String(), ...pauseShape })),
    },
    async run() {
      const found = await listPauses(read, limits.allowance.pausedShownMax)
      const results = found.map(async pause => {
        const { user } = pause
        return { user, address: (await findUser(read, user))?.address ?? '', ...shownPause(pause) }
      })
      return { results: await Promise.all(results) }
    },
  })

  const pause = endpoint({
    method: 'POST',
    path: '/users/:user/outbound/pause',
    tag: 'Outbound',
    summary: 'Hold a user back: nothing more is taken, what waits is held',
    allow: 'queue.update',
    params: { user: userId },
    faults: ['UserNotFound'],
    async run({ input: { user } }) {
      await requireUser(read, user)
      await directory.run(pauseSending, { user, reason: 'manual', recipients: 0, usual: 0, letters: [] })
      return {}
    },
  })

  const resume = endpoint({
    method: 'POST',
    path: '/users/:user/outbound/resume',
    tag: 'Outbound',
    summary: 'Let a user go on who was held back',
    description: 'What was held is sent when it was due. For a day the user is not held back for a burst again.',
    allow: 'queue.update',
    params: { user: userId },
    faults: ['NotPaused'],
    async run({ input: { user } }) {
      await directory.run(resumeSending, { user })
      return {}
    },
  })
  return [list, pause, resume]
}
