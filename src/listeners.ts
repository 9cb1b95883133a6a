// The listeners of the service: opened as the configuration says, each with just what its sessions need.
//
// They close in reverse order. What a protocol asks of the store, the actors and the credentials is handed over here as
// functions and plain values, so that no front end knows another one or the core. A listener that cannot be opened fails
// the whole start: a service that is half there would be taken for a whole one.

import assert from 'node:assert'
import type { Caller as AccessCaller } from '#actors/auth/access.ts'
import type { Held } from '#actors/auth/grant.ts'
import { encrypted } from '#actors/delivery/encryption.ts'
import type { DeliveryRecipient } from '#actors/delivery/envelope.ts'
import { Verifier } from '#actors/delivery/verification.ts'
import { Submission, type SubmissionRecipient } from '#actors/sending/submission.ts'
import { transferMessages } from '#actors/user/transfer.ts'
import { type ListenerName, splitSocket } from '#config'
import type { Closers, Core } from '#core'
import type { DailyCounter } from '#http/api/accounts/users.ts'
import type { Endpoint } from '#http/endpoint.ts'
import { Exchange } from '#http/exchange.ts'
import { type Caller, isRole } from '#http/guard/access.ts'
import type { HttpBounds } from '#http/guard/connections.ts'
import { HttpCertificates } from '#http/guard/secure.ts'
import { RequestCounters } from '#http/request-counters.ts'
import { type HttpServer, listenHttp } from '#http/server.ts'
import { ImapServer } from '#imap/server.ts'
import type { ImapDependencies } from '#imap/services.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { rangesOf } from '#lib/network.ts'
import { authenticationResults, receivedField } from '#mail/header/received.ts'
import { Admission } from '#net/admission.ts'
import { connectionsFor, descriptorsMax } from '#net/descriptors.ts'
import { listenForChallenges } from '#net/tls/challenge-listener.ts'
import { TlsStore } from '#net/tls/tls.ts'
import { listenPop3 } from '#pop3/server.ts'
import type { Pop3Dependencies } from '#pop3/services.ts'
import type { MailDrop, Speaker } from '#smtp/drop.ts'
import { startSmtp } from '#smtp/server.ts'
import type { Received } from '#store/bodies/bodies.ts'
import { type OwnCertificate, openOwnCertificate } from './own-certificate.ts'

/** Where each listener that runs is found; `acme` is that for challenges alone. */
export type Listeners = { [Name in ListenerName | 'acme']?: { host: string; port: number } }

/**
 * Opens every listener that is enabled; the API's serves `endpoints`. `strict` is for tests: see ServiceOptions. `front` is
 * what speaks HTTP.
 *
 * @throws Fault PortInUse, ConfigInvalid
 */
export async function listenAll(
  core: Core,
  endpoints: (imap: ImapServer) => readonly Endpoint[],
  how: { readonly strict: boolean },
  closers: Closers,
): Promise<{ readonly listeners: Listeners; readonly front: HttpServer['front'] | undefined }> {
  const { config } = core
  const open: Listeners = {}
  let front: HttpServer['front'] | undefined
  const admission = admissionOf(core)
  /** Where a listener listens, and how many may connect. */
  const at = (service: Exclude<ListenerName, 'api'>) => {
    const { host, port, maxOpen: sessionsMax, maxOpenPerNetwork: sessionsPerNetworkMax } = config[service]
    return { host, port, admission, sessionsMax, sessionsPerNetworkMax }
  }
  const add = (service: keyof Listeners, listener: { close(): unknown; address: { host: string; port: number } }) => {
    closers.add(() => listener.close())
    open[service] = { ...listener.address }
  }
  const own = await openOwnCertificate(core, closers)
  const tls = provideTls(core, own)
  const imap = new ImapServer(imapDependencies(core, tls))
  if (config.api.enabled) {
    const server = await listenApi(core, { endpoints: endpoints(imap), own, admission, ...how }, closers)
    closers.add(() => server.close())
    open.api = { host: server.host, port: server.port }
    front = server.front
  }
  for (const service of ['lmtp', 'smtp'] as const) {
    if (config[service].enabled) add(service, await startSmtp({ service, ...dropOptions(core, tls, at(service)) }))
  }
  for (const service of ['submission', 'submissions'] as const) {
    if (config[service].enabled)
      add(service, await startSmtp({ service, ...submissionOptions(core, tls, at(service)) }))
  }
  for (const service of ['imap', 'imaps'] as const) {
    const how = { ...at(service), implicitTls: service === 'imaps' }
    if (config[service].enabled) add(service, await imap.listen(how))
  }
  for (const service of ['pop3', 'pop3s'] as const) {
    const how = { ...at(service), implicitTls: service === 'pop3s' }
    if (config[service].enabled) add(service, await listenPop3(pop3Dependencies(core, tls), how))
  }
  const plain = splitSocket(config.tls.acme.http)
  if (plain !== undefined) {
    const { hostname } = config
    add('acme', await listenForChallenges({ ...plain, hostname, admission, challenges: core.acme.challenges }))
  }
  return { listeners: open, front }
}

