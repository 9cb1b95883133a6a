// What a set-up will be: the answers, and the configuration that follows from them, as settings and as the file.
//
// The file begins with a line by which a later run knows it for its own; whoever changes the rest keeps what he changed.

import { type Config, type ConfigPart, loadConfig, parseFlags, writtenConfig } from '#config'

export interface Plan {
  readonly domain: string
  readonly hostname: string
  readonly configFile: string
  readonly dataDir: string
  /** Address of the first account. */
  readonly admin: string
  readonly acme: boolean
  readonly email: string
  /** Address that strangers reach: all of this machine. */
  readonly listen: string
  /** Further settings, `key=value`; they win. */
  readonly set: readonly string[]
}

/** Names of a domain under which mail programs and other servers ask over HTTPS. */
export function namesOf(domain: string): string[] {
  return ['autoconfig', 'autodiscover', 'mta-sts'].map(label => `${label}.${domain}`)
}

/** How a file begins that a set-up wrote. */
const mark = '# Written by `teal setup`'

/** Whether a configuration file was written here. */
export function isOwnFile(text: string): boolean {
  return text.startsWith(mark)
}

/** The settings of a plan. @throws Fault ConfigInvalid where those that were added do not fit */
function settingsOf(plan: Plan): ConfigPart {
  const { domain, hostname, dataDir, admin, acme, email, listen: host } = plan
  const open = (port: number) => ({ host, port })
  const names = [hostname, ...namesOf(domain)]
  const part = {
    ...{ dataDir, hostname, mail: { defaultDomain: domain, postmaster: admin } },
    smtp: { ...open(25), stsMode: 'testing' },
    ...{ submissions: open(465), submission: open(587), imaps: open(993), pop3s: open(995) },
    ...{ imap: { enabled: 'false' }, pop3: { enabled: 'false' }, lmtp: { enabled: 'false' } },
    web: { ...open(443), enabled: 'true' },
    ...(acme && {
      tls: { acme: { enabled: 'true', termsAgreed: 'true', email, names, http: `${bracketed(host)}:80` } },
    }),
  } as ConfigPart
  return merged(part, parseFlags(plan.set))
}

/** The configuration of a plan, whole. @throws Fault ConfigInvalid */
export function configOf(plan: Plan): Config {
  return loadConfig({ flags: settingsOf(plan) })
}

/** The file, with a line of explanation for each setting. */
export function fileOf(plan: Plan): string {
  const heading = [
    `${mark} for ${plan.domain}. Change what you like, and restart the service (SIGHUP for the log level).`,
    '# `teal config sample` prints every setting there is, `teal config check` says what is wrong with this file.',
  ]
  return `${heading.join('\n')}\n${writtenConfig(settingsOf(plan))}`
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function merged(base: object, over: object): ConfigPart {
  const all: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(over)) {
    const below = all[name]
    const both = typeof below === 'object' && below !== null && typeof value === 'object' && value !== null
    all[name] = both ? merged(below, value) : value
  }
  return all as ConfigPart
}
