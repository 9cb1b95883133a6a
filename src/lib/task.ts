// What crosses from a thread back to the main loop: a value or a fault, never a thrown error, since an error loses its
// class on the way. A thread wraps each task with `answering`; the pool takes the answer apart with `settled`.
//
// Anything else that a task throws is our own mistake and crosses as the error it is.

import { Fault, type FaultCode } from './fault.ts'

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

/** The value of an answer. @throws Fault the one that the task ended with */
export function settled<Value>(answer: Answer<Value>): Value {
  if ('value' in answer) return answer.value
  const { code, text, details } = answer
  throw new Fault(code, details === undefined ? { text } : { text, details })
}
