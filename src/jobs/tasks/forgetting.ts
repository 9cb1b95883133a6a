// Forgets what went from folders so long ago that no client asks for it by number any more (store/mailboxes/gone/expunged.ts), and the
// rows of folders that are gone themselves.
//
// Twice a day all folders with such rows are looked at, one after the other. What a folder forgets is a small command of its
// account in the background. A crash loses nothing: the next round finds what is left.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { forgetExpunged } from '#actors/user/retention.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { operation } from '#store/engine/write.ts'
import { countExpunged, expungedSweep, forgettable, type Leaver, leavers } from '#store/mailboxes/gone/expunged.ts'
import { Loop, type LoopMetrics } from '../loop.ts'

export interface ForgettingOptions {
  readonly system: ActorSystem
  readonly writer: JobWriter
  readonly log: Log
  readonly metrics: LoopMetrics
}

/** Makes the loop; it starts with its first kick. */
export function forgettingLoop({ system, writer, log, metrics }: ForgettingOptions): Loop<Leaver> {
  const { read } = system
  let due = now() + limits.mailbox.forgetAfterMs
  let after = 0
  const waiting: Leaver[] = []
  const hasWork = async ({ mailbox, id, user }: Leaver, at: number) => {
    if (id === null) return true
    return user !== null && (await forgettable(read, mailbox, at - limits.mailbox.expungedMs)) !== undefined
  }
  return new Loop<Leaver>(
    {
      name: 'forgetting',
      async claim(room, at) {
        if (at < due) return []
        if (waiting.length === 0) {
          const found = await leavers(read, after, limits.mailbox.forgetMailboxes)
          after = found.at(-1)?.mailbox ?? 0
          for (const one of found) if (await hasWork(one, at)) waiting.push(one)
          if (after === 0) due = at + limits.mailbox.forgetRoundMs
        }
        return waiting.splice(0, room)
      },
      async run({ mailbox, id, user }, signal) {
        while (!signal.aborted) {
          if (id === null) {
            if ((await countExpunged(read, mailbox, 1)) === 0) return
            const operations = [operation(expungedSweep, { mailbox, count: limits.mailbox.forgetRows })]
            await writer.submit({ operations, bytes: 64, background: true })
          } else {
            const upTo = await forgettable(read, mailbox, now() - limits.mailbox.expungedMs)
            if (upTo === undefined || user === null) return
            if (!(await system.handle(user).run(forgetExpunged, { mailbox, upTo }, signal))) return
          }
        }
      },
      clockBack: ms => {
        due -= ms
      },
      next: () => (after === 0 && waiting.length === 0 ? due : now()),
    },
    { inFlightMax: 1, log, metrics, duty: writer.duty },
  )
}
