// The protocols of the service, a line for each, and what their listeners share.
//
// They open in this order and close in reverse. A listener that cannot be opened fails the whole start: a service that is
// half there would be taken for a whole one.

import assert from 'node:assert'
import { type ListenerName, listeners, splitSocket } from '#config'
import type { Closers, Core } from '#core'
import { Fronts, frontsOf } from '#front/fronts.ts'
import { mailProtocols } from '#front/mail-protocols.ts'
import { limits } from '#lib/limits.ts'
import { rangesOf } from '#lib/network.ts'
import { Admission } from '#net/admission.ts'
import { connectionsFor, descriptorsMax } from '#net/descriptors.ts'
import { listenForChallenges } from '#net/tls/challenge-listener.ts'
import { TlsStore } from '#net/tls/tls.ts'
import type { Address, Ground, GroundHooks, Protocol } from '#protocol'
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

/** Where the actors live; the mail protocols may be on other threads. */
const homeProtocols = (api: HttpOptions): readonly Protocol<Core>[] => [http(api)]

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
  const here = homeProtocols(api)
  const claimed = [...here, ...mailProtocols].flatMap(protocol => protocol.config)
  assert.deepEqual(
    claimed.toSorted(),
    listeners.toSorted(),
    'each listener of the configuration belongs to one protocol',
  )
  for (const protocol of here) await protocol.open(core, ground)
  const mail = await openMail(core, ground, closers)
  Object.assign(open, mail.listeners)
  const { config, acme } = core
  const plain = splitSocket(config.tls.acme.http)
  if (plain !== undefined) {
    const { hostname } = config
    const { proxyProtocol } = config.web
    const { admission } = ground
    const { challenges } = acme
    opened('acme', await listenForChallenges({ ...plain, hostname, admission, challenges, proxyProtocol }))
  }
  return { listeners: open, fronts: mail.fronts }
}

/** The mail protocols: in front threads, or here where there are none. */
async function openMail(core: Core, ground: Ground, closers: Closers): Promise<Listening> {
  const { config, system, metrics, log, places, recency, pools, cache, sequence, writer } = core
  const fronts = frontsOf(config.threads)
  const wanted = mailProtocols.some(protocol => protocol.config.some(name => config[name].enabled))
  if (fronts === 0 || !wanted || ground.hooks !== undefined) {
    for (const protocol of mailProtocols) await protocol.open(core, ground)
    return { listeners: {}, fronts: undefined }
  }
  const opened = await Fronts.open({
    ...{ config, fronts, system, metrics, log, places, recency, pools, cache, sequence },
    ...{ admission: ground.admission, tls: ground.tls },
    pair: ground.certificates.own,
    authentication: core.credentials.authentication,
    addressBook: core.addressBook,
    changes: writer.changes.shared,
    keys: core.forwardKeys,
    connectionsMax: Math.ceil(ground.admission.connectionsMax * limits.front.connectionShare),
  })
  closers.add(() => opened.close())
  ground.certificates.supply(opened)
  return { listeners: await opened.listen(), fronts: opened }
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
