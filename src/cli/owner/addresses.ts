// `teal address`, `teal alias`, `teal forward`: what reaches an account, a domain that stands for another, and addresses that
// only forward.
//
// Addresses are what people type; ids are looked up.

import { Fault } from '#lib/fault.ts'
import { accountId, type Reach } from '../reach.ts'
import { group, rowsOf, type TaskOptions, task } from './task.ts'

interface Listed {
  readonly id: string
  readonly address: string
  readonly user?: string
  readonly forwarded?: boolean
  readonly forwardedDisabled?: boolean
  readonly targets?: readonly string[]
}

const queryOf = (query: string | undefined) => (query === undefined ? '' : `?query=${encodeURIComponent(query)}`)

/** The entry of an address. @throws Fault AddressNotFound */
async function found(to: Reach, address: string): Promise<Listed> {
  return to.call<Listed & Record<string, unknown>>('GET', `/addresses/resolve/${encodeURIComponent(address)}`)
}

const addresses = [
  task({
    name: 'list',
    description: 'List the addresses of all accounts, and those that only forward',
    takes: [['[query]', 'part of an address']],
    example: 'teal address list example.com',
    async run(to, [query], _options, say) {
      for await (const one of rowsOf<Listed>(to, `/addresses${queryOf(query)}`)) {
        say(one, `${one.address.padEnd(40)} ${one.forwarded === true ? 'forwards' : (one.user ?? '')}`.trimEnd())
      }
    },
  }),
  task({
    name: 'show',
    description: 'Say whose an address is, also by aliases and wildcards',
    takes: [['<address>']],
    example: 'teal address show alice@example.com',
    async run(to, [address = ''], _options, say) {
      const one = await found(to, address)
      const whose = one.user === undefined ? `forwards to ${(one.targets ?? []).join(', ')}` : `of ${one.user}`
      say(one, `${one.address} ${whose}`)
    },
  }),
  task<TaskOptions & { readonly main?: boolean; readonly wildcard?: boolean }>({
    name: 'add',
    description: 'Give an account another address',
    takes: [
      ['<user>', 'id, username or address'],
      ['<address>', '*@domain takes all of a domain that nobody else has, with --wildcard'],
    ],
    options: [
      ['--main', 'it becomes the main one'],
      ['--wildcard', 'a * in the address is meant'],
    ],
    example: "teal address add alice '*@example.com' --wildcard",
    async run(to, [user = '', address = ''], { main, wildcard }, say) {
      const id = await accountId(to, user)
      const form = { address, ...(main === true && { main }), ...(wildcard === true && { allowWildcard: true }) }
      const made = await to.call<{ id: string }>('POST', `/users/${id}/addresses`, form)
      say(made, `${address} is an address of ${user}.`)
    },
  }),
  task<TaskOptions & { readonly name?: string; readonly main?: boolean }>({
    name: 'change',
    description: 'Change the name that goes with an address, or make it the main one of its account',
    takes: [['<address>']],
    options: [
      ['--name <name>', 'name that mail from it is sent under'],
      ['--main', 'it becomes the main one'],
    ],
    example: 'teal address change sales@example.com --name "Sales" --main',
    async run(to, [address = ''], { name, main }, say) {
      const one = await found(to, address)
      if (one.user === undefined) throw new Fault('AddressNotFound', { text: `${address} only forwards` })
      const form = { ...(name !== undefined && { name }), ...(main === true && { main }) }
      if (Object.keys(form).length === 0) throw new Fault('InputValidationError', { text: 'Say what is to change' })
      say(await to.call('PUT', `/users/${one.user}/addresses/${one.id}`, form), `${address} is changed.`)
    },
  }),
  task<TaskOptions & { readonly yes?: boolean }>({
    name: 'rename-domain',
    description: 'Give a domain another name in every address, key and alias',
    takes: [['<domain>'], ['<new>']],
    options: [['-y, --yes', 'do it: the old addresses are nobody’s then']],
    example: 'teal address rename-domain example.net example.com --yes',
    async run(to, [oldDomain = '', newDomain = ''], { yes }, say) {
      if (yes !== true) {
        throw new Fault('NotPermitted', {
          text: `Every address in ${oldDomain} would be one in ${newDomain}: add --yes`,
        })
      }
      const done = await to.call<{ modifiedAddresses: number }>('PUT', '/addresses/renameDomain', {
        oldDomain,
        newDomain,
      })
      say(done, `${done.modifiedAddresses} addresses are in ${newDomain} now.`)
    },
  }),
  task({
    name: 'remove',
    description: 'Take an address from its account; not the main one',
    takes: [['<address>']],
    example: 'teal address remove sales@example.com',
    async run(to, [address = ''], _options, say) {
      const one = await found(to, address)
      if (one.user === undefined)
        throw new Fault('AddressNotFound', { text: `${address} only forwards: teal forward remove` })
      say(await to.call('DELETE', `/users/${one.user}/addresses/${one.id}`), `${address} is nobody's.`)
    },
  }),
]

