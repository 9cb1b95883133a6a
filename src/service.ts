// The composition root: builds everything in order, hands out only what is needed, closes in reverse.
//
// The store and the actors come from core.ts, the listeners from listeners.ts; here the jobs are added and everything is
// put together. `openService` is the whole service of one configuration. `startTeal` is the library entry: a whole service
// inside somebody's test run, on free ports and a temporary directory, that leaves nothing behind when closed.

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { type Config, type ConfigPart, hasShortToken, listeners, loadConfig } from '#config'
import { Closers, type Core, openCore } from '#core'
import { apiEndpoints } from '#http/api/endpoints.ts'
import { listenControl } from '#http/control.ts'
import type { Endpoint } from '#http/endpoint.ts'
import { intercepted } from '#http/guard/intercepted.ts'
import { RequestCounters } from '#http/request-counters.ts'
import type { HttpServer } from '#http/server.ts'
import { Acme } from '#jobs/acme/acme.ts'
import { startRelay } from '#jobs/relay/relay.ts'
import { handleBounces } from '#jobs/returned/bounce-reading.ts'
import { handleAccountTasks } from '#jobs/tasks/account-tasks.ts'
import { startAudits } from '#jobs/tasks/audits.ts'
import { Backups } from '#jobs/tasks/backups.ts'
import { startExpiry } from '#jobs/tasks/expiry.ts'
import { Sampling } from '#jobs/tasks/figures.ts'
import { forgettingLoop } from '#jobs/tasks/forgetting.ts'
import { indexingLoop } from '#jobs/tasks/indexing.ts'
import { handleMailImports } from '#jobs/tasks/mail-imports.ts'
import { handleMessageTasks } from '#jobs/tasks/message-tasks.ts'
import { handleArrivedReports } from '#jobs/tasks/report-reading.ts'
import { signingLoop } from '#jobs/tasks/signing-keys.ts'
import { learningLoop } from '#jobs/tasks/spam-learning.ts'
import { Tasks } from '#jobs/tasks/tasks.ts'
import { startWebhooks } from '#jobs/webhooks/webhooks.ts'
import { version } from '#lib/build-info.ts'
import { holding } from '#lib/clock.ts'
import { putFile } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import { type Log, makeLog } from '#lib/log.ts'
import { workInBackground } from '#lib/process/background.ts'
import { isPipe } from '#lib/process/socket-path.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { Header } from '#mail/header/header.ts'
import { isSealed } from '#mail/spam/spam-text.ts'
import { screeningServers } from '#mail-core'
import { lookUp } from '#net/outward/records.ts'
import { teachRspamd } from '#net/outward/rspamd.ts'

import { findToken } from '#store/accounts/tokens.ts'
import { countSigningKeys, keyState } from '#store/domains/signing-key.ts'
import type { DirectoryLock } from '#store/folder/directory-lock.ts'
import { controlFile, rootTokenFile, runFile } from '#store/folder/place.ts'
import { makeTemporary } from '#store/folder/temporary.ts'
import { verifyStore } from '#store/upkeep/verify.ts'
import { type Hooks, type Listeners, type Listening, listenAll } from './listeners.ts'
import { apiDeps } from './service-api.ts'
import { observeQueue, observeStore, observeThreads } from './service-figures.ts'
import { countSessions, tellDomains } from './service-reports.ts'

export interface Service {
  readonly config: Config
  /** The store and the actors behind it, for tools that run in the same process. */
  readonly core: Core
  /** Where each listener that runs is found. */
  readonly listeners: Readonly<Listeners>
  /** The threads that have sessions, where the main one has none. */
  readonly fronts: Listening['fronts']
  /** Every broken invariant of the store; empty when all is well. */
  check(): Promise<string[]>
  /** Drains and stops; nothing acknowledged is lost. */
  close(): Promise<void>
}

export interface ServiceOptions {
  /** Answers over HTTP that their documentation does not describe become errors; for tests of the service itself. */
  readonly strict?: boolean
  /** Nothing this process opens for a service keeps it alive; for programs that have a service inside of them. */
  readonly background?: boolean
  /** For tests with a service, not of it. */
  readonly hooks?: Hooks
  /** Of the data directory, where it was taken before. */
  readonly lock?: DirectoryLock
}

