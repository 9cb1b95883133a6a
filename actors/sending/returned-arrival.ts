// Mail that may have come back (mail/report/bounce.ts) arrives: it is delivered like any other, and noted, to be read afterwards
// (jobs/returned/bounce-reading.ts).
//
// Decided by the header and the envelope alone. Where all who get it have it encrypted it is read now, since nobody here can later, and
// what it says is noted instead; of one account so many in an hour, since anybody may send some. That it cannot be noted
// costs nobody the message.

import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Header } from '#mail/header/header.ts'
import { type Bounce, isAnswer, mayBeBounce } from '#mail/report/bounce.ts'
import { taskInsert } from '#store/accounts/task.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import { keysOf } from '../delivery/encryption.ts'
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
  /** What it says, where it was read already. */
  readonly read?: Bounce
}

export const noteReturned: DirectoryCommand<ReturnedMail, void> = {
  name: 'returned.arrived',
  run(turn, input) {
    const task = { id: newId(), kind: bounceTask, user: null, due: turn.now, input: { ...input }, created: turn.now }
    turn.write(taskInsert, task)
    turn.wake()
  },
}

interface NotingBounces {
  readonly system: Actors
  readonly throttle: Counters
  readonly reads: Pick<Reads, 'bounce'>
  readonly log: Log
}

export async function noteBounce(
  { system, throttle, reads, log }: NotingBounces,
  {
    header,
    from,
    prepared,
  }: { readonly header: Header; readonly from: string; readonly prepared: { readonly body: number } },
  recipients: readonly DeliveryRecipient[],
  results: readonly object[],
  bytes: () => AsyncIterable<Buffer>,
): Promise<void> {
  if (!mayBeBounce(header, from) || isAnswer(header)) return
  const stored = recipients.filter((_, at) => (results[at] as { stored?: unknown } | undefined)?.stored)
  if (stored.length === 0) return
  const users = [...new Set(stored.map(({ user }) => user))].slice(0, usersMax)
  const [first = ''] = users
  const counted = await throttle.spend('bounces', first, limits.time.hour, limits.bounce.hourMax)
  if (!counted.allowed) return
  const message = stored.map(({ returned }) => returned?.message ?? 0).find(num => num !== 0) ?? 0
  const sealed = stored.every(({ account }) => account !== undefined && keysOf(account) !== null)
  try {
    const read = sealed ? await reads.bounce({ data: await beginning(bytes()) }, { turnKey: first }) : undefined
    if (read === null) return
    await system.directory.run(noteReturned, { body: prepared.body, users, message, ...(read && { read }) })
  } catch (error) {
    log.warn({ error }, 'mail that came back could not be noted')
  }
}

async function beginning(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let left: number = limits.bounce.bytesMax
  for await (const chunk of bytes) {
    chunks.push(chunk.subarray(0, left))
    left -= chunk.length
    if (left <= 0) break
  }
  return Buffer.concat(chunks)
}

/** Accounts for which one bounce is looked up. */
const usersMax = 10
