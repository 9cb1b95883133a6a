// What crosses from a thread back to the main loop: a value or a fault, never a thrown error, since an error loses its
// class on the way. A thread wraps each task with `answering`; the pool takes the answer apart with `settled`. Where several
// tasks share a thread, `sharing` gives each slices, so that all of them come along and one that nobody waits for ends.
//
// Anything else that a task throws is our own mistake and crosses as the error it is.

import { breathe, monotonic } from '../clock.ts'
import { Fault, type FaultCode } from '../fault.ts'
import { limits } from '../limits.ts'
import type { Slices } from '../pace.ts'

export type Answer<Value> =
  | { readonly value: Value }
  | { readonly code: FaultCode; readonly text: string; readonly details?: Readonly<Record<string, string>> }

/** `task` with its faults turned into answers. */
export function answering<Input, Value>(
  task: (input: Input) => Value | Promise<Value>,
): (input: Input) => Promise<Answer<Value>> {
  return async input => {
    try {
      return { value: await task(input) }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const answer = { code: error.code, text: error.message }
      return error.details === undefined ? answer : { ...answer, details: error.details }
    }
  }
}

/** What a pool hands to a thread whose tasks share it. */
export interface Shared<Input> {
  readonly input: Input
  /** Not 0 when nobody waits for the answer any more. */
  readonly stop: Int32Array
}

/** `answering` for a task that works in slices: it may throw from `turn`, and what it then answers nobody hears. */
export function sharing<Input, Value>(
  task: (input: Input, slices: Slices) => Value | Promise<Value>,
): (shared: Shared<Input>) => Promise<Answer<Value>> {
  return answering(async ({ input, stop }) => {
    const slices = new ThreadSlices(stop)
    // Those that are under way already come first.
    await slices.turn()
    return task(input, slices)
  })
}

/** Tasks of one thread take turns simply by letting its loop go. */
class ThreadSlices implements Slices {
  readonly #stop: Int32Array
  #since = 0

  constructor(stop: Int32Array) {
    this.#stop = stop
  }

  get spent(): boolean {
    return monotonic() - this.#since >= limits.pace.threadMs
  }

  async turn(): Promise<void> {
    await breathe()
    if (Atomics.load(this.#stop, 0) !== 0) throw new Fault('Stopping')
    this.#since = monotonic()
  }
}

/** The value of an answer. @throws Fault the one that the task ended with */
export function settled<Value>(answer: Answer<Value>): Value {
  if ('value' in answer) return answer.value
  const { code, text, details } = answer
  throw new Fault(code, details === undefined ? { text } : { text, details })
}
