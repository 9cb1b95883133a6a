// `teal import-imap`: fetches the mail of an account from another server, with its password there. Flags, dates and
// folders are kept. A message is known by the account and folder there, the folder's UIDVALIDITY and its UID, so that running it
// again fetches only what is missing.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import {
  ImapSource,
  type SourceClient,
  type SourceFolder,
  sourceClient,
  sourceName,
  type Withheld,
} from '#mail/exchange/imap-source.ts'
import { type OutwardFailure, outwardFailure } from '#net/outward/outward.ts'
import { type ImportCounters, Load, newCounters } from '../load.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { Progress, print } from '../print.ts'
import { accountId, type Reach, reach, readSecret } from '../reach.ts'

const { messageBytesMax } = limits.body

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
    const { host, login } = options
    const pass = readSecret(options.passwordFile)
    const source = await ImapSource.from(() => connected(options, pass), messageBytesMax)
    try {
      for (const folder of await source.folders()) {
        await importFolder({ to, user, source, counters, progress, account: { host, login } }, folder)
      }
    } catch (error) {
      if (error instanceof Fault || source.usable) throw error
      const text = `${options.host} ended the connection: run this again, it goes on where it was`
      throw new Fault('SourceUnreachable', { text, cause: error })
    } finally {
      await source.close()
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

/** A connection to the other server that is logged in. @throws Fault SourceRefused, SourceUnreachable */
async function connected(options: Options, pass: string): Promise<SourceClient> {
  const { host, port, login: user, insecure = false } = options
  const secure = port === '993'
  const client = sourceClient(
    {
      ...{ host, port: Number(port), secure, ...(!secure && !insecure && { doSTARTTLS: true }) },
      ...{ tls: { rejectUnauthorized: !insecure }, auth: { user, pass } },
    },
    messageBytesMax,
  )
  await client.connect().catch(error => {
    client.close()
    throw notOpened(error, options)
  })
  return client
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

interface Run {
  readonly to: Reach
  readonly user: string
  readonly source: ImapSource
  readonly counters: ImportCounters
  readonly progress: Progress
  readonly account: { readonly host: string; readonly login: string }
}

async function importFolder(
  { to, user, source, counters, progress, account }: Run,
  folder: SourceFolder,
): Promise<void> {
  const { path, remote, specialUse, subscribed } = folder
  if (path === null) {
    counters.failed += 1
    return progress.note(`${remote}: no folder can be called so, and its mail stays there`)
  }
  const opened = await source.select(folder)
  if (opened === null) {
    counters.failed += 1
    return progress.note(`${remote}: the other server does not open it`)
  }
  const form = { path, specialUse: specialUse ?? undefined, subscribed }
  const { id: mailbox } = await to.call<{ id: string }>('POST', `/control/users/${user}/folders`, form)
  const { validity, uids } = opened
  const name = sourceName(account, folder)
  const prefix = `${validity}:`
  progress.expect(uids.length)
  const load = new Load(to, { user, mailbox, source: name }, counters, progress)
  await load.during(async () => {
    for (let at = 0; at < uids.length; at += limits.transfer.keysMax) {
      const keys = uids.slice(at, at + limits.transfer.keysMax).map(uid => `${prefix}${uid}`)
      const form = { mailbox, source: name, keys }
      const missing = await to.call<{ keys: string[] }>('POST', `/control/users/${user}/missing`, form)
      counters.known += keys.length - missing.keys.length
      progress.add(keys.length - missing.keys.length)
      for (const key of missing.keys) {
        const uid = key.slice(prefix.length)
        const message = await source.message(Number(uid))
        if (typeof message !== 'string')
          await load.add({ key, name: `${path} ${uid}`, size: message.content.length, ...message })
        else {
          const [count, what] = withheld[message]
          counters[count] += 1
          progress.note(`${path} ${uid}: ${what}`)
          progress.add(1)
        }
      }
    }
  })
}

/** How a message that is not had is counted, and what is said of it. */
const withheld: Readonly<Record<Withheld, readonly [count: 'skipped' | 'failed', what: string]>> = {
  gone: ['skipped', 'is empty or has gone, passed over'],
  large: ['failed', 'is larger than a message may be'],
  refused: ['failed', 'the other server does not hand it over'],
}
