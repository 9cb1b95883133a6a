// The IMAP listeners: what sessions need from the rest of the service, and the way in.
//
// Promises: one of these serves all listeners, so that a user's sessions are counted together; capabilities are those of
// the command table; closing lets commands that run come to their end.

import { newId } from '#lib/id.ts'
import { told } from '#lib/journal/session-line.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Admission } from '#net/admission.ts'
import type { Connection } from '#net/connection.ts'
import { type Listener, listen } from '#net/listener.ts'
import { takesPasswords } from '#net/sasl.ts'
import { allCapabilities } from './commands.ts'
import { Dialogue } from './dialogue.ts'
import { LocalEntry } from './local-store.ts'
import type { ImapDependencies, ImapServices } from './services.ts'

export interface ImapListen {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly implicitTls: boolean
  readonly sessionsMax: number
  readonly sessionsPerNetworkMax: number
  /** Other threads listen there, too. */
  readonly shared?: boolean
  /** Connections of all listeners together. */
  readonly admission?: Admission
}

export class ImapServer {
  readonly #services: ImapServices
  readonly #metrics: Metrics
  readonly #log: Log
  #sessions = 0

  constructor({ hostname, cleartext, tls, metrics, log, ...rest }: ImapDependencies) {
    const { messageBytesMax, intercept } = rest
    this.#metrics = metrics
    this.#log = log
    // RFC 7889 3: the limit is the same for every mailbox.
    const limited = `APPENDLIMIT=${messageBytesMax}`
    const seconds = metrics.commandSeconds.labels('imap')
    this.#services = {
      ...{ hostname, messageBytesMax, tls, log, intercept, mail: new LocalEntry(rest) },
      capabilities: allCapabilities.map(name => (name === 'APPENDLIMIT' ? limited : name)).join(' '),
      takesPasswords: connection => takesPasswords(connection, cleartext),
      count: (command, result, ms) => {
        metrics.commands.labels('imap', command, result).inc()
        seconds.observe(ms / 1000)
      },
    }
  }

  /** Opens a port. @throws Fault PortInUse, ConfigInvalid */
  listen({ host, port, implicitTls, ...bounds }: ImapListen): Promise<Listener> {
    const { tls } = this.#services
    const { loginMs, drainMs } = limits.imap
    return listen({
      host,
      port,
      implicitTls,
      ...(tls === undefined ? {} : { tls }),
      ...bounds,
      idleMs: loginMs,
      drainMs,
      busy: '* BYE [UNAVAILABLE] Too many connections, try again later\r\n',
      serve: connection => this.#serve(connection),
      onError: error => this.#log.error({ error }, 'an IMAP session failed'),
      onBegun: () => this.#count(1),
      onDone: () => this.#count(-1),
      onRefused: () => this.#metrics.connectionsRefused.labels('imap').inc(),
    })
  }

  #serve(connection: Connection): Promise<void> {
    this.#metrics.connections.labels('imap').inc()
    const id = newId()
    return told(this.#log, 'imap', id, connection, () => new Dialogue(id, connection, this.#services).run())
  }

  /** Of all listeners together. */
  #count(change: number): void {
    this.#sessions += change
    this.#metrics.sessions.labels('imap').set(this.#sessions)
  }
}
