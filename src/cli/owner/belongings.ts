// What accounts have that an owner looks after for them: `teal app-password`, `teal autoreply`, `teal filter`, `teal task`.
//
// Folders are named by their paths; ids are looked up.

import { readFileSync } from 'node:fs'
import { accountId, type Reach } from '../reach.ts'
import { mailboxId, whom } from './accounts.ts'
import { group, rowsOf, type Task, type TaskOptions, task, timeOf } from './task.ts'

interface Password {
  readonly id: string
  readonly description: string
  readonly scopes: readonly string[]
  readonly created: string
}

const passwords = [
  task({
    name: 'list',
    description: 'List the passwords that an account has for its mail programs',
    takes: [whom],
    example: 'teal app-password list alice@example.com',
    async run(to, [user = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/asps`
      const { results } = await to.call<{ results: readonly Password[] }>('GET', path)
      for (const one of results)
        say(one, `${one.id}  ${one.created}  ${one.scopes.join(',').padEnd(14)} ${one.description}`)
    },
  }),
  task<TaskOptions & { readonly scope?: readonly string[] }>({
    name: 'add',
    description: 'Make a password for a mail program up and print it',
    takes: [whom, ['<description>', 'what it is for']],
    options: [['--scope <protocols...>', 'imap, pop3, smtp; all unless told']],
    example: 'teal app-password add alice@example.com "her phone"',
    async run(to, [user = '', description = ''], { scope }, say) {
      const form = { description, ...(scope !== undefined && { scopes: scope }) }
      const path = `/users/${await accountId(to, user)}/asps`
      const made = await to.call<{ id: string; password: string }>('POST', path, form)
      say(made, `${made.id}\npassword: ${made.password}`)
    },
  }),
  task({
    name: 'remove',
    description: 'Take such a password away; who uses it is signed out',
    takes: [whom, ['<id>']],
    example: 'teal app-password remove alice@example.com 0123456789abcdef01234567',
    async run(to, [user = '', id = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/asps/${encodeURIComponent(id)}`
      say(await to.call('DELETE', path), 'It is good for nothing any more.')
    },
  }),
]

interface Autoreply extends Record<string, unknown> {
  readonly status: boolean
  readonly subject: string
  readonly text: string
  readonly start?: string
  readonly end?: string
}

interface Reply extends TaskOptions {
  readonly subject?: string
  readonly text?: string
  readonly file?: string
  readonly start?: string
  readonly end?: string
}

const autoreplies = [
  task({
    name: 'show',
    description: 'Show the autoreply of an account',
    takes: [whom],
    example: 'teal autoreply show alice@example.com',
    async run(to, [user = ''], _options, say) {
      const one = await to.call<Autoreply>('GET', `/users/${await accountId(to, user)}/autoreply`)
      const days = [one.start === undefined ? '' : `from ${one.start}`, one.end === undefined ? '' : `until ${one.end}`]
      const state = [one.status ? 'on' : 'off', ...days].filter(Boolean).join(' ')
      say(one, [state, ...(one.subject === '' ? [] : [`subject: ${one.subject}`]), one.text].join('\n').trimEnd())
    },
  }),
  task<Reply>({
    name: 'set',
    description: 'Have mail to an account answered; what is not given stays',
    takes: [whom],
    options: [
      ['--subject <text>', 'of the answer'],
      ['--text <text>', 'what it says'],
      ['--file <file>', 'the same from a file; - is standard input'],
      ['--start <time>', 'not before (2026-12-24, or 2026-12-24T08:00:00Z)'],
      ['--end <time>', 'not after'],
    ],
    example: 'teal autoreply set alice@example.com --text "Back on Monday." --end 2026-12-28',
    async run(to, [user = ''], { subject, text, file, start, end }, say) {
      const said = file === undefined ? text : readFileSync(file === '-' ? 0 : file, 'utf8')
      const form = {
        ...{ status: true, subject, text: said },
        ...(start !== undefined && { start: timeOf(start) }),
        ...(end !== undefined && { end: timeOf(end) }),
      }
      const path = `/users/${await accountId(to, user)}/autoreply`
      say(await to.call('PUT', path, form), `Mail to ${user} is answered.`)
    },
  }),
  task({
    name: 'off',
    description: 'Have mail to an account answered no longer; the text stays',
    takes: [whom],
    example: 'teal autoreply off alice@example.com',
    async run(to, [user = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/autoreply`
      say(await to.call('PUT', path, { status: false }), `Mail to ${user} is not answered.`)
    },
  }),
]

interface Filter extends Record<string, unknown> {
  readonly id: string
  readonly name?: string
  readonly disabled: boolean
  readonly query: readonly (readonly (string | number)[])[]
  readonly action: readonly (readonly string[])[]
}

const words = (pairs: Filter['query']) => pairs.map(pair => pair.join(' ')).join(', ')

interface Sieve extends TaskOptions {
  readonly name?: string
  readonly from?: string
  readonly to?: string
  readonly subject?: string
  readonly listId?: string
  readonly text?: string
  readonly attachment?: boolean
  readonly larger?: string
  readonly smaller?: string
  readonly folder?: string
  readonly seen?: boolean
  readonly flag?: boolean
  readonly junk?: boolean
  readonly neverJunk?: boolean
  readonly discard?: boolean
  readonly forwardTo?: readonly string[]
}

/** A filter as the API takes it. */
async function filterOf(to: Reach, user: string, options: Sieve): Promise<object> {
  const { name, from, to: recipient, subject, listId, text, attachment, larger, smaller, folder } = options
  const size = larger ?? (smaller === undefined ? undefined : `-${smaller}`)
  const query = { from, to: recipient, subject, listId, text, ha: attachment, size }
  const spam = options.junk === true ? true : options.neverJunk === true ? false : undefined
  const action = {
    ...{ seen: options.seen, flag: options.flag, delete: options.discard, spam, targets: options.forwardTo },
    ...(folder !== undefined && { mailbox: await mailboxId(to, user, folder) }),
  }
  return { name, query, action }
}

const filterPath = async (to: Reach, user: string, id: string) =>
  `/users/${await accountId(to, user)}/filters/${encodeURIComponent(id)}`

function switched(name: 'enable' | 'disable', description: string, said: string): Task {
  return task({
    ...{ name, description, takes: [whom, ['<id>']] },
    example: `teal filter ${name} alice@example.com 0123456789abcdef01234567`,
    async run(to, [user = '', id = ''], _options, say) {
      say(await to.call('PUT', await filterPath(to, user, id), { disabled: name === 'disable' }), said)
    },
  })
}

const filters = [
  task({
    name: 'list',
    description: 'List the filters of an account in their order',
    takes: [whom],
    example: 'teal filter list alice@example.com',
    async run(to, [user = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/filters`
      for (const one of (await to.call<{ results: readonly Filter[] }>('GET', path)).results) {
        const off = one.disabled ? '  (off)' : ''
        say(one, `${one.id}  ${one.name ?? ''}${off}  ${words(one.query)} -> ${words(one.action)}`)
      }
    },
  }),
  task<Sieve>({
    name: 'add',
    description: 'Add a filter to an account: what all must be so, and what then becomes of a message',
    takes: [whom],
    options: [
      ['--name <text>', 'what it is called'],
      ['--from <text>', 'in From or Sender: a text, or /pattern/i'],
      ['--to <text>', 'in To, Cc or the recipient'],
      ['--subject <text>', 'in the subject'],
      ['--list-id <text>', 'in List-ID'],
      ['--text <words>', 'in the text'],
      ['--attachment', 'something is attached'],
      ['--larger <bytes>', 'at least so large'],
      ['--smaller <bytes>', 'at most so large'],
      ['--folder <path>', 'put it there'],
      ['--seen', 'mark it as read'],
      ['--flag', 'flag it'],
      ['--junk', 'take it for junk'],
      ['--never-junk', 'take it for junk never'],
      ['--discard', 'do not store it'],
      ['--forward-to <targets...>', 'send it on to these'],
    ],
    example: 'teal filter add alice@example.com --list-id announce --folder Lists --seen',
    async run(to, [user = ''], options, say) {
      const id = await accountId(to, user)
      const made = await to.call<{ id: string }>('POST', `/users/${id}/filters`, await filterOf(to, id, options))
      say(made, made.id)
    },
  }),
  switched('enable', 'Let a filter work again', 'It works again.'),
  switched('disable', 'Keep a filter, and let it do nothing', 'It does nothing.'),
  task({
    name: 'remove',
    description: 'Delete a filter',
    takes: [whom, ['<id>']],
    example: 'teal filter remove alice@example.com 0123456789abcdef01234567',
    async run(to, [user = '', id = ''], _options, say) {
      say(await to.call('DELETE', await filterPath(to, user, id)), 'It is gone.')
    },
  }),
]

interface Doing extends Record<string, unknown> {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly created: string
  readonly result: object
}

const tasks = [
  task({
    name: 'list',
    description: 'List what is done for an account in the background, newest first',
    takes: [whom],
    example: 'teal task list alice@example.com',
    async run(to, [user = ''], _options, say) {
      for await (const one of rowsOf<Doing>(to, `/users/${await accountId(to, user)}/tasks`)) {
        say(one, `${one.id}  ${one.created}  ${one.kind.padEnd(20)} ${one.state}`)
      }
    },
  }),
  task({
    name: 'show',
    description: 'Say how a task is doing, and what came of it',
    takes: [['<id>']],
    example: 'teal task show 0123456789abcdef01234567',
    async run(to, [id = ''], _options, say) {
      const one = await to.call<Doing>('GET', `/tasks/${encodeURIComponent(id)}`)
      const results = Object.entries(one.result).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`)
      say(one, [`${one.kind} ${one.state}`, ...results].join('\n'))
    },
  }),
  task({
    name: 'stop',
    description: 'Stop a task',
    takes: [whom, ['<id>']],
    example: 'teal task stop alice@example.com 0123456789abcdef01234567',
    async run(to, [user = '', id = ''], _options, say) {
      const path = `/users/${await accountId(to, user)}/tasks/${encodeURIComponent(id)}`
      say(await to.call('DELETE', path), 'It is stopped.')
    },
  }),
]

export const belongingCommands = () => [
  group('app-password', passwords),
  group('autoreply', autoreplies),
  group('filter', filters),
  group('task', tasks),
]
