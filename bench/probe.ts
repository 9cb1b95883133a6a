// Loaded into the measured service before its own first line (`node --import`): samples how late its main loop runs.
//
// Answers each message on the channel with the delays since the last one, in milliseconds: what a timer of one
// millisecond waited beyond its time. A message that says `collect` collects all garbage first, for who measures what is
// held and not what was left behind. The service knows nothing of it, and its worker threads are left alone.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'
import { collectGarbage } from '#lib/process/heap.ts'

/** What the probe answers. */
export interface LoopDelay {
  readonly p50: number
  readonly p99: number
  readonly worst: number
}

const resolution = 1

if (isMainThread && process.send !== undefined) {
  const delays = monitorEventLoopDelay({ resolution })
  delays.enable()
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution)
  process.on('message', ({ collect }: { collect?: boolean }) => {
    if (collect === true) collectGarbage()
    const answer: LoopDelay = {
      p50: late(delays.percentile(50)),
      p99: late(delays.percentile(99)),
      worst: late(delays.max),
    }
    delays.reset()
    process.send?.(answer)
  })
  process.channel?.unref()
}
