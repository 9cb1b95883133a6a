// Fetching the mail of an account from another server, as a task of its owner: folder by folder, message by message.
//
// A message is known by the account and folder there, the folder's UIDVALIDITY and its UID, so that what broke off goes on where it was and
// doing it again brings only what is missing. Where it was is noted, in folders in the order of their names, so that work that ended to let
// others have its place goes on there and counts on. The password is stored sealed, opened here, and goes from the row with the
// task's end. The quota ends it; what is there stays.

import type { Importer } from '#actors/admin/import.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { SecretBox } from '#lib/secret/secret-box.ts'
import { type ImapAccount, type SourceFolder, type SourceMessage, sourceName } from '#mail/exchange/imap-source.ts'
import type { Outward } from '#net/outward/outward.ts'
import type { Task } from '#store/accounts/task.ts'
import { MailSource } from './mail-source.ts'
import { longKind, type TaskResult, type TaskRun, type Tasks } from './tasks.ts'

export interface MailImportDeps {
  readonly importer: Importer
  readonly outward: Outward
  readonly seal: SecretBox
  readonly config: { readonly mail: { readonly maxSize: number } }
}

export function handleMailImports(tasks: Tasks, deps: MailImportDeps): void {
  tasks.handle(longKind, (task, run) => new MailImport(deps, task, run).run())
}

/** Input of the task; `secret` is the sealed password, `resume` where an earlier run of it was. */
interface MailImportInput extends Omit<ImapAccount, 'password'> {
  readonly secret: string
  readonly resume?: Place
}

/** Of the folders so far; `folder` is the one it is at. */
interface Counts {
  folders: number
  foldersDone: number
  found: number
  imported: number
  known: number
  skipped: number
  failed: number
  folder: string
}

interface Place {
  /** The folder's name there. */
  readonly remote: string
  /** As they were before it, but for all that was imported. */
  readonly counts: Counts
  /** Messages that were imported from the folder. */
  readonly imported: number
}

class MailImport {
  readonly #deps: MailImportDeps
  readonly #user: string
  readonly #input: MailImportInput
  readonly #run: TaskRun
  readonly #counts: Counts = { ...none }
  /** The folder it is at, and what was counted before it. */
  #at: { readonly remote: string; readonly before: Counts } | undefined
  #sinceNote = 0

  constructor(deps: MailImportDeps, task: Task, run: TaskRun) {
    this.#deps = deps
    this.#user = task.user ?? ''
    this.#input = task.input as unknown as MailImportInput
    this.#run = run
  }

  async run(): Promise<TaskResult> {
    const { outward, seal, config } = this.#deps
    const { secret, ...account } = this.#input
    const password = await seal.open(secret)
    const options = { messageBytesMax: config.mail.maxSize, signal: this.#run.signal }
    const source = await MailSource.open(outward, { ...account, password }, options)
    try {
      const folders = (await source.folders()).sort(byName)
      for (const folder of this.#left(folders)) {
        await this.#folder(source, folder)
        this.#counts.foldersDone += 1
      }
    } catch (error) {
      await this.#note(true)
      // What ends the work may be the connection, which does not say why.
      this.#run.signal.throwIfAborted()
      throw error instanceof Fault ? error : new Fault('SourceUnreachable', { cause: error })
    } finally {
      await source.close()
    }
    const { folder: _, ...counts } = this.#counts
    return counts
  }

  /** Folders that were not done by an earlier run. */
  #left(folders: readonly SourceFolder[]): readonly SourceFolder[] {
    const { resume } = this.#input
    if (resume !== undefined) Object.assign(this.#counts, resume.counts)
    this.#counts.folders = folders.length
    return resume === undefined ? folders : folders.filter(folder => byName(folder, resume) >= 0)
  }

  async #folder(source: MailSource, folder: SourceFolder): Promise<void> {
    const { path, specialUse, subscribed, remote } = folder
    const { resume } = this.#input
    // What an earlier run brought from it is no mail that was known before.
    let brought = resume?.remote === remote ? resume.imported : 0
    this.#at = { remote, before: { ...this.#counts, imported: this.#counts.imported - brought } }
    this.#counts.folder = (path ?? folder.remote).slice(0, shownLengthMax)
    await this.#note(true)
    if (path === null) {
      this.#counts.failed += 1
      return
    }
    const { importer } = this.#deps
    const { signal } = this.#run
    const opened = await source.select(folder)
    if (opened === null) {
      this.#counts.failed += 1
      return
    }
    const { validity, uids } = opened
    const { id: mailbox } = await importer.folder(this.#user, { path, specialUse, subscribed }, signal)
    this.#counts.found += uids.length
    const name = sourceName(this.#input, folder)
    for (let at = 0; at < uids.length; at += limits.transfer.keysMax) {
      const keys = Array.from(uids.subarray(at, at + limits.transfer.keysMax), uid => `${validity}:${uid}`)
      const missing = await importer.missing(this.#user, mailbox, name, keys)
      const known = keys.length - missing.length
      this.#counts.known += known - Math.min(known, brought)
      brought -= Math.min(known, brought)
      for (const key of missing) {
        signal.throwIfAborted()
        await this.#message(source, { mailbox, source: name, key })
      }
    }
  }

  async #message(source: MailSource, at: { mailbox: string; source: string; key: string }): Promise<void> {
    const counts = this.#counts
    const message = await source.message(Number(at.key.slice(at.key.indexOf(':') + 1)))
    if (typeof message === 'string') counts[message === 'gone' ? 'skipped' : 'failed'] += 1
    else counts[await this.#stored(message, at)] += 1
    await this.#note()
  }

  async #stored(
    { content, ...about }: SourceMessage,
    at: { mailbox: string; source: string; key: string },
  ): Promise<'imported' | 'known' | 'failed'> {
    const { importer, config } = this.#deps
    try {
      const received = await importer.receive([content], config.mail.maxSize)
      return await importer.store(this.#user, { ...at, ...about, limited: true }, received)
    } catch (error) {
      if (error instanceof Fault && error.code === 'MessageTooLarge') return 'failed'
      throw error
    }
  }

  /** Says how far it is, now and then. */
  async #note(now = false): Promise<void> {
    this.#sinceNote += 1
    if (!now && this.#sinceNote < limits.transfer.noteMessages) return
    this.#sinceNote = 0
    const { imported } = this.#counts
    const { remote = '', before = none } = this.#at ?? {}
    const resume: Place = { remote, counts: { ...before, imported }, imported: imported - before.imported }
    await this.#run.progress({ ...this.#counts }, this.#at && { ...this.#input, resume })
  }
}

const none: Counts = { folders: 0, foldersDone: 0, found: 0, imported: 0, known: 0, skipped: 0, failed: 0, folder: '' }

/** INBOX, then as their names are. */
function byName(one: { readonly remote: string }, other: { readonly remote: string }): number {
  const [a, b] = [one, other].map(({ remote }) => (/^inbox$/i.test(remote) ? '' : remote)) as [string, string]
  return a < b ? -1 : a > b ? 1 : 0
}

/** Characters of a path in what is told. */
const shownLengthMax = 200
