// What crosses between a thread and its owner: requests by number, and for each a value, a fault or a mistake of ours. Both
// ends of a thread speak this and nothing else (thread.ts for the owner, serve.ts for the thread).
//
// A fault crosses as data, since an error loses its class on the way; anything else that a task throws is our own mistake and
// crosses as the error it is.

import { Fault, type FaultCode, reasonOf } from '../fault.ts'
import type { NativeGate } from './native.ts'

/** What a thread is started with. */
export interface ThreadData {
  readonly gate: NativeGate
  /** By how much the clock of its owner is moved. */
  readonly clock: Float64Array<SharedArrayBuffer>
  /** What it was given. */
  readonly given: unknown
}

export interface Request<Task extends string = string, Input = unknown> {
  /** Rises by one, from 1. */
  readonly id: number
  readonly task: Task
  readonly input: Input
}

/** Nothing comes after it: the thread ends when it has done what came before. */
export interface Close {
  readonly close: true
}

/** What came of a request; 0 is the start of the thread. */
export type Reply = { readonly id: number } & Answer

export type Answer =
  | { readonly value: unknown }
  | {
      readonly code: FaultCode
      readonly text: string
      readonly details?: Readonly<Record<string, string>>
      /** What was behind it. */
      readonly reason?: string
    }
  | { readonly error: unknown }

/** What a task ended with, as it crosses. */
export function refusal(error: unknown): Answer {
  if (!(error instanceof Fault)) return { error }
  const { code, message: text, details } = error
  const reason = reasonOf(error)
  return { code, text, ...(details !== undefined && { details }), ...(reason !== '' && { reason }) }
}

/** The value of an answer. @throws Fault the one that the task ended with, or the mistake */
export function settled(answer: Answer): unknown {
  if ('value' in answer) return answer.value
  if ('error' in answer) throw answer.error
  const { code, text, details, reason } = answer
  throw new Fault(code, {
    text,
    ...(details !== undefined && { details }),
    ...(reason !== undefined && { cause: new Error(reason) }),
  })
}

/** What is handed to a task that shares its thread (serve.ts `sharing`). */
export interface Shared<Input> {
  readonly input: Input
  /** Not 0 when nobody waits for the answer any more. */
  readonly stop: Int32Array
}
