// `teal dkim`: the keys that domains have without being asked, and the change to the next ones.
//
// A rotation is told as the records to publish; nothing signs with them before DNS shows them, which the service finds out by itself.

import { Command } from 'commander'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { type Reach, reach } from '../reach.ts'

interface Key {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  readonly state: string
  readonly why: string
  readonly dnsTxt: { readonly name: string; readonly value: string }
}

interface Options extends ConfigOptions {
  readonly json?: boolean
}

export function dkimCommand(): Command {
  const command = new Command('dkim').description('Look at the keys that sign mail of domains, and change them')
  withConfig(command.command('list'))
    .description('List the keys')
    .option('--json', 'print JSON')
    .action((options: Options) => within(options, to => show(to, options)))
  withConfig(command.command('rotate'))
    .description('Make the next keys and print their DNS records; they sign once DNS shows them')
    .argument('[domain]', 'unset: all domains that have keys')
    .option('--json', 'print JSON')
    .action((domain: string | undefined, options: Options) => within(options, to => rotate(to, domain, options)))
  withConfig(command.command('status'))
    .description('Ask DNS for the keys of a domain now, and tell what signs and why')
    .argument('<domain>')
    .option('--json', 'print JSON')
    .action((domain: string, options: Options) => within(options, to => status(to, domain, options)))
  return command
}

async function within(options: Options, task: (to: Reach) => Promise<void>): Promise<void> {
  const to = await reach(configFrom(options))
  try {
    await task(to)
  } finally {
    await to.close()
  }
}

async function* all(to: Reach): AsyncGenerator<Key[]> {
  for (let after = ''; ; ) {
    const { results } = await to.call<{ results: Key[] }>('GET', `/domainkeys?after=${encodeURIComponent(after)}`)
    if (results.length === 0) return
    yield results
    after = results.at(-1)?.domain ?? ''
  }
}

async function show(to: Reach, { json }: Options): Promise<void> {
  for await (const page of all(to)) for (const key of page) print(json, key, line(key))
}

async function rotate(to: Reach, domain: string | undefined, { json }: Options): Promise<void> {
  const names = new Set(domain === undefined ? [] : [domain])
  if (domain === undefined) for await (const page of all(to)) for (const key of page) names.add(key.domain)
  for (const name of names) {
    const { results } = await to.call<{ results: Key[] }>('POST', '/domainkeys/rotate', { domain: name })
    for (const key of results.filter(({ state }) => state === 'next')) print(json, key, record(key))
  }
}

async function status(to: Reach, domain: string, { json }: Options): Promise<void> {
  const { results } = await to.call<{ results: Key[] }>('POST', '/domainkeys/check', { domain })
  for (const key of results) {
    print(json, key, key.state === 'next' ? `${line(key)}\n  ${record(key)}` : line(key))
  }
}

function line({ domain, selector, algorithm, state, why }: Key): string {
  return `${domain.padEnd(32)} ${selector.padEnd(14)} ${algorithm.padEnd(8)} ${state.padEnd(8)} ${why}`
}

/** As zone files have it: strings of at most 255 bytes (RFC 1035 3.3). */
function record({ dnsTxt: { name, value } }: Key): string {
  return `${name}. TXT ${(value.match(/.{1,255}/gs) ?? []).map(part => `"${part}"`).join(' ')}`
}
