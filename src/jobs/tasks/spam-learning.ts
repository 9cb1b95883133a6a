// Learns what accounts say about spam, some messages of one account at a time, on the thread for it, with a pause between
// two, so that deliveries come first. What waits is rows and what was learned is one unit: a crash costs a batch. Where the
// classifier is off others are told alone, and where nobody is to be told nothing is looked for. Nothing here decides what a mark means.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { now, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Pools } from '#pool'
import type { Reader } from '#store/engine/reader.ts'
import { operation } from '#store/engine/write.ts'
import {
  countWaiting,
  type Learned,
  spamLearned,
  type WaitingMark,
  waitingAccount,
  waitingMarks,
} from '#store/rules/spam.ts'
import { Loop, type LoopMetrics } from '../loop.ts'

export interface LearningOptions {
  readonly read: Reader
  readonly writer: JobWriter
  /** Learns; undefined where the classifier is off. */
  readonly pool: Pools['spam'] | undefined
  /** Tells others what an account says of a stored message; it may fail. */
  readonly teach: ((body: number, spam: boolean) => Promise<void>) | undefined
  readonly log: Log
  readonly metrics: LoopMetrics
}

export interface Learning {
  readonly loop: Loop<number>
  /** Marks that are not learned yet, up to limits.spam.waitingMax; what was just learned counts until everybody goes by it. */
  waiting(): Promise<number>
}

/** Makes the loop; it starts with its first kick and looks again every limits.spam.lookMs. */
export function learningLoop({ read, writer, pool, teach, log, metrics }: LearningOptions): Learning {
  const idle = pool === undefined && teach === undefined
  // Accounts take turns.
  let last = 0
  let inHand = 0
  const loop = new Loop<number>(
    {
      name: 'spam',
      async claim(_room, _at, under) {
        const user = idle ? undefined : await waitingAccount(read, last)
        if (user === undefined) return []
        last = user
        const marks = pool === undefined ? await waitingMarks(read, user, limits.spam.batchMax) : []
        const learned = pool === undefined ? unlearned(user, marks) : ((await pool.run('learn', { user })) as Learned)
        const bytes = [...learned.models, ...learned.rows].reduce((sum, one) => {
          return sum + ('data' in one ? one.data.length : one.features.length)
        }, 100)
        if (teach !== undefined) await tell(pool === undefined ? marks : learned.rows, teach, log)
        inHand = learned.rows.length + learned.gone.length
        try {
          const operations = [operation(spamLearned, learned)]
          await writer.submit({ operations, bytes, background: true, under })
        } finally {
          inHand = 0
        }
        return [user]
      },
      run: (_user, signal) => sleep(limits.spam.pauseMs, signal).catch(() => {}),
      next: () => now() + limits.spam.lookMs,
    },
    { inFlightMax: 1, log, metrics, duty: writer.duty },
  )
  // Rows say so as soon as the commit is there, which is before whoever keeps what he read has heard of it.
  return { loop, waiting: async () => (idle ? 0 : Math.max(inHand, await countWaiting(read, limits.spam.waitingMax))) }
}

/** Marks that the classifier does not count: they are let go. */
function unlearned(user: number, marks: readonly WaitingMark[]): Learned {
  return { user, rows: [], gone: marks.map(({ reference }) => reference), models: [] }
}

/** Those who cannot be told now are not told later: what they learn is theirs to keep. */
async function tell(
  marks: readonly Pick<WaitingMark, 'body' | 'spam'>[],
  teach: NonNullable<LearningOptions['teach']>,
  log: Log,
): Promise<void> {
  for (const { body, spam } of marks) {
    try {
      await teach(body, spam)
    } catch (error) {
      if (error instanceof Fault && error.code === 'MessageNotFound') continue
      log.warn({ error }, 'rspamd could not be told what a user says of a message')
      return
    }
  }
}
