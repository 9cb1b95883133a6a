// A session with somebody else's mail server, for everything that sends: the outbound queue, forwards, webhooks by mail.
//
// The connection is made by net/outward.ts, so it goes to a checked address only; nodemailer speaks SMTP over it. Each
// step has its time, a reply its size. Credentials are sent over TLS only, except to this machine itself. What went wrong
// is a word of the closed set, with the server's code and text where it answered.

import { Readable } from 'node:stream'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { now } from '#lib/clock.ts'
import { smtpConnection } from '#lib/process/lazy.ts'
import { type Outward, type OutwardFailure, outwardFailure, type Socket } from '#net/outward/outward.ts'
import { proveChain, type TlsaRecord } from '#net/tls/dane.ts'
import { certificateFlaw, shownChain, type TlsFlaw, tlsFlawOf } from '#net/tls/peer.ts'
import { readReplies } from './host/replies.ts'
import { AsciiOnly, headerUtf8, type Lacking, type Offers, offersIn, sayable, Unfit } from './host/sayable.ts'
import type { DomainPolicy, PassedOver } from './proof/domain-policy.ts'

export interface MailRoute {
  /** Name or literal address; also the name a certificate must have. */
  readonly host: string
  readonly port: number
  /**
   * `implicit`: TLS from the first byte, certificate checked. `required`: STARTTLS, certificate checked.
   * `encrypted`: STARTTLS, proven by `dane` alone. `opportunistic`: STARTTLS where offered, whatever the certificate says
   * (RFC 7435). `none`: never.
   */
  readonly tls: 'implicit' | 'required' | 'encrypted' | 'opportunistic' | 'none'
  /** What proves the host; with no record it is encrypted and no more (RFC 7672 2.2). */
  readonly dane?: HostDane
  /** By whose wish it is so. */
  readonly policy?: DomainPolicy
  /** The certificate is looked at, and nothing follows (MTA-STS in testing). */
  readonly looksOnly?: boolean
  /** What is wrong with it whatever it shows: told of each session. */
  readonly flaw?: Pick<PassedOver, 'flaw' | 'reason'>
  /** Hosts that would have come before it, and after it where it is the last. */
  readonly before?: readonly PassedOver[]
  readonly after?: readonly PassedOver[]
  readonly auth?: { readonly user: string; readonly pass: string }
  /** What is said in EHLO. */
  readonly helo: string
  readonly localAddress?: string
  /** Certificates to trust besides the built-in ones. */
  readonly ca?: string
  /** Time to connect, and longest silence after that. */
  readonly connectMs: number
  readonly idleMs: number
}

interface HostDane {
  readonly records: readonly TlsaRecord[]
  /** Asked for in the handshake. */
  readonly servername: string
  /** Of which its certificate has one, where an issuer is named. */
  readonly names: readonly string[]
}

/** How a session was secured: by whom the host was proven, or whether at least nobody listens. */
export type Security = 'dane' | 'mta-sts' | 'trusted' | 'encrypted' | 'plain'

/** What is told of a session when it was made, or was not. */
export interface SessionFacts {
  /** What was wrong with its TLS; absent where nothing was, or it never came to that. */
  readonly flaw?: TlsFlaw
  readonly reason: string
  /** Addresses; empty where nobody was reached. */
  readonly local: string
  readonly remote: string
}

export interface MailEnvelope {
  /** '' for the null sender. */
  readonly from: string
  readonly to: readonly string[]
  readonly size?: number
  /** The message has bytes beyond ASCII, and goes to hosts that take such (RFC 6152). */
  readonly eightBit?: boolean
  /** Its header is for hosts that know SMTPUTF8 (RFC 6531); where that is `wanted` there is another form, else it goes nowhere else. */
  readonly utf8?: 'wanted' | 'needed' | undefined
  /** What its sender wants to hear; left out where the server does not know of such (RFC 3461). */
  readonly dsn?: SMTPConnection.DSNOptions
  /** REQUIRETLS (RFC 8689): `offered` sends to a host that does not offer it, too, without. The route has to prove the host. */
  readonly requireTls?: 'always' | 'offered'
}

