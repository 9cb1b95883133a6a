// What an owner does to accounts beside making and deleting them: `teal user change`, `disable`, `suspend`, `reset`, `sessions`
// and so on. What somebody lost comes back here, too: messages, accounts, the way in.
//
// Accounts are named by id, username or address; what ends or gives away something says so.

import { Fault } from '#lib/fault.ts'
import { accountId, type Reach } from '../reach.ts'
import { rowsOf, type Task, type TaskOptions, task, timeOf } from './task.ts'

export const whom = ['<user>', 'id, username or address'] as const

interface Changes extends TaskOptions {
  readonly name?: string
  readonly quota?: string
  readonly recipients?: string
  readonly forwards?: string
  readonly received?: string
  readonly spamLevel?: string
  readonly language?: string
  readonly tag?: readonly string[]
  readonly forwardTo?: readonly string[]
  readonly forward?: boolean
  readonly close?: readonly string[]
  readonly open?: boolean
}

/** What was said on the command line, as the API takes it. */
function formOf({ received, tag, forwardTo, forward, close, open, ...options }: Changes): Record<string, unknown> {
  const { name, quota, recipients, forwards, spamLevel, language } = options
  const form = {
    ...{ name, quota, recipients, forwards, spamLevel, language, receivedMax: received, tags: tag },
    targets: forward === false ? [] : forwardTo,
    disabledScopes: open === true ? [] : close,
  }
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== undefined))
}

/** Something that changes an account, with the same answer each time. */
function changed(name: string, description: string, form: object, said: string): Task {
  return task({
    ...{ name, description, takes: [whom], example: `teal user ${name} alice@example.com` },
    async run(to, [user = ''], _options, say) {
      say(await to.call('PUT', `/users/${await accountId(to, user)}`, form), `${user} ${said}`)
    },
  })
}

const changes = [
  task<Changes>({
    name: 'change',
    description: 'Change what an account is and may; what is not given stays',
    takes: [whom],
    options: [
      ['--name <name>', 'name of the person'],
      ['--quota <bytes>', 'bytes it may store; 0: the default of the service'],
      ['--recipients <n>', 'recipients a day it may write to'],
      ['--forwards <n>', 'messages a day that may be forwarded'],
      ['--received <n>', 'messages it may receive in an hour'],
      ['--spam-level <n>', '0: all is spam, 100: nothing is'],
      ['--language <code>', 'language, such as de'],
      ['--tag <tag...>', 'tags, instead of those there are'],
      ['--forward-to <targets...>', 'addresses and URLs that get every message, too'],
      ['--no-forward', 'nobody gets them, too'],
      ['--close <protocols...>', 'what it may not use: imap, pop3, smtp'],
      ['--open', 'it may use all of them'],
    ],
    example: 'teal user change alice@example.com --quota 5000000000 --recipients 500',
    async run(to, [user = ''], options, say) {
      const form = formOf(options)
      if (Object.keys(form).length === 0) throw new Fault('InputValidationError', { text: 'Say what is to change' })
      say(await to.call('PUT', `/users/${await accountId(to, user)}`, form), `${user} is changed.`)
    },
  }),
  changed('disable', 'Close an account: nobody logs in, and its mail is refused', { disabled: true }, 'is closed.'),
  changed('suspend', 'Let nobody log in; mail still comes in', { suspended: true }, 'is suspended.'),
  changed(
    'enable',
    'Open an account that was disabled or suspended',
    { disabled: false, suspended: false },
    'is open.',
  ),
]