/** Starts the whole service; resolves when every listener is up and run.json says so. */
export async function openService(config: Config, log: Log, options: ServiceOptions = {}): Promise<Service> {
  const closers = new Closers()
  try {
    const core = await openCore(config, log, options.lock)
    closers.add(() => core.close())
    await provideRootToken(core)
    observeStore(core)
    await deliverEvents(core, closers)
    const { hooks } = options
    // A test sends as much as it likes.
    if (hooks !== undefined) await core.settings.apply('const:sender:burst', 0)
    if (hooks === undefined) await sendMail(core, closers, config.outbound.relay)
    const tasks = startJobs(core, closers)
    const backups = keepBackups(core, closers)
    const endpoints = endpointsOf(core, tasks, backups)
    let front: HttpServer['front'] | undefined
    const onFront = (chosen: HttpServer['front']) => {
      front = chosen
    }
    const served = hooks === undefined ? endpoints : () => intercepted(endpoints(), hooks.intercept)
    const api = { endpoints: served, strict: options.strict === true, onFront }
    const { listeners: open, fronts } = await listenAll(core, api, closers, hooks)
    observeThreads(core, fronts)
    // What leaves comes back: every recipient of a test is here.
    if (hooks !== undefined) await sendMail(core, closers, ownUrl(open))
    fetchCertificates(core, closers)
    await listenToOwner(core, endpoints, closers)
    writeRunFile(config.dataDir, open)
    closers.add(() => rmSync(runFile(config.dataDir), { force: true }))
    if (hasShortToken(config)) log.warn('api.accessToken is short: whoever can reach the API from here may guess it')
    log.info({ listeners: open, front, version }, 'ready')
    return {
      config,
      core,
      listeners: open,
      fronts,
      check: () => verifyStore(core.read, config, true, { totp: config.auth.totpSecret !== '' }),
      close: () => closers.run(),
    }
  } catch (error) {
    await closers.run()
    throw error
  }
}

/**
 * Opens a data directory without serving it: whoever owns it finds the whole API on its socket, and nobody else anything.
 * Nothing is done in the background; what is to be done waits for the service.
 */
export async function openQuietly(config: Config, log: Log): Promise<{ close(): Promise<void> }> {
  const closers = new Closers()
  try {
    const core = await openCore(config, log)
    closers.add(() => core.close())
    const { read, jobWriter: writer, metrics } = core
    const tasks = new Tasks({ read, writer, log, metrics })
    closers.add(() => tasks.close())
    await listenToOwner(core, endpointsOf(core, tasks), closers)
    return { close: () => closers.run() }
  } catch (error) {
    await closers.run()
    throw error
  }
}

/** The API's, made when they are asked for and once. */
function endpointsOf(core: Core, tasks: Tasks, backups?: Backups): () => readonly Endpoint[] {
  let made: readonly Endpoint[] | undefined
  return () => {
    made ??= apiEndpoints(apiDeps(core, tasks, backups))
    return made
  }
}

/** The socket of the command line. The service runs without it where there can be none. */
async function listenToOwner(core: Core, endpoints: () => readonly Endpoint[], closers: Closers): Promise<void> {
  const { config, log, journal, metrics, importer } = core
  const file = controlFile(config.dataDir)
  const deps = { importer, messageBytesMax: config.mail.maxSize }
  try {
    const counters = new RequestCounters(metrics)
    const server = await listenControl({ file, endpoints, deps, log, journal, counters, front: config.api.front })
    closers.add(async () => {
      await server.close()
      if (!isPipe(file)) rmSync(file, { force: true })
    })
  } catch (error) {
    log.warn({ error, file }, 'the command line cannot reach this service')
  }
}

/** Starts the delivery of events, unless the configuration lets them gather. */
async function deliverEvents(core: Core, closers: Closers): Promise<void> {
  const { config, read, jobWriter: writer, webhooks: handle, outward, log, metrics } = core
  if (!config.webhooks.enabled) return
  const { hostname } = config
  const timeoutMs = config.webhooks.timeout
  const delivery = startWebhooks({ read, writer, handle, outward, log, metrics, timeoutMs, hostname, version })
  closers.add(() => delivery.close())
  core.onEvents(delivery.kick)
}

