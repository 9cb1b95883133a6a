// Whether a service that is set up does its work: its listeners, the certificate they show, the queue, backups, and which version
// runs.
//
// Listeners are asked as anybody could ask them; what only the service knows is asked over its socket.

import type { Config } from '#config'
import { version } from '#lib/build-info.ts'
import { now } from '#lib/clock.ts'
import { reasonOf } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { greeting, shownCertificate } from '#net/outward/probe.ts'
import { openObjects } from '#store/bodies/objects/parts.ts'
import { openDatabase } from '#store/engine/open.ts'
import { shownAddress } from '#store/engine/postgres/address.ts'
import { createdOf, listPoints } from '#store/upkeep/points.ts'
import type { Reach } from '../reach.ts'
import { type Finding, good, unknown, warning, wrong } from './finding.ts'
import type { Run } from './run.ts'

export function lookAtVersion(run: Run | undefined): Finding {
  if (run === undefined) {
    const advice = 'Start it: systemctl start teal, or teal serve with the same settings.'
    return wrong('service', 'The service does not run.', { advice })
  }
  if (run.version === version) return good('service', `The service runs (${version}).`)
  const advice = 'Restart it: systemctl restart teal.'
  return warning('service', `Version ${run.version} runs, and ${version} is installed.`, { advice })
}

/** Each listener answers as it should. */
export async function lookAtListeners({ listeners }: Run): Promise<Finding[]> {
  const talking = /^(smtp|lmtp|submission|imap|pop3)$/
  return Promise.all(
    Object.entries(listeners).map(async ([name, { host, port }]) => {
      const speaks = talking.test(name)
      const said = await greeting(reachable(host), port, speaks)
      const fine = said !== undefined && (!speaks || /^(220|\* OK|\+OK)/.test(said))
      if (fine) return good('listener', `${name} answers on port ${port}.`, { subject: name })
      const advice = 'Look into the log (journalctl -u teal) and restart the service.'
      return wrong('listener', `${name} does not answer on port ${port}.`, { subject: name, advice })
    }),
  )
}

/** What mail programs are shown for the host name. */
export async function lookAtCertificate({ hostname, tls }: Config, { listeners }: Run): Promise<Finding> {
  const place = listeners.imaps ?? listeners.submissions ?? listeners.pop3s
  if (place === undefined) return unknown('certificate', 'No listener speaks TLS from the start.')
  const shown = await shownCertificate(reachable(place.host), place.port, hostname)
  if (shown === undefined) return wrong('certificate', `Port ${place.port} does not speak TLS.`)
  const until = new Date(shown.expires).toISOString().slice(0, 10)
  const fetch = tls.acme.enabled
    ? 'Look into the log for why none was fetched: port 80 must be reached under the name.'
    : 'Set tls.acme.enabled and tls.acme.termsAgreed, or tls.cert and tls.key.'
  if (shown.selfSigned) return wrong('certificate', 'It is one that no mail program trusts.', { advice: fetch })
  if (shown.expires < now()) return wrong('certificate', `It ended on ${until}.`, { advice: fetch })
  if (!shown.names.some(name => covers(name, hostname))) {
    return wrong('certificate', `It is for ${shown.names.join(', ')} and not for ${hostname}.`, { advice: fetch })
  }
  if (shown.expires - now() < limits.probe.certificateMsMin) {
    return wrong('certificate', `It ends on ${until} and should have been renewed.`, { advice: fetch })
  }
  return good('certificate', `Good for ${hostname} until ${until}.`)
}

function covers(name: string, hostname: string): boolean {
  const wanted = hostname.toLowerCase()
  const known = name.toLowerCase()
  return known === wanted || (known.startsWith('*.') && wanted.split('.').slice(1).join('.') === known.slice(2))
}

