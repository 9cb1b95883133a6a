// `teal domain`: domains as things of their own: what they hold and may hold, who looks after them, whether they are open.
//
// Accounts are named as people name them; numbers of 0 are no limit. A domain is there with its first address, too: making one
// is for what is said of it.

import type { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { accountId, type Reach } from '../reach.ts'
import { group, rowsOf, type TaskOptions, task } from './task.ts'

interface Domain {
  readonly name: string
  readonly description: string
  readonly disabled: boolean
  readonly disabledReason: string
  readonly maxUsers: number
  readonly maxAddresses: number
  readonly maxForwards: number
  readonly quota: number
  readonly defaultQuota: number
  readonly defaultLimits: Readonly<Record<string, number>>
  readonly created: string | false
  readonly users: number
  readonly addresses: number
  readonly forwards: number
  readonly aliases: number
  readonly quotaGiven: number
  readonly storageUsed: number
  readonly catchAll: { readonly user?: string; readonly targets?: readonly string[] } | false
  readonly admins: readonly { readonly id: string; readonly username: string; readonly address: string }[]
}

const pathOf = (domain: string) => `/domains/${encodeURIComponent(domain)}`
const get = (to: Reach, domain: string) => to.call<Domain & Record<string, unknown>>('GET', pathOf(domain))

interface Said extends TaskOptions {
  readonly description?: string
  readonly maxUsers?: string
  readonly maxAddresses?: string
  readonly maxForwards?: string
  readonly quota?: string
  readonly defaultQuota?: string
  readonly defaultRecipients?: string
}

const said: readonly (readonly [string, string])[] = [
  ['--description <text>', 'what people should know of it'],
  ['--max-users <n>', 'accounts it may have; 0: any number'],
  ['--max-addresses <n>', 'addresses that its accounts may have; 0: any number'],
  ['--max-forwards <n>', 'addresses that only forward; 0: any number'],
  ['--quota <bytes>', 'bytes that its accounts may be given together; 0: any number'],
  ['--default-quota <bytes>', 'bytes of an account made without a number; 0: the service’s own'],
  ['--default-recipients <n>', 'recipients a day of an account made without a number; 0: the service’s own'],
]

/** What was said on the command line, as the API takes it. */
function formOf(options: Said): Record<string, unknown> {
  const { description, maxUsers, maxAddresses, maxForwards, quota, defaultQuota, defaultRecipients } = options
  const given = { description, maxUsers, maxAddresses, maxForwards, quota, defaultQuota }
  const form = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return defaultRecipients === undefined ? form : { ...form, defaultLimits: { recipients: defaultRecipients } }
}

const of = (used: number, most: number) => (most === 0 ? String(used) : `${used} of ${most}`)

function shown(one: Domain): string {
  const { catchAll, defaultQuota, defaultLimits, admins } = one
  const caught = catchAll === false ? 'nobody' : (catchAll.user ?? (catchAll.targets ?? []).join(', '))
  const why = one.disabledReason === '' ? '' : ` (${one.disabledReason})`
  const defaults = Object.entries({ ...(defaultQuota > 0 && { quota: defaultQuota }), ...defaultLimits })
  return [
    `domain     ${one.name}`,
    ...(one.description === '' ? [] : [`about      ${one.description}`]),
    `state      ${one.disabled ? `disabled${why}` : 'open'}`,
    `accounts   ${of(one.users, one.maxUsers)}`,
    `addresses  ${of(one.addresses, one.maxAddresses)}`,
    `forwards   ${of(one.forwards, one.maxForwards)}`,
    `aliases    ${one.aliases}`,
    `quota      ${of(one.quotaGiven, one.quota)} bytes given, ${one.storageUsed} stored`,
    ...defaults.map(([name, value]) => `default    ${name} ${value}`),
    `the rest   ${caught}`,
    ...admins.map(({ username, address }) => `admin      ${address === '' ? username : address}`),
  ].join('\n')
}

const kept = [
  task({
    name: 'list',
    description: 'List domains with what they hold',
    takes: [['[query]', 'part of a name']],
    example: 'teal domain list --json',
    async run(to, [query], _options, say) {
      const path = `/domains${query === undefined ? '' : `?query=${encodeURIComponent(query)}`}`
      for await (const one of rowsOf<Domain>(to, path)) {
        const { users, addresses, forwards, storageUsed } = one
        const figures = `${users} accounts, ${addresses} addresses, ${forwards} forwards, ${storageUsed} bytes`
        say(one, `${one.name.padEnd(32)} ${figures}${one.disabled ? '  disabled' : ''}`)
      }
    },
  }),
  task({
    name: 'show',
    description: 'Show a domain',
    takes: [['<domain>']],
    example: 'teal domain show example.com',
    async run(to, [domain = ''], _options, say) {
      const one = await get(to, domain)
      say(one, shown(one))
    },
  }),
  task<Said & { readonly admin?: string }>({
    name: 'create',
    description: 'Say what a domain may have, before or after its first address',
    takes: [['<domain>']],
    options: [...said, ['--admin <user>', 'an account that looks after it: id, username or address']],
    example: 'teal domain create example.com --max-users 50 --default-quota 5000000000',
    async run(to, [domain = ''], { admin, ...options }, say) {
      const admins = admin === undefined ? {} : { admins: [await accountId(to, admin)] }
      const made = await to.call('POST', '/domains', { name: domain, ...formOf(options), ...admins })
      say(made, `${domain} is made.`)
    },
  }),
  task<Said>({
    name: 'change',
    description: 'Change what a domain may have; what is not given stays',
    takes: [['<domain>']],
    options: said,
    example: 'teal domain change example.com --max-users 80',
    async run(to, [domain = ''], options, say) {
      const form = formOf(options)
      if (Object.keys(form).length === 0) throw new Fault('InputValidationError', { text: 'Say what is to change' })
      say(await to.call('PUT', pathOf(domain), form), `${domain} is changed.`)
    },
  }),
]

const state = [
  task<TaskOptions & { readonly reason?: string }>({
    name: 'disable',
    description: 'Close a domain: it takes no mail, lets nobody in and sends nothing; all of it stays',
    takes: [['<domain>']],
    options: [['--reason <text>', 'why, for operators']],
    example: 'teal domain disable example.com --reason "not paid"',
    async run(to, [domain = ''], { reason = '' }, say) {
      const answer = await to.call('PUT', pathOf(domain), { disabled: true, disabledReason: reason })
      say(answer, `${domain} is closed, and its sessions have ended.`)
    },
  }),
  task({
    name: 'enable',
    description: 'Open a domain again; what its accounts had in the queue goes on',
    takes: [['<domain>']],
    example: 'teal domain enable example.com',
    async run(to, [domain = ''], _options, say) {
      say(await to.call('PUT', pathOf(domain), { disabled: false }), `${domain} is open.`)
    },
  }),
  task<TaskOptions & { readonly nobody?: boolean }>({
    name: 'catch-all',
    description: 'Say who gets mail for addresses of a domain that nobody has: the address *@domain',
    takes: [['<domain>'], ['[to...]', 'an account, or addresses and URLs with --forward']],
    options: [
      ['--forward', 'forward it; otherwise it goes to an account'],
      ['--nobody', 'refuse it'],
    ],
    example: 'teal domain catch-all example.com alice',
    async run(to, [domain = '', ...names], options, say) {
      const { nobody, forward } = options as { nobody?: boolean; forward?: boolean }
      if ((nobody === true) !== (names.length === 0)) {
        throw new Fault('InputValidationError', { text: 'Say who gets it, or --nobody' })
      }
      const account = async () => ({ user: await accountId(to, names[0] ?? '') })
      const catchAll = nobody === true ? false : forward === true ? { targets: names } : await account()
      const answer = await to.call('PUT', pathOf(domain), { catchAll })
      say(answer, `Other mail for ${domain} ${nobody === true ? 'is refused' : `goes to ${names.join(', ')}`}.`)
    },
  }),
  task<TaskOptions & { readonly force?: boolean }>({
    name: 'remove',
    description: 'Forget what was said of a domain; accounts and mail are never deleted by this',
    takes: [['<domain>']],
    options: [['--force', 'also where addresses, aliases or keys of it are here: they stay, without limits']],
    example: 'teal domain remove example.com',
    async run(to, [domain = ''], { force }, say) {
      const query = force === true ? '?force=true' : ''
      say(await to.call('DELETE', `${pathOf(domain)}${query}`), `${domain} is forgotten.`)
    },
  }),
]

/** Changes who looks after a domain by what they were. */
const admin = (name: 'add' | 'remove', description: string, told: string) =>
  task({
    name,
    description,
    takes: [['<domain>'], ['<user>', 'id, username or address']],
    example: `teal domain admin ${name} example.com alice`,
    async run(to, [domain = '', user = ''], _options, say) {
      const id = await accountId(to, user)
      const others = (await get(to, domain)).admins.map(one => one.id).filter(one => one !== id)
      const answer = await to.call('PUT', pathOf(domain), { admins: name === 'add' ? [...others, id] : others })
      say(answer, `${user} ${told} ${domain}.`)
    },
  })

const admins = [
  task({
    name: 'list',
    description: 'List the accounts that look after a domain',
    takes: [['<domain>']],
    example: 'teal domain admin list example.com',
    async run(to, [domain = ''], _options, say) {
      for (const one of (await get(to, domain)).admins) say(one, `${one.id}  ${one.username.padEnd(24)} ${one.address}`)
    },
  }),
  admin('add', 'Have an account look after a domain: its accounts, addresses, aliases and keys', 'looks after'),
  admin('remove', 'Have an account look after a domain no longer', 'no longer looks after'),
]

export function domainCommand(): Command {
  const command = group('domain', [...kept, ...state])
  return command.addCommand(group('admin', admins).description('Accounts that look after a domain'))
}
