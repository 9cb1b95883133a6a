// `teal dns`: the records a domain needs, ready to be copied, and whether they are there.
//
// It asks the resolver of this machine, or the server that is named, and changes nothing anywhere. Where a record is
// another one that will do as well, such as a longer SPF policy, it is taken for right.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { isDomain } from '#mail/address/address.ts'
import { isServer, lookUp } from '#net/outward/records.ts'
import { quoted, recordsOf, stateOf } from '../inspect/records.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { reach } from '../reach.ts'

export function dnsCommand(): Command {
  return withConfig(new Command('dns'))
    .argument('<domain>')
    .option('--offline', 'do not look them up')
    .option('--server <address>', 'ask this server (an IP address, with a port if need be)', '')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  teal dns example.com')
    .action(dns)
}

interface Options extends ConfigOptions {
  readonly json?: boolean
  readonly offline?: boolean
  readonly server: string
}

async function dns(domain: string, options: Options): Promise<void> {
  if (!isDomain(domain)) throw new Fault('InputValidationError', { text: `${domain} is no domain` })
  const { server } = options
  if (server !== '' && !isServer(server)) {
    throw new Fault('InputValidationError', { text: `${server} is no address of a server` })
  }
  const config = configFrom(options)
  const to = await reach(config)
  try {
    for (const record of await recordsOf(config, domain, to)) {
      const found =
        options.offline === true ? null : await lookUp(record.name, record.kind, server === '' ? [] : [server])
      const state = stateOf(record, found)
      const { name, kind, value } = record
      const shown = kind === 'TXT' ? quoted(value) : value
      const line = `${`${name}.`.padEnd(44)} ${kind.padEnd(6)} ${shown}`
      print(options.json, { name, type: kind, value, state, found }, found === null ? line : `${line}   ; ${state}`)
    }
  } finally {
    await to.close()
  }
}
