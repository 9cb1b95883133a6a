// `teal user`: makes, lists, shows and deletes accounts and sets passwords, whether the service runs or not; what else is done to
// accounts is in owner/accounts.ts.
//
// Everything goes through the API of whoever holds the data directory (cli/reach.ts), so that the rules are the same as
// for anybody. Passwords are read from a file or standard input, never from the arguments, which every process on the
// machine can see.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { newTemporaryPassword } from '#lib/secret/token.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { accountTasks } from '../owner/accounts.ts'
import { commandOf } from '../owner/task.ts'
import { print } from '../print.ts'
import { accountId, type Reach, reach, readSecret } from '../reach.ts'

interface UserOptions extends ConfigOptions {
  readonly json?: boolean
}

interface PasswordOptions extends UserOptions {
  readonly passwordFile?: string
  readonly generate?: boolean
}

interface AddOptions extends PasswordOptions {
  readonly address?: string
  readonly name?: string
  readonly quota?: string
  readonly tag: string[]
  readonly language?: string
  readonly create?: boolean
}

export function userCommand(): Command {
  const command = new Command('user')
  withPassword(withConfig(command.command('add')))
    .description('Make an account')
    .argument('<username>', 'a name, or an e-mail address')
    .option('-a, --address <address>', 'first address; the username where it is one, else in the default domain')
    .option('-n, --name <name>', 'name of the person')
    .option('-q, --quota <bytes>', 'bytes the account may store; 0: the default of the service')
    .option('-t, --tag <tag...>', 'tags', (tag, tags: string[]) => [...tags, tag], [])
    .option('-l, --language <code>', 'language of the first folders, such as de')
    .option('--create', 'make the data directory where there is none')
    .addHelpText(
      'after',
      '\nExamples:\n  teal user add alice@example.com --name "Alice" --generate\n  pass mail/bob | teal user add bob --address bob@example.com --password-file -',
    )
    .action((username: string, options: AddOptions) =>
      withReach(options, to => add(to, username, options), options.create === true),
    )
  withJson(withConfig(command.command('list')))
    .description('List accounts')
    .argument('[query]', 'part of a username, a name or an address')
    .addHelpText('after', '\nExamples:\n  teal user list\n  teal user list example.com --json')
    .action((query: string | undefined, options: UserOptions) => withReach(options, to => list(to, query, options)))
  withJson(withConfig(command.command('show')))
    .description('Show an account')
    .argument('<user>', 'id, username or address')
    .addHelpText('after', '\nExample:\n  teal user show alice@example.com')
    .action((user: string, options: UserOptions) => withReach(options, to => show(to, user, options)))
  withPassword(withConfig(command.command('passwd')))
    .description('Set the password of an account; its sessions and tokens end')
    .argument('<user>', 'id, username or address')
    .addHelpText('after', '\nExample:\n  teal user passwd alice@example.com --generate')
    .action((user: string, options: PasswordOptions) => withReach(options, to => setPassword(to, user, options)))
  withJson(withConfig(command.command('delete')))
    .description('Delete an account with everything it has')
    .argument('<user>', 'id, username or address')
    .option('-y, --yes', 'do it; without, only say what would be deleted')
    .option('--after <date>', 'keep the data until then, so that the account can come back')
    .addHelpText('after', '\nExample:\n  teal user delete bob@example.com --yes --after 2030-01-01')
    .action((user: string, options: DeleteOptions) => withReach(options, to => remove(to, user, options)))
  for (const one of accountTasks) command.addCommand(commandOf(one))
  return command
}

interface DeleteOptions extends UserOptions {
  readonly yes?: boolean
  readonly after?: string
}

function withJson(command: Command): Command {
  return command.option('--json', 'print JSON')
}

function withPassword(command: Command): Command {
  return withJson(command)
    .option('--password-file <file>', 'read the password from a file; - is standard input')
    .option('--generate', 'make a password up and print it')
}

async function withReach(options: UserOptions, task: (to: Reach) => Promise<void>, create = false): Promise<void> {
  const to = await reach(configFrom(options), create)
  try {
    await task(to)
  } finally {
    await to.close()
  }
}

