// The store and the actors of one data directory, without any listener: what the service is built on, and what tools use
// on a directory that nobody serves. Everything is opened in order and closed in reverse, also when an opening fails
// half-way; one process at a time holds a directory.

import { AcmeHandle } from '#actors/admin/acme.ts'
import { CertificateHandle } from '#actors/admin/certificate.ts'
import { DkimHandle } from '#actors/admin/dkim.ts'
import { Importer } from '#actors/admin/import.ts'
import { SigningKeys } from '#actors/admin/signing-keys.ts'
import { Transfer } from '#actors/admin/transfer.ts'
import { sealUrls } from '#actors/admin/url-sealing.ts'
import { Subscriptions, WebhookHandle } from '#actors/admin/webhook.ts'
import { Welcome } from '#actors/admin/welcome.ts'
import { Access } from '#actors/auth/access.ts'
import { type Credentials, openCredentials } from '#actors/auth/credentials.ts'
import { type Places, SessionPlaces } from '#actors/auth/session-places.ts'
import { AddressBook } from '#actors/delivery/address-book.ts'
import type { ForwardKeys } from '#actors/delivery/forward.ts'
import type { LocalDelivery } from '#actors/delivery/local-delivery.ts'
import type { Rules } from '#actors/delivery/rules.ts'
import { JobWriter } from '#actors/kernel/job-writer.ts'
import { ActorSystem } from '#actors/kernel/system.ts'
import { Recency } from '#actors/mailbox/recency.ts'
import { CountedTraffic, type Traffic } from '#actors/user/traffic.ts'
import type { Cluster } from '#cluster/cluster.ts'
import { joinNodes, openCluster } from '#cluster/open.ts'
import type { Config } from '#config'
import { threadFile, version } from '#lib/build-info.ts'
import { Fault } from '#lib/fault.ts'
import { Journal } from '#lib/journal/journal.ts'
import { isPassing } from '#lib/lasting.ts'
import type { Log } from '#lib/log.ts'
import { type Metrics, makeMetrics } from '#lib/metrics.ts'
import { passingRounds } from '#lib/secret/form.ts'
import { SecretBox } from '#lib/secret/secret-box.ts'
import { UrlSecrets } from '#lib/secret/url-secret.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'
import type { SealTasks } from '#mail/crypt/sealing.ts'
import { openDelivery, openTracer, screeningServers } from '#mail-core'
import { Outward } from '#net/outward/outward.ts'
import { lookUp } from '#net/outward/records.ts'
import { makePools, type Pools } from '#pool'
import { readTemplates } from '#store/accounts/templates.ts'
import { Bodies } from '#store/bodies/bodies.ts'
import { Strays, type StraysOptions } from '#store/bodies/strays.ts'
import { type Duty, dutyOf } from '#store/cluster/duty.ts'
import { requireSameKeys } from '#store/cluster/same-keys.ts'
import type { Singleton } from '#store/cluster/shards.ts'
import { openDatabase } from '#store/engine/open.ts'
import type { Reader } from '#store/engine/reader.ts'
import { makeReads, type Reads } from '#store/engine/reads.ts'
import { Sequence } from '#store/engine/sequence.ts'
import type { Changes } from '#store/engine/watched.ts'
import { Cache } from '#store/folder/cache.ts'
import type { Counters } from '#store/folder/counters.ts'
import { type DirectoryLock, lockDirectory } from '#store/folder/directory-lock.ts'
import { loadKey } from '#store/folder/keys.ts'
import { cacheDir, databaseOf, placeOf } from '#store/folder/place.ts'
import { requireFiles, requireKeys } from '#store/folder/presence.ts'
import { configuredSettings, Settings } from '#store/folder/settings.ts'
import { startWriterThread } from '#store/writer/thread.ts'
import { Writer } from '#store/writer/writer.ts'

