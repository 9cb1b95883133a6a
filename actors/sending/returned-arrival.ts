// Mail that may have come back (mail/report/bounce.ts) arrives: it is delivered like any other, and noted, to be read afterwards
// (jobs/returned/bounce-reading.ts).
//
// Decided by the header and the envelope alone; of one account so many in an hour, since anybody may send some. That it cannot be noted
// costs nobody the message.

import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Header } from '#mail/header/header.ts'
import { isAnswer, mayBeBounce } from '#mail/report/bounce.ts'
import { taskInsert } from '#store/accounts/task.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { DeliveryRecipient } from '../delivery/envelope.ts'
import type { Actors } from '../kernel/system.ts'

export const bounceTask = 'bounce.read'

/** What is to be read, for whom. */
export interface ReturnedMail {
  readonly body: number
  /** Accounts that got it. */
  readonly users: readonly string[]
  /** Number of the message in the queue to whose keyed sender it came; 0 where it came to an ordinary address. */
  readonly message: number
}

export const noteReturned: DirectoryCommand<ReturnedMail, void> = {
  name: 'returned.arrived',
  run(turn, input) {
    const task = { id: newId(), kind: bounceTask, user: null, due: turn.now, input: { ...input }, created: turn.now }
    turn.write(taskInsert, task)
    turn.wake()
  },
}

export async function noteBounce(
  { system, throttle, log }: { readonly system: Actors; readonly throttle: Counters; readonly log: Log },
  {
    header,
    from,
    prepared,
  }: { readonly header: Header; readonly from: string; readonly prepared: { readonly body: number } },
  recipients: readonly DeliveryRecipient[],
  results: readonly object[],
): Promise<void> {
  if (!mayBeBounce(header, from) || isAnswer(header)) return
  const stored = recipients.filter((_, at) => (results[at] as { stored?: unknown } | undefined)?.stored)
  if (stored.length === 0) return
  const users = [...new Set(stored.map(({ user }) => user))].slice(0, usersMax)
  const [first = ''] = users
  const counted = await throttle.spend('bounces', first, limits.time.hour, limits.bounce.hourMax)
  if (!counted.allowed) return
  const message = stored.map(({ returned }) => returned?.message ?? 0).find(num => num !== 0) ?? 0
  try {
    await system.directory.run(noteReturned, { body: prepared.body, users, message })
  } catch (error) {
    log.warn({ error }, 'mail that came back could not be noted')
  }
}

/** Accounts for which one bounce is looked up. */
const usersMax = 10