function passwordOf(options: PasswordOptions): string {
  if (options.generate === true) return newTemporaryPassword()
  if (options.passwordFile !== undefined) return readSecret(options.passwordFile)
  throw new Fault('InputValidationError', {
    text: 'A password is needed: give --password-file <file> (- is standard input), or --generate',
  })
}

async function add(to: Reach, username: string, options: AddOptions): Promise<void> {
  const password = passwordOf(options)
  const { address, name, quota, tag: tags, language } = options
  const form = {
    username,
    password,
    address,
    name,
    language,
    ...(quota && { quota }),
    ...(tags.length > 0 && { tags }),
  }
  const { id } = await to.call<{ id: string }>('POST', '/users', form)
  const shown = options.generate === true ? { id, password } : { id }
  print(options.json, shown, options.generate === true ? `${id}\npassword: ${password}` : id)
}

interface Listed {
  readonly id: string
  readonly username: string
  readonly address: string
  readonly name: string
  readonly disabled: boolean
  readonly quota: { readonly used: number; readonly allowed: number }
}

async function list(to: Reach, query: string | undefined, options: UserOptions): Promise<void> {
  for (let cursor = ''; ; ) {
    const search = new URLSearchParams({ limit: '250', ...(query && { query }), ...(cursor && { next: cursor }) })
    const page = await to.call<{ results: Listed[]; nextCursor: string | false }>('GET', `/users?${search}`)
    for (const one of page.results) {
      const line = `${one.id}  ${one.username.padEnd(24)} ${one.address.padEnd(32)} ${one.disabled ? 'disabled' : ''}`
      print(options.json, one, line.trimEnd())
    }
    if (page.nextCursor === false) return
    cursor = page.nextCursor
  }
}

async function show(to: Reach, user: string, options: UserOptions): Promise<void> {
  const id = await accountId(to, user)
  const account = await to.call('GET', `/users/${id}`)
  const { results: addresses } = await to.call<{ results: { address: string }[] }>('GET', `/users/${id}/addresses`)
  const { results: mailboxes } = await to.call<{ results: Folder[] }>('GET', `/users/${id}/mailboxes?counters=true`)
  if (options.json === true) return print(true, { ...account, addresses, mailboxes }, '')
  const { username, name, limits, disabled, suspended } = account as unknown as Shown
  const lines = [
    `id         ${id}`,
    `username   ${username}`,
    `name       ${name}`,
    `state      ${disabled ? 'disabled' : suspended ? 'suspended' : 'open'}`,
    `storage    ${limits.quota.used} of ${limits.quota.allowed} bytes`,
    ...addresses.map(({ address }) => `address    ${address}`),
    ...mailboxes.map(({ path, total, unseen }) => `folder     ${path} (${total} messages, ${unseen} unread)`),
  ]
  print(false, {}, lines.join('\n'))
}

interface Folder {
  readonly path: string
  readonly total: number
  readonly unseen: number
}

interface Shown extends Listed {
  readonly suspended: boolean
  readonly limits: { readonly quota: { readonly used: number; readonly allowed: number } }
}

async function setPassword(to: Reach, user: string, options: PasswordOptions): Promise<void> {
  const password = passwordOf(options)
  const id = await accountId(to, user)
  await to.call('PUT', `/users/${id}`, { password })
  const generated = options.generate === true
  print(
    options.json,
    generated ? { id, password } : { id },
    generated ? `password: ${password}` : 'The password is set.',
  )
}

async function remove(to: Reach, user: string, options: DeleteOptions): Promise<void> {
  const id = await accountId(to, user)
  if (options.yes !== true) {
    throw new Fault('NotPermitted', { text: `This would delete the account ${id} and all its mail: add --yes` })
  }
  const query = options.after === undefined ? '' : `?deleteAfter=${encodeURIComponent(options.after)}`
  const answer = await to.call('DELETE', `/users/${id}${query}`)
  print(options.json, answer, `The account ${id} is deleted.`)
}
