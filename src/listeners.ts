// The protocols of the service, a line for each, and what their listeners share.
//
// They open in this order and close in reverse. A listener that cannot be opened fails the whole start: a service that is
// half there would be taken for a whole one.

import assert from 'node:assert'
import { type ListenerName, listeners, splitSocket } from '#config'
import type { Closers, Core } from '#core'
import { Fronts, frontsOf } from '#front/fronts.ts'
import { frontListeners, mailProtocols } from '#front/mail-protocols.ts'
import { endpointsByName } from '#http/elsewhere/home.ts'
import { WrongTokens } from '#http/guard/wrong-tokens.ts'
import { limits } from '#lib/limits.ts'
import { rangesOf } from '#lib/network.ts'
import { Admission } from '#net/admission.ts'
import { connectionsFor, descriptorsMax } from '#net/descriptors.ts'
import { listenForChallenges } from '#net/tls/challenge-listener.ts'
import { TlsStore } from '#net/tls/tls.ts'
import type { Address, Ground, GroundHooks } from '#protocol'
import { type HttpOptions, http } from '#protocols/http'
import { openOwnCertificate } from './own-certificate.ts'

/** What listens. */
export interface Listening {
  readonly listeners: Listeners
  /** The threads that have sessions; undefined where the main one has them. */
  readonly fronts: Fronts | undefined
}

/** What a test lays into the service; no configuration reaches it. */
export interface Hooks {
  readonly intercept: GroundHooks['intercept']
  readonly starttls: GroundHooks['starttls']
  /** Before a recipient is looked for: it may be made. @throws Fault that refuses it */
  recipient(core: Core, address: string): Promise<void>
  /** Decides who may come in. @throws Fault AuthFailed and the like */
  authenticate(core: Core, attempt: Parameters<GroundHooks['authenticate']>[0]): ReturnType<GroundHooks['authenticate']>
}

/** Where each listener that runs is found; `acme` is that for challenges alone. */
export type Listeners = { [Name in ListenerName | 'acme']?: Address }

/**
 * Opens every listener that is enabled.
 *
 * @param api what the API serves
 * @throws Fault PortInUse, ConfigInvalid
 */
export async function listenAll(core: Core, api: HttpOptions, closers: Closers, hooks?: Hooks): Promise<Listening> {
  const open: Listeners = {}
  const opened = (name: keyof Listeners, listener: { close(): unknown; readonly address: Address }) => {
    closers.add(() => listener.close())
    open[name] = { ...listener.address }
  }
  const ground = { ...(await groundOf(core, opened, closers)), hooks: hooks && bound(hooks, core) }
  const web = http(api)
  const claimed = [web, ...mailProtocols].flatMap(protocol => protocol.config)
  assert.deepEqual(
    claimed.toSorted(),
    listeners.toSorted(),
    'each listener of the configuration belongs to one protocol',
  )
  const count = frontsIn(core.config, hooks)
  const inFronts = count > 0 && isForFronts(core.config)
  if (!inFronts) await web.open(core, ground)
  const fronts = await openFronts(core, ground, closers, { count, ...(inFronts && { api }) })
  if (fronts === undefined) for (const protocol of mailProtocols) await protocol.open(core, ground)
  else Object.assign(open, fronts.places)
  if (inFronts) api.onFront?.('node:http')
  const { config, acme } = core
  const plain = splitSocket(config.tls.acme.http)
  if (plain !== undefined) {
    const { hostname } = config
    const { proxyProtocol } = config.web
    const { admission } = ground
    const { challenges } = acme
    opened('acme', await listenForChallenges({ ...plain, hostname, admission, challenges, proxyProtocol }))
  }
  return { listeners: open, fronts: fronts?.opened }
}

/** How many front threads there are to be. A test with hooks has its sessions where it lays its hands on them. */
function frontsIn(config: Core['config'], hooks: Hooks | undefined): number {
  const serves = frontListeners(isForFronts(config)).some(name => config[name].enabled)
  return hooks === undefined && serves ? frontsOf(config.threads) : 0
}

/** uWebSockets.js serves on the main thread alone: who wants HTTP on front threads asks for Node's own. */
function isForFronts({ api }: Core['config']): boolean {
  return api.front === 'node:http'
}

/** The threads that have sessions, and where they listen; undefined where there are none. */
async function openFronts(
  core: Core,
  ground: Ground,
  closers: Closers,
  { count: fronts, api }: { readonly count: number; readonly api?: HttpOptions },
): Promise<{ readonly opened: Fronts; readonly places: Listeners } | undefined> {
  if (fronts === 0) return undefined
  const { config, system, metrics, log, places, recency, pools, counters, sequence, settings, writer, access } = core
  const opened = await Fronts.open({
    ...{ config, fronts, system, metrics, log, places, recency, pools, counters, sequence, settings },
    ...{ admission: ground.admission, tls: ground.tls },
    pair: ground.certificates.own,
    authentication: core.credentials.authentication,
    addressBook: core.addressBook,
    access,
    wrongTokens: new WrongTokens(core.journal),
    endpoint: endpointsByName(api?.endpoints ?? (() => [])),
    http: api && { strict: api.strict },
    changes: writer.changes.shared,
    keys: core.forwardKeys,
    connectionsMax: Math.ceil(ground.admission.connectionsMax * (api === undefined ? limits.front.connectionShare : 1)),
  })
  closers.add(() => opened.close())
  ground.certificates.supply(opened)
  return { opened, places: await opened.listen() }
}

function bound({ intercept, starttls, recipient, authenticate }: Hooks, core: Core): GroundHooks {
  return {
    intercept,
    starttls,
    recipient: address => recipient(core, address),
    authenticate: attempt => authenticate(core, attempt),
  }
}

async function groundOf(core: Core, opened: Ground['opened'], closers: Closers): Promise<Omit<Ground, 'hooks'>> {
  const { config } = core
  const own = await openOwnCertificate(core, closers)
  // A certificate for the host name is the default one where none was chosen in the configuration.
  const initial = own.chosen ? null : { name: config.hostname, pair: own.pair }
  const supply: Ground['certificates']['supply'] = sink => {
    own.follow(sink)
    core.certificates.supply(sink, { initial })
  }
  const tls = new TlsStore(own.pair, config.tls.minVersion)
  supply(tls)
  return {
    admission: admissionOf(core),
    tls,
    certificates: { own: own.pair, supply },
    opened,
  }
}

/** How many may connect: what descriptors are left when everything else has its part. */
function admissionOf({ config, log }: Core): Admission {
  const descriptors = descriptorsMax()
  const connectionsMax = connectionsFor(descriptors)
  if (descriptors < limits.net.descriptorsMax) {
    log.warn({ descriptors, connectionsMax }, 'few files and sockets may be open at once (ulimit -n)')
  }
  return new Admission({
    connectionsMax,
    trusted: rangesOf(config.network.proxies),
    announcing: rangesOf(config.network.proxyProtocol),
  })
}