/** The store and the actors of one data directory. */
export interface Core {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly writer: Writer
  /** What the loops of src/jobs write with. */
  readonly jobWriter: JobWriter
  readonly read: Reader
  readonly changes: Changes
  readonly sequence: Sequence
  readonly settings: Settings
  readonly bodies: Bodies
  /** What the log says of the traffic. */
  readonly journal: Journal
  readonly tracer: Tracer | undefined
  readonly system: ActorSystem
  readonly access: Access
  /** Who may come in, and how. */
  readonly credentials: Credentials
  /** What may be lost: counters, throttles, challenges. */
  readonly cache: Cache
  /** What filters and autoreplies of accounts decide. */
  readonly rules: Rules
  readonly forwardKeys: ForwardKeys
  readonly delivery: LocalDelivery
  /** Whom accounts have written to or heard from. */
  readonly addressBook: AddressBook
  /** Those of the cache that hold for all nodes. */
  readonly counters: Counters
  /** What one node at a time does; absent where there are no others. */
  readonly duty: (name: Singleton) => Duty | undefined
  /** Sessions of each account. */
  readonly places: Places
  /** Which messages no IMAP session was told of. */
  readonly recency: Recency
  readonly traffic: Traffic
  /** What new accounts find in their INBOX. */
  readonly welcome: Welcome
  /** Accounts on their way out and in. */
  readonly transfer: Transfer
  /** Mail that is moved in. */
  readonly importer: Importer
  /** Small secrets that have to be known again. */
  readonly seal: SecretBox
  readonly webhooks: WebhookHandle
  readonly certificates: CertificateHandle
  /** What fetches certificates remembers. */
  readonly acme: AcmeHandle
  readonly dkim: DkimHandle
  /** Keys that domains have without being asked. */
  readonly signingKeys: SigningKeys
  /** The way out to hosts that users and operators name. */
  readonly outward: Outward
  readonly pools: Pools
  /** Searching and other long reads, on a thread. */
  readonly reads: Reads
  /** The other nodes, where there may be some. */
  readonly cluster: Cluster | undefined
  /** Has the loops of src/jobs look for work. */
  readonly kick: () => void
  /** Called after a commit that carried events; `work` where it left something to do besides. */
  onEvents(listener: (work: boolean) => void): void
  close(): Promise<void>
}

/** Things to undo, run in reverse order; used both when a start fails half-way and on an orderly stop. */
export class Closers {
  readonly #tasks: (() => unknown)[] = []

  add(task: () => unknown): void {
    this.#tasks.push(task)
  }

