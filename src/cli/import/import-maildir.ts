// `teal import-maildir`: moves Maildirs into accounts, whether the service runs or not.
//
// Every account is found before anything is written. Only regular files in `cur` and `new` are read, never through a link;
// everything odd is named and passed over, and so is a directory without both. Names are held for one folder at a time and messages for some calls, so memory
// does not grow with the number of messages. Running it again moves only what is missing.

import { createHash } from 'node:crypto'
import { lstat, opendir, readdir } from 'node:fs/promises'
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
} from '#mail/exchange/maildir.ts'
import { Folder } from '../folder.ts'
import { type ImportCounters, Load, type LoadItem } from '../load.ts'
import { withConfig } from '../options.ts'
import type { Progress } from '../print.ts'
import type { Reach } from '../reach.ts'
import { keyOf, nameOf, readable } from './disk-name.ts'
import { type ImportOptions, runImports, type Source } from './import.ts'
import { MailFiles } from './maildir-file.ts'

const { transfer } = limits

export function importMaildirCommand(): Command {
  return withConfig(new Command('import-maildir'))
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
    async run(to, user, counters, progress) {
      const top = Folder.open(root)
      try {
        const texts = (folder: Folder, name: string) => folder.text(name, transfer.listBytesMax)
        const listed = texts(top, 'subscriptions')
        const subscriptions = listed === '' ? null : new Set(parseSubscriptions(listed))
        const inboxKeywords = parseKeywords(texts(top, 'dovecot-keywords'))
        const places: Place[] = []
        for (const { name, path } of await foldersOf(top, counters, progress)) {
          const subscribed = path === 'INBOX' || subscriptions === null || subscriptions.has(path)
          const form = { path, specialUse: path === 'INBOX' ? undefined : (usualUse(path) ?? undefined), subscribed }
          const led = await to.call<{ id: string; path: string }>('POST', `/control/users/${user}/folders`, form)
          places.push({ name, mailbox: led.id, plain: led.path === path })
        }
        for (const { name, mailbox, sources } of named(places)) {
          const folder = name === '' ? top : top.open(name)
          try {
            const keywords = name === '' ? inboxKeywords : parseKeywords(texts(folder, 'dovecot-keywords'))
            const place = { mailbox, sources, folder, keywords, dates }
            await new FolderImport({ to, user, ...place, counters, progress }).run()
          } finally {
            if (folder !== top) folder.close()
          }
        }
      } finally {
        top.close()
      }
    },
  }
}

interface Place {
  /** Of the folder in the Maildir. */
  readonly name: string
  readonly mailbox: string
  /** It has the path that its name says; else it became one that was there for its use. */
  readonly plain: boolean
}

/**
 * Under which sources the messages of each folder are known. Names of files tell those of one folder apart, so what becomes one with
 * another folder here has a source of its own, which no further folder changes. Where no folder has the common one, what older
 * versions brought is known by it.
 */
function named(places: readonly Place[]): (Place & { readonly sources: readonly [string, ...string[]] })[] {
  const common = 'maildir'
  const holders = new Map<string, Place>()
  for (const place of places) if (place.plain && !holders.has(place.mailbox)) holders.set(place.mailbox, place)
  return places.map(place => {
    const holder = holders.get(place.mailbox)
    if (holder === place) return { ...place, sources: [common] }
    const own = `${common} ${createHash('sha256').update(keyOf(place.name)).digest('base64url')}`
    return { ...place, sources: holder === undefined ? [own, common] : [own] }
  })
}