/** Starts sending queued mail; what leaves the service gathers where the configuration says so. */
async function sendMail(core: Core, closers: Closers, way: string): Promise<void> {
  observeQueue(core)
  const counts = countSessions(core, closers)
  const { config, read, jobWriter, sequence, settings, bodies, delivery, outward, log, dkim, webhooks, forwardKeys } =
    core
  const relay = startRelay({
    ...{ read, writer: jobWriter, sequence, settings, bodies, delivery, outward, log, version },
    secrets: core.system.secrets,
    hostname: config.hostname,
    metrics: core.metrics,
    journal: core.journal,
    tracer: core.tracer,
    away: config.outbound.enabled,
    relay: way,
    port: config.outbound.port,
    dane: config.outbound.dane,
    dnsServers: config.network.dnsServers,
    source: config.outbound.source || undefined,
    srs: forwardKeys.srs,
    postmaster: config.mail.postmaster,
    findKeys: domain => dkim.findSigningKeys(domain),
    wanted: name => webhooks.subscriptions.wanted(name),
    kick: core.kick,
    counts,
  })
  closers.add(() => relay.close())
  core.onEvents(() => relay.kick())
  tellDomains(core, closers)
}

/** The service's own port for mail of others, as a relay. */
function ownUrl({ smtp }: Listeners): string {
  return smtp === undefined ? '' : `smtp://127.0.0.1:${smtp.port}`
}

/** Starts taking backups where the configuration says where to. */
function keepBackups({ config, log, metrics }: Core, closers: Closers): Backups | undefined {
  const { dataDir, backup } = config
  if (backup.folder === '') return undefined
  const backups = new Backups({ dataDir, ...backup, log, metrics })
  closers.add(() => backups.close())
  return backups
}

/** Starts fetching certificates where the configuration asks for it. That it fails keeps nobody from starting. */
function fetchCertificates(core: Core, closers: Closers): void {
  const { config, read, acme: handle, certificates, outward, log, metrics } = core
  const { acme: settings } = config.tls
  if (!settings.enabled) return
  const names = settings.names.length > 0 ? settings.names : [config.hostname]
  const acme = new Acme({
    read,
    handle,
    certificates,
    outward,
    log,
    metrics,
    version,
    names,
    settings,
    duty: core.duty('acme'),
  })
  closers.add(() => acme.close())
  core.onEvents(() => acme.kick())
}

/** Tells rspamd what users say, where it is to be told. */
function teacherOf({ config: { spam }, bodies }: Core) {
  const { rspamdController: url, rspamdPassword: password } = spam
  if (url === '') return undefined
  return async (num: number, isSpam: boolean) => {
    const body = await bodies.open(num)
    const message = await body.read(0, Math.min(body.size, limits.spam.scannedBytesMax))
    if (!isSealed(new Header(message).raw('content-type') ?? '')) await teachRspamd(url, password, message, isSpam)
  }
}

/** Starts what works on rows by itself; others may add who does tasks of their kind before the first is due. */
function startJobs(core: Core, closers: Closers): Tasks {
  const { read, jobWriter: writer, log, metrics, reads } = core
  const tasks = new Tasks({ read, writer, log, metrics })
  closers.add(() => tasks.close())
  handleMessageTasks(tasks, core)
  handleAccountTasks(tasks, core)
  handleMailImports(tasks, core)
  const texts = (name: string) => lookUp(name, 'TXT', screeningServers(core.config))
  handleArrivedReports(tasks, { ...core, writer, texts })
  const { secret } = core.forwardKeys.srs
  handleBounces(tasks, { ...core, writer, secret, wanted: name => core.webhooks.subscriptions.wanted(name) })
  const audits = startAudits(tasks, core)
  closers.add(() => audits.close())
  const indexing = indexingLoop({ read, writer, reads, log, metrics })
  closers.add(() => indexing.close())
  const pool = core.config.spam.classifier ? core.pools.spam : undefined
  const learning = learningLoop({ read, writer, pool, teach: teacherOf(core), log, metrics })
  closers.add(() => learning.loop.close())
  metrics.observe('spam_marks_waiting', 'Messages moved into or out of Junk that wait to be learned', learning.waiting)
  signDomains(core, closers)
  const sampling = new Sampling({ read, writer, metrics, log })
  closers.add(() => sampling.close())
  const expiry = startExpiry({ ...core, duty: core.duty('expiry') })
  closers.add(() => expiry.close())
  const forgetting = forgettingLoop({ ...core, writer })
  closers.add(() => forgetting.close())
  forgetting.kick()
  tasks.start()
  core.onEvents(work => {
    if (work) tasks.kick()
  })
  indexing.kick()
  learning.loop.kick()
  return tasks
}

