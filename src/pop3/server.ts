// The POP3 listeners and what their sessions need from the rest of the service.
//
// A session gets functions and plain values, so that it can be tested without the rest. Nothing here knows the
// protocol.

import type { Grant, Grants } from '#actors/auth/grant.ts'
import type { ActorSystem, UserHandle } from '#actors/kernel/system.ts'
import type { moveMessages, Transfer, Transferred } from '#actors/mailbox/message.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Admission } from '#net/admission.ts'
import type { Connection } from '#net/connection.ts'
import { type Listener, listen } from '#net/listener.ts'
import { type CleartextPolicy, takesPasswords } from '#net/sasl.ts'
import type { TlsStore } from '#net/tls/tls.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { DeleteTo } from './maildrop.ts'
import { Session } from './session.ts'

export interface Pop3Dependencies {
  readonly hostname: string
  readonly cleartext: CleartextPolicy
  readonly deleteTo: DeleteTo
  /** Newest messages a session sees of an account without an own number. */
  readonly messagesMax: number
  readonly tls: TlsStore | undefined
  /** Central authentication. @throws Fault AuthFailed, RateLimitedError, InvalidAuthScope, UserDisabled */
  authenticate(attempt: {
    username: string
    password: string
    scope: 'pop3'
    protocol: string
    session: string
    ip: string
  }): Promise<{ user: string; grant: Grant }>
  /** What sessions may go on by. */
  readonly grants: Pick<Grants, 'hold'>
  /** Moves messages, encrypted on the way where the account or the folder asks for it. */
  readonly transfer: (handle: UserHandle, command: typeof moveMessages, transfer: Transfer) => Promise<Transferred>
  readonly system: ActorSystem
  readonly bodies: Bodies
  readonly settings: Settings
  /** Bytes an account has moved today. */
  readonly transfers: {
    used(kind: 'pop3Download', user: string): number
    count(kind: 'pop3Download', user: string, bytes: number): void
  }
  readonly metrics: Metrics
  readonly log: Log
}

/** What sessions use. */
export interface Pop3Services extends Omit<Pop3Dependencies, 'system' | 'cleartext' | 'metrics' | 'log'> {
  handle: ActorSystem['handle']
  takesPasswords(connection: Connection): boolean
  count(command: string, result: string, ms: number): void
}

/** Opens a POP3 port. @throws Fault PortInUse, ConfigInvalid */
export function listenPop3(
  dependencies: Pop3Dependencies,
  at: {
    host: string
    port: number
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
      await new Session(newId(), connection, services).run()
    },
    onError: error => log.error({ error }, 'a POP3 session failed'),
    onSessions: count => metrics.sessions.labels('pop3').set(count),
    onRefused: () => metrics.connectionsRefused.labels('pop3').inc(),
  })
}
