// Work that leaves the machine to others: a thread of a service, or a command beside one.

import { getPriority, setPriority } from 'node:os'

/** Steps of a process whose work can wait. */
export const polite = 19

/**
 * From now on this thread, on Linux (elsewhere this process), goes behind others by so many steps at least. Who was started further behind
 * stays there: without being root nobody may come forward.
 */
export function yieldToOthers(steps: number): void {
  if (getPriority() < steps) setPriority(steps)
}
