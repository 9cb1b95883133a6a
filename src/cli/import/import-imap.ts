// `teal import-imap`: fetches the mail of an account from another server, with its password there. Flags, dates and
// folders are kept. A message is known by the server, the folder's UIDVALIDITY and its UID, so that running it again
// fetches only what is missing.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { imapFlow } from '#lib/process/lazy.ts'
import { usualUse } from '#mail/exchange/maildir.ts'
import { isKeyword, parseFlags } from '#mail/flags.ts'
import { mendPlain } from '#mail/mime/line-end.ts'
import { type OutwardFailure, outwardFailure } from '#net/outward/outward.ts'
import { type ImportCounters, Load, newCounters } from '../load.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { Progress, print } from '../print.ts'
import { accountId, type Reach, reach, readSecret } from '../reach.ts'

interface Options extends ConfigOptions {
  readonly host: string
  readonly port: string
  readonly login: string
  readonly passwordFile: string
  readonly insecure?: boolean
  readonly json?: boolean
}

export function importImapCommand(): Command {
  return withConfig(new Command('import-imap'))
    .description('Fetch the mail of an account from another IMAP server')
    .argument('<user>', 'the account here: id, username or e-mail address')
    .requiredOption('--host <host>', 'the other server')
    .option('--port <port>', 'its port; TLS from the start on 993, else STARTTLS', '993')
    .requiredOption('--login <name>', 'name of the account there')
    .requiredOption('--password-file <file>', 'its password there; - is standard input')
    .option('--insecure', 'talk to a server without TLS, or whose certificate cannot be checked')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  pass old-mail | teal import-imap alice@example.com --host imap.old.example --login alice --password-file -',
    )
    .action(importImap)
}

async function importImap(identifier: string, options: Options): Promise<void> {
  const to = await reach(configFrom(options))
  const counters = newCounters()
  const progress = new Progress('messages', options.json === true)
  try {
    const user = await accountId(to, identifier)
    const secure = options.port === '993'
    const client = new (imapFlow().ImapFlow)({
      ...{ host: options.host, port: Number(options.port), secure, logger: false },
      ...(!secure && options.insecure !== true && { doSTARTTLS: true }),
      tls: { rejectUnauthorized: options.insecure !== true },
      ...{ connectionTimeout: limits.outward.connectMs, greetingTimeout: limits.outward.connectMs },
      auth: { user: options.login, pass: readSecret(options.passwordFile) },
    })
    // Also said by what is under way, which then fails.
    client.on('error', () => {})
    await client.connect().catch(error => {
      client.close()
      throw notOpened(error, options)
    })
    try {
      for (const folder of await client.list()) {
        if (folder.flags.has('\\Noselect') || folder.flags.has('\\NonExistent')) continue
        await importFolder({ to, user, client, counters, progress, host: options.host }, folder)
      }
    } catch (error) {
      if (error instanceof Fault || client.usable) throw error
      const text = `${options.host} ended the connection: run this again, it goes on where it was`
      throw new Fault('SourceUnreachable', { text, cause: error })
    } finally {
      await client.logout().catch(() => client.close())
    }
    progress.end()
    const { imported, known, skipped, failed } = counters
    const text = `${identifier}: ${imported} imported, ${known} there already, ${skipped} passed over, ${failed} failed`
    print(options.json, { identifier, user, ...counters }, text)
    if (failed > 0) process.exitCode = 3
  } finally {
    await to.close()
  }
}

/** What a connection that could not be opened means, and what to do. */
function notOpened(error: Error & { authenticationFailed?: boolean; responseText?: string }, options: Options): Fault {
  const { host, port } = options
  const said = error.responseText ?? error.message
  if (error.authenticationFailed === true) {
    const text = `${host} does not take this name and password: ${said}`
    return new Fault('SourceRefused', { text, cause: error })
  }
  const advice: Partial<Record<OutwardFailure, string>> = {
    refused: '. Is --port right?',
    unresolved: '. Is --host right?',
    tls: '. Without TLS there, or with a certificate that cannot be checked, --insecure goes on all the same',
  }
  const word = outwardFailure(error)
  const text = `${host}, port ${port}, could not be reached (${word}): ${said}${advice[word] ?? ''}`
  return new Fault('SourceUnreachable', { text, cause: error })
}

type Client = InstanceType<ReturnType<typeof imapFlow>['ImapFlow']>
type Folder = Awaited<ReturnType<Client['list']>>[number]

interface Run {
  readonly to: Reach
  readonly user: string
  readonly client: Client
  readonly counters: ImportCounters
  readonly progress: Progress
  readonly host: string
}

const uses = ['\\Sent', '\\Trash', '\\Drafts', '\\Junk', '\\Archive']

async function importFolder({ to, user, client, counters, progress, host }: Run, folder: Folder): Promise<void> {
  const path = folder.path.toUpperCase() === 'INBOX' ? 'INBOX' : folder.path.split(folder.delimiter).join('/')
  const stated = uses.find(use => use === folder.specialUse)
  const specialUse = path === 'INBOX' ? undefined : (stated ?? usualUse(path) ?? undefined)
  const form = { path, specialUse, subscribed: folder.subscribed }
  const { id: mailbox } = await to.call<{ id: string }>('POST', `/control/users/${user}/folders`, form)
  const lock = await client.getMailboxLock(folder.path, { readOnly: true })
  try {
    const opened = client.mailbox
    if (opened === false || opened.exists === 0) return
    const source = `imap ${host}`.slice(0, 500)
    const prefix = `${opened.uidValidity}:`
    const found = await client.search({ all: true }, { uid: true })
    const uids = found === false || found === undefined ? [] : found
    progress.expect(uids.length)
    const load = new Load(to, { user, mailbox, source }, counters, progress)
    for (let at = 0; at < uids.length; at += limits.transfer.keysMax) {
      const keys = uids.slice(at, at + limits.transfer.keysMax).map(uid => `${prefix}${uid}`)
      const missing = await to.call<{ keys: string[] }>('POST', `/control/users/${user}/missing`, {
        ...{ mailbox, source, keys },
      })
      counters.known += keys.length - missing.keys.length
      progress.add(keys.length - missing.keys.length)
      for (const key of missing.keys)
        await fetchOne(client, key.slice(prefix.length), key, path, load, { counters, progress })
    }
    await load.end()
  } finally {
    lock.release()
  }
}

async function fetchOne(
  client: Client,
  uid: string,
  key: string,
  path: string,
  load: Load,
  { counters, progress }: { counters: ImportCounters; progress: Progress },
): Promise<void> {
  const wanted = { source: true, flags: true, internalDate: true, size: true }
  const message = await client.fetchOne(uid, wanted, { uid: true })
  if (message === false || message === undefined || message.source === undefined || message.source.length === 0) {
    counters.skipped += 1
    progress.note(`${path} ${uid}: is empty or has gone, passed over`)
    progress.add(1)
    return
  }
  const content = mendPlain(message.source)
  const flags = parseFlags([...(message.flags ?? [])].filter(name => name.startsWith('\\') || isKeyword(name)))
  const idate = message.internalDate === undefined ? null : new Date(message.internalDate).getTime()
  await load.add({
    ...{ key, name: `${path} ${uid}`, size: content.length, content },
    ...{ flags: flags?.bits ?? 0, keywords: flags?.keywords ?? [], idate: Number.isFinite(idate) ? idate : null },
  })
}
