// How much memory this process was given: what its control group may have (a container, MemoryMax= of systemd), else what the machine has.
//
// The kernel ends who goes beyond it, in the middle of whatever it does. So what may gather (lib/limits.ts) has a part of it as a bound
// besides its own, and where it is little there is no more of anything than is needed (heap.ts, front/fronts.ts).

import { totalmem } from 'node:os'

/** Below it a service keeps to the least: no front threads by itself, heaps near what they use. */
const scarceBytes = 512 * 1024 * 1024

/** @param group what the control group may have; 0 or more than there is where it has no bound */
export function memoryOf(group: number, machine: number): number {
  return group > 0 ? Math.min(group, machine) : machine
}

const given = memoryOf(process.constrainedMemory(), totalmem())

/** Whether there is little of it. */
export function memoryIsScarce(bytes = given): boolean {
  return bytes < scarceBytes
}

/** `most`, or one part in `parts` of the memory where that is less: a whole number, and never 0. */
export function withinMemory(most: number, parts: number, bytes = given): number {
  return Math.min(most, Math.max(1, Math.floor(bytes / parts)))
}
