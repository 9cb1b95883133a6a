// `teal reports`: what others report about mail of a domain (DMARC, TLS), summed up.
//
// Who sends in the name of the domain without being able to prove it stands first. It changes nothing.

import { Command } from 'commander'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { reach } from '../reach.ts'

interface Summary extends Sums {
  readonly domain: string
  readonly since: string
  readonly unproven: Sums
}

interface Sums {
  readonly dmarc: {
    readonly reports: number
    readonly messages: number
    readonly failed: number
    readonly sources: readonly { readonly ip: string; readonly messages: number; readonly failed: number }[]
  }
  readonly tls: {
    readonly reports: number
    readonly sessions: number
    readonly failed: number
    readonly failures: readonly { readonly result: string; readonly host: string; readonly sessions: number }[]
  }
}

interface Options extends ConfigOptions {
  readonly days: string
  readonly json?: boolean
}

export function reportsCommand(): Command {
  return withConfig(new Command('reports'))
    .argument('<domain>')
    .option('--days <number>', 'how far back', '30')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  teal reports example.com')
    .action(reports)
}

async function reports(domain: string, options: Options): Promise<void> {
  const to = await reach(configFrom(options))
  try {
    const query = new URLSearchParams({ domain, days: options.days })
    const found = await to.call<Summary>('GET', `/reports/summary?${query}`)
    print(options.json, found, told(found))
  } finally {
    await to.close()
  }
}

function told({ domain, since, unproven, ...proven }: Summary): string {
  const others = unproven.dmarc.reports + unproven.tls.reports
  const hint = 'of which nobody was proven to be the sender, and which may be made up:'
  const rest = others === 0 ? [] : ['', `${others} more ${hint}`, ...lines(unproven)]
  return [`${domain} since ${since}`, ...lines(proven), ...rest].join('\n')
}

function lines({ dmarc, tls }: Sums): string[] {
  const sources = dmarc.sources.map(
    ({ ip, messages, failed }) => `  ${ip.padEnd(40)} ${messages} messages, ${failed} failed`,
  )
  const failures = tls.failures.map(
    ({ result, host, sessions }) => `  ${result.padEnd(28)} ${host}  ${sessions} sessions`,
  )
  return [
    `DMARC: ${dmarc.reports} reports, ${dmarc.messages} messages, ${dmarc.failed} failed`,
    ...sources,
    `TLS: ${tls.reports} reports, ${tls.sessions} sessions, ${tls.failed} failed`,
    ...failures,
  ]
}
