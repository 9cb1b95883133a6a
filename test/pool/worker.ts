// A thread for the pool's own tests.

import { threadId, workerData } from 'node:worker_threads'
import { Fault } from '#lib/fault.ts'
import { answering, sharing } from '#lib/process/task.ts'

export const ready = (): boolean => true
export const echo = answering((value: unknown) => value)
export const where = answering(() => threadId)
export const given = answering(() => workerData as unknown)
export const refuse = answering(() => {
  throw new Fault('HashError', { details: { field: 'why' } })
})
export const fail = answering(() => {
  throw new TypeError('our own mistake')
})
export const spin = answering(() => {
  for (;;);
})
export const rest = answering((ms: number) => new Promise<number>(resolve => setTimeout(resolve, ms, ms)))

/** Of tasks that share a thread: works for so long, in slices. */
export const toil = sharing(async (ms: number, slices) => {
  for (const started = performance.now(); performance.now() - started < ms; ) if (slices.spent) await slices.turn()
  return ms
})
export const shared = sharing((value: unknown) => value)

export const die = answering(() => {
  process.exit(3)
})
export const hoard = answering(() => {
  const kept: unknown[] = []
  for (;;) kept.push(new Array(1000).fill(kept.length))
})
