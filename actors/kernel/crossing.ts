// What crosses from where a command is asked for to where its actor lives: data alone, whatever lies between the two.
//
// Promises: what arrives has survived a structured clone; a fault arrives as the fault it was, with code, text and what it
// carries; of a mistake of ours the message and the stack arrive, and no more. Where both ends share a thread nothing is
// copied, unless tests ask for it: then every command, reply, fault and change is, so that what could not cross fails.

import { Fault, type FaultCode } from '#lib/fault.ts'

/** A fault or a mistake on its way. */
type Failure =
  | {
      readonly kind: 'fault'
      readonly code: FaultCode
      readonly text: string
      readonly status: number
      readonly details: Fault['details']
      readonly extra: Fault['extra']
      readonly retryAfter: number | undefined
    }
  | { readonly kind: 'mistake'; readonly text: string; readonly stack: string }

function packFailure(error: unknown): Failure {
  if (error instanceof Fault) {
    const { code, message: text, status, details, extra, retryAfter } = error
    return { kind: 'fault', code, text, status, details, extra, retryAfter }
  }
  const known = error instanceof Error ? error : new Error(String(error))
  return { kind: 'mistake', text: known.message, stack: known.stack ?? '' }
}

function unpackFailure(failure: Failure): Error {
  if (failure.kind === 'fault') {
    const { code, text, status, details, extra, retryAfter } = failure
    return new Fault(code, {
      ...{ text, status },
      ...(details !== undefined && { details }),
      ...(extra !== undefined && { extra }),
      ...(retryAfter !== undefined && { retryAfter }),
    })
  }
  const error = new Error(failure.text)
  error.stack = failure.stack
  return error
}

let copies = false

/** For tests: from now on everything is copied, as if the actors lived elsewhere. */
export function copyAll(): void {
  copies = true
}

/** What arrives at the other end of a crossing inside one thread. */
export function cross<Data>(data: Data): Data {
  return copies ? structuredClone(data) : data
}

/** The same of what a command came to. */
export function crossReply<Reply>(reply: Promise<Reply>): Promise<Reply> {
  if (!copies) return reply
  return reply.then(structuredClone<Reply>, error => {
    throw unpackFailure(structuredClone(packFailure(error)))
  })
}

/** Whoever hears changes across a crossing. */
export function crossing<Change>(listener: (change: Change) => void): (change: Change) => void {
  return copies ? change => listener(structuredClone(change)) : listener
}