export interface RefusedRecipient {
  readonly recipient: string
  readonly code: number
  readonly response: string
  /** The host was told nothing of it, and said nothing. */
  readonly unasked: boolean
}

export interface MailSent {
  readonly accepted: readonly string[]
  readonly refused: readonly RefusedRecipient[]
  /** The reply after the message. */
  readonly response: string
  /** Whether the server knows what senders want to hear, and reports in our place (RFC 3461). */
  readonly reports: boolean
  readonly security: Security
}

/** Why a message did not go: `rejected` when the server said no (then `status` and `response` say how). */
export class MailFailed extends Error {
  readonly failure: OutwardFailure | 'rejected'
  /** SMTP code; null where no server answered. */
  readonly status: number | null
  readonly response: string
  readonly refused: readonly RefusedRecipient[]
  readonly unasked: boolean
  /** The host does not keep what the message needs (RFC 8689); another one may. */
  readonly unfit: boolean
  /** Of the session that was not made. */
  readonly facts: SessionFacts
  /** All of the message was sent, and no answer came: it may have arrived (RFC 1047). */
  readonly doubtful: boolean
  /** The host has said that it closes, before anything of the message was sent: another one, or a new session, may be tried. */
  readonly closing: boolean
  /** What the host does not offer and this form of the message wants; it was told nothing yet. */
  readonly lacks: Lacking | undefined
  /** Whoever we logged in as is not let in; others may be. */
  readonly login: boolean

  /** The session was no good any more, and nothing says what of this message: an answer does, and one that was sent may have arrived. */
  get sessionOver(): boolean {
    const silent = this.status === null && !this.unfit && this.lacks === undefined && !this.doubtful
    return silent || this.closing
  }

  /** @param at `handshake` while TLS was turned on, `envelope` when nothing of the message was sent, `end` when nothing was left to send */
  constructor(
    error: unknown,
    ends: Pick<SessionFacts, 'local' | 'remote'> = { local: '', remote: '' },
    at?: 'handshake' | 'envelope' | 'end' | false,
  ) {
    const found = error instanceof Unproven ? error.flaw : tlsFlawOf(error)
    const flaw = found ?? (at === 'handshake' ? 'validation-failure' : undefined)
    const { responseCode, response, rejectedErrors, message } = error as Partial<SmtpError> & { message?: string }
    super(message ?? 'the message was not sent', { cause: error })
    this.unfit = error instanceof Unfit
    this.status = typeof responseCode === 'number' ? responseCode : null
    this.failure = flaw !== undefined || this.unfit ? 'tls' : this.status === null ? failureOf(error) : 'rejected'
    this.response = (response ?? (flaw === undefined ? '' : `4.7.5 ${flaw}`)).slice(0, responseLengthMax)
    this.facts = { ...ends, reason: this.message.slice(0, responseLengthMax), ...(flaw !== undefined && { flaw }) }
    this.refused = (rejectedErrors ?? []).map(refusedOne)
    this.unasked = (error as Partial<SmtpError>).unasked === true
    this.doubtful = at === 'end' && this.status === null
    this.closing = at === 'envelope' && this.status === closingCode
    this.lacks = error instanceof AsciiOnly ? error.lacks : undefined
    this.login = (error as { code?: unknown }).code === 'EAUTH'
  }
}

/** The host did not prove itself as the domain wants it. */
class Unproven extends Error {
  readonly code = 'ETLS'
  readonly flaw: TlsFlaw
  constructor(flaw: TlsFlaw) {
    super(`the host is not proven: ${flaw}`)
    this.flaw = flaw
  }
}

interface SmtpError {
  readonly responseCode: number
  readonly response: string
  readonly recipient: string
  readonly unasked: boolean
  readonly rejectedErrors: readonly Partial<SmtpError>[]
}

/** Bytes of one reply, and characters of it that are kept. */
const replyBytesMax = 64 * 1024
const responseLengthMax = 1000
const closingCode = 421

export class MailSession {
  readonly #connection: SMTPConnection
  readonly #onAbort: () => void
  readonly #signal: AbortSignal
  #reports = false
  #offers: Offers = { utf8: false, eightBit: false, requireTls: false, sizeMax: 0 }
  #security: Security = 'plain'
  readonly #headerUtf8: (wanted: boolean) => void
  /** What it was like when it was made. */
  facts: SessionFacts = { reason: '', local: '', remote: '' }
  /** What broke the session while nobody waited for an answer, or will when somebody does. */
  #broken: Error | undefined
  #fail: ((error: Error) => void) | undefined

