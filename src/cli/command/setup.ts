// `teal setup`: from an empty machine to a mail server, with questions on a terminal and with flags alone.
//
// It looks first and changes nothing where something is in the way. Then it writes the configuration, makes the first account
// and the keys of the domain, prints the DNS records with what is there now, and waits for them where it is told to. What is
// done already is left as it is, so it may be broken off anywhere and run again, and be run for further domains.

import { hostname as osHostname } from 'node:os'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { type Config, loadConfig } from '#config'
import { monotonic, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { newTemporaryPassword } from '#lib/secret/token.ts'
import { isAddress, isDomain } from '#mail/address/address.ts'
import { ownAddresses } from '#net/outward/own-addresses.ts'
import { type Seen, seenRecords, zoneLine } from '../inspect/domain.ts'
import { type Finding, good, line, unknown } from '../inspect/finding.ts'
import { lookAtClock, lookAtDisk, lookAtName, lookAtResolver, lookAtWayOut } from '../inspect/machine.ts'
import { readRun } from '../inspect/run.ts'
import { type ConfigOptions, systemFile, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { type Reach, reach, readSecret } from '../reach.ts'
import {
  type Account,
  accountOf,
  protect,
  provideAccount,
  provideDomain,
  provideKeys,
  provideNames,
} from '../setup/account.ts'
import { Questions } from '../setup/ask.ts'
import { configOf, fileOf, type Plan } from '../setup/plan.ts'
import { obstacles, ownFile, placesOf } from '../setup/preflight.ts'
import { become, give, isOwnerOf, putSettings, serviceUser } from '../setup/user.ts'
import { type AskOptions, serversOf, withAsked } from './doctor.ts'

interface Options extends ConfigOptions, AskOptions {
  readonly hostname?: string
  readonly admin: string
  readonly passwordFile?: string
  readonly secondFactor?: boolean
  readonly acme?: boolean
  readonly email?: string
  readonly user: string
  readonly wait: string
  readonly anyway?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

export function setupCommand(): Command {
  return withAsked(withConfig(new Command('setup')))
    .argument('<domain>', 'domain that is to have mail here')
    .option('--hostname <name>', 'name others reach this machine by; mail.<domain> unless told')
    .option('--admin <name>', 'local part of the first account', 'admin')
    .option('--password-file <file>', 'read its password from a file (- is standard input) instead of making one up')
    .option('--second-factor', 'have it asked for one-time codes, too')
    .option('--acme', "agree to the terms of Let's Encrypt (or tls.acme.directory) and have certificates fetched")
    .option('--no-acme', 'have no certificates fetched')
    .option('--email <address>', 'address the certificate server may write to; that of the first account unless told')
    .option('--user <name>', 'user of this machine that the service runs as; teal where there is one', '')
    .option('--wait <minutes>', 'wait so long for the DNS records', '0')
    .option('--anyway', 'go on although the resolver is wrong or the name leads elsewhere')
    .option('-y, --yes', 'ask nothing')
    .option('--json', 'print the result as JSON, and ask nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  teal setup example.org\n  teal setup example.org --hostname mx.example.org --acme --yes --wait 60\n  teal setup second.example --yes',
    )
    .action(setup)
}

async function setup(given: string, options: Options): Promise<void> {
  const domain = given.toLowerCase().replace(/\.$/, '')
  if (!isDomain(domain) || !domain.includes('.')) throw refusal(`${given} is no domain, such as example.org.`)
  if (!(Number(options.wait) >= 0)) throw refusal(`--wait takes minutes, and ${options.wait} are none.`)
  const servers = serversOf(options)
  const questions = new Questions(process.stdin.isTTY === true && options.yes !== true && options.json !== true)
  const user = serviceUser(options.user)
  const { plan, config, written } = await settled(domain, options, questions)
  const findings = await lookFirst(config, options, servers)
  const said = (text: string) => void (options.json === true || print(false, null, text))
  for (const finding of findings) said(line(finding))
  const problems = await obstacles(plan, config)
  if (problems.length > 0) throw refusal(`${problems.join('\n')}\nNothing was changed.`)
  for (const finding of freePorts(config)) {
    findings.push(finding)
    said(line(finding))
  }
  const password = await passwordFor(options, questions)
  if (!written) {
    putSettings(plan.configFile, fileOf(plan), user)
    said(`\nwrote ${plan.configFile}`)
  }
  const isTheirs = user !== undefined && isOwnerOf(user, config.dataDir)
  if (isTheirs) become(user)
  const to = await reach(config, true)
  try {
    const account = await accountFor(to, plan.admin, { options, questions, password: password.value })
    await provideDomain(to, domain)
    await provideKeys(to, domain)
    await provideNames(to, config, domain)
    const records = await seenRecords(config, domain, to, servers)
    const shown = account.made && password.generated() ? { ...account, password: await password.value() } : account
    for (const text of toldOf(plan, shown, records)) said(text)
    const left = await waited(() => seenRecords(config, domain, to, servers), records, options, said)
    said(next(plan, config, left))
    if (options.json === true) print(true, resultOf(plan, config, shown, left, findings), '')
    if (Number(options.wait) > 0 && missing(left).length > 0) process.exitCode = 1
  } finally {
    await to.close()
    if (user !== undefined && !isTheirs) give(user, config.dataDir)
  }
}

/** The plan, and the configuration that holds: that of an earlier run where there was one. @throws Fault */
async function settled(domain: string, options: Options, questions: Questions) {
  const isRoot = process.geteuid?.() === 0
  const configFile = resolve(options.config ?? (isRoot ? systemFile : 'teal.toml'))
  const before = readable(configFile)
  const known = before === undefined ? undefined : loadConfig({ file: configFile })
  const own = osHostname().toLowerCase()
  const usualName = options.hostname ?? known?.hostname ?? (own.endsWith(`.${domain}`) ? own : `mail.${domain}`)
  const hostname = known === undefined ? await questions.text('Name of this server', usualName, noHost) : usualName
  const dataDir = resolve(options.dataDir ?? known?.dataDir ?? (isRoot ? '/var/lib/teal' : 'data'))
  if (known !== undefined && (hostname !== known.hostname || dataDir !== known.dataDir)) {
    const text = `${configFile} is for ${known.hostname} in ${known.dataDir}: change it there, or name another with --config.`
    throw refusal(`${text}\nNothing was changed.`)
  }
  const noAccount = (name: string) => (isAddress(`${name}@${domain}`) ? undefined : `${name}@${domain} is no address.`)
  const admin = `${await questions.text('First account', options.admin, noAccount)}@${domain}`
  if (!isAddress(admin)) throw refusal(`${admin} is no address.`)
  const agreed = "Fetch certificates from Let's Encrypt, and agree to its terms (https://letsencrypt.org/repository/)?"
  const acme = options.acme ?? (known === undefined && (await questions.yes(agreed, false)))
  const listen = ownAddresses().some(address => address.includes(':') && !/^(::1$|fe80:)/i.test(address))
    ? '::'
    : '0.0.0.0'
  const email = options.email ?? admin
  const plan: Plan = { domain, hostname, configFile, dataDir, admin, acme, email, listen, set: options.set }
  return { plan, config: known ?? configOf(plan), written: known !== undefined }
}

const noHost = (name: string) => (isDomain(name) ? undefined : `${name} is no host name, such as mail.example.org.`)

/** The file of an earlier run; one that cannot be read is found by the preflight. */
function readable(file: string): string | undefined {
  try {
    return ownFile(file)
  } catch {
    return undefined
  }
}

/** What the machine is like. @throws Fault where that rules a set-up out */
async function lookFirst(config: Config, options: Options, servers: readonly string[]): Promise<Finding[]> {
  const resolver = await lookAtResolver(servers)
  const stop = (finding: Finding | undefined) => {
    if (finding === undefined || options.anyway === true) return
    const { text, advice = '' } = finding
    throw refusal(`${text} ${advice} (--anyway goes on.)\nNothing was changed.`)
  }
  stop(resolver.state === 'wrong' ? resolver : undefined)
  const [name, clock, out] = await Promise.all([
    lookAtName(config.hostname, servers),
    lookAtClock(options.timeServer),
    lookAtWayOut(options.mailHost),
  ])
  stop(name.foreign ? name.findings[0] : undefined)
  return [resolver, ...name.findings, out, clock, lookAtDisk(config.dataDir)]
}

/** Ports that were tried and found free, and what cannot be tried yet. */
function freePorts(config: Config): Finding[] {
  const ports = [...new Set(placesOf(config).map(({ port }) => port))].toSorted((a, b) => a - b)
  if (ports.length === 0) return []
  const advice = `Once the service runs, look from another network: nc -vz ${config.hostname} ${config.smtp.port}.`
  return [
    good('ports', `${ports.join(', ')} are free.`),
    unknown('port-25-in', 'Whether others reach this machine is not seen from here.', { advice }),
  ]
}

interface Password {
  /** Whether it was made up, which is known once it was needed. */
  generated(): boolean
  /** Asked for once, and only where it is needed. */
  value(): Promise<string>
}

async function passwordFor(options: Options, questions: Questions): Promise<Password> {
  if (options.passwordFile !== undefined) {
    const text = readSecret(options.passwordFile)
    return { generated: () => false, value: async () => text }
  }
  let kept: string | undefined
  let generated = false
  const value = async () => {
    kept ??= questions.asks ? await questions.secret('Password (empty: one is made up): ') : ''
    if (kept !== '') return kept
    generated = true
    kept = newTemporaryPassword()
    return kept
  }
  return { generated: () => generated, value }
}

/** `password` where it was made up. */
type Shown = Account & { readonly password?: string }

interface AccountHow {
  readonly options: Options
  readonly questions: Questions
  readonly password: () => Promise<string>
}

async function accountFor(to: Reach, address: string, { options, questions, password }: AccountHow): Promise<Account> {
  const isNew = (await accountOf(to, address)) === undefined
  const account = await provideAccount(to, address, password)
  const protectedNow =
    isNew && (options.secondFactor ?? (await questions.yes('Ask for one-time codes at log-in, too?', false)))
  if (!protectedNow) return account
  const shown = (seed: string) => questions.text(`Seed for the program: ${seed}\nCode it shows`, '')
  return protect(to, account, questions.asks ? shown : undefined)
}

function toldOf({ domain, admin }: Plan, account: Shown, records: readonly Seen[]): string[] {
  return [
    account.made ? `made the account ${admin}` : `the account ${admin} is there`,
    ...(account.password === undefined ? [] : [`its password: ${account.password}`]),
    ...(account.seed === undefined ? [] : [`seed of its one-time codes: ${account.seed}`]),
    ...(account.mailPassword === undefined ? [] : [`password for its mail programs: ${account.mailPassword}`]),
    `\n; DNS records of ${domain}, each with what is there now`,
    ...records.map(zoneLine),
  ]
}

/** Records that mail does not do without. */
function missing(records: readonly Seen[]): Seen[] {
  return records.filter(({ state, optional }) => state !== 'set' && optional !== true)
}

/** Looks again and again as long as it is told to; tells each record that has come. */
async function waited(
  look: () => Promise<Seen[]>,
  first: readonly Seen[],
  { wait }: Options,
  said: (text: string) => void,
): Promise<readonly Seen[]> {
  const until = monotonic() + Number(wait) * limits.time.minute
  let records = first
  while (missing(records).length > 0 && monotonic() < until) {
    await sleep(Math.min(limits.probe.pollMs, Math.max(0, until - monotonic())))
    const now = await look()
    const before = new Set(missing(records).map(({ name, kind }) => `${name} ${kind}`))
    const after = new Set(missing(now).map(({ name, kind }) => `${name} ${kind}`))
    for (const one of before) if (!after.has(one)) said(`${one} is set now`)
    records = now
  }
  return records
}

/** What is still to be done. */
function next({ configFile, domain }: Plan, { dataDir }: Config, records: readonly Seen[]): string {
  const left = missing(records).map(({ name, kind, state }) => `${name} ${kind} (${state})`)
  const named = configFile === systemFile ? '' : ` --config ${configFile}`
  const steps = [
    ...(left.length > 0 ? [`set these records at whoever serves the DNS of ${domain}: ${left.join(', ')}`] : []),
    ...(readRun(dataDir) === undefined
      ? [`start the service: systemctl enable --now teal, or teal serve --config ${configFile}`]
      : []),
    `look whether all is well: teal doctor${named}`,
  ]
  return `\nWhat is left:\n${steps.map((step, at) => `  ${at + 1}. ${step}`).join('\n')}`
}

function resultOf(
  { configFile: file, domain }: Plan,
  { dataDir, hostname }: Config,
  account: Shown,
  seen: readonly Seen[],
  findings: readonly Finding[],
) {
  const records = seen.map(({ name, kind: type, value, state, found }) => ({ name, type, value, state, found }))
  const left = missing(seen).map(({ name, kind }) => `${name} ${kind}`)
  return { domain, hostname, config: file, dataDir, account, records, missing: left, findings }
}

function refusal(text: string): Fault {
  return new Fault('NotPermitted', { text })
}