  /** Runs all of them, also where one fails. @throws what the first met that failed */
  async run(): Promise<void> {
    const failures: unknown[] = []
    for (let task = this.#tasks.pop(); task !== undefined; task = this.#tasks.pop()) {
      try {
        await task()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}

/**
 * Opens a data directory for this process alone.
 *
 * @param@param lock of the directory, where it was taken before
 * @throws Fault DataDirectoryInUse, DataDirectoryUnusable, DatabaseTooNew
 */
export async function openCore(config: Config, log: Log, lock = lockDirectory(config)): Promise<Core> {
  const closers = new Closers()
  try {
    for (const note of lock.notes) log.warn(note)
    return await buildCore(config, log, lock, closers)
  } catch (error) {
    await closers.run()
    throw error
  }
}

async function buildCore(config: Config, log: Log, lock: DirectoryLock, closers: Closers): Promise<Core> {
  const { dataDir } = config
  closers.add(() => lock.release())
  const { journal, metrics, tracer } = openWatchers(config, log, closers)
  const { joined, leases, writer, read } = await openStore(config, log, lock, { metrics, closers })
  const sequence = await Sequence.open(read, config.hostname)
  const settings = await Settings.open(read, configuredSettings(config))
  const bodies = new Bodies(config, read, log)
  closers.add(() => bodies.close())
  const { pools, reads } = openPools(config, log, metrics)
  closers.add(() => pools.close())
  const listeners: ((work: boolean) => void)[] = []
  const kick = (work = true) => listeners.forEach(listener => void listener(work))
  const seal = new SecretBox(loadKey(dataDir, 'seal', ''), sealSalt)
  const secrets = await openUrlSecrets(seal, read, writer)
  const subscriptions = await Subscriptions.open(read, seal, config.webhooks.enabled)
  const wanted = subscriptions.wanted.bind(subscriptions)
  const around = { read, writer, sequence, settings, kick, wanted, learns: learns(config) }
  const system = new ActorSystem(leases === undefined ? around : { ...around, tenancy: leases }, secrets, metrics)
  closers.add(() => system.close())
  const cache = openCache(dataDir, log, { metrics, closers })
  const acme = new AcmeHandle(read, writer, seal)
  const duty = (name: Singleton) => leases && dutyOf(leases, name)
  const jobWriter = new JobWriter(writer, leases && { tenancy: leases, duty: dutyOf(leases, 'queue') })
  subscriptions.share(system.everywhere)
  const cluster = await openCluster(
    joined,
    { system, sequence, settings, read, kick, jobWriter, cache, challenges: acme.challenges },
    { writer, listeners, metrics, closers },
  )
  lookForStrays({ config, duty: duty('expiry'), log, writer, read, bodies }, closers)
  observeBodies(metrics, bodies)
  const webhooks = new WebhookHandle(system.directory, subscriptions, seal)
  const certificates = await CertificateHandle.open(system.directory, seal, system.everywhere)
  const { dkim, signingKeys } = openSigning(config, system, seal)
  const outward = new Outward(config.network)
  const access = openAccess(config, system, writer)
  const parts = { config, log, journal, metrics, system, writer, settings, cache, pools, access, wanted }
  const credentials = openCredentials(parts)
  closers.add(() => credentials.close())
  const seeds = new SecretBox(loadKey(dataDir, 'totp', config.auth.totpSecret))
  const transfer = new Transfer({ dataDir, system, seal: seeds })
  const forwardKeys = forwardKeysOf(config)
  const addressBook = new AddressBook(writer)
  closers.add(() => addressBook.close())
  const { counters, places } = cluster ?? { counters: cache, places: new SessionPlaces() }
  const { rules, delivery } = openDelivery({
    ...{ config, log, system, sequence, settings, bodies, read, reads, pools, addressBook },
    ...{ throttle: counters, keys: forwardKeys, changes: writer.changes },
  })
  const welcome = new Welcome(bodies, sequence, readTemplates(config.mail.welcomeDir))
  return {
    ...{ config, log, journal, tracer, metrics, writer, read, sequence, settings, bodies, system, access },
    ...{ credentials, cache, rules, forwardKeys, delivery, addressBook, welcome, transfer, webhooks, certificates },
    ...{ recency: new Recency(), traffic: new CountedTraffic(cache), seal },
    ...{ acme, dkim, signingKeys, outward, pools, reads, kick, onEvents: listener => void listeners.push(listener) },
    ...{ changes: writer.changes, close: () => closers.run(), jobWriter, cluster, counters, places, duty },
    importer: new Importer({ system, bodies, sequence }),
  }
}

interface Opening {
  readonly metrics: Metrics
  readonly closers: Closers
}

/** The rows, and who writes them. */
async function openStore(config: Config, log: Log, lock: DirectoryLock, { metrics, closers }: Opening) {
  const file = databaseOf(config)
  const joined = await joinNodes(config, log, lock, closers)
  const leases = joined?.leases
  const behind = {
    bodies: config.bodies.url,
    dataDir: config.dataDir,
    ...(leases !== undefined && { node: leases.num }),
  }
  const thread = lock.thread ?? startWriterThread(file, lock.mayBeNew, behind)
  const writer = await Writer.open({ file, log, metrics, thread })
  closers.add(() => writer.close())
  const read = openDatabase(file)
  closers.add(() => read.close())
  const made = writer.opened.made || leases?.made === true
  await requireWhole(config, log, { opened: { ...writer.opened, made } }, read)
  if (leases !== undefined) await requireSameKeys(leases, config.dataDir, keyFilesOf(config))
  metrics.observe('writer_pending', 'Units that wait for a transaction', () => writer.pending)
  return { joined, leases, writer, read }
}

function openCache(dataDir: string, log: Log, { metrics, closers }: Opening): Cache {
  const cache = Cache.open({ dir: cacheDir(dataDir), log })
  closers.add(() => cache.close())
  metrics.observe('cache_entries', 'Counters, marks and challenges in the cache', () => cache.size)
  return cache
}

/** What tells of the service's work. */
function openWatchers(config: Config, log: Log, closers: Closers) {
  const journal = new Journal(log)
  closers.add(() => journal.close())
  const metrics = makeMetrics(version)
  const tracer = openTracer(config, metrics)
  closers.add(() => tracer?.close())
  return { journal, metrics, tracer }
}

/** What passwords in URLs are sealed with; none is in clear from then on. */
async function openUrlSecrets(seal: SecretBox, read: Reader, writer: Writer): Promise<UrlSecrets> {
  const secrets = new UrlSecrets(seal)
  await sealUrls({ read, write: (write, row) => writer.write(write, row), secrets })
  return secrets
}

/** What the database speaks of is there, and what is not is told. @throws Fault DataMissing */
async function requireWhole(
  { dataDir, auth, ...config }: Config,
  log: Log,
  { opened: { made, loss } }: Pick<Writer, 'opened'>,
  read: Reader,
): Promise<void> {
  if (loss !== null) log.error(`${loss}: run \`teal verify\`, and look for what is missing in a backup`)
  if (made) log.info({ dataDir }, 'this data directory is new: nobody has an account here yet')
  else {
    await requireKeys(read, dataDir, { totp: auth.totpSecret !== '' })
    await requireFiles(read, { dataDir, ...config })
  }
}

type Found = Pick<Core, 'writer' | 'config'> & Omit<StraysOptions, 'write' | 'dataDir' | 'keepDays'>

/** Never over a database that was made a moment ago: it knows of no file. */
function lookForStrays({ writer, config, ...found }: Found, closers: Closers): void {
  if (writer.opened.made) return
  const { dataDir, bodies } = config
  const strays = new Strays({
    ...found,
    dataDir,
    keepDays: bodies.keepDays,
    write: (write, row) => writer.write(write, row),
  })
  closers.add(() => strays.close())
}

/** Whether anybody learns from what users move into and out of Junk: the classifier, or another filter that is told. */
function learns({ spam }: Config): boolean {
  return spam.classifier || spam.rspamdController !== ''
}

function openPools(config: Config, log: Log, metrics: Metrics): { pools: Pools; reads: Reads } {
  const pools = makePools({
    log,
    metrics,
    threads: config.pool,
    recall: config.auth.credentialCache,
    dnsServers: screeningServers(config),
    dnsLists: { block: config.spam.blockLists, allow: config.spam.allowLists, uri: config.spam.uriLists },
    reads: { file: threadFile('query'), given: placeOf(config) },
    ...(isPassing(config.dataDir) ? { spares: true, rounds: passingRounds } : {}),
  })
  const reads = makeReads(
    (name, input, options) => {
      if (pools.reads === undefined) return Promise.reject(new Fault('Stopping'))
      return pools.reads.run(name, input, options)
    },
    (name, input, options) => pools.seal.run(name as keyof SealTasks, input as never, options),
  )
  return { pools, reads }
}

/** What signs mail of domains. */
function openSigning(config: Config, { directory }: ActorSystem, seal: SecretBox) {
  const ask = (name: string) => lookUp(name, 'TXT', screeningServers(config))
  return { dkim: new DkimHandle(directory, seal), signingKeys: new SigningKeys(directory, seal, ask) }
}

function openAccess({ api }: Config, system: ActorSystem, writer: Writer): Access {
  return new Access(system, writer, {
    required: api.accessControl.enabled,
    rootToken: api.accessToken,
    ttlMs: api.accessControl.tokenTtl,
    lifetimeMs: api.accessControl.tokenLifetime,
  })
}

/** @throws Fault ConfigInvalid for a key file that holds no key */
function forwardKeysOf({ dataDir, hostname, forward, mail }: Config): ForwardKeys {
  return {
    srs: {
      domain: forward.srsDomain || mail.defaultDomain || hostname,
      secret: loadKey(dataDir, 'srs', forward.srsSecret),
    },
    loopSecret: loadKey(dataDir, 'loop', forward.loopSecret),
    hostname,
  }
}

/** Keys that lie in files of the data directory. */
function keyFilesOf({ auth, forward }: Config): string[] {
  const configured = { seal: '', totp: auth.totpSecret, srs: forward.srsSecret, loop: forward.loopSecret }
  return Object.entries(configured).flatMap(([name, secret]) => (secret === '' ? [name] : []))
}

/** The key file is random, so one salt will do for all that is sealed with it. */
const sealSalt = Buffer.from('stored secrets  ')

function observeBodies(metrics: Metrics, bodies: Bodies): void {
  metrics.observe('body_cache_bytes', 'Bytes of opened messages that are kept in memory', () => bodies.keptBytes)
  metrics.observe('bodies_unreadable', 'Stored messages that could not be read', () => bodies.proof.unreadable)
}