  private constructor(connection: SMTPConnection, signal: AbortSignal) {
    this.#connection = connection
    this.#headerUtf8 = headerUtf8(connection)
    readReplies(connection, replyBytesMax, () => {
      this.#broken ??= new Error('the host answers what it was not asked')
    })
    this.#signal = signal
    this.#onAbort = () => this.#break(Object.assign(new Error('stopped'), { code: 'ETIMEDOUT' }))
    signal.addEventListener('abort', this.#onAbort, { once: true })
    connection.on('error', error => this.#break(error))
    // Behind what the library says of the answer that ended it (421, RFC 5321 4.2.4.2).
    const ended = () => this.#break(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
    connection.on('end', () => queueMicrotask(ended))
  }

  /**
   * Connects, greets, turns TLS on and logs in.
   *
   * @throws MailFailed
   */
  static async open(outward: Outward, route: MailRoute, signal: AbortSignal): Promise<MailSession> {
    let socket: Socket
    try {
      const { host, port, localAddress, connectMs: timeoutMs } = route
      socket = await outward.dial({
        host,
        port,
        signal,
        timeoutMs,
        ...(localAddress !== undefined && { localAddress }),
      })
    } catch (error) {
      throw new MailFailed(error)
    }
    const ends = { local: socket.localAddress ?? '', remote: socket.remoteAddress ?? '' }
    const session = new MailSession(new (smtpConnection())(options(route, socket)), signal)
    try {
      await session.#step(done => session.#connection.connect(error => done(error ?? null)))
      session.#security = securityOf(route, session.#connection)
      session.facts = { ...ends, reason: '', ...looked(route, session.#connection) }
      const offers = String(session.#connection.lastServerResponse)
      session.#offers = offersIn(offers, session.#connection.secure)
      session.#reports = /^250[- ]DSN\b/im.test(offers)
      const { auth } = route
      if (auth !== undefined) {
        if (!session.#connection.secure && !isLoopback(socket)) throw plainAuth()
        await session.#step(done => session.#connection.login({ user: auth.user, pass: auth.pass }, done))
      }
      return session
    } catch (error) {
      const { upgrading } = session.#connection as unknown as { readonly upgrading: boolean }
      session.close()
      throw new MailFailed(error, ends, upgrading && 'handshake')
    }
  }

  /** Whether another message may be sent over it, as far as is known. */
  get open(): boolean {
    return this.#broken === undefined
  }

  /**
   * Sends one message, which is complete with CRLF line ends and without dot stuffing.
   *
   * @throws MailFailed; a failure without status after the message was sent means nobody knows whether it arrived
   */
  async send(envelope: MailEnvelope, message: Buffer | NodeJS.ReadableStream): Promise<MailSent> {
    const source = Buffer.isBuffer(message)
      ? Readable.from(pieces(message), { objectMode: false })
      : (message as Readable)
    try {
      const { from, size, dsn, requireTls, eightBit: use8BitMime = false, utf8 } = envelope
      const { to, unsaid } = sayable(envelope, this.#offers)
      this.#headerUtf8(utf8 !== undefined)
      const requireTLSExtensionEnabled = requireTls !== undefined && this.#offers.requireTls
      const info = await this.#step<SMTPConnection.SentMessageInfo>(done => {
        const sender = from === '' ? (false as const) : from
        const form = {
          ...{ from: sender, to: [...to], requireTLSExtensionEnabled, use8BitMime },
          ...(size !== undefined && { size }),
          ...(dsn && { dsn }),
        }
        this.#connection.send(form, source, (error, result) => done(error, result))
      })
      const refused = [...unsaid, ...((info.rejectedErrors ?? []) as Partial<SmtpError>[])].map(refusedOne)
      const response = String(info.response).slice(0, responseLengthMax)
      return { accepted: info.accepted, refused, response, reports: this.#reports, security: this.#security }
    } catch (error) {
      throw new MailFailed(error, undefined, source.readableEnded ? 'end' : !source.readableDidRead && 'envelope')
    } finally {
      source.destroy()
    }
  }

  /** Says goodbye without waiting for the answer. */
  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#broken ??= new Error('the session is over')
    try {
      this.#connection.quit()
    } catch {
      // It is closed right below, whatever state it is in.
    }
    this.#connection.close()
  }

  /** One exchange: ends with its answer or with the session. */
  async #step<T = unknown>(start: (done: (error: Error | null, result?: T) => void) => void): Promise<T> {
    if (this.#broken !== undefined) throw this.#broken
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#fail = reject
        start((error, result) => (error === null ? resolve(result as T) : reject(error)))
      })
    } finally {
      this.#fail = undefined
    }
  }

  #break(error: Error): void {
    this.#broken ??= error
    this.#fail?.(error)
    this.#connection.close()
  }
}

/** No more at once than goes over the line, so that it is known how much went. */
function* pieces(message: Buffer): Generator<Buffer> {
  for (let at = 0; at < message.length; at += pieceBytes) yield message.subarray(at, at + pieceBytes)
}

const pieceBytes = 64 * 1024

/** What the session is secured by. @throws Unproven where the host must be proven and is not */
function securityOf({ tls, dane, policy, auth }: MailRoute, connection: SMTPConnection): Security {
  const socket = socketOf(connection)
  if (!connection.secure) return 'plain'
  if (tls === 'encrypted' && dane !== undefined && dane.records.length > 0) {
    const flaw = proveChain(dane.records, shownChain(socket), dane.names, now())
    if (flaw !== undefined) throw new Unproven(flaw)
    return 'dane'
  }
  if (tls === 'required') return policy?.kind === 'sts' ? 'mta-sts' : 'trusted'
  return tls === 'implicit' || (auth !== undefined && certificateFlaw(socket) === undefined) ? 'trusted' : 'encrypted'
}

/** What is worth telling of a session that is good enough. */
function looked(
  { policy, looksOnly, flaw }: MailRoute,
  connection: SMTPConnection,
): Partial<Pick<SessionFacts, 'flaw' | 'reason'>> {
  if (policy === undefined) return {}
  if (flaw !== undefined) return flaw
  if (!connection.secure) return { flaw: 'starttls-not-supported' }
  const found = looksOnly === true ? certificateFlaw(socketOf(connection)) : undefined
  return found === undefined ? {} : { flaw: found }
}

/** The library keeps it to itself. */
function socketOf(connection: SMTPConnection): Socket {
  return (connection as unknown as { readonly _socket: Socket })._socket
}

function options(route: MailRoute, socket: Socket): SMTPConnection.Options {
  const { host, port, tls, helo, ca, connectMs, idleMs, dane } = route
  const proves = tls === 'implicit' || tls === 'required'
  return {
    connection: socket,
    host,
    port,
    name: helo,
    secure: tls === 'implicit',
    requireTLS: tls === 'required' || tls === 'encrypted',
    ...(dane !== undefined && { servername: dane.servername }),
    opportunisticTLS: tls === 'opportunistic',
    ignoreTLS: tls === 'none',
    tls: { rejectUnauthorized: proves, ...(ca !== undefined && { ca }) },
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: idleMs,
    socketCloseTimeout: 0,
    maxResponseSize: replyBytesMax,
    logger: false,
  }
}

function isLoopback(socket: Socket): boolean {
  const address = socket.remoteAddress ?? ''
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

function plainAuth(): Error {
  return Object.assign(new Error('no TLS: credentials are not sent'), { code: 'ETLS' })
}

/** nodemailer gives errors of the socket codes of its own and keeps theirs beside. */
function failureOf(error: unknown): OutwardFailure {
  const { code, originalCode } = error as { code?: unknown; originalCode?: unknown }
  if (originalCode !== undefined) return outwardFailure({ code: originalCode })
  return code === 'ECONNECTION' || code === 'ESOCKET' ? 'reset' : outwardFailure(error)
}

function refusedOne(error: Partial<SmtpError>): RefusedRecipient {
  const response = (error.response ?? '').slice(0, responseLengthMax)
  const { recipient = '', responseCode: code = 450, unasked = false } = error
  return { recipient, code, response, unasked }
}
