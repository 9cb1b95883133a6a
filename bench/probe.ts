// Loaded into the measured service before its own first line (`node --import`): samples how late its main loop runs.
//
// Does nothing before the first message on the channel: a thousand looks a second took a tenth of a core from whatever was measured
// beside. Answers each message with the delays since the last one, in milliseconds: what a timer of one
// millisecond waited beyond its time. One that says `collect` collects all garbage first, for who measures what is
// held and not what was left behind; from one that says `work` on it is sampled, too, what the thread itself worked from one of these
// timers to the next, which says how long one piece of its work was however busy the machine is. The service knows nothing of it, and
// its worker threads are left alone.

import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'
import { collectGarbage } from '#lib/process/heap.ts'

/** What it is asked. */
interface Asked {
  readonly collect?: boolean
  readonly work?: boolean
}

/** What the probe answers. */
export interface LoopDelay {
  readonly p50: number
  readonly p99: number
  readonly worst: number
  /** What the main thread worked in one go, the 100 longest since the last call; empty where the system does not tell, or nobody asked for it. */
  readonly work: readonly Piece[]
}

export interface Piece {
  /** Processor time. */
  readonly ms: number
  /** Microseconds of the system's steady clock. */
  readonly from: number
  readonly to: number
}

export interface Probed extends LoopDelay {
  /** Bytes that the main thread holds: its heap, and what hangs on it. */
  readonly held: number
}

const resolution = 1
const longestMax = 100

/** Milliseconds of processor time this thread has had, or undefined. */
function worked(): number | undefined {
  try {
    // The system counts what a thread does at its own ticks, up to 4 ms late; asked for the process's time it counts this thread's at once.
    process.cpuUsage()
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6
  } catch {
    return undefined
  }
}

const keepLongest = (pieces: readonly Piece[]) =>
  pieces.toSorted((one, other) => other.ms - one.ms).slice(0, longestMax)

const steadyNow = () => Number(process.hrtime.bigint() / 1000n)

if (isMainThread && process.send !== undefined) {
  const delays = monitorEventLoopDelay({ resolution })
  let longest: Piece[] = []
  let before: number | undefined
  let from = steadyNow()
  const sample = () => {
    const now = worked()
    if (now === undefined || before === undefined) return
    const to = steadyNow()
    // Sorted once it is twice as long as what is kept.
    if (now - before > resolution) longest.push({ ms: now - before, from, to })
    before = now
    from = to
    if (longest.length >= 2 * longestMax) longest = keepLongest(longest)
  }
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution)
  process.on('message', ({ collect, work }: Asked) => {
    if (collect === true) collectGarbage()
    else delays.enable()
    if (work === true && before === undefined) {
      before = worked()
      if (before !== undefined) setInterval(sample, resolution).unref()
    }
    const { heapUsed, external } = process.memoryUsage()
    const answer: Probed = {
      p50: late(delays.percentile(50)),
      p99: late(delays.percentile(99)),
      worst: late(delays.max),
      work: keepLongest(longest),
      held: heapUsed + external,
    }
    delays.reset()
    longest = []
    process.send?.(answer)
  })
  process.channel?.unref()
}
