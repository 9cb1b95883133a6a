// Sessions in the log, where its level is debug: when each begins and ends, from where, for how long.

import { monotonic } from '../clock.ts'
import type { Log } from '../log.ts'

interface Peer {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly secure: boolean
}

/** Runs a session. @throws what it throws */
export function told(log: Log, service: string, id: string, peer: Peer, run: () => Promise<void>): Promise<void> {
  return log.isLevelEnabled('debug') ? reported(log, service, id, peer, run) : run()
}

async function reported(log: Log, service: string, id: string, peer: Peer, run: () => Promise<void>): Promise<void> {
  const { remoteAddress: ip, remotePort: port } = peer
  const began = monotonic()
  log.debug({ event: 'session', ip, port, service, session: id }, 'a session begins')
  try {
    await run()
  } finally {
    const ms = Math.round(monotonic() - began)
    log.debug({ event: 'session', ip, port, service, session: id, secure: peer.secure, ms }, 'a session ends')
  }
}
