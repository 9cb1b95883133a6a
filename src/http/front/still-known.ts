// A long answer goes on only while whoever asked for it is still let in: a token that is ended, or an account that is closed or gone, ends
// what it had begun to download.
//
// Whoever reads slowly would otherwise be sent what comes in long after that. Asked is at most once in a while, and not by a clock: what nobody
// takes waits.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Call } from '../call.ts'

/**
 * The same chunks, up to the end of the caller's token; then the call is aborted, and it throws.
 *
 * @param identify tells whose a token is; throws InvalidToken
 */
export async function* whileKnown(
  call: Call,
  chunks: AsyncIterator<Uint8Array>,
  identify: (token: string | null) => unknown,
): AsyncGenerator<Uint8Array> {
  let asked = now()
  try {
    for (;;) {
      const result = await chunks.next()
      if (result.done === true) return
      const time = now()
      if (time - asked >= limits.http.askAgainMs) {
        asked = time
        await ask(call, identify)
      }
      yield result.value
    }
  } finally {
    await chunks.return?.()
  }
}

/** @throws Fault InvalidToken. What cannot be asked now is asked again later. */
async function ask(call: Call, identify: (token: string | null) => unknown): Promise<void> {
  try {
    await identify(call.token)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'InvalidToken') return
    call.abort(error)
    throw error
  }
}
