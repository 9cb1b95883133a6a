// A front thread: listeners and sessions of the mail protocols, with readers of its own, over actors that live elsewhere.
//
// Promises: it serves nothing before it is told to listen; its log, counters and certificates are the service's; when home
// is gone it ends.

import pino from 'pino'
import type { TlsSink } from '#actors/admin/certificate.ts'
import { Callers } from '#actors/auth/callers.ts'
import { Grants } from '#actors/auth/grant.ts'
import { GatheredTraffic } from '#actors/user/traffic.ts'
import { Away } from '#http/elsewhere/away.ts'
import type { WrongTokens } from '#http/guard/wrong-tokens.ts'
import { version } from '#lib/build-info.ts'
import { halt } from '#lib/clock.ts'
import { Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import { type Log, logOptions } from '#lib/log.ts'
import { makeMetrics, observeThread } from '#lib/metrics.ts'
import { rangesOf } from '#lib/network.ts'
import { collectWhileQuiet } from '#lib/process/heap.ts'
import { type LineEnd, Link } from '#lib/process/link.ts'
import { type MailCore, openDelivery, openTracer } from '#mail-core'
import { Admission } from '#net/admission.ts'
import { type KeyPair, TlsStore } from '#net/tls/tls.ts'
import type { Ground } from '#protocol'
import { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { makeReads, type ReadOptions } from '#store/engine/reads.ts'
import { Changes } from '#store/engine/watched.ts'
import { configuredSettings, Settings } from '#store/folder/settings.ts'
import { mailProtocols } from './mail-protocols.ts'
import type {
  FrontCalls,
  FrontData,
  FrontWords,
  HomeCalls,
  HomeWords,
  Places,
  PoolName,
  Ports,
  Suffering,
} from './protocol.ts'
import { type HomeLine, RemoteActors, RemoteCounters, RemoteNumbers } from './remote.ts'

/** Runs a front until its line to home is closed. @param read is closed with it */
export function runFront(line: LineEnd, data: FrontData, read: Reader): void {
  const { config } = data
  const open: { close(): unknown }[] = []
  const certificates = new Certificates(data.pair)
  const tls = new TlsStore(data.pair, config.tls.minVersion)
  certificates.supply(tls)
  const metrics = makeMetrics(version, { part: true })
  observeThread(metrics, `front-${data.number}`)
  const collecting = collectWhileQuiet()
  /** Changes that home does not know are heard. */
  let heard = 0
  const home: HomeLine = new Link<FrontCalls, FrontWords, HomeCalls, HomeWords>(line, {
    calls: {
      async ready() {
        await core.settings.load(core.read)
        await core.sequence.open()
      },
      async listen(ports) {
        const places: Places = {}
        const opened: Ground['opened'] = (name, listener) => {
          open.push(listener)
          places[name] = listener.address
        }
        await openListeners({ home, core, away, data }, { ...shared, opened }, ports)
        return places
      },
      piece: number => away.piece(number),
      whole: number => away.whole(number),
      guarded: said => core.system.guarded(said),
      setting: ({ key, value }) => core.settings.apply(key, value),
      metrics: () => metrics.registry.getMetricsAsJSON(),
      async close() {
        collecting.cancel()
        await Promise.all(open.map(listener => listener.close()))
        await closeCore(core)
      },
      ping() {},
    },
    words: {
      changed(said) {
        core.system.changed(said)
        heard += 1
        if (heard < data.noticesTold) return
        home.tell('heard', heard)
        heard = 0
      },
      dropBody: number => away.drop(number),
      suffer,
      certificate: said => certificates.say(said),
    },
  })
  const away = new Away({
    ask: asked => home.call('ask', asked),
    pull: number => home.call('pull', number),
    leave: number => home.tell('leaveAnswer', number),
  })
  const core = frontCore(home, data, { metrics, read })
  const shared = sharedGround(data, tls, certificates)
}

/** What listeners of a front stand on, whatever they speak. */
function sharedGround(data: FrontData, tls: TlsStore, certificates: Certificates): Omit<Ground, 'opened'> {
  const { network } = data.config
  return {
    admission: new Admission({
      connectionsMax: data.connectionsMax,
      trusted: rangesOf(network.proxies),
      announcing: rangesOf(network.proxyProtocol),
    }),
    tls,
    certificates,
    hooks: undefined,
    share: data.fronts === 1 ? 1 : limits.front.share / data.fronts,
  }
}

interface Opening {
  readonly home: HomeLine
  readonly core: FrontCore
  readonly away: Away
  readonly data: FrontData
}

async function openListeners({ home, core, away, data }: Opening, ground: Ground, ports: Ports): Promise<void> {
  const placed = { ...core, config: onPorts(data.config, ports) }
  for (const protocol of mailProtocols) await protocol.open(placed, ground)
  if (data.http === undefined) return
  const { openApi } = await import('./api.ts')
  const { journal, callers } = core
  // Told of once, whichever thread they come to.
  const wrongTokens: Pick<WrongTokens, 'note'> = {
    note: (token, address, route) => journal.on && home.tell('wrongToken', { token, address, route }),
  }
  await openApi({ core: placed, callers, wrongTokens, away, ...data.http }, ground)
}

/** The certificates that home tells of, for each listener. */
class Certificates {
  /** Shown where no name is asked for. */
  readonly own: KeyPair
  readonly #pairs = new Map<string, KeyPair>()
  readonly #sinks = new Set<TlsSink>()

  constructor(own: KeyPair) {
    this.own = own
  }

  /** As of Ground. */
  supply(sink: TlsSink): void {
    this.#sinks.add(sink)
    for (const [name, { key, cert }] of this.#pairs) sink.update([name], key, cert)
  }

  say({ names, pair }: FrontWords['certificate']): void {
    for (const name of names) {
      if (pair === null) this.#pairs.delete(name)
      else this.#pairs.set(name, pair)
    }
    for (const sink of this.#sinks) {
      if (pair !== null) sink.update(names, pair.key, pair.cert)
      else for (const name of names) sink.remove(name)
    }
  }
}

async function closeCore({ bodies, traffic, journal, tracer, grants, read }: FrontCore): Promise<void> {
  await bodies.close()
  await tracer?.close()
  traffic.flush()
  journal.close()
  grants.close()
  read.close()
}

function suffer(what: Suffering): void {
  if (what === 'hang') for (;;);
  if (what === 'memory') for (let all: unknown; ; ) all = { all }
  halt(what.stallMs)
}

/** The configuration with ports that others listen on already. */
function onPorts(config: FrontData['config'], ports: Ports): FrontData['config'] {
  const moved = Object.entries(ports).map(([name, port]) => [name, { ...config[name as keyof Ports], port }])
  return { ...config, ...Object.fromEntries(moved) }
}

type FrontCore = MailCore & {
  readonly system: RemoteActors
  readonly sequence: RemoteNumbers
  readonly grants: Grants
  readonly traffic: GatheredTraffic
  readonly read: Reader
  readonly callers: Callers
}

/** What this thread has of its own. */
type Own = Pick<MailCore, 'metrics'> & { readonly read: Reader }

/** What the sessions of this thread stand on. */
function frontCore(home: HomeLine, { config, changes, keys }: FrontData, { metrics, read }: Own): FrontCore {
  const log = logOver(home, config.log.level)
  const changed = new Changes(changes)
  const system = new RemoteActors(home, read)
  const counters = new RemoteCounters(home)
  const sequence = new RemoteNumbers(home, config.hostname)
  const settings = new Settings(configuredSettings(config))
  const { accessControl, accessToken: rootToken } = config.api
  const extend = (hash: string, expires: number) => home.call('extend', { hash, expires })
  const callers = new Callers({ read, changes: changed, extend }, { required: accessControl.enabled, rootToken })
  const bodies = new Bodies(config, read, log, { alone: false })
  const grants = new Grants(system, () => changed.doubts)
  const pool =
    (pool: PoolName) =>
    (name: string, given: unknown, options: ReadOptions = {}) => {
      const { turnKey = '', deadlineMs, signal } = options
      return home.call(
        'pool',
        { pool, name, given, turnKey, ...(deadlineMs !== undefined && { deadlineMs }) },
        { signal },
      )
    }
  const reads = makeReads(pool('reads'), pool('seal'))
  const run = pool('patterns')
  const patterns = {
    run: (task: unknown, options?: object) => run('run', task, options),
    each: (task: unknown, options?: object) => run('each', task, options),
  } as unknown as DeliveryPools['patterns']
  const addressBook = {
    note: (user: number, addresses: HomeAddresses, used: number, known = false) =>
      home.tell('correspond', { user, addresses, used, known }),
  }
  const { delivery } = openDelivery({
    ...{ config, log, system, sequence, settings, bodies, read, reads, addressBook, keys },
    ...{ throttle: counters, changes: changed, pools: { patterns, spam: over<DeliveryPools['spam']>(pool('spam')) } },
  })
  return {
    journal: new Journal(log),
    tracer: openTracer(config, metrics),
    changes: changed,
    traffic: new GatheredTraffic(counters),
    ...{ config, log, metrics, system, bodies, sequence, settings, reads, counters, delivery, grants, read, callers },
    pools: { verify: over<MailCore['pools']['verify']>(pool('verify')) },
    credentials: {
      authentication: {
        authenticate: (attempt: HomeCalls['authenticate']['input']) => home.call('authenticate', attempt),
      },
      grants,
    },
    places: {
      enter: async (user, max) => void (await home.call('enter', { user, max })),
      left: user => home.tell('left', user),
    },
    recency: {
      from: (_, mailbox) => home.call('recent', { mailbox, uidNext: null }),
      claim: (_, mailbox, uidNext) => home.call('recent', { mailbox, uidNext }),
      keep: ({ id: user }, mailbox) => home.tell('keepRecent', { user, mailbox }),
    },
  }
}

type DeliveryPools = Parameters<typeof openDelivery>[0]['pools']

/** What runs tasks of a pool at home, by the types it has there. */
function over<Pool>(run: unknown): Pool {
  return { run } as Pool
}

type HomeAddresses = Parameters<Parameters<typeof openDelivery>[0]['addressBook']['note']>[1]

/** A log whose lines are written at home. */
function logOver(home: HomeLine, level: MailCore['config']['log']['level']): Log {
  const stream = {
    write(line: string) {
      const { level, msg, time, ...fields } = JSON.parse(line) as { level: 'info'; msg?: string; time?: string }
      home.tell('log', { level, fields, text: msg ?? '' })
    },
  }
  return pino(logOptions(level), stream)
}