/** Keeps the keys that domains have without being asked, where they are to have some. */
function signDomains({ config, read, signingKeys, metrics, log, duty }: Core, closers: Closers): void {
  if (!config.dkim.automatic) return
  const loop = signingLoop(signingKeys, log, metrics, duty('acme'))
  closers.add(() => loop.close())
  metrics.observeEach('dkim_keys', 'Keys that domains have without being asked', 'state', async () => {
    const counts = await countSigningKeys(read)
    return Object.entries(keyState).map(([name, state]): [string, number] => [name, counts.get(state) ?? 0])
  })
  loop.kick()
}

export interface Teal extends Service {
  /** A token of role root. */
  readonly rootToken: string
  /** Base address of the HTTP API. */
  readonly url: string
}

/** Every listener on a free port. */
const freePorts: ConfigPart = Object.fromEntries(listeners.map(name => [name, { port: 0 }]))

/**
 * Runs a whole service in this process. Without `dataDir` it gets a temporary directory that is removed when it closes;
 * without ports it takes free ones; it logs nothing, and serves all protocols on the thread it is called on, unless told to.
 * Several may run at once.
 *
 * @param options any part of the configuration
 */
export async function startTeal(options: ConfigPart = {}, how: ServiceOptions = {}): Promise<Teal> {
  if (how.background === true) workInBackground()
  return holding(() => start(options, how))
}

async function start(options: ConfigPart, how: ServiceOptions): Promise<Teal> {
  const temporary = options.dataDir === undefined ? await makeTemporary() : undefined
  const dataDir = temporary?.dataDir ?? String(options.dataDir)
  try {
    const flags = merge(merge({ hostname: 'localhost', log: { level: 'silent' }, threads: 0 }, freePorts), {
      ...options,
      dataDir,
    })
    const config = loadConfig({ flags })
    const service = await openService(config, makeLog(config.log.level, 1, config.log), how)
    const api = service.listeners.api
    const url = api === undefined ? '' : `http${config.api.secure ? 's' : ''}://${api.host}:${api.port}`
    const end = async () => {
      await service.close()
      await temporary?.remove()
    }
    return {
      ...service,
      url,
      rootToken: readFileSync(rootTokenFile(dataDir), 'utf8').trim(),
      check: () => holding(service.check),
      close: () => holding(end),
    }
  } catch (error) {
    await temporary?.remove()
    throw error
  }
}

function merge(base: ConfigPart, over: ConfigPart): ConfigPart {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    const both = isSection(below) && isSection(value)
    merged[key] = both ? merge(below as ConfigPart, value as ConfigPart) : value
  }
  return merged as ConfigPart
}

function isSection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The first start makes a token of role root and says where it lies, never what it is. */
async function provideRootToken(core: Core): Promise<void> {
  const file = rootTokenFile(core.config.dataDir)
  if (existsSync(file)) {
    const known = await findToken(core.read, tokenDigest(readFileSync(file, 'utf8').trim()))
    if (known !== undefined) return
  }
  const { token } = await core.access.provision('first root token', 'root')
  putFile(file, `${token}\n`, 0o600)
  core.log.info({ file }, 'made a root token')
}

function writeRunFile(dataDir: string, listeners: Service['listeners']): void {
  const file = runFile(dataDir)
  const text = JSON.stringify({ pid: process.pid, version, listeners }, null, 2)
  putFile(file, `${text}\n`, 0o600)
}