const aliases = [
  task({
    name: 'list',
    description: 'List domains that stand for another one',
    takes: [['[query]', 'part of a domain']],
    example: 'teal alias list',
    async run(to, [query], _options, say) {
      for await (const one of rowsOf<{ alias: string; domain: string }>(to, `/domainaliases${queryOf(query)}`)) {
        say(one, `${one.alias.padEnd(32)} ${one.domain}`)
      }
    },
  }),
  task({
    name: 'add',
    description: 'Have a domain stand for another one',
    takes: [['<alias>'], ['<domain>']],
    example: 'teal alias add example.net example.com',
    async run(to, [alias = '', domain = ''], _options, say) {
      say(await to.call('POST', '/domainaliases', { alias, domain }), `Mail for ${alias} is mail for ${domain}.`)
    },
  }),
  task({
    name: 'remove',
    description: 'Have a domain stand for itself again',
    takes: [['<alias>']],
    example: 'teal alias remove example.net',
    async run(to, [alias = ''], _options, say) {
      const { id } = await to.call<{ id: string }>('GET', `/domainaliases/resolve/${encodeURIComponent(alias)}`)
      say(await to.call('DELETE', `/domainaliases/${id}`), `${alias} is no alias.`)
    },
  }),
]

/** Id of an address that only forwards. @throws Fault AddressNotFound */
async function forwardId(to: Reach, address: string): Promise<string> {
  const one = await found(to, address)
  if (one.user !== undefined) throw new Fault('AddressNotFound', { text: `${address} belongs to an account` })
  return one.id
}

const switched = (name: string, disabled: boolean) =>
  task({
    name,
    description: disabled ? 'Refuse mail to an address for a while' : 'Take mail to an address again',
    takes: [['<address>']],
    example: `teal forward ${name} info@example.com`,
    async run(to, [address = ''], _options, say) {
      const id = await forwardId(to, address)
      const answer = await to.call('PUT', `/addresses/forwarded/${id}`, { forwardedDisabled: disabled })
      say(answer, disabled ? `Mail to ${address} is refused.` : `Mail to ${address} goes on.`)
    },
  })

const forwards = [
  task({
    name: 'list',
    description: 'List the addresses that only forward',
    takes: [['[query]', 'part of an address']],
    example: 'teal forward list',
    async run(to, [query], _options, say) {
      for await (const one of rowsOf<Listed>(to, `/addresses${queryOf(query)}`)) {
        if (one.forwarded !== true) continue
        const off = one.forwardedDisabled === true ? '  (disabled)' : ''
        say(one, `${one.address.padEnd(40)} ${(one.targets ?? []).join(', ')}${off}`.trimEnd())
      }
    },
  }),
  task({
    name: 'add',
    description: 'Make an address that only forwards',
    takes: [['<address>'], ['<targets...>', 'addresses, smtp: relays or https: URLs']],
    example: 'teal forward add info@example.com alice@example.com bob@example.net',
    async run(to, [address = '', ...targets], _options, say) {
      const made = await to.call<{ id: string }>('POST', '/addresses/forwarded', { address, targets })
      say(made, `${address} forwards to ${targets.join(', ')}.`)
    },
  }),
  task({
    name: 'show',
    description: 'Show where an address forwards to',
    takes: [['<address>']],
    example: 'teal forward show info@example.com',
    async run(to, [address = ''], _options, say) {
      const path = `/addresses/forwarded/${await forwardId(to, address)}`
      const one = await to.call<{ targets: string[]; forwardedDisabled: boolean }>('GET', path)
      const heading = `${address}${one.forwardedDisabled ? ' (disabled)' : ''}`
      say(one, [heading, ...one.targets.map(target => `  ${target}`)].join('\n'))
    },
  }),
  task({
    name: 'set',
    description: 'Forward to others than before',
    takes: [['<address>'], ['<targets...>']],
    example: 'teal forward set info@example.com carol@example.com',
    async run(to, [address = '', ...targets], _options, say) {
      const answer = await to.call('PUT', `/addresses/forwarded/${await forwardId(to, address)}`, { targets })
      say(answer, `${address} forwards to ${targets.join(', ')}.`)
    },
  }),
  switched('disable', true),
  switched('enable', false),
  task({
    name: 'remove',
    description: 'Delete an address that only forwards',
    takes: [['<address>']],
    example: 'teal forward remove info@example.com',
    async run(to, [address = ''], _options, say) {
      const answer = await to.call('DELETE', `/addresses/forwarded/${await forwardId(to, address)}`)
      say(answer, `${address} is nobody's.`)
    },
  }),
]

export const addressCommands = () => [group('address', addresses), group('alias', aliases), group('forward', forwards)]