const ways = [
  task({
    name: 'reset',
    description: 'Make a temporary password up and print it: it is good for one log-in, at which another is chosen',
    takes: [whom],
    example: 'teal user reset alice@example.com',
    async run(to, [user = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/password/reset`
      const made = await to.call<{ password: string }>('POST', path, {})
      say(made, `password: ${made.password}`)
    },
  }),
  task<TaskOptions & { readonly off?: boolean }>({
    name: 'second-factor',
    description: 'Say which second factors an account has, or take them away where its owner lost them',
    takes: [whom],
    options: [['--off', 'take all of them away']],
    example: 'teal user second-factor alice@example.com --off',
    async run(to, [user = ''], { off }, say) {
      const path = `/users/${await accountId(to, user)}`
      if (off === true) return say(await to.call('DELETE', `${path}/2fa`), `${user} logs in by password alone.`)
      const { enabled2fa } = await to.call<{ enabled2fa: readonly string[] }>('GET', path)
      say({ user, enabled2fa }, enabled2fa.join('\n') || 'none')
    },
  }),
  task({
    name: 'sessions',
    description: 'List where an account is signed in',
    takes: [whom],
    example: 'teal user sessions alice@example.com',
    async run(to, [user = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/sessions`
      for await (const one of rowsOf<Session>(to, path)) {
        say(one, `${one.id}  since ${one.created}  ${one.label}`.trimEnd())
      }
      const { connections } = await to.call<{ connections: number }>('GET', `${path}?limit=1`)
      say({ connections }, `${connections} mail programs are connected`)
    },
  }),
  task({
    name: 'logout',
    description: 'End all sessions of an account, those of its mail programs too',
    takes: [whom],
    example: 'teal user logout alice@example.com',
    async run(to, [user = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/sessions`
      say(await to.call('DELETE', path), `${user} is signed in nowhere.`)
    },
  }),
  task<TaskOptions & { readonly action?: string; readonly ip?: string }>({
    name: 'logins',
    description: 'List what happened around the log-ins of an account, newest first',
    takes: [whom],
    options: [
      ['--action <name>', 'only these: authentication, password change, ...'],
      ['--ip <address>', 'only from here'],
    ],
    example: 'teal user logins alice@example.com',
    async run(to, [user = ''], { action, ip }, say) {
      const query = new URLSearchParams({ ...(action !== undefined && { action }), ...(ip && { filterip: ip }) })
      for await (const one of rowsOf<Login>(to, `/users/${await accountId(to, user)}/authlog?${query}`)) {
        const { last, result = '', protocol = '', events } = one
        const times = events > 1 ? `${events} times` : ''
        say(one, [last, one.action, result, protocol, one.ip ?? '', times].filter(Boolean).join('  '))
      }
    },
  }),
  task<TaskOptions & { readonly reason?: string }>({
    name: 'impersonate',
    description: 'Print a token that acts as an account for an hour; its owner sees it in the log',
    takes: [whom],
    options: [['--reason <text>', 'for the log']],
    example: 'teal user impersonate alice@example.com --reason "ticket 42"',
    async run(to, [user = ''], { reason }, say) {
      const path = `/users/${await accountId(to, user)}/impersonate`
      const made = await to.call<{ token: string }>('POST', path, reason === undefined ? {} : { reason })
      say(made, made.token)
    },
  }),
]

interface Session {
  readonly id: string
  readonly label: string
  readonly created: string
}

interface Login {
  readonly action: string
  readonly result?: string
  readonly protocol?: string
  readonly ip?: string
  readonly last: string
  readonly events: number
}

interface Gone {
  readonly username: string
  readonly storageUsed: number
  readonly deleted: string
  readonly recoverableAddresses: readonly string[]
}

/** Id of a mailbox by its path. @throws Fault NoSuchMailbox */
export async function mailboxId(to: Reach, user: string, path: string): Promise<string> {
  const query = new URLSearchParams({ path })
  return (await to.call<{ id: string }>('GET', `/users/${user}/mailboxes/resolve?${query}`)).id
}

const back = [
  task<TaskOptions & { readonly yes?: boolean }>({
    name: 'restore',
    description: 'Bring a deleted account back, as long as its data is kept',
    takes: [['<id>', 'its id']],
    options: [['-y, --yes', 'do it; without, only say what would come back']],
    example: 'teal user restore 0123456789abcdef01234567 --yes',
    async run(to, [id = ''], { yes }, say) {
      const path = `/users/${encodeURIComponent(id)}/restore`
      if (yes === true) return say(await to.call('POST', path), 'It is back.')
      const gone = await to.call<Gone & Record<string, unknown>>('GET', path)
      const { username, storageUsed, deleted, recoverableAddresses } = gone
      const addresses = recoverableAddresses.join(', ') || 'no address'
      say(gone, `${username}, deleted on ${deleted}: ${storageUsed} bytes, ${addresses}. Add --yes to bring it back.`)
    },
  }),
  task<TaskOptions & { readonly since: string; readonly until?: string; readonly folder?: string }>({
    name: 'undelete',
    description: 'Bring back messages that an account deleted, as long as they are kept',
    takes: [whom],
    options: [
      ['--since <time>', 'deleted from then on (2026-11-23, or 2026-11-23T08:00:00Z); unset: all that is kept'],
      ['--until <time>', 'deleted until then; now unless told'],
      ['--folder <path>', 'put them there; unset: where they were'],
    ],
    example: 'teal user undelete alice@example.com --since 2026-11-23',
    async run(to, [user = ''], { since = '1970-01-01', until, folder }, say) {
      const id = await accountId(to, user)
      const start = timeOf(since)
      const end = timeOf(until)
      const mailbox = folder === undefined ? {} : { mailbox: await mailboxId(to, id, folder) }
      const made = await to.call<{ task: string }>('POST', `/users/${id}/archived/restore`, { start, end, ...mailbox })
      say(made, `They come back: teal task show ${made.task}`)
    },
  }),
  task({
    name: 'recount',
    description: 'Count anew what an account stores',
    takes: [whom],
    example: 'teal user recount alice@example.com',
    async run(to, [user = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/quota/reset`
      const counted = await to.call<{ storageUsed: number; previousStorageUsed: number }>('POST', path, {})
      say(counted, `${counted.storageUsed} bytes, where ${counted.previousStorageUsed} had been counted`)
    },
  }),
]

export const accountTasks: readonly Task[] = [...changes, ...ways, ...back]
