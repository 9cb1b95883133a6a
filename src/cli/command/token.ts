// `teal token`: makes, lists and ends access tokens, also while the service runs. Tokens are rows that the running service
// reads when one is presented, and the database lets two processes take turns, so no way into the service is needed.
//
// A token is shown once, when it is made: only its digest is stored.

import { Command } from 'commander'
import type { Config } from '#config'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { oneLine } from '#lib/journal/harmless.ts'
import { newToken, tokenDigest } from '#lib/secret/token.ts'
import { domainToUnicode, isDomain } from '#mail/address/address.ts'
import { findAnyToken, listTokens, tokenDelete, tokenInsert } from '#store/accounts/tokens.ts'
import { findUser } from '#store/accounts/users.ts'
import { openDatabase } from '#store/engine/open.ts'
import type { Reader } from '#store/engine/reader.ts'
import { databaseOf, type Place } from '#store/folder/place.ts'
import { bringUpToDate, writeBeside } from '#store/writer/beside.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { requireData } from '../place.ts'
import { print } from '../print.ts'
import { accountId, reach } from '../reach.ts'

/** Roles a token may have (api-semantics 1.3). */
const roles = [
  'root',
  'manager',
  'webmail',
  'user',
  'domain',
  'auth',
  'tokenAuth',
  'attachments',
  'downloader',
  'audit',
  'auditclient',
  'export',
  'settings',
]

interface CreateOptions extends ConfigOptions {
  readonly role: string
  readonly user?: string
  readonly label?: string
  readonly domain?: string[]
  readonly json?: boolean
}

export function tokenCommand(): Command {
  const command = new Command('token')
  withConfig(command.command('create'))
    .description('Print a new token')
    .requiredOption('-r, --role <role>', `one of ${roles.join(', ')}`)
    .option('-u, --user <user>', 'account of a token with role user: id, username or address')
    .option('--domain <domain...>', 'domains that a token with role domain is bound to')
    .option('-l, --label <text>', 'what the token is for')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  teal token create --role export --label "nightly export"')
    .action(create)
  withConfig(command.command('list'))
    .description('List the tokens that were made here')
    .option('--json', 'print JSON')
    .action(list)
  withConfig(command.command('revoke'))
    .description('End a token, by its id as `list` shows it or by its text')
    .argument('<token>')
    .option('--json', 'print JSON')
    .action(revoke)
  return command
}

async function create(options: CreateOptions): Promise<void> {
  if (!roles.includes(options.role))
    throw new Fault('InputValidationError', { text: `there is no role ${options.role}` })
  const config = configFrom(options)
  const token = newToken()
  const user = options.user === undefined ? null : await accountOf(options.user, config)
  if ((options.role === 'user') !== (user !== null)) {
    throw new Fault('InputValidationError', { text: 'a token of role user needs --user, and no other role takes it' })
  }
  const domains = options.domain?.map(domainToUnicode) ?? null
  if ((options.role === 'domain') !== (domains !== null) || domains?.some(name => !isDomain(name))) {
    throw new Fault('InputValidationError', {
      text: 'a token of role domain needs --domain with names of domains, and no other role takes it',
    })
  }
  const at = now()
  const row = {
    hash: tokenDigest(token),
    id: newId(),
    label: options.label ?? '',
    role: options.role,
    user,
    authVersion: 0,
    created: at,
    ttl: null,
    expires: null,
    dies: null,
    domains,
  }
  requireData(config)
  if (user !== null) {
    const found = await reading(config, read => findUser(read, user))
    if (found === undefined) throw new Fault('UserNotFound')
    row.authVersion = found.authVersion
  }
  await writeBeside(databaseOf(config), tokenInsert, row)
  process.stdout.write(options.json === true ? `${JSON.stringify({ id: row.id, token })}\n` : `${token}\n`)
}

async function accountOf(user: string, config: Config): Promise<string> {
  if (/^[0-9a-f]{24}$/.test(user)) return user
  const to = await reach(config)
  try {
    return await accountId(to, user)
  } finally {
    await to.close()
  }
}

async function list(options: ConfigOptions & { json?: boolean }): Promise<void> {
  const config = configFrom(options)
  requireData(config)
  const tokens = await reading(config, listTokens)
  for (const { id, role, label, created } of tokens) {
    const shown = { id, role, label, created: new Date(created).toISOString() }
    print(options.json, shown, `${shown.id}  ${role.padEnd(12)} ${shown.created}  ${oneLine(label)}`)
  }
}

async function revoke(token: string, options: ConfigOptions & { json?: boolean }): Promise<void> {
  const config = configFrom(options)
  requireData(config)
  const found = await reading(config, read => findAnyToken(read, token, tokenDigest(token)))
  if (found === undefined) throw new Fault('InvalidToken', { text: 'there is no such token' })
  await writeBeside(databaseOf(config), tokenDelete, { hash: found.hash })
  print(options.json, { success: true }, 'It is good for nothing any more.')
}

async function reading<T>(place: Place, task: (read: Reader) => Promise<T>): Promise<T> {
  bringUpToDate(databaseOf(place))
  const read = openDatabase(databaseOf(place))
  try {
    return await task(read)
  } finally {
    read.close()
  }
}
