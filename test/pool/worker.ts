// A thread for the pool's own tests.

import { threadId } from 'node:worker_threads'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { serve, sharing, threadEnd } from '#lib/process/serve.ts'

const end = threadEnd()
let given = end.given

serve(
  {
    echo: (value: unknown) => value,
    where: () => threadId,
    time: () => now(),
    given: () => given,
    enter: (value: unknown) => {
      given = value
    },
    leave: () => {
      given = undefined
    },
    refuse: () => {
      throw new Fault('HashError', { details: { field: 'why' } })
    },
    fail: () => {
      throw new TypeError('our own mistake')
    },
    spin: () => {
      for (;;);
    },
    rest: (ms: number) => new Promise<number>(resolve => setTimeout(resolve, ms, ms)),
    /** Of tasks that share a thread: works for so long, in slices. */
    toil: sharing(async (ms: number, slices) => {
      for (const started = performance.now(); performance.now() - started < ms; ) if (slices.spent) await slices.turn()
      return ms
    }),
    shared: sharing((value: unknown) => value),
    die: () => process.exit(3),
    hoard: () => {
      const kept: unknown[] = []
      // Many small things: whether the engine ends the thread or the whole process for few large ones is a matter of luck.
      for (;;) kept.push({ number: kept.length, text: `row ${kept.length}` })
    },
  },
  { end },
)
