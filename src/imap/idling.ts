// IDLE: a client that waits (RFC 2177). It is told changes as they happen until it says DONE.

import { Telling } from './selected/untagged-order.ts'
import type { Session } from './session.ts'
import { malformed } from './wire/decoder.ts'

/** Waits for DONE. @throws Fault BadCommand when the client says something else */
export async function idle(session: Session): Promise<void> {
  const { out, connection } = session
  out.line('+ idling').flush()
  const telling = new Telling(session, true)
  session.telling = telling.stir()
  try {
    const line = connection.takeLine() ?? (await connection.line())
    if (line.toString('latin1').trim().toUpperCase() !== 'DONE') throw malformed('Expected DONE')
  } finally {
    session.telling = undefined
    await telling.stop()
  }
}
