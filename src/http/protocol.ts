// The HTTP API as a protocol of the service: its listener, which serves the endpoints it is given, in clear or over TLS, and
// one for strangers, over TLS, that serves what they need, the page with its session, and no more unless it is told to.
// Callers are told by their tokens, of which only the first digits of a hash go further. A new certificate is shown without a
// new start of the service.

import assert from 'node:assert'
import type { Caller as AccessCaller } from '#actors/auth/callers.ts'
import type { Config } from '#config'
import type { Core } from '#core'
import { rangesOf } from '#lib/network.ts'
import { type Ground, type Protocol, placeOf } from '#protocol'
import { reaches } from '#store/domains/domain.ts'
import { audited } from './audit/line.ts'
import type { Endpoint } from './endpoint.ts'
import { Exchange } from './exchange.ts'
import type { Announces } from './front/front.ts'
import { type Caller, isRole } from './guard/access.ts'
import type { HttpBounds } from './guard/connections.ts'
import { HttpCertificates } from './guard/secure.ts'
import { WrongTokens } from './guard/wrong-tokens.ts'
import { RequestCounters } from './request-counters.ts'
import { type HttpServer, listenHttp } from './server.ts'

export interface HttpOptions {
  readonly endpoints: () => readonly Endpoint[]
  /** For tests: answers that their documentation does not describe become errors. */
  readonly strict: boolean
  /** Hears what speaks HTTP, once it does. */
  onFront?(front: HttpServer['front']): void
}

/** Of the service, what speaking HTTP needs, on whichever thread. */
export type HttpCore = Pick<Core, 'config' | 'log' | 'journal' | 'tracer' | 'metrics' | 'read'> & {
  readonly access: Pick<Core['access'], 'identify'>
  /** Where wrong tokens are told. Default: in the journal. */
  readonly wrongTokens?: Pick<WrongTokens, 'note'>
}

export function http(options: HttpOptions): Protocol<HttpCore> {
  return {
    name: 'http',
    config: ['api', 'web'],
    async open(core, ground) {
      await openApi(core, ground, options)
      await openWeb(core, ground, options)
    },
  }
}

async function openApi(core: HttpCore, ground: Ground, options: HttpOptions): Promise<void> {
  const place = placeOf(core.config, 'api', ground)
  if (place === undefined) return
  const { host, port, shared, admission, sessionsMax: connectionsMax, sessionsPerNetworkMax: perNetworkMax } = place
  const onRefused = () => core.metrics.connectionsRefused.labels('api').inc()
  const { front, secure } = core.config.api
  const announces = announcesTo(core.config, 'api')
  const at = { host, port, shared, front, announces, bounds: { admission, connectionsMax, perNetworkMax, onRefused } }
  const exchange = exchangeOf(core, { ...options, share: ground.share })
  const server = secure ? await listenSecurely(core, ground, 'api', exchange, at) : await listenHttp(exchange, at)
  if (!secure) ground.opened('api', listening(server))
  options.onFront?.(server.front)
}

/** What strangers need stands under these. */
const strangersTags: ReadonlySet<string> = new Set(['Autoconfiguration', 'Certs', 'Page', 'Session'])
const forStrangers = ({ allow, tag }: Endpoint) => allow === 'public' && strangersTags.has(tag)

async function openWeb(core: HttpCore, ground: Ground, options: HttpOptions): Promise<void> {
  const place = placeOf(core.config, 'web', ground)
  if (place === undefined) return
  const { host, port, shared, admission, sessionsMax: connectionsMax, sessionsPerNetworkMax: perNetworkMax } = place
  const onRefused = () => core.metrics.connectionsRefused.labels('web').inc()
  const bounds = { admission, connectionsMax, perNetworkMax, onRefused }
  const strangers = core.config.web.api ? undefined : forStrangers
  const at = { host, port, shared, front: core.config.api.front, bounds, announces: announcesTo(core.config, 'web') }
  await listenSecurely(core, ground, 'web', exchangeOf(core, { ...options, share: ground.share }, strangers), at)
}

/** Who begins with the PROXY protocol there; undefined for nobody. */
function announcesTo({ network, ...config }: Config, name: 'api' | 'web'): Announces | undefined {
  return config[name].proxyProtocol ? rangesOf(network.proxyProtocol) : undefined
}

function exchangeOf(
  { config, log, journal, tracer, metrics, access, read, wrongTokens: given }: HttpCore,
  { endpoints, strict, share }: HttpOptions & Pick<Ground, 'share'>,
  strangers?: (endpoint: Endpoint) => boolean,
): Exchange {
  const identify = (token: string | null) => {
    const caller = access.identify(token)
    return caller instanceof Promise ? caller.then(callerOf) : callerOf(caller)
  }
  const counters = new RequestCounters(metrics)
  const { forwarded: header, proxies: ranges } = config.network
  let told = false
  const onUnread = (address: string) => {
    if (!told) log.warn({ address }, 'a proxy says who is behind it, and network.forwarded says not to believe it')
    told = true
  }
  const wrongTokens = given ?? new WrongTokens(journal)
  const proxies = { header, trusts: rangesOf(ranges), onUnread }
  const belongs = (domains: readonly string[], user: string, wholly: boolean) => reaches(read, domains, user, wholly)
  const rules = { identify, belongs, cors: config.api.cors, proxies, wrongTokens, strict, share }
  return new Exchange({ endpoints: () => audited(endpoints(), journal), log, counters, tracer, strangers, ...rules })
}

interface At {
  readonly host: string
  readonly port: number
  readonly shared: boolean
  readonly front: Config['api']['front']
  readonly bounds: HttpBounds
  readonly announces: Announces | undefined
}

/** Over HTTPS, with the certificates that the other listeners use. */
async function listenSecurely(
  { log }: HttpCore,
  ground: Ground,
  name: 'api' | 'web',
  exchange: Exchange,
  at: At,
): Promise<HttpServer> {
  const failed = (error: unknown) => log.error({ error }, 'HTTPS could not be started again')
  const certificates = new HttpCertificates(ground.certificates.own, failed)
  ground.certificates.supply(certificates)
  const server = await listenHttp(exchange, { ...at, tls: certificates.tls })
  certificates.attach(server)
  ground.opened(
    name,
    listening(server, () => certificates.close()),
  )
  return server
}

/** @param after what is done when it is closed */
function listening(server: HttpServer, after: () => void = () => {}) {
  const close = async () => {
    await server.close()
    after()
  }
  return { address: { host: server.host, port: server.port }, close }
}

/** Of the hash of a token: enough to tell one from another. */
const sessionDigits = 24

export function callerOf(caller: AccessCaller): Caller {
  assert(isRole(caller.role), 'a stored token has a role of the table')
  const { role, user, token, named, tokenKind, loginAt, domains } = caller
  const session = token?.slice(0, sessionDigits)
  return { role, user, tokenKind, loginAt, domains, ...(session !== undefined && { session }), ...(named && { named }) }
}
