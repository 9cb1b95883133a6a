// What the engine does with memory: it keeps far more of it than a program needs, as long as nobody says otherwise.
//
// At a start modules are read, compiled and thrown away, and the engine would keep the room for that until it grew idle by
// its own measure, which a small server feels as tens of megabytes. Where masses of data go through, old garbage piles up
// to several times what is in use.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How much a heap may grow, percent of what was in use, before old garbage is looked for. */
const growthPercent = 30

let holders = 0

/**
 * Keeps the heaps of this process near what they use until the returned function is called: old garbage is looked for
 * often, for some percent of the time. For work on masses of data that nobody waits for.
 */
export function keepHeapSmall(): () => void {
  if (holders++ === 0) setFlagsFromString(`--heap-growing-percent=${growthPercent}`)
  return () => {
    if (--holders === 0) setFlagsFromString('--heap-growing-percent=0')
  }
}

/** Collects all garbage of this thread now. Takes some ten milliseconds: for once, after a start. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
