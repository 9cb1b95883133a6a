// The socket in the data directory: the whole API, and what the command line needs beside it, for the one user of the
// operating system who owns the directory.
//
// Whoever can open the socket could as well change the database, so no token is asked for; the name of a role in the
// place of the token chooses what the caller may, root without. It works where the API is off, speaks TLS, or its root
// token was thrown away.

import type { Journal } from '#lib/journal/journal.ts'
import type { Log } from '#lib/log.ts'
import { type ControlDeps, controlEndpoints } from './api/service/control.ts'
import { audited } from './audit/line.ts'
import type { Endpoint } from './endpoint.ts'
import { Exchange } from './exchange.ts'
import { isRole } from './guard/access.ts'
import type { RequestCounters } from './request-counters.ts'
import { type FrontChoice, listenLocal } from './server.ts'

export interface ControlOptions {
  /** Path of the socket. */
  readonly file: string
  readonly endpoints: () => readonly Endpoint[]
  readonly deps: ControlDeps
  readonly log: Log
  readonly journal: Journal
  readonly counters: RequestCounters
  readonly front: FrontChoice
}

/** Listens until the returned object is closed. */
export function listenControl({ file, endpoints, deps, log, journal, counters, front }: ControlOptions) {
  const exchange = new Exchange({
    endpoints: () => [...audited(endpoints(), journal), ...controlEndpoints(deps)],
    identify: token => ({ role: token !== null && isRole(token) ? token : 'root', user: null, tokenKind: 'root' }),
    log,
    counters,
    cors: { origins: [] },
  })
  return listenLocal(exchange, file, front)
}
