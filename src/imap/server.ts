// The IMAP listeners: what sessions need from the rest of the service, who is logged in how often, and the way in.
//
// Promises: a user has at most so many sessions at once; capabilities are those of the command table; closing lets
// commands that run come to their end.

import type { Grant, Grants } from '#actors/auth/grant.ts'
import type { ActorSystem, UserHandle } from '#actors/kernel/system.ts'
import type { copyMessages, moveMessages, Transfer, Transferred } from '#actors/mailbox/message.ts'
import { after, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Admission } from '#net/admission.ts'
import type { Connection } from '#net/connection.ts'
import { type Listener, listen } from '#net/listener.ts'
import { type CleartextPolicy, takesPasswords } from '#net/sasl.ts'
import type { TlsStore } from '#net/tls/tls.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import type { Settings } from '#store/folder/settings.ts'
import { loginCapabilities } from './command/login.ts'
import { allCapabilities } from './commands.ts'
import { Recency } from './selected/recency.ts'
import { Session } from './session.ts'

/** Central authentication, as a protocol sees it. @throws Fault AuthFailed, RateLimitedError, InvalidAuthScope, UserDisabled */
export type Authenticate = (attempt: {
  username: string
  password: string
  scope: 'imap'
  protocol: string
  session: string
  ip: string
}) => Promise<{ user: string; grant: Grant }>

/** Bytes an account has moved today. */
export interface Transfers {
  used(kind: 'imapUpload' | 'imapDownload', user: string): number
  count(kind: 'imapUpload' | 'imapDownload', user: string, bytes: number): void
}

export interface ImapDependencies {
  readonly hostname: string
  readonly cleartext: CleartextPolicy
  /** Sessions at once of one user without an own number. */
  readonly connectionsMax: number
  /** Largest message that is taken in. */
  readonly messageBytesMax: number
  readonly tls: TlsStore | undefined
  readonly authenticate: Authenticate
  /** What sessions may go on by. */
  readonly grants: Pick<Grants, 'hold'>
  readonly system: ActorSystem
  readonly bodies: Bodies
  readonly sequence: Sequence
  readonly settings: Settings
  readonly transfers: Transfers
  /** A message as it is to be stored for an account that wants its mail encrypted; the same one where that cannot be. */
  readonly seal: (user: User, received: Received) => Promise<Received>
  /** Copies or moves messages, encrypted on the way where the folder asks for it. */
  readonly transfer: (
    handle: UserHandle,
    command: typeof copyMessages | typeof moveMessages,
    transfer: Transfer,
  ) => Promise<Transferred>
  /** Long reads, off the main loop. */
  readonly scan: Reads['scan']
  readonly sort: Reads['sort']
  readonly thread: Reads['thread']
  readonly metrics: Metrics
  readonly log: Log
}

/** What sessions and commands use. */
export interface ImapServices extends Omit<ImapDependencies, 'system' | 'cleartext' | 'metrics'> {
  handle: ActorSystem['handle']
  readonly recency: Recency
  takesPasswords(connection: Connection): boolean
  capabilities(session: Session): string
  /** Counts a command that was carried out. */
  count(command: string, result: string, ms: number): void
  /** Somebody may search soon: the thread for it, which takes a tenth of a second to start, is started or kept. */
  expectSearch(): void
  /** A session logged in. @throws Fault TooManySessions */
  entered(session: Session, user: string, sessionsMax: number): void
  left(session: Session): void
}

export interface ImapListen {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly implicitTls: boolean
  readonly sessionsMax: number
  readonly sessionsPerNetworkMax: number
  /** Connections of all listeners together. */
  readonly admission?: Admission
}

/** Serves IMAP; one of these for all its listeners, so that a user's sessions are counted together. */
/** How long after a folder was opened the thread that searches is started. */
const warmMs = 300

export class ImapServer {
  readonly #services: ImapServices
  readonly #metrics: Metrics
  readonly #log: Log
  readonly #byUser = new Map<string, Set<Session>>()
  #sessions = 0
  /** Until then the thread that searches is there without being asked. */
  #warmUntil = 0

  constructor(dependencies: ImapDependencies) {
    const { system, cleartext, metrics, ...rest } = dependencies
    this.#metrics = metrics
    this.#log = dependencies.log
    // RFC 7889 3: the limit is the same for every mailbox.
    const limited = `APPENDLIMIT=${dependencies.messageBytesMax}`
    const whole = allCapabilities.map(name => (name === 'APPENDLIMIT' ? limited : name)).join(' ')
    const seconds = metrics.commandSeconds.labels('imap')
    this.#services = {
      ...rest,
      handle: id => system.handle(id),
      recency: new Recency(),
      takesPasswords: connection => takesPasswords(connection, cleartext),
      capabilities: session => capabilities(whole, session),
      count: (command, result, ms) => {
        metrics.commands.labels('imap', command, result).inc()
        seconds.observe(ms / 1000)
      },
      expectSearch: () => this.#warm(),
      entered: (session, user, sessionsMax) => this.#enter(session, user, sessionsMax),
      left: session => this.#leave(session),
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
      onRefused: () => this.#metrics.connectionsRefused.labels('imap').inc(),
    })
  }

  async #serve(connection: Connection): Promise<void> {
    this.#metrics.connections.labels('imap').inc()
    this.#metrics.sessions.labels('imap').set(++this.#sessions)
    try {
      await new Session(newId(), connection, this.#services).run()
    } finally {
      this.#metrics.sessions.labels('imap').set(--this.#sessions)
    }
  }

  /** Not at once: what a program asks first after it has opened a folder is seldom a search, and a start takes a core. */
  #warm(): void {
    const time = monotonic()
    if (time < this.#warmUntil) return
    this.#warmUntil = time + limits.pool.idleMs / 2
    // A pool that is busy is warm, and one that stops need not be.
    after(warmMs, () => {
      this.#services.scan({ user: 0, bodies: [], prefixes: [], leaves: [] }, { lane: '' }).catch(() => undefined)
    })
  }

  /** Sessions of an account. */
  connections(user: string): number {
    return this.#byUser.get(user)?.size ?? 0
  }

  #enter(session: Session, user: string, sessionsMax: number): void {
    let sessions = this.#byUser.get(user)
    if (sessions === undefined) {
      sessions = new Set()
      this.#byUser.set(user, sessions)
    }
    if (sessions.size >= sessionsMax) {
      throw new Fault('TooManySessions', { text: 'Too many sessions of this account' })
    }
    sessions.add(session)
  }

  #leave(session: Session): void {
    if (!session.loggedIn) return
    const sessions = this.#byUser.get(session.user.id)
    sessions?.delete(session)
    if (sessions?.size === 0) this.#byUser.delete(session.user.id)
  }
}

/** Everything the session may use now. COMPRESS and the ways in depend on where it stands. */
function capabilities(whole: string, session: Session): string {
  const compress = session.loggedIn && session.compression === 'none' ? ['COMPRESS=DEFLATE'] : []
  return [whole, ...compress, ...loginCapabilities(session)].join(' ')
}
