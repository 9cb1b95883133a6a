// Bringing mail along over HTTP: from a file that is uploaded, and from an account on another server.
//
// A file is taken in as it comes, message by message, so it may be of any size; brought again, only what is missing is
// stored. What another server has is fetched by a task (jobs/tasks/mail-imports.ts); its password is sealed before it is
// stored, and appears nowhere. The quota of the account stands in the way of both.

import { Type } from 'typebox'
import type { Imported, Importer } from '#actors/admin/import.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault, type FaultCode } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Pace } from '#lib/pace.ts'
import { keepHeapSmall } from '#lib/process/heap.ts'
import type { SecretBox } from '#lib/secret/secret-box.ts'
import { usualUse } from '#mail/exchange/maildir.ts'
import { type MboxRead, readMbox } from '#mail/exchange/mbox.ts'
import { isFolderData, MboxKeys, mboxItem } from '#mail/exchange/mbox-item.ts'
import { normalizePath, pathProblem } from '#mail/path.ts'
import { findMailbox, findMailboxByPath } from '#store/mailboxes/mailboxes.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, id, mailboxId, num, oneOf, optional, text, userId } from '../../schema.ts'
import type { TaskStarter } from '../accounts/tasks.ts'
import { requireUser } from '../messages/mailboxes.ts'

export interface ImportDeps {
  readonly system: ActorSystem
  readonly importer: Importer
  readonly seal: SecretBox
  readonly tasks: TaskStarter
  readonly messageBytesMax: number
}

const { transfer } = limits

export function importEndpoints(deps: ImportDeps): Endpoint[] {
  const { system, seal, tasks } = deps
  const { read } = system
  /** Files that are being taken in, by account. */
  const under = new Map<string, number>()

  const file = endpoint({
    method: 'POST',
    path: '/users/:user/import/file',
    tag: 'Messages',
    summary: 'Bring mail from a file: an mbox, or a single message',
    description:
      'The body is the file. One that begins with `From ` is an mbox (mboxrd), anything else a message. Flags are taken from ' +
      '`Status` and `X-Status`; with `folders` each message goes to the folder that `X-Export-Mailbox` names. What is there ' +
      'from an earlier call is known by what it says and not stored again, so a call that broke off is made again.',
    allow: 'messages.create',
    bodyKind: 'raw',
    bodyBytesMax: transfer.fileBytesMax,
    answerMs: transfer.fileMs,
    params: { user: userId },
    query: {
      mailbox: optional(mailboxId),
      folders: bool({ default: false, description: 'Into the folders that the messages name' }),
    },
    reply: {
      imported: Type.Integer(),
      known: Type.Integer({ description: 'There from an earlier call' }),
      skipped: Type.Integer({ description: 'Empty, or what a program keeps about the file' }),
      failed: Type.Integer({ description: 'Larger than a message may be' }),
    },
    faults: ['UserNotFound', 'NoSuchMailbox', 'OverQuotaError', 'TooManySessions', 'Overloaded', 'StorageUnavailable'],
    async run({ input, request, signal }) {
      const user = await requireUser(read, input.user)
      const mailbox =
        input.mailbox === undefined
          ? await findMailboxByPath(read, user.num, 'INBOX')
          : await findMailbox(read, user.num, input.mailbox)
      if (mailbox === undefined) throw new Fault('NoSuchMailbox')
      const count = under.get(user.id) ?? 0
      if (count >= transfer.filesMax) {
        throw new Fault('TooManySessions', { text: 'Other files are being brought at this moment' })
      }
      under.set(user.id, count + 1)
      const release = keepHeapSmall()
      try {
        const to = { user: user.id, mailbox: mailbox.id, folders: input.folders }
        return await new FileImport(deps, to, signal).take(request.stream())
      } finally {
        release()
        const left = (under.get(user.id) ?? 1) - 1
        if (left === 0) under.delete(user.id)
        else under.set(user.id, left)
      }
    },
  })

  const imap = endpoint({
    method: 'POST',
    path: '/users/:user/import/imap',
    tag: 'Messages',
    summary: 'Fetch the mail of an account on another server, as a task',
    description:
      'The task says how far it is: `folders` and `foldersDone`, `found` messages so far, `imported`, `known`, `skipped`, `failed`. ' +
      'Started again it brings what is missing. The password is kept sealed until the task ends.',
    allow: 'messages.create',
    params: { user: userId },
    body: {
      host: text({
        ...{ max: 255, lower: true, pattern: /^[\p{L}\p{N}._:[\]-]+$/u },
        description: 'Name or address of the other server',
      }),
      port: num({ min: 1, max: 65_535, default: 993 }),
      security: oneOf(['tls', 'starttls', 'none'], {
        default: 'tls',
        description: '`none` only for networks that `network.allowPrivate` names',
      }),
      login: text({ max: 255, description: 'Name of the account there' }),
      password: text({ max: limits.password.lengthMax, trim: false, description: 'Its password there' }),
    },
    reply: { task: id({ description: 'Id of the task' }) },
    faults: ['UserNotFound', 'TooMany'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const { host, port: number, security, login, password } = input
      const secret = await seal.seal(password)
      const task = { host, port: number, security, login, secret }
      const { id: started } = await tasks.add({ kind: 'mail.import', user: user.id, input: task })
      return { task: started }
    },
  })

  return [file, imap]
}

