// The POP3 listeners and what their sessions need from the rest of the service.
//
// A session gets functions and plain values, so that it can be tested without the rest. Nothing here knows the
// protocol.

import { newId } from '#lib/id.ts'
import { told } from '#lib/journal/session-line.ts'
import { limits } from '#lib/limits.ts'
import type { Admission } from '#net/admission.ts'
import { type Listener, listen } from '#net/listener.ts'
import { takesPasswords } from '#net/sasl.ts'
import type { Pop3Dependencies, Pop3Services } from './services.ts'
import { Session } from './session.ts'

/** Opens a POP3 port. @throws Fault PortInUse, ConfigInvalid */
export function listenPop3(
  dependencies: Pop3Dependencies,
  at: {
    host: string
    port: number
    shared?: boolean
    implicitTls: boolean
    sessionsMax: number
    sessionsPerNetworkMax: number
    admission?: Admission
  },
): Promise<Listener> {
  const { system, cleartext, metrics, log, ...rest } = dependencies
  const seconds = metrics.commandSeconds.labels('pop3')
  const services: Pop3Services = {
    ...rest,
    handle: id => system.handle(id),
    takesPasswords: connection => takesPasswords(connection, cleartext),
    count: (command, result, ms) => {
      metrics.commands.labels('pop3', command, result).inc()
      seconds.observe(ms / 1000)
    },
  }
  const { loginMs, drainMs } = limits.pop3
  return listen({
    ...at,
    ...(rest.tls === undefined ? {} : { tls: rest.tls }),
    idleMs: loginMs,
    drainMs,
    busy: '-ERR [SYS/TEMP] Too many connections, try again later\r\n',
    async serve(connection) {
      metrics.connections.labels('pop3').inc()
      const id = newId()
      await told(log, 'pop3', id, connection, () => new Session(id, connection, services).run())
    },
    onError: error => log.error({ error }, 'a POP3 session failed'),
    onSessions: count => metrics.sessions.labels('pop3').set(count),
    onRefused: () => metrics.connectionsRefused.labels('pop3').inc(),
  })
}
