// Work that leaves the machine to others: a thread of a service, or a command beside one.

import { getPriority, setPriority } from 'node:os'

/** Steps of a process whose work can wait. */
export const polite = 19

/** Steps of a thread that works for a few while all others are answered: it has a quarter of a processor that both want. */
const besideOthers = 5

/** From now on this thread of a service goes behind those that answer and deliver. */
export function standBack(): void {
  // On Linux a priority is the thread's own; elsewhere it would be the whole process's.
  if (process.platform === 'linux') yieldToOthers(besideOthers)
}

/**
 * From now on this thread, on Linux (elsewhere this process), goes behind others by so many steps at least. Who was started further behind
 * stays there: without being root nobody may come forward.
 */
export function yieldToOthers(steps: number): void {
  if (getPriority() < steps) setPriority(steps)
}
