// `teal doctor`: what a set-up is looked through for, at any time and while the service runs; its exit code is for monitoring.
//
// Everything is looked at and nothing is set otherwise; keys whose records came sign from then on. Whoever it asks can be named, for
// a machine behind others' doors.

import { Command } from 'commander'
import type { Config } from '#config'
import { Fault } from '#lib/fault.ts'
import { isDomain } from '#mail/address/address.ts'
import { isServer } from '#net/outward/records.ts'
import { findingOf, lookAtKeys, lookAtPolicy, seenRecords } from '../inspect/domain.ts'
import { type Finding, good, line, wrong } from '../inspect/finding.ts'
import {
  lookAtClock,
  lookAtDisks,
  lookAtLists,
  lookAtName,
  lookAtResolver,
  lookAtWayIn,
  lookAtWayOut,
  usual,
} from '../inspect/machine.ts'
import { readRun } from '../inspect/run.ts'
import {
  backupsElsewhere,
  lookAtBackups,
  lookAtCertificate,
  lookAtDatabase,
  lookAtListeners,
  lookAtObjects,
  lookAtQueue,
  lookAtSenders,
  lookAtVersion,
} from '../inspect/running.ts'
import { lookAtWeb } from '../inspect/web.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { requireData } from '../place.ts'
import { print } from '../print.ts'
import { type Reach, reach } from '../reach.ts'
import { configProblems } from './config-check.ts'

export interface AskOptions {
  readonly server: string
  readonly mailHost: string
  readonly timeServer: string
}

interface Options extends ConfigOptions, AskOptions {
  readonly json?: boolean
  readonly strict?: boolean
  readonly quiet?: boolean
  readonly backup?: string
}

/** Options that say whom to ask. */
export function withAsked(command: Command): Command {
  return command
    .option('--server <address>', 'DNS server to ask (an IP address, with a port if need be)', '')
    .option('--mail-host <host:port>', 'mail server of others that the way out is tried with', usual.mailHost)
    .option('--time-server <host>', 'time server to compare the clock with', usual.timeServer)
}

/** @throws Fault InputValidationError */
export function serversOf({ server }: AskOptions): string[] {
  if (server === '') return []
  if (!isServer(server)) throw new Fault('InputValidationError', { text: `${server} is no address of a server` })
  return [server]
}

export function doctorCommand(): Command {
  return withAsked(withConfig(new Command('doctor')))
    .argument('[domains...]', 'unset: all that have keys here')
    .option('--backup <folder>', 'where backups are kept')
    .option('--strict', 'notes make the exit code, too')
    .option('-q, --quiet', 'say only what is not well')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  teal doctor\n  teal doctor --quiet --backup /var/backups/teal\n\nExit codes: 0 all is well, 1 something is wrong and was named.',
    )
    .action(doctor)
}

const smtpPort = 25

async function doctor(domains: readonly string[], options: Options): Promise<void> {
  const config = configFrom(options)
  const bad = domains.find(domain => !isDomain(domain))
  if (bad !== undefined) throw new Fault('InputValidationError', { text: `${bad} is no domain` })
  requireData(config)
  let failed = false
  for await (const finding of lookThrough(config, domains, options)) {
    const { state } = finding
    failed ||= state === 'wrong' || (options.strict === true && state === 'warning')
    if (options.quiet === true && (state === 'good' || state === 'unknown')) continue
    print(options.json, finding, line(finding))
  }
  if (failed) process.exitCode = 1
}

async function* lookThrough(config: Config, named: readonly string[], options: Options): AsyncGenerator<Finding> {
  const servers = serversOf(options)
  const { hostname, dataDir, outbound, spam } = config
  yield* configProblems(config).map(problem => wrong('settings', problem))
  yield* lookAtDisks(dataDir)
  const resolver = await lookAtResolver(servers)
  yield resolver
  const answers = resolver.state === 'good'
  const [clock, out] = await Promise.all([
    lookAtClock(options.timeServer),
    outbound.relay === '' ? lookAtWayOut(options.mailHost) : good('port-25-out', 'A relay takes what leaves.'),
  ])
  yield clock
  yield out
  const own = answers ? await lookAtName(hostname, servers) : { findings: [], addresses: [] }
  yield* own.findings
  if (answers) yield* await lookAtLists(own.addresses, spam.blockLists, servers)
  const run = readRun(dataDir)
  yield lookAtVersion(run)
  if (run !== undefined) {
    yield* await lookAtListeners(run)
    // On another port somebody in front passes on what comes to 25, and is not seen from here.
    if (run.listeners.smtp?.port === smtpPort) yield* await lookAtWayIn(hostname, own.addresses)
    yield await lookAtCertificate(config, run)
  }
  const database = await lookAtDatabase(config)
  if (database !== undefined) yield database
  const objects = await lookAtObjects(config)
  if (objects !== undefined) yield objects
  if (config.store.url !== '' && options.backup === undefined) yield backupsElsewhere(config.store.url)
  else yield await lookAtBackups(...backupsOf(config, options))
  if (database?.state === 'wrong') return
  const to = await reach(config)
  try {
    yield await lookAtQueue(to)
    yield await lookAtSenders(to)
    if (!answers) return
    for (const domain of named.length > 0 ? named : await domainsOf(to)) {
      yield* (await seenRecords(config, domain, to, servers)).map(findingOf)
      yield* await lookAtKeys(to, domain)
      yield* await lookAtWeb(config, domain, servers)
      yield* await lookAtPolicy(domain, hostname, own.addresses, servers)
    }
  } finally {
    await to.close()
  }
}

/** Where backups are kept, and how old the newest may be: two of those that come by themselves may fail. */
function backupsOf({ backup }: Config, options: Options): [string, number?] {
  if (options.backup !== undefined) return [options.backup]
  return backup.folder === '' ? [''] : [backup.folder, 3 * backup.every]
}

/** Domains that have keys here. */
async function domainsOf(to: Reach): Promise<string[]> {
  const names = new Set<string>()
  for (let after = ''; ; ) {
    const path = `/domainkeys?after=${encodeURIComponent(after)}`
    const { results } = await to.call<{ results: { domain: string }[] }>('GET', path)
    if (results.length === 0) return [...names]
    for (const { domain } of results) names.add(domain)
    after = results.at(-1)?.domain ?? ''
  }
}
