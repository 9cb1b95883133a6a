// Threads that one pool of this process leaves to the next: a service of a test is made by the dozen, and starting its threads costs
// more than all that it asks of them. For services that keep nothing alone; any other ends what it started.
//
// Promises: a spare has no task under way, has one owner at a time and knows nothing of the one before; it is ended when nobody
// came for it for a while, and keeps no process alive.

import { after, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Thread } from '#lib/process/thread.ts'

interface Spare {
  readonly thread: Thread
  readonly idle: Timer
}

/** By what they run and how much memory they may have. */
const spares = new Map<string, Spare[]>()

interface Form {
  readonly file: URL
  readonly heapMib?: number | undefined
}

function rowOf({ file, heapMib }: Form): Spare[] {
  const key = `${heapMib ?? ''} ${file.href}`
  const row = spares.get(key) ?? []
  spares.set(key, row)
  return row
}

/** Takes over a thread that does nothing. Gives whether there is a place for it. */
export function leaveSpare(form: Form, thread: Thread): boolean {
  const row = rowOf(form)
  if (thread.ended || row.length >= limits.pool.sparesMax) return false
  const end = () => {
    row.splice(row.indexOf(spare), 1)
    void thread.end()
  }
  const spare: Spare = { thread, idle: after(limits.pool.idleMs, end) }
  row.push(spare)
  return true
}

/** A thread of that kind that lives and belongs to nobody any more. */
export function takeSpare(form: Form): Thread | undefined {
  const row = rowOf(form)
  for (let spare = row.pop(); spare !== undefined; spare = row.pop()) {
    spare.idle.cancel()
    if (!spare.thread.ended) return spare.thread
  }
  return undefined
}