interface Target {
  readonly user: string
  readonly mailbox: string
  readonly folders: boolean
}

/** One file on its way in. */
class FileImport {
  readonly #deps: ImportDeps
  readonly #to: Target
  readonly #signal: AbortSignal
  readonly #counts = { imported: 0, known: 0, skipped: 0, failed: 0 }
  /** Ids of folders by path. */
  readonly #folders = new Map<string, string>()
  readonly #keys = new MboxKeys()
  readonly #pace = new Pace()
  #storing: Promise<void>[] = []

  constructor(deps: ImportDeps, to: Target, signal: AbortSignal) {
    this.#deps = deps
    this.#to = to
    this.#signal = signal
    this.#pace.turnKey = to.user
  }

  async take(chunks: AsyncIterable<Buffer>) {
    try {
      for await (const read of messagesOf(chunks, this.#deps.messageBytesMax)) {
        this.#signal.throwIfAborted()
        if (this.#pace.spent) await this.#pace.turn()
        await this.#message(read)
      }
    } finally {
      // What has begun is stored, whatever else was met.
      await Promise.allSettled(this.#storing)
    }
    await Promise.all(this.#storing)
    return this.#counts
  }

  async #message({ envelope, message }: MboxRead): Promise<void> {
    if (message === null || message.length === 0 || isFolderData(message)) {
      this.#counts[message === null ? 'failed' : 'skipped'] += 1
      return
    }
    const { path, content, ...about } = mboxItem(message, envelope)
    const mailbox = await this.#folder(path)
    const { importer, messageBytesMax } = this.#deps
    const received = await importer.receive([content], messageBytesMax)
    const item = { mailbox, source: 'mbox', key: this.#keys.of(mailbox, message), ...about, limited: true }
    const stored = importer
      .store(this.#to.user, item, received)
      .then(result => this.#count(result), refused(this.#counts))
    // Heard of when all are awaited, which may be after it failed.
    stored.catch(() => {})
    this.#storing.push(stored)
    if (this.#storing.length < storingMax) return
    await Promise.all(this.#storing)
    this.#storing = []
  }

  #count(result: Imported): void {
    this.#counts[result] += 1
  }

  async #folder(path: string | null): Promise<string> {
    if (!this.#to.folders || path === null || pathProblem(path) !== undefined) return this.#to.mailbox
    const known = this.#folders.get(path)
    if (known !== undefined) return known
    if (this.#folders.size >= transfer.foldersMax) return this.#to.mailbox
    const form = { path: normalizePath(path), specialUse: path === 'INBOX' ? null : usualUse(path), subscribed: true }
    const { id: found } = await this.#deps.importer.folder(this.#to.user, form, this.#signal)
    this.#folders.set(path, found)
    return found
  }
}

/** Messages being stored at once. */
const storingMax = 8

/** What one message meets is counted; what every message meets ends the call. */
function refused(counts: { failed: number }): (error: unknown) => void {
  return error => {
    if (!(error instanceof Fault) || !own.has(error.code)) throw error
    counts.failed += 1
  }
}

const own: ReadonlySet<FaultCode> = new Set(['MessageTooLarge', 'EmptyMessage'] as const)

/** The messages of an mbox file, or the one message that it is. */
async function* messagesOf(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<MboxRead> {
  const iterator = chunks[Symbol.asyncIterator]()
  let begin: Buffer = Buffer.alloc(0)
  while (begin.length < mark.length) {
    const next = await iterator.next()
    if (next.done === true) break
    begin = Buffer.concat([begin, next.value])
  }
  async function* all() {
    yield begin
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  }
  if (begin.subarray(0, mark.length).equals(mark)) {
    yield* readMbox(all(), bytesMax)
    return
  }
  const parts: Buffer[] = []
  let size = 0
  for await (const chunk of all()) {
    size += chunk.length
    if (size > bytesMax) parts.length = 0
    else parts.push(chunk)
  }
  yield { envelope: '', size, message: size > bytesMax ? null : Buffer.concat(parts) }
}

const mark = Buffer.from('From ')
