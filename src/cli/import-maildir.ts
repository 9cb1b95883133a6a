// `teal import-maildir`: moves Maildirs into accounts, whether the service runs or not.
//
// Every account is found before anything is written. Only regular files in `cur` and `new` are read, never through a link;
// everything odd is named and passed over. Names are held for one folder at a time and messages for some calls, so memory
// does not grow with the number of messages. Running it again moves only what is missing.

import { lstat, opendir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import {
  internalDate,
  maildirFolder,
  parseKeywords,
  parseMaildirName,
  parseSubscriptions,
  usualUse,
} from '#mail/maildir.ts'
import { keyOf, nameOf, onDisk, readable } from './disk-name.ts'
import { type ImportOptions, runImports, type Source } from './import.ts'
import { Load, type LoadItem, type Tally } from './load.ts'
import { MailFiles } from './maildir-file.ts'
import { withConfig } from './options.ts'
import type { Progress } from './print.ts'
import type { Reach } from './reach.ts'

const { transfer } = limits

export function importMaildirCommand(): Command {
  return withConfig(new Command('import-maildir'))
    .description('Move Maildirs into accounts')
    .argument('<pair...>', '<user>:<maildir>; the user is an id, a username or an e-mail address')
    .option('-u, --uploaders <number>', 'accounts whose mail is moved at once (import.uploaders)')
    .option('--dates <source>', 'internal dates: auto, file (time of the file) or header (Received, Date)', 'auto')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  teal import-maildir alice@example.com:/var/mail/alice/Maildir\n  teal import-maildir --uploaders 4 alice:/srv/alice 507f1f77bcf86cd799439011:/srv/bob\n\nExit codes: 0 done, 1 refused (nothing was written) or broken off, 3 done, but some messages could not be moved.',
    )
    .action((pairs: string[], options: ImportOptions & { dates: string }) => {
      if (!['auto', 'file', 'header'].includes(options.dates)) {
        throw new Fault('InputValidationError', { text: '--dates must be auto, file or header' })
      }
      return runImports(pairs, options, path => maildirSource(path, options.dates))
    })
}

function maildirSource(root: string, dates: string): Source {
  return {
    async check() {
      const found = await lstat(root).catch(() => undefined)
      if (found?.isDirectory() !== true) throw new Fault('InputValidationError', { text: `${root} is no directory` })
      const names = await readdir(root)
      if (!names.includes('cur') && !names.includes('new') && !names.some(name => name.startsWith('.'))) {
        throw new Fault('InputValidationError', { text: `${root} is no Maildir: it has neither cur nor new` })
      }
    },
    async run(to, user, tally, progress) {
      const lists = { keywords: new Map<string, string>(), subscriptions: await subscriptionsOf(root) }
      const inboxKeywords = parseKeywords(await listOf(join(root, 'dovecot-keywords')))
      const places = await foldersOf(root, tally, progress)
      for (const { name, path } of places) {
        const folder = join(root, name)
        const own = name === '' ? inboxKeywords : parseKeywords(await listOf(join(folder, 'dovecot-keywords')))
        const subscribed = path === 'INBOX' || lists.subscriptions === null || lists.subscriptions.has(path)
        const form = { path, specialUse: path === 'INBOX' ? undefined : (usualUse(path) ?? undefined), subscribed }
        const mailbox = await to.call<{ id: string }>('POST', `/control/users/${user}/folders`, form)
        await new FolderImport({ to, user, mailbox: mailbox.id, folder, keywords: own, dates, tally, progress }).run()
      }
    },
  }
}

/** The folders of a Maildir, INBOX first. */
async function foldersOf(root: string, tally: Tally, progress: Progress): Promise<{ name: string; path: string }[]> {
  const places = [{ name: '', path: 'INBOX' }]
  const known = new Set(['cur', 'new', 'tmp'])
  for (const entry of await readdir(root, { withFileTypes: true, encoding: 'buffer' })) {
    const name = nameOf(entry.name)
    if (known.has(name) || entry.isFile()) continue
    const path = maildirFolder(readable(name))
    if (entry.isDirectory() && path !== null) places.push({ name, path })
    else {
      tally.skipped += 1
      progress.note(`${join(root, readable(name))}: not a folder of this Maildir, passed over`)
    }
  }
  return places
}

