// The mail IMAP serves, over actors and rows of this process.
//
// Promises: a user has at most so many sessions at once, whatever listener they came in by. Nothing here knows of the
// protocol, and no session knows of an actor, a reader or a pool.

import type { Held } from '#actors/auth/grant.ts'
import { wantsEncryption } from '#actors/delivery/encryption.ts'
import { prepare } from '#actors/delivery/prepare.ts'
import type { UserHandle } from '#actors/kernel/system.ts'
import { type Append, appendMessages } from '#actors/mailbox/append.ts'
import { deleteFolder } from '#actors/mailbox/deletion.ts'
import { createMailbox, renameParent, unsubscribeName, updateMailbox } from '#actors/mailbox/mailbox.ts'
import {
  copyMessages,
  type Expunge,
  expungeMessages,
  type FlagChange,
  moveMessages,
  storeFlags,
  type Transfer,
} from '#actors/mailbox/message.ts'
import { after, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { findUser, findUserByNumber, readUsage, type User } from '#store/accounts/users.ts'
import type { Received } from '#store/bodies/bodies.ts'
import type { Body } from '#store/bodies/read.ts'
import type { Reader } from '#store/engine/reader.ts'
import { arrivals } from '#store/mailboxes/listing.ts'
import { findMailbox, findMailboxByPath, listMailboxes } from '#store/mailboxes/mailboxes.ts'
import { Recent } from '#store/mailboxes/recent.ts'
import type { SortTask, ThreadTask } from '#store/search/arrange.ts'
import type { CandidateTask } from '#store/search/candidates.ts'
import type { ScanTask } from '#store/search/scan.ts'
import { FolderRows } from './folder-rows.ts'
import type {
  Account,
  Attempt,
  FolderReads,
  Hearer,
  Mailbox,
  MailEntry,
  MailStore,
  NewMessage,
  Target,
  TransferKind,
} from './mail-store.ts'
import type { ImapDependencies } from './services.ts'

export type StoreDependencies = Omit<ImapDependencies, 'hostname' | 'cleartext' | 'tls' | 'metrics' | 'log'>

/** How long after a folder was opened the thread that searches is started. */
const warmMs = 300

export class LocalEntry implements MailEntry {
  readonly dependencies: StoreDependencies
  /** Accounts, and where their messages are put, by id and by id and path. What is given out is shared: nobody changes it. */
  readonly users: Recent<User | undefined>
  readonly targets: Recent<Target | undefined>
  /** Until then the thread that searches is there without being asked. */
  #warmUntil = 0

  constructor(dependencies: StoreDependencies) {
    this.dependencies = dependencies
    const { changes } = dependencies
    this.users = new Recent(() => changes.of('user'))
    this.targets = new Recent(() => changes.of('mailbox'))
  }

  async login({ username, password, session, ip }: Attempt, hearer: Hearer): Promise<MailStore> {
    const { authenticate, grants, system, connectionsMax, places } = this.dependencies
    const attempt = { username, password, scope: 'imap', protocol: 'IMAP', session, ip } as const
    const { user: id, grant } = await authenticate(attempt)
    const held = await grants.hold(grant, hearer)
    try {
      const handle = system.handle(id)
      const user = await findUser(handle.read, id)
      if (user === undefined) throw new Fault('AuthFailed')
      const unwatch = await enteredAndWatched(
        places.enter(id, user.options.limits?.imapMaxConnections || connectionsMax),
        () => places.left(id),
        handle.watch(change => hearer.changed(change)),
      )
      return new LocalStore(this, user, { handle, held, unwatch })
    } catch (error) {
      held.release()
      throw error
    }
  }

  /** Not at once: what a program asks first after it has opened a folder is seldom a search, and a start takes a core. */
  warm(): void {
    const time = monotonic()
    if (time < this.#warmUntil) return
    this.#warmUntil = time + limits.pool.idleMs / 2
    // A pool that is busy is warm, and one that stops need not be.
    after(warmMs, () => {
      this.dependencies.scan({ user: 0, bodies: [], prefixes: [], leaves: [] }, { turnKey: '' }).catch(() => undefined)
    })
  }
}

/** Both are asked for at once, since both may be another thread's; what was had is given back where the other fails. */
async function enteredAndWatched(
  entering: Promise<void> | void,
  leave: () => void,
  watching: Promise<() => void>,
): Promise<() => void> {
  const [entered, watched] = await Promise.allSettled([entering, watching])
  if (entered.status === 'fulfilled' && watched.status === 'fulfilled') return watched.value
  if (entered.status === 'fulfilled') leave()
  if (watched.status === 'fulfilled') watched.value()
  throw entered.status === 'rejected' ? entered.reason : (watched as PromiseRejectedResult).reason
}

/** What a session has for as long as it is. */
interface Entered {
  readonly handle: UserHandle
  readonly held: Held
  readonly unwatch: () => void
}

/** There are as many as sessions that wait: it keeps of the account what is asked again and again, and no more. */
class LocalStore implements MailStore {
  readonly #entry: LocalEntry
  readonly #entered: Entered
  readonly #num: number
  readonly #username: string
  readonly #most: Readonly<Record<TransferKind, number>> | undefined

  constructor(entry: LocalEntry, user: User, entered: Entered) {
    this.#entry = entry
    this.#entered = entered
    this.#num = user.num
    this.#username = user.username
    const { imapMaxUpload: imapUpload = 0, imapMaxDownload: imapDownload = 0 } = user.options.limits ?? {}
    if (imapUpload > 0 || imapDownload > 0) this.#most = { imapUpload, imapDownload }
  }

  get account(): Account {
    return { id: this.#entered.handle.id, username: this.#username }
  }

  get #dependencies(): StoreDependencies {
    return this.#entry.dependencies
  }

  get #handle(): UserHandle {
    return this.#entered.handle
  }

  get #read(): Reader {
    return this.#entered.handle.read
  }

  checkStanding(): void | Promise<void> {
    return this.#entered.held.check()
  }

  close(): void {
    const { unwatch, held, handle } = this.#entered
    unwatch()
    held.release()
    this.#dependencies.places.left(handle.id)
  }

  async folders(): Promise<Mailbox[]> {
    return (await listMailboxes(this.#read, this.#num)).filter(folder => !folder.hidden)
  }

  async folderAt(path: string): Promise<Mailbox | undefined> {
    const found = await findMailboxByPath(this.#read, this.#num, path)
    return found?.hidden === true ? undefined : found
  }

  targetAt(path: string): Promise<Target | undefined> {
    return this.#entry.targets.get(`${this.#num} ${path}`, async () => {
      const found = await this.folderAt(path)
      if (found === undefined) return undefined
      const { id, uidValidity, specialUse, encrypt } = found
      return { id, uidValidity, specialUse, encrypt }
    })
  }

  async folder(id: string): Promise<Mailbox | undefined> {
    return findMailbox(this.#read, this.#num, id)
  }

  async subscriptions(): Promise<readonly string[]> {
    return (await this.#user())?.options.subscriptions ?? []
  }

  async usage(): Promise<{ storage: number; allowed: number }> {
    const user = await findUserByNumber(this.#read, this.#num)
    const { storage } = await readUsage(this.#read, this.#num)
    return { storage, allowed: user?.quota || this.#dependencies.settings.get('const:max:storage') }
  }

  async createFolder(folder: { path: string; encrypt: boolean; specialUse: string | null }): Promise<{ id: string }> {
    const { id } = await this.#handle.run(createMailbox, { ...folder, hidden: false, subscribed: false })
    return { id }
  }

  async changeFolder(change: { id: string; path?: string; subscribed?: boolean }): Promise<void> {
    await this.#handle.run(updateMailbox, change)
  }

  async renameParent(names: { from: string; to: string }): Promise<void> {
    await this.#handle.run(renameParent, names)
  }

  async deleteFolder(id: string): Promise<void> {
    await deleteFolder(this.#handle, { id, staysSubscribed: true })
  }

  async unsubscribe(path: string): Promise<void> {
    await this.#handle.run(unsubscribeName, { path })
  }

  /** In one step where they are few, else some at a time: one unit for all would hold up every other writer. */
  async moveAll(from: Mailbox, to: string): Promise<void> {
    const target = await this.folder(to)
    const user = await this.#user()
    const isSealed = user !== undefined && wantsEncryption(user, target)
    const pieceMessages = isSealed ? limits.actor.encryptedMax : limits.mailbox.pieceMessages
    const uids = await arrivals(this.#read, from.num, 1)
    for (let at = 0; at < uids.length; at += pieceMessages) {
      const [first = 0, last = first] = [uids[at], uids[Math.min(at + pieceMessages, uids.length) - 1]]
      await this.move({ from: from.id, to, uids: [[first, last]] })
    }
  }

  storeFlags(change: FlagChange) {
    return this.#handle.run(storeFlags, change)
  }

  copy(transfer: Transfer) {
    return this.#dependencies.transfer(this.#handle, copyMessages, transfer)
  }

  move(transfer: Transfer) {
    return this.#dependencies.transfer(this.#handle, moveMessages, transfer)
  }

  expunge(expunge: Expunge) {
    return this.#handle.run(expungeMessages, expunge)
  }

  intake(bytes: number) {
    return this.#dependencies.bodies.intake(bytes)
  }

  async append(folder: Target, messages: readonly NewMessage[]): Promise<number[]> {
    const { sequence } = this.#dependencies
    const sealed: Received[] = []
    try {
      const inputs: Append[] = []
      for (const message of messages) {
        const { flags, keywords, idate, received } = message
        const stored = await this.#sealed(folder, message)
        if (stored !== received) sealed.push(stored)
        const prepared = await prepare(stored, sequence)
        inputs.push({
          ...{ prepared, to: { id: folder.id }, prefix: '', flags, keywords, idate },
          ...{ meta: { source: 'imap' }, once: false, limited: true },
        })
      }
      const stored = await this.#handle.run(appendMessages, inputs)
      return stored.map(({ uid }) => uid)
    } finally {
      for (const received of sealed) await received.discard()
    }
  }

  /** Encrypted where the account or the folder asks for it; drafts never are. */
  async #sealed(folder: Target, { flags, received }: NewMessage): Promise<Received> {
    const user = await this.#user()
    const draft = (flags & flag.draft) !== 0 || folder.specialUse === '\\Drafts'
    if (user === undefined || draft || !wantsEncryption(user, folder)) return received
    return this.#dependencies.seal(user, received)
  }

  recentFrom(folder: number): number | Promise<number> {
    return this.#dependencies.recency.from(this.#read, folder)
  }

  claimRecent(folder: number, uidNext: number): number | Promise<number> {
    return this.#dependencies.recency.claim(this.#read, folder, uidNext)
  }

  keepRecent(folder: number): void {
    this.#dependencies.recency.keep(this.#handle, folder)
  }

  transferLeft(kind: TransferKind): number | Promise<number> {
    const { transfers, settings } = this.#dependencies
    const key = kind === 'imapUpload' ? 'const:max:imap:upload' : 'const:max:imap:download'
    return transfers.left(kind, this.#handle.id, this.#most?.[kind] || settings.get(key))
  }

  transferred(kind: TransferKind, bytes: number): void {
    this.#dependencies.transfers.count(kind, this.#handle.id, bytes)
  }

  messages(folder: number): FolderReads {
    return new FolderRows(this.#read, folder)
  }

  body(num: number): Promise<Body> {
    return this.#dependencies.bodies.open(num)
  }

  prove(num: number, body: Body, start: number, end: number): Promise<void> {
    return this.#dependencies.bodies.proof.prove(num, body, start, end)
  }

  faultOf(num: number, error: unknown): Promise<unknown> {
    return this.#dependencies.bodies.proof.faultOf(num, error)
  }

  readAhead(bodies: readonly number[]): Promise<void> {
    return this.#dependencies.bodies.ahead(bodies)
  }

  readAheadElsewhere(bodies: readonly number[]): Promise<void> {
    return this.#dependencies.bodies.aheadElsewhere(bodies)
  }

  expect(total: number): void {
    this.#entry.warm()
    if (total > limits.imap.sliceBodies) this.#dependencies.bodies.expect()
  }

  candidates(task: Omit<CandidateTask, 'user'>, signal: AbortSignal): Promise<Uint32Array | null> {
    return this.#dependencies.candidates({ user: this.#num, ...task }, { turnKey: this.#handle.id, signal })
  }

  scan(task: Omit<ScanTask, 'user'>, signal: AbortSignal): Promise<number[]> {
    return this.#dependencies.scan({ user: this.#num, ...task }, { turnKey: this.#handle.id, signal })
  }

  sort(task: SortTask, gone: AbortSignal): Promise<Uint32Array> {
    return this.#dependencies.sort(task, this.#arranging(gone))
  }

  thread(task: ThreadTask, gone: AbortSignal): Promise<Int32Array> {
    return this.#dependencies.thread(task, this.#arranging(gone))
  }

  #arranging(signal: AbortSignal) {
    return { turnKey: this.#handle.id, signal, deadlineMs: limits.pool.arrangeMs }
  }

  #user(): Promise<User | undefined> {
    const { id } = this.#handle
    return this.#entry.users.get(id, () => findUser(this.#read, id))
  }
}
