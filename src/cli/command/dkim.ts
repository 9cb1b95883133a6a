// `teal dkim`: the keys that domains have without being asked, and the change to the next ones.
//
// A rotation is told as the records to publish; nothing signs with them before DNS shows them, which the service finds out by itself.

import { Command } from 'commander'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { rowsOf } from '../owner/task.ts'
import { print } from '../print.ts'
import { type Reach, reach, readSecret } from '../reach.ts'

interface Key {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  readonly state: string
  readonly why: string
  readonly dnsTxt: { readonly name: string; readonly value: string }
}

interface OwnKey {
  readonly id: string
  readonly domain: string
  readonly selector: string
  readonly created: string
  readonly dnsTxt: { readonly name: string; readonly value: string }
}

interface AddOptions extends Options {
  readonly selector: string
  readonly key?: string
}

interface Options extends ConfigOptions {
  readonly json?: boolean
}

export function dkimCommand(): Command {
  const command = new Command('dkim')
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
  withConfig(command.command('add'))
    .description('Have a domain signed by a key of its own choosing alone, and print its record')
    .argument('<domain>', '* is every domain that has none')
    .requiredOption('--selector <name>', 'name of the key in DNS')
    .option('--key <file>', 'the private key (PEM, RSA or Ed25519); one is made where none is given')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  teal dkim add example.com --selector s2027 --key s2027.pem')
    .action((domain: string, options: AddOptions) => within(options, to => add(to, domain, options)))
  withConfig(command.command('remove'))
    .description('Forget such a key: the domain is signed by those it has without being asked again')
    .argument('<domain>')
    .option('--json', 'print JSON')
    .action((domain: string, options: Options) => within(options, to => remove(to, domain, options)))
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
  for await (const one of rowsOf<OwnKey>(to, '/dkim')) {
    print(json, one, `${one.domain.padEnd(32)} ${one.selector.padEnd(14)} given by hand, since ${one.created}`)
  }
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

async function add(to: Reach, domain: string, { selector, key, json }: AddOptions): Promise<void> {
  const privateKey = key === undefined ? {} : { privateKey: readSecret(key) }
  const made = await to.call<OwnKey>('POST', '/dkim', { domain, selector, ...privateKey })
  print(json, made, record(made))
}

async function remove(to: Reach, domain: string, { json }: Options): Promise<void> {
  const { id } = await to.call<{ id: string }>('GET', `/dkim/resolve/${encodeURIComponent(domain)}`)
  print(json, await to.call('DELETE', `/dkim/${id}`), `The key of ${domain} is forgotten.`)
}

/** As zone files have it: strings of at most 255 bytes (RFC 1035 3.3). */
function record({ dnsTxt: { name, value } }: Pick<Key, 'dnsTxt'>): string {
  return `${name}. TXT ${(value.match(/.{1,255}/gs) ?? []).map(part => `"${part}"`).join(' ')}`
}