/** The folders of a Maildir, INBOX first, by name. A directory that has neither cur nor new is none, whatever its name. */
async function foldersOf(
  top: Folder,
  counters: ImportCounters,
  progress: Progress,
): Promise<{ name: string; path: string }[]> {
  const places = [{ name: '', path: 'INBOX' }]
  const known = new Set(['cur', 'new', 'tmp'])
  for (const entry of await readdir(top.at(), { withFileTypes: true, encoding: 'buffer' })) {
    const name = nameOf(entry.name)
    if (known.has(name) || entry.isFile()) continue
    const path = maildirFolder(readable(name))
    const shown = join(top.path, readable(name))
    if (!isFolder(top, name)) {
      counters.skipped += 1
      progress.note(`${shown}: not a folder of this Maildir, passed over`)
    } else if (path === null) {
      counters.failed += 1
      progress.note(`${shown}: no folder can be called so, and its mail stays there`)
    } else places.push({ name, path })
  }
  return places.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function isFolder(top: Folder, name: string): boolean {
  if (top.kindOf(name) !== 'folder') return false
  const folder = top.open(name)
  try {
    return folder.kindOf('cur') !== 'none' || folder.kindOf('new') !== 'none'
  } finally {
    folder.close()
  }
}

interface FolderOptions {
  readonly to: Reach
  readonly user: string
  readonly mailbox: string
  /** Under which its messages are known; new ones under the first. */
  readonly sources: readonly [string, ...string[]]
  readonly folder: Folder
  readonly keywords: ReadonlyMap<string, string>
  readonly dates: string
  readonly counters: ImportCounters
  readonly progress: Progress
}

interface Named {
  /** Where it is read. */
  readonly file: string
  /** How it is called in reports. */
  readonly shown: string
  readonly name: string
  /** Under which it is known. */
  readonly key: string
}

/** One folder of a Maildir on its way into one folder of an account. */
class FolderImport {
  readonly #options: FolderOptions
  readonly #load: Load
  readonly #files = new MailFiles()

  constructor(options: FolderOptions) {
    this.#options = options
    const { to, user, mailbox, sources, counters, progress } = options
    this.#load = new Load(to, { user, mailbox, source: sources[0] }, counters, progress)
  }

  async run(): Promise<void> {
    const { folder } = this.#options
    for (const part of ['cur', 'new']) {
      const kind = folder.kindOf(part)
      if (kind === 'folder') await this.#part(folder.open(part))
      else if (kind === 'other')
        this.#odd(join(folder.path, part), 'is no directory, and nothing is read through links')
    }
    await this.#load.end()
  }

  async #part(part: Folder): Promise<void> {
    try {
      const names = await namesOf(part)
      this.#options.progress.expect(names.length)
      for (let at = 0; at < names.length; at += transfer.keysMax) {
        await this.#some(part, names.slice(at, at + transfer.keysMax))
      }
      // What is large is read when it is sent.
      await this.#load.settle()
    } finally {
      part.close()
    }
  }

  /** Asks which of these are missing, and moves them: some are read while others are stored. */
  async #some(folder: Folder, names: readonly string[]): Promise<void> {
    const { counters, progress } = this.#options
    const byKey = new Map<string, Named>()
    for (const name of names) {
      const unique = keyOf(parseMaildirName(name).unique)
      if (unique.length > transfer.keyLengthMax || unique === '')
        this.#odd(join(folder.path, name), 'has no proper name')
      else if (byKey.has(unique)) this.#odd(join(folder.path, name), 'is there twice')
      else byKey.set(unique, { file: folder.at(name), shown: join(folder.path, name), name, key: unique })
    }
    if (byKey.size === 0) return
    const keys = await this.#missing([...byKey.keys()])
    const wanted = await this.#unlike(keys.flatMap(key => byKey.get(key) ?? []))
    counters.known += byKey.size - wanted.length
    progress.add(byKey.size - wanted.length)
    for await (const [named, read] of this.#files.read(wanted)) {
      if ('odd' in read) this.#odd(named.shown, read.odd)
      else if ('lost' in read) this.#lost(named.shown, read.lost)
      else await this.#load.add({ ...this.#described(named, read.changed), size: read.size, content: read.content })
    }
  }

  /**
   * Where names say nothing about messages of other Maildirs, what is in them does: those that are missing by that. They are read twice,
   * and once for nothing whenever the import is run again.
   */
  async #unlike(all: readonly Named[]): Promise<readonly Named[]> {
    const doubtful = all.filter(({ name }) => !parseMaildirName(name).isDelivered)
    if (doubtful.length === 0) return all
    const keys = new Map<Named, string>()
    for await (const [named, read] of this.#files.read(doubtful)) {
      // What is wrong with one is said when its turn comes.
      const key = 'content' in read ? await contentKey(named.key, read.content) : null
      if (key !== null) keys.set(named, key)
    }
    const missing = new Set(keys.size === 0 ? [] : await this.#missing([...new Set(keys.values())]))
    return all.flatMap(named => {
      const key = keys.get(named)
      if (key === undefined) return [named]
      return missing.has(key) ? [{ ...named, key }] : []
    })
  }

  /** Those of `keys` that are known under no source. */
  async #missing(keys: readonly string[]): Promise<readonly string[]> {
    const { to, user, mailbox, sources } = this.#options
    let missing = keys
    for (const source of sources) {
      if (missing.length === 0) break
      const form = { mailbox, source, keys: missing }
      missing = (await to.call<{ keys: string[] }>('POST', `/control/users/${user}/missing`, form)).keys
    }
    return missing
  }

  #odd(file: string, what: string): void {
    this.#options.counters.skipped += 1
    this.#options.progress.note(`${readable(file)}: ${what}, passed over`)
    this.#options.progress.add(1)
  }

  #lost(file: string, what: string): void {
    this.#options.counters.failed += 1
    this.#options.progress.note(`${readable(file)}: ${what}`)
    this.#options.progress.add(1)
  }

  /** What the name and the time of a file say of its message. */
  #described({ shown, name, key }: Named, changed: number): Omit<LoadItem, 'size' | 'content'> {
    const { flags, keywords, letters, delivered } = parseMaildirName(name)
    const words = [...letters].flatMap(letter => this.#options.keywords.get(letter) ?? [])
    const { dates } = this.#options
    const at = dates === 'header' ? null : dates === 'file' ? changed : internalDate(changed, delivered)
    const idate = at === null ? null : Math.round(at)
    return { key, name: readable(shown), flags, keywords: [...new Set([...keywords, ...words])], idate }
  }
}

/** The key of a message that is told by its name and what is in it; null where it changes while it is read. */
async function contentKey(name: string, content: Buffer | (() => AsyncIterable<Buffer>)): Promise<string | null> {
  const hash = createHash('sha256').update(`${name}\0`)
  try {
    for await (const piece of Buffer.isBuffer(content) ? [content] : content()) hash.update(piece)
  } catch {
    return null
  }
  return `sha256 ${hash.digest('base64url')}`
}

/** Names in a folder. */
async function namesOf(folder: Folder): Promise<string[]> {
  const names: string[] = []
  // The types know names as text only.
  const how = { bufferSize: 512, encoding: 'buffer' as BufferEncoding }
  for await (const entry of await opendir(folder.at(), how)) {
    const name = nameOf(entry.name as unknown as Buffer)
    if (!name.startsWith('.')) names.push(name)
  }
  // In order of arrival, as far as names tell.
  return names.sort()
}
