// SMTP, LMTP and submission listeners: what one is made of, and how one is started.
//
// Mail is taken for recipients the backend knows, so nothing here relays. A listener with `authenticate` is for submission: it
// takes no mail before a login. With `implicitTls` the handshake comes before the greeting, else STARTTLS is offered.

import { told } from '#lib/journal/session-line.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Admission } from '#net/admission.ts'
import type { Intercept } from '#net/intercept.ts'
import { type Listener, listen } from '#net/listener.ts'
import type { CleartextPolicy } from '#net/sasl.ts'
import type { TlsStore } from '#net/tls/tls.ts'
import type { Backend, SmtpService, Speaker } from './backend.ts'
import { commandOf } from './commands.ts'
import { Session } from './session.ts'
import type { Bounds, Setting } from './setting.ts'

export interface SmtpOptions<Recipient, Received> {
  readonly service: SmtpService
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Other threads listen there, too. */
  readonly shared?: boolean
  /** Name in greetings. */
  readonly hostname: string
  readonly backend: Backend<Recipient, Received>
  /** Certificates for STARTTLS or, on `submissions`, for TLS from the start. */
  readonly tls?: TlsStore
  /** Makes it a submission listener. Gives what `Speaker.user` will be. @throws Fault AuthFailed and the like */
  authenticate?(username: string, password: string, speaker: Speaker): Promise<unknown>
  /** Mail is taken without a login, too; for tests. */
  readonly open?: boolean
  /** For tests. */
  readonly intercept?: Intercept | undefined
  /** Where a password may come without TLS. Default: loopback. */
  readonly cleartext?: CleartextPolicy
  readonly bounds?: Partial<Bounds>
  /** Connections of all listeners together. */
  readonly admission?: Admission
  readonly log: Log
  readonly metrics?: Metrics
}

/** Starts a listener. @throws Fault PortInUse, ConfigInvalid */
export async function startSmtp<Recipient, Received>(options: SmtpOptions<Recipient, Received>): Promise<Listener> {
  const { service, host, port, hostname, tls, log, metrics } = options
  const implicitTls = service === 'submissions'
  const bounds: Bounds = { ...limits.smtp, messageBytesMax: limits.body.messageBytesMax, ...options.bounds }
  const setting: Setting = {
    service,
    lmtp: service === 'lmtp',
    hostname,
    implicitTls,
    tls,
    backend: options.backend as Backend<unknown, unknown>,
    authenticate: options.authenticate?.bind(options),
    open: options.open === true,
    intercept: options.intercept,
    cleartext: options.cleartext ?? 'loopback',
    bounds,
    ...counters(service, metrics),
    onError: (error, { id }) => log.error({ error, service, session: id }, 'a session met an unexpected error'),
  }
  const { sessionsMax, sessionsPerNetworkMax, idleMs, drainMs } = bounds
  const { admission, shared = false } = options
  return listen({
    host,
    port,
    shared,
    ...(tls === undefined ? {} : { tls, implicitTls }),
    sessionsMax,
    sessionsPerNetworkMax,
    ...(admission === undefined ? {} : { admission }),
    idleMs,
    drainMs,
    busy: `421 4.7.0 ${hostname} Too many sessions, try again later\r\n`,
    serve: connection => {
      metrics?.connections.labels(service).inc()
      const session = new Session(connection, setting, commandOf)
      return told(log, service, session.id, connection, () => session.run())
    },
    onError: error => log.error({ error, service }, 'a session broke'),
    onSessions: count => metrics?.sessions.labels(service).set(count),
    onRefused: () => metrics?.connectionsRefused.labels(service).inc(),
  })
}

function counters(service: SmtpService, metrics: Metrics | undefined): Pick<Setting, 'count' | 'countDelivery'> {
  if (metrics === undefined) return { count: () => {}, countDelivery: () => {} }
  const seconds = metrics.deliverySeconds.labels(service)
  return {
    count: command => metrics.commands.labels(service, command, 'known').inc(),
    countDelivery: (result, ms) => {
      metrics.deliveries.labels(service, result).inc()
      seconds.observe(ms / 1000)
    },
  }
}