/** How many may connect: what descriptors are left when everything else has its part. */
function admissionOf({ config, log }: Core): Admission {
  const descriptors = descriptorsMax()
  const connectionsMax = connectionsFor(descriptors)
  if (descriptors < limits.net.descriptorsMax) {
    log.warn({ descriptors, connectionsMax }, 'few files and sockets may be open at once (ulimit -n)')
  }
  return new Admission({ connectionsMax, trusted: rangesOf(config.network.proxies) })
}

/** Where a listener listens, and how many may connect. */
interface At {
  readonly host: string
  readonly port: number
  readonly admission: Admission
  readonly sessionsMax: number
  readonly sessionsPerNetworkMax: number
}

async function listenApi(
  core: Core,
  how: {
    readonly endpoints: readonly Endpoint[]
    readonly own: OwnCertificate
    readonly admission: Admission
    readonly strict: boolean
  },
  closers: Closers,
) {
  const { endpoints, own, admission, strict } = how
  const { config, log, metrics, access } = core
  const { host, port, cors, secure, front, maxOpen: connectionsMax, maxOpenPerNetwork: perNetworkMax } = config.api
  const onRefused = () => metrics.connectionsRefused.labels('api').inc()
  const bounds = { admission, connectionsMax, perNetworkMax, onRefused }
  const identify = (token: string | null) => {
    const caller = access.identify(token)
    return caller instanceof Promise ? caller.then(callerOf) : callerOf(caller)
  }
  const exchange = new Exchange({ endpoints, identify, log, tally: new RequestCounters(metrics), cors, strict })
  return secure
    ? listenHttps(core, own, { exchange, bounds }, closers)
    : listenHttp(exchange, { host, port, bounds, front })
}

/** What the listeners need that take mail from other servers. */
function dropOptions(core: Core, tls: TlsStore, { sessionsMax, sessionsPerNetworkMax, ...at }: At) {
  const { config, log, metrics } = core
  const bounds = { messageBytesMax: config.mail.maxSize, sessionsMax, sessionsPerNetworkMax }
  return { ...at, hostname: config.hostname, drop: mailDrop(core), tls, bounds, log, metrics }
}

/** What the submission listeners need: who may come in, and what becomes of what an account sends. */
function submissionOptions(core: Core, tls: TlsStore, { sessionsMax, sessionsPerNetworkMax, ...at }: At) {
  const { config, system, sequence, settings, drop, cache, bodies, log, metrics, credentials } = core
  const { hostname } = config
  const submission = new Submission({ system, sequence, settings, drop, cache, bodies, hostname })
  const mail: MailDrop<SubmissionRecipient, Received> = {
    sender: (_, speaker) => submission.sender(senderOf(speaker)),
    recipient: (address, speaker, notice) => submission.recipient(senderOf(speaker), address, notice),
    open: () => bodies.intake(config.mail.maxSize),
    async deliver(received, { speaker, ...envelope }) {
      const { protocol, tls } = speaker
      try {
        return await submission.deliver(received, { ...envelope, user: senderOf(speaker), protocol, tls })
      } finally {
        await received.discard()
      }
    },
    left: ({ user }) => (user as Sender | undefined)?.held.release(),
  }
  return {
    ...{ ...at, hostname, tls, log, metrics, drop: mail },
    cleartext: config.auth.cleartext,
    bounds: { messageBytesMax: config.mail.maxSize, sessionsMax, sessionsPerNetworkMax },
    async authenticate(username: string, password: string, speaker: Speaker): Promise<Sender> {
      const { id: session, remoteAddress: ip } = speaker
      const attempt = { username, password, scope: 'smtp', protocol: 'SMTP', session, ip } as const
      const { user, grant } = await credentials.authentication.authenticate(attempt)
      return { user, held: credentials.grants.hold(grant, reason => speaker.end(reason)) }
    },
  }
}

/** Who logged in to a submission session. */
interface Sender {
  /** Id of the account. */
  readonly user: string
  readonly held: Held
}

/** The account, as long as the session may go on. @throws Fault SessionEnded */
function senderOf({ user }: Speaker): string {
  const sender = user as Sender
  sender.held.check()
  return sender.user
}