async function subscriptionsOf(root: string): Promise<Set<string> | null> {
  const text = await listOf(join(root, 'subscriptions'))
  return text === '' ? null : new Set(parseSubscriptions(text))
}

async function listOf(file: string): Promise<string> {
  try {
    const { size } = await lstat(onDisk(file))
    return size > transfer.listBytesMax ? '' : await readFile(onDisk(file), 'utf8')
  } catch {
    return ''
  }
}

interface FolderOptions {
  readonly to: Reach
  readonly user: string
  readonly mailbox: string
  readonly folder: string
  readonly keywords: ReadonlyMap<string, string>
  readonly dates: string
  readonly tally: Tally
  readonly progress: Progress
}

interface Named {
  readonly file: string
  readonly name: string
}

/** One folder of a Maildir on its way into one folder of an account. */
class FolderImport {
  readonly #options: FolderOptions
  readonly #load: Load
  readonly #files = new MailFiles()

  constructor(options: FolderOptions) {
    this.#options = options
    const { to, user, mailbox, tally, progress } = options
    this.#load = new Load(to, { user, mailbox, source: 'maildir' }, tally, progress)
  }

  async run(): Promise<void> {
    const { folder, progress } = this.#options
    for (const part of ['cur', 'new']) {
      const names = await namesOf(join(folder, part))
      progress.expect(names.length)
      for (let at = 0; at < names.length; at += transfer.keysMax) {
        await this.#some(join(folder, part), names.slice(at, at + transfer.keysMax))
      }
    }
    await this.#load.end()
  }

  /** Asks which of these are missing, and moves them: some are read while others are stored. */
  async #some(folder: string, names: readonly string[]): Promise<void> {
    const { to, user, mailbox, tally, progress } = this.#options
    const byKey = new Map<string, Named>()
    for (const name of names) {
      const unique = keyOf(parseMaildirName(name).unique)
      if (unique.length > transfer.keyLengthMax || unique === '') this.#odd(join(folder, name), 'has no proper name')
      else if (byKey.has(unique)) this.#odd(join(folder, name), 'is there twice')
      else byKey.set(unique, { file: join(folder, name), name })
    }
    if (byKey.size === 0) return
    const form = { mailbox, source: 'maildir', keys: [...byKey.keys()] }
    const { keys } = await to.call<{ keys: string[] }>('POST', `/control/users/${user}/missing`, form)
    tally.known += byKey.size - keys.length
    progress.add(byKey.size - keys.length)
    const wanted = keys.flatMap(key => byKey.get(key) ?? [])
    for await (const [{ file, name }, read] of this.#files.read(wanted)) {
      if ('odd' in read) this.#odd(file, read.odd)
      else if ('lost' in read) this.#lost(file, read.lost)
      else
        await this.#load.add({ ...this.#described(file, name, read.changed), size: read.size, content: read.content })
    }
  }

  #odd(file: string, what: string): void {
    this.#options.tally.skipped += 1
    this.#options.progress.note(`${readable(file)}: ${what}, passed over`)
    this.#options.progress.add(1)
  }

  #lost(file: string, what: string): void {
    this.#options.tally.failed += 1
    this.#options.progress.note(`${readable(file)}: ${what}`)
    this.#options.progress.add(1)
  }

  /** What the name and the time of a file say of its message. */
  #described(file: string, name: string, changed: number): Omit<LoadItem, 'size' | 'content'> {
    const { unique, flags, keywords, letters, delivered } = parseMaildirName(name)
    const key = keyOf(unique)
    const words = [...letters].flatMap(letter => this.#options.keywords.get(letter) ?? [])
    const { dates } = this.#options
    const at = dates === 'header' ? null : dates === 'file' ? changed : internalDate(changed, delivered)
    const idate = at === null ? null : Math.round(at)
    return { key, name: readable(file), flags, keywords: [...new Set([...keywords, ...words])], idate }
  }
}

/** Names in a folder; none where it is not there. */
async function namesOf(folder: string): Promise<string[]> {
  const names: string[] = []
  try {
    // The types know names as text only.
    const how = { bufferSize: 512, encoding: 'buffer' as BufferEncoding }
    for await (const entry of await opendir(onDisk(folder), how)) {
      const name = nameOf(entry.name as unknown as Buffer)
      if (!name.startsWith('.')) names.push(name)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  // In order of arrival, as far as names tell.
  return names.sort()
}
