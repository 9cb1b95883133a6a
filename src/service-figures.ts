// What an operator looks for first among the metrics, put together from the core: accounts, what they store, the room that is left,
// the queue.
//
// What costs a scan is worked out now and then, however often it is asked for.

import { statfsSync } from 'node:fs'
import type { Core } from '#core'
import type { Fronts } from '#front/fronts.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { memoize } from '#lib/memoize.ts'
import { accountFigures } from '#store/accounts/users.ts'
import { countTroubles } from '#store/sending/forward-trouble.ts'
import { waitingFigures } from '#store/sending/outbound-figures.ts'
import { countPauses } from '#store/sending/pause.ts'
import { countSuppressed } from '#store/sending/suppression.ts'

/** Accounts, storage and disk. */
export function observeStore({ config: { dataDir }, read, metrics }: Core): void {
  const accounts = memoize(() => accountFigures(read), limits.user.figuresMs)
  metrics.observe('users', 'Accounts', async () => (await accounts()).users)
  metrics.observe(
    'storage_bytes',
    'Mail and files of all accounts, as it counts for their quotas',
    async () => (await accounts()).storage,
  )
  const disk = memoize(() => statfsSync(dataDir), limits.outbound.figuresMs)
  metrics.observe('disk_free_bytes', 'Room that is left for the data directory', () => disk().bavail * disk().bsize)
  metrics.observe('disk_bytes', 'Size of the disk that it lies on', () => disk().blocks * disk().bsize)
}

/** The queue of outgoing mail. */
export function observeQueue({ read, metrics }: Core): void {
  const figures = memoize(() => waitingFigures(read, limits.outbound.countMax), limits.outbound.figuresMs)
  metrics.observe('outbound_waiting', 'Recipients that wait to be sent to', async () => (await figures()).waiting)
  const since = (at: number | null) => (at === null ? 0 : Math.max(0, now() - at) / 1000)
  metrics.observe('outbound_late_seconds', 'Time since which the first of them is due', async () =>
    since((await figures()).due),
  )
  const paused = memoize(() => countPauses(read), limits.outbound.figuresMs)
  metrics.observe('sending_paused', 'Accounts that are held back, since they sent far more than usual', paused)
  const { suppression, forwardTrouble } = limits
  const gone = memoize(() => countSuppressed(read, now(), suppression.countMax), limits.outbound.figuresMs)
  metrics.observe('outbound_suppressed', 'Addresses that are not written to for a while, since they do not exist', gone)
  const troubles = memoize(() => countTroubles(read, forwardTrouble.countMax), limits.outbound.figuresMs)
  metrics.observe('forwards_failing', 'Targets of forwards that refused the last message', troubles)
  metrics.observe('outbound_oldest_seconds', 'Age of the oldest message that waits', async () =>
    since((await figures()).oldest),
  )
}

/**
 * Processor time of the threads that may be at their end: the main thread, the writer, each front, and those that look at mail
 * of strangers, which are let go when nothing came for a while and then begin anew. The busiest of them bounds the service. What the runtime does not tell is left out (Node before 22.20).
 */
export function observeThreads({ metrics, writer, pools }: Core, fronts: Fronts | undefined): void {
  metrics.countEach(
    'thread_cpu_seconds_total',
    'Processor time of a thread that there is one of, or few',
    'thread',
    async () => {
      const { user, system } = process.threadCpuUsage?.() ?? {}
      const main = user === undefined || system === undefined ? undefined : (user + system) / 1000
      const { verify, spam } = pools
      const asked = [writer.processorMs(), verify.processorMs(), spam.processorMs()] as const
      const [written, verified, classified] = await Promise.all(asked)
      const each = (await fronts?.processorMs()) ?? []
      const all = [
        ...[['main', main] as const, ['writer', written] as const],
        ...[['verify', verified] as const, ['spam', classified] as const],
      ]
      const named = each.map((ms, number) => [`front-${number}`, ms] as const)
      return [...all, ...named].flatMap(([name, ms]): [string, number][] =>
        ms === undefined ? [] : [[name, ms / 1000]],
      )
    },
  )
}