function pop3Dependencies(core: Core, tls: TlsStore): Pop3Dependencies {
  const { config, system, bodies, sequence, settings, metrics, log } = core
  return {
    hostname: config.hostname,
    cleartext: config.auth.cleartext,
    transfer: (handle, command, transfer) =>
      transferMessages({ bodies, sequence, reads: core.reads }, handle, command, transfer),
    deleteTo: config.pop3.deleteTo,
    messagesMax: config.pop3.maxMessages,
    tls,
    authenticate: attempt => core.credentials.authentication.authenticate(attempt),
    grants: core.credentials.grants,
    transfers: transfers(core),
    ...{ system, bodies, settings, metrics, log },
  }
}

function imapDependencies(core: Core, tls: TlsStore): ImapDependencies {
  const { config, system, bodies, sequence, settings, metrics, log } = core
  return {
    hostname: config.hostname,
    cleartext: config.auth.cleartext,
    connectionsMax: config.imap.maxConnections,
    messageBytesMax: config.mail.maxSize,
    tls,
    authenticate: attempt => core.credentials.authentication.authenticate(attempt),
    grants: core.credentials.grants,
    transfers: transfers(core),
    ...{ scan: core.reads.scan, sort: core.reads.sort, thread: core.reads.thread },
    transfer: (handle, command, transfer) =>
      transferMessages({ bodies, sequence, reads: core.reads }, handle, command, transfer),
    seal: (user, received) => encrypted({ bodies, reads: core.reads }, user, received),
    ...{ system, bodies, sequence, settings, metrics, log },
  }
}

/** The API over HTTPS, with the certificates that the other listeners use. */
async function listenHttps(
  core: Core,
  own: OwnCertificate,
  { exchange, bounds }: { exchange: Exchange; bounds: HttpBounds },
  closers: Closers,
): Promise<HttpServer> {
  const { config, log } = core
  const { host, port, front } = config.api
  const certificates = new HttpCertificates(own.pair, error => log.error({ error }, 'HTTPS could not be started again'))
  own.follow(certificates)
  core.certificates.supply(certificates, initialOf(core, own))
  const server = await listenHttp(exchange, { host, port, bounds, front, tls: certificates.tls })
  certificates.attach(server)
  closers.add(() => certificates.close())
  return server
}

/** What every other listener speaks TLS with: the own certificate, and by name those that were put in over the API. */
function provideTls(core: Core, own: OwnCertificate): TlsStore {
  const tls = new TlsStore(own.pair, core.config.tls.minVersion)
  own.follow(tls)
  core.certificates.supply(tls, initialOf(core, own))
  return tls
}

/** A certificate for the host name is the default one where none was chosen in the configuration. */
function initialOf({ config }: Core, { pair, chosen }: OwnCertificate) {
  return { initial: chosen ? null : { name: config.hostname, pair } }
}

/** What an account moves in a day, in bytes, counted under the names of its limits. */
function transfers({ cache }: Core) {
  return {
    used: (kind: DailyCounter, user: string) => cache.counted(kind, user).used,
    count: (kind: DailyCounter, user: string, bytes: number) => void cache.count(kind, user, limits.time.day, bytes),
  }
}

/** What SMTP and LMTP need of the store and the actors. */
function mailDrop(core: Core): MailDrop<DeliveryRecipient, Received> {
  const { drop, bodies, config, log, pools } = core
  const { authenticate, dmarc } = config.smtp
  const verifier = new Verifier({ pool: pools.verify, hostname: config.hostname, heed: dmarc === 'heed', log })
  return {
    recipient: address => drop.recipient(address),
    open: () => bodies.intake(config.mail.maxSize),
    async deliver(received, { from, recipients, speaker, id, utf8 }) {
      const { helo, remoteAddress, protocol, tls } = speaker
      const strange = speaker.service === 'smtp'
      const at = now()
      try {
        const judged = strange ? await verifier.judge(received, from, speaker, authenticate) : undefined
        const by = config.hostname
        const brought = { from: { helo, address: remoteAddress }, recipients: recipients.map(({ address }) => address) }
        const passage = receivedField({ by, protocol, id, utf8, tls, at, ...brought })
        const trace = (judged === undefined ? '' : authenticationResults(by, judged.results)) + passage
        const transport = { origin: remoteAddress, transhost: helo, transtype: protocol, time: at }
        const { verification, score = 0 } = judged ?? {}
        const source = strange ? 'smtp' : 'lmtp'
        const known = verification === undefined ? {} : { verification }
        return await drop.deliver(received, { from, recipients, source, score, trace, transport, ...known })
      } finally {
        await received.discard()
      }
    },
  }
}

/** Of the hash of a token: enough to tell one from another. */
const sessionDigits = 24

function callerOf(caller: AccessCaller): Caller {
  assert(isRole(caller.role), 'a stored token has a role of the table')
  const { role, user, token, tokenKind, loginAt } = caller
  const session = token?.slice(0, sessionDigits)
  return { role, user, tokenKind, loginAt, ...(session !== undefined && { session }) }
}
