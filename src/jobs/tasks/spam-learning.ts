// Learns what accounts say about spam, some messages of one account at a time, on the thread for it, with a pause between
// two, so that deliveries come first. What waits is rows and what was learned is one unit: a crash costs a batch. Nothing here
// decides what a mark means.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { now, sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Pools } from '#pool'
import type { Reader } from '#store/engine/reader.ts'
import { operation } from '#store/engine/write.ts'
import { countWaiting, type Learned, spamLearned, waitingAccount } from '#store/rules/spam.ts'
import { Loop, type LoopMetrics } from '../loop.ts'

export interface LearningOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly pool: Pools['spam']
  /** Tells others what an account says of a stored message; it may fail. */
  readonly teach: ((body: number, spam: boolean) => Promise<void>) | undefined
  readonly log: Log
  readonly metrics: LoopMetrics
}

export interface Learning {
  readonly loop: Loop<number>
  /** Marks that are not learned yet, up to limits.spam.waitingMax; what was just learned counts until everybody goes by it. */
  waiting(): number
}

/** Makes the loop; it starts with its first kick and looks again every limits.spam.lookMs. */
export function learningLoop({ read, writer, pool, teach, log, metrics }: LearningOptions): Learning {
  // Accounts take turns.
  let last = 0
  let inHand = 0
  const loop = new Loop<number>(
    {
      name: 'spam',
      async claim() {
        const user = waitingAccount(read, last)
        if (user === undefined) return []
        last = user
        const learned = (await pool.run('learn', { user })) as Learned
        const bytes = [...learned.models, ...learned.rows].reduce((sum, one) => {
          return sum + ('data' in one ? one.data.length : one.features.length)
        }, 100)
        if (teach !== undefined) await tell(learned, teach, log)
        inHand = learned.rows.length + learned.gone.length
        try {
          await writer.submit({ operations: [operation(spamLearned, learned)], bytes, background: true })
        } finally {
          inHand = 0
        }
        return [user]
      },
      run: (_user, signal) => sleep(limits.spam.pauseMs, signal).catch(() => {}),
      next: () => now() + limits.spam.lookMs,
    },
    { inFlightMax: 1, log, metrics },
  )
  // Rows say so as soon as the commit is there, which is before whoever keeps what he read has heard of it.
  return { loop, waiting: () => Math.max(inHand, countWaiting(read, limits.spam.waitingMax)) }
}

/** Those who cannot be told now are not told later: what they learn is theirs to keep. */
async function tell({ rows }: Learned, teach: NonNullable<LearningOptions['teach']>, log: Log): Promise<void> {
  for (const { body, spam } of rows) {
    try {
      await teach(body, spam)
    } catch (error) {
      log.warn({ error }, 'rspamd could not be told what a user says of a message')
      return
    }
  }
}
