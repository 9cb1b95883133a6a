// One stream of an account's changes: what happened while the client was away from rows, then what happens as it does.
//
// Nothing is dropped: a client that is slower than the changes has its short buffer thrown away and is told the same from
// rows instead (store/mailboxes/journal.ts). An event's id is the change number up to which a client that saw it knows everything,
// so events of one number carry the number before it until the last of them; who comes back gets all of a number again. From rows
// they carry none from which on a message came that is still to be told.

import type { Bearer, Held } from '#actors/auth/grant.ts'
import type { Change } from '#actors/kernel/change.ts'
import type { UserHandle } from '#actors/kernel/system.ts'
import { Fault } from '#lib/fault.ts'
import { numberId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { flagList } from '#mail/flags.ts'
import { lastModseq } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import { forgets, type JournalEntry, journalAfter, journalLength } from '#store/mailboxes/journal.ts'
import { folderCounters } from '#store/mailboxes/listing.ts'
import { mailboxIdOf, mailboxNumber } from '#store/mailboxes/numbers.ts'
import type { StreamEvent } from './answer.ts'

export interface StreamStart {
  readonly handle: UserHandle
  /** Number of the account. */
  readonly user: number
  /** The change number the client knows; null where it knows none, below 0 for one that means nothing here. */
  readonly known: number | null
  readonly signal: AbortSignal
  /** Keeps what the caller came in by; told when that ends. @throws Fault SessionEnded */
  readonly hold: (onEnd: Bearer['ended']) => Promise<Held>
  /** Called when the stream ends by itself. */
  readonly ended: () => void
}

/** What is told from memory. */
type Heard = Exclude<Change, { kind: 'missed' }>

export class UpdateStream {
  readonly #handle: UserHandle
  readonly #user: number
  readonly #known: number | null
  readonly #signal: AbortSignal
  readonly #folders = new Map<number, string>()
  #unwatch = () => {}
  /** Everything up to this change number was told. */
  #told = 0
  #buffer: Heard[] = []
  /** The buffer was thrown away: what comes next is read from rows. */
  #lost = false
  readonly #hold: StreamStart['hold']
  #logout: string | undefined
  #wake: (() => void) | null = null

  readonly #ended: () => void

  private constructor({ handle, user, known, signal, hold, ended }: StreamStart) {
    this.#handle = handle
    this.#user = user
    this.#known = known
    this.#signal = signal
    this.#hold = hold
    this.#ended = ended
  }

  /** Whoever is told that the stream is open hears of each change from then on; it ends with its signal, also where nobody takes anything of it. */
  static async open(start: StreamStart): Promise<UpdateStream> {
    const stream = new UpdateStream(start)
    await stream.#follow()
    return stream
  }

  async #follow(): Promise<void> {
    const signal = this.#signal
    this.#unwatch = await this.#handle.watch(change => this.#hear(change))
    signal.addEventListener('abort', () => this.#end(), { once: true })
    try {
      this.#told = await this.#last()
    } catch (error) {
      this.#end()
      throw error
    }
    if (signal.aborted) this.#end()
  }

  #end(): void {
    this.#unwatch()
    this.#unwatch = () => {}
    this.#wake?.()
    this.#ended()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void> {
    let held: Held | undefined
    try {
      held = await this.#hold((reason, late) => {
        this.#logout = reason
        if (late) this.#buffer = []
        this.#wake?.()
      }).catch((error: unknown) => {
        // It ended while the stream was being opened.
        if (!(error instanceof Fault) || error.code !== 'SessionEnded') throw error
        this.#logout = error.message
        this.#buffer = []
        return undefined
      })
      if (held !== undefined) yield* this.#begin()
      while (!this.#signal.aborted) {
        const ended = this.#logout === undefined ? await held?.ended() : undefined
        if (ended !== undefined && this.#logout === undefined) {
          // When it ended is not known, so nothing more is told.
          this.#logout = ended
          this.#buffer = []
        }
        if (this.#lost && this.#logout === undefined) yield* this.#fromRows()
        const batch = this.#buffer
        this.#buffer = []
        yield* this.#show(batch)
        if (this.#logout !== undefined && this.#buffer.length === 0) {
          yield { data: { command: 'LOGOUT', reason: this.#logout } }
          return
        }
        if (this.#buffer.length === 0 && !this.#lost) await this.#news()
      }
    } finally {
      held?.release()
      this.#end()
    }
  }

  #hear(change: Change): void {
    if (this.#logout !== undefined) return
    if (!this.#lost && change.kind !== 'missed') this.#buffer.push(change)
    if (change.kind === 'missed' || this.#buffer.length > limits.updates.bufferLengthMax) {
      this.#buffer = []
      this.#lost = true
    }
    this.#wake?.()
  }

  /** Resolves when something was heard or the client left. */
  #news(): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        this.#wake = null
        resolve()
      }
      this.#wake = done
      if (this.#signal.aborted || this.#logout !== undefined) done()
    })
  }

  async *#begin(): AsyncGenerator<StreamEvent> {
    const { read } = this.#handle
    const last = this.#told
    const known = this.#known ?? last
    const { replayMax } = limits.updates
    if (known < 0 || known > last || (await journalLength(read, this.#user, known, replayMax + 1)) > replayMax) {
      yield this.#gap(last)
      return
    }
    this.#told = known
    if (known < last) yield* this.#fromRows()
  }

  /** Nothing is told of what happened up to `last`. */
  #gap(last: number): StreamEvent {
    this.#told = last
    const error = 'What happened since cannot be told one by one: read the mailboxes anew'
    return { event: 'error', data: { command: 'RESYNC', code: 'ReplayGap', error }, id: numberId(last) }
  }

  async #last(): Promise<number> {
    return lastModseq(this.#handle.read, this.#user)
  }

  /** Tells what happened after what was told, in pieces; changes heard meanwhile are filtered by their number. */
  async *#fromRows(): AsyncGenerator<StreamEvent> {
    const { read } = this.#handle
    const touched = new Set<string>()
    this.#buffer = []
    this.#lost = false
    if (await forgets(read, this.#user, this.#told)) yield this.#gap(await this.#last())
    const since = this.#told
    for (;;) {
      const piece = await journalAfter(read, this.#user, since, this.#told)
      for (const [index, entry] of piece.entries.entries()) {
        if (entry.kind !== 'created' && entry.kind !== 'renamed') touched.add(entry.mailbox)
        if (entry.kind === 'deleted') touched.delete(entry.mailbox)
        const known = piece.known[index] ?? since
        yield { data: entryData(entry), id: numberId(known) }
        this.#told = known
      }
      this.#told = Math.max(this.#told, piece.upTo)
      if (piece.whole) break
    }
    for (const mailbox of touched) {
      const num = (await mailboxNumber(read, mailbox)) ?? 0
      const counters = await folderCounters(read, num)
      if (counters !== undefined) yield this.#counters(mailbox, counters.total, counters.unseen)
    }
  }

  async *#show(batch: readonly Heard[]): AsyncGenerator<StreamEvent> {
    const fresh = batch.filter(change => change.modseq > this.#told)
    const counters = new Map<number, Extract<Change, { kind: 'counters' }>>()
    const told = fresh.filter(change => change.kind !== 'counters')
    for (const change of fresh) if (change.kind === 'counters') counters.set(change.mailbox, change)
    for (const [index, change] of told.entries()) {
      const next = told[index + 1]
      const isLast = next === undefined || next.modseq !== change.modseq
      if (change.kind === 'mailbox' && change.what === 'deleted') {
        counters.delete(change.mailbox)
        yield { data: { command: 'DROP', mailbox: change.id } }
      }
      const data = await this.#changeData(change)
      if (data !== undefined) yield { data, id: numberId(isLast ? change.modseq : change.modseq - 1) }
      if (isLast) this.#told = Math.max(this.#told, change.modseq)
    }
    for (const { mailbox, total, unseen, modseq } of counters.values()) {
      this.#told = Math.max(this.#told, modseq)
      yield this.#counters(await this.#folder(mailbox), total, unseen)
    }
  }

  #counters(mailbox: string, total: number, unseen: number): StreamEvent {
    return { data: { command: 'COUNTERS', mailbox, total, unseen }, id: numberId(this.#told) }
  }

  async #changeData(change: Exclude<Heard, { kind: 'counters' }>): Promise<object | undefined> {
    if (change.kind === 'mailbox') {
      const { id, path, what } = change
      if (what === 'changed') return undefined
      if (what === 'deleted') return { command: 'DELETE', mailbox: id }
      return { command: what === 'created' ? 'CREATE' : 'RENAME', path, mailbox: id }
    }
    const mailbox = await this.#folder(change.mailbox)
    const { uid, num, thread } = change
    if (change.kind === 'expunge') return messageData('EXPUNGE', uid, {}, num, thread, mailbox)
    if (change.kind === 'flags') {
      return messageData('FETCH', uid, { flags: flagList(change.flags, change.keywords) }, num, thread, mailbox)
    }
    return messageData('EXISTS', uid, {}, num, thread, mailbox, change.idate)
  }

  /** The id of a folder; also of one that has just gone. */
  async #folder(num: number): Promise<string> {
    let found = this.#folders.get(num)
    if (found === undefined) {
      found = await folderId(this.#handle.read, this.#user, num)
      if (this.#folders.size >= foldersMax) this.#folders.clear()
      this.#folders.set(num, found)
    }
    return found
  }
}

/** Folder ids a stream remembers. */
const foldersMax = 50

async function folderId(read: Reader, user: number, num: number): Promise<string> {
  return (await mailboxIdOf(read, user, num)) ?? numberId(num)
}

function entryData(entry: JournalEntry): object {
  const { mailbox } = entry
  if (entry.kind === 'deleted') return { command: 'DELETE', mailbox }
  if (entry.kind === 'created') return { command: 'CREATE', path: entry.path, mailbox }
  if (entry.kind === 'renamed') return { command: 'RENAME', path: entry.path, mailbox }
  const { uid, num, thread } = entry
  if (entry.kind === 'expunge') return messageData('EXPUNGE', uid, {}, num, thread, mailbox)
  if (entry.kind === 'exists') return messageData('EXISTS', uid, {}, num, thread, mailbox, entry.idate)
  return messageData('FETCH', uid, { flags: flagList(entry.flags, entry.keywords) }, num, thread, mailbox)
}

function messageData(
  command: string,
  uid: number,
  more: object,
  num: number,
  thread: number,
  mailbox: string,
  idate?: number,
): object {
  const date = idate === undefined ? {} : { idate: new Date(idate).toISOString() }
  return { command, uid, ...more, message: numberId(num), ...date, thread: numberId(thread), mailbox }
}