export async function lookAtQueue(to: Pick<Reach, 'call'>): Promise<Finding> {
  const queue = await to.call<{ waiting: number; deferred: number; oldest: string | false }>('GET', '/outbound')
  const age = queue.oldest === false ? 0 : now() - Date.parse(queue.oldest)
  const hours = Math.floor(age / limits.time.hour)
  const told = `${queue.waiting} recipients wait, the first for ${hours} hours`
  const advice = 'See what hosts say: teal queue list, teal trace <id>.'
  if (age > limits.probe.queueWrongMs) return wrong('queue', `${told}.`, { advice })
  if (age > limits.probe.queueWarnMs) return warning('queue', `${told}.`, { advice })
  return good('queue', queue.waiting === 0 ? 'Nothing waits to be sent.' : `${told}.`)
}

/** Accounts that are held back since they sent far more than they do. */
export async function lookAtSenders(to: Pick<Reach, 'call'>): Promise<Finding> {
  const { results } = await to.call<{ results: readonly { user: string; address: string }[] }>(
    'GET',
    '/outbound/paused',
  )
  const [first] = results
  if (first === undefined) return good('senders', 'No account is held back.')
  const others = results.length === 1 ? '' : ` and ${results.length - 1} more`
  const advice = `See what it sent: teal queue list --user ${first.user}; let it go on: teal queue resume ${first.user}.`
  return wrong('senders', `${first.address}${others} may not send: far more than usual was sent at once.`, { advice })
}

/** Whether the database behind an address answers; undefined where it is a file in the data directory. */
export async function lookAtDatabase(config: Pick<Config, 'store'>): Promise<Finding | undefined> {
  const { url } = config.store
  if (url === '') return undefined
  const read = openDatabase(url)
  try {
    await read.prove()
    return good('database', `The database at ${shownAddress(url)} answers.`)
  } catch (error) {
    const advice = 'See whether it runs, and whether it lets the user of store.url in.'
    return wrong('database', `The database at ${shownAddress(url)} does not answer${why(error)}.`, { advice })
  } finally {
    read.close()
  }
}

/** Whether the store of large parts lets us in; undefined where there is none. */
export async function lookAtObjects(config: Pick<Config, 'bodies'>): Promise<Finding | undefined> {
  const objects = openObjects(config)
  if (objects === undefined) return undefined
  const { url } = config.bodies
  try {
    await objects.prove()
    return good('objects', `The store at ${url} takes, gives, lists and removes.`)
  } catch (error) {
    const advice = 'See whether it runs, and whether the key of bodies may list the bucket, get, put and delete.'
    return wrong('objects', `The store at ${url} does not answer as it should${why(error)}.`, { advice })
  } finally {
    await objects.close()
  }
}

function why(error: unknown): string {
  const reason = error instanceof Error ? reasonOf(error) : ''
  return reason === '' ? '' : ` (${reason})`
}

/** Backups of a database behind an address are taken there. */
export function backupsElsewhere(url: string): Finding {
  const advice = 'They are yours to take: pg_dump or pg_basebackup, and the folder keys of the data directory.'
  return unknown('backup', `Copies of the database at ${shownAddress(url)} are not seen from here.`, { advice })
}

/** How old the newest backup is, of one moment or of several. */
export async function lookAtBackups(folder: string, ageMsMax: number = limits.probe.backupMs): Promise<Finding> {
  const advice = 'Set backup.folder, and the service takes them by itself.'
  if (folder === '') return warning('backup', 'Nothing says where backups are kept (--backup <folder>).', { advice })
  const [newest] = await listPoints(folder)
  const created = newest?.created ?? createdOf(folder)
  if (created === undefined) return wrong('backup', `There is no backup in ${folder}.`, { advice })
  if (Math.abs(now() - Date.parse(created)) <= ageMsMax) return good('backup', `The newest is of ${created}.`)
  return wrong('backup', `The newest in ${folder} is of ${created}.`, { advice })
}

/** An address to connect to for one that is listened on. */
function reachable(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
}
