// IDLE: a client that waits (RFC 2177). It is told changes as they happen until it says DONE.
//
// Most sessions are here most of the time, so that nothing of the command stays on the stack: its answer follows the client's next line.

import type { Done } from './command.ts'
import { Telling } from './selected/untagged-order.ts'
import type { Session } from './session.ts'
import { malformed } from './wire/decoder.ts'

/** Waits for DONE. */
export function idle(session: Session): Done {
  session.out.line('+ idling').flush()
  session.telling = new Telling(session, true).stir()
  return { next: told }
}

/** @throws Fault BadCommand when the client says something else */
async function told(session: Session, line: string): Promise<undefined> {
  const { telling } = session
  session.telling = undefined
  await telling?.stop()
  if (line.trim().toUpperCase() !== 'DONE') throw malformed('Expected DONE')
}
