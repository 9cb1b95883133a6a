// What a client is told of something thrown: the tagged answer of a command, or the last words of a session.
//
// A Fault speaks for itself; a mistake of ours is `[SERVERBUG]` and tells nothing. BAD is for what a client said, NO for
// what it wanted (RFC 9051 7.1).

import { Fault, faultForms } from '#lib/fault.ts'
import { Flooded } from './gather.ts'

/** Refusals of what a client said rather than of what it wanted. */
const badCodes: ReadonlySet<string> = new Set(['BadCommand', 'AuthMalformed', 'AuthCancelled', 'LineTooLong'])

export interface Refusal {
  readonly status: 'NO' | 'BAD'
  readonly code?: string
  readonly text: string
  /** Whether it counts against a client that makes no sense. */
  readonly counts: boolean
}

/** How a command that failed is answered. @throws Fault for what ends the session instead */
export function refusalOf(error: unknown): Refusal {
  const fault = error instanceof Fault ? error : new Fault('InternalError', { cause: error })
  if (fault.code === 'IdleTimeout' || fault.code === 'Stopping' || fault.code === 'SessionEnded') throw fault
  const form: { imap?: string } = faultForms[fault.code]
  const bad = badCodes.has(fault.code)
  return {
    status: bad ? 'BAD' : 'NO',
    text: fault.message,
    counts: bad || fault.code === 'AuthFailed',
    ...(form.imap === undefined ? {} : { code: form.imap }),
  }
}

/** What a session says before it ends for something thrown; undefined where it is a mistake of ours or nobody listens. */
export function lastWords(error: unknown): string | undefined {
  if (error instanceof Flooded) return '[TOOBIG] The literal is larger than allowed'
  if (!(error instanceof Fault)) return undefined
  if (error.code === 'IdleTimeout') return 'Idle for too long'
  if (error.code === 'SessionEnded') return error.message
  return error.code === 'Stopping' ? '[UNAVAILABLE] The service is stopping' : undefined
}
