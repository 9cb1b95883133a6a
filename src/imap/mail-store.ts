// What IMAP asks of the mail it serves: the one door between sessions and everything that stores.
//
// Inputs and replies of what changes something, or is decided for all sessions together, are plain data and asked for by
// promises, so that they may cross to another thread. Reads are of committed rows. Every method may throw the faults of the command behind it; nothing here knows of the protocol.

import type { Change } from '#actors/kernel/change.ts'
import type { Expunge, FlagChange, Stored, Transfer, Transferred, UidRanges } from '#actors/mailbox/message.ts'
import type { Slices } from '#lib/pace.ts'
import type { Intake, Received } from '#store/bodies/bodies.ts'
import type { Body } from '#store/bodies/read.ts'
import type { FlagIndex } from '#store/mailboxes/flag-index.ts'
import type { Listed, ListedRow, UidSlice } from '#store/mailboxes/listing.ts'
import type { Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { SortTask, ThreadTask } from '#store/search/arrange.ts'
import type { CandidateTask } from '#store/search/candidates.ts'
import type { ScanTask } from '#store/search/scan.ts'

export type { Body, Change, Mailbox, Received, Transferred, UidRanges }

/** The way in. */
export interface MailEntry {
  /** @throws Fault AuthFailed, RateLimitedError, InvalidAuthScope, UserDisabled, SessionEnded, TooManySessions */
  login(attempt: Attempt, hearer: Hearer): Promise<MailStore>
}

export interface Attempt {
  readonly username: string
  readonly password: string
  /** Id of the session, and address of its peer. */
  readonly session: string
  readonly ip: string
}

/** What a session is told from then on. */
export interface Hearer {
  /** After the commit, and before the reply of whoever made the change. */
  changed(change: Change): void
  /** The session may not go on, for this reason. */
  ended(reason: string): void
}

export interface Account {
  readonly id: string
  readonly username: string
}

/** The mail of one account, for one session. Folders are named by id where they are changed, by number where they are read. */
/** Of a folder, what never changes with its messages. */
export type Target = Pick<Mailbox, 'id' | 'uidValidity' | 'specialUse' | 'encrypt'>

export interface MailStore {
  readonly account: Account
  /** Asked before anything that must not happen once the session has ended. @throws Fault SessionEnded */
  checkStanding(): void | Promise<void>
  /** The session is over: nothing is heard any more. */
  close(): void

  /** Folders that mail programs may see. */
  folders(): Promise<Mailbox[]>
  folderAt(path: string): Promise<Mailbox | undefined>
  /** Where messages are to be put: asked for with each of them, so that it is kept until a folder changes. */
  targetAt(path: string): Promise<Target | undefined>
  folder(id: string): Promise<Mailbox | undefined>
  /** Every path the account is subscribed to without a folder, and perhaps some with one. */
  subscriptions(): Promise<readonly string[]>
  /** Bytes that are stored, and that may be. */
  usage(): Promise<{ storage: number; allowed: number }>
  createFolder(folder: { path: string; encrypt: boolean; specialUse: string | null }): Promise<{ id: string }>
  changeFolder(change: { id: string; path?: string; subscribed?: boolean }): Promise<void>
  /** Moves what lies below a name that has no folder itself. @throws Fault NoSuchMailbox where nothing does */
  renameParent(names: { from: string; to: string }): Promise<void>
  deleteFolder(id: string): Promise<void>
  unsubscribe(path: string): Promise<void>
  /** Moves everything a folder holds. */
  moveAll(from: Mailbox, to: string): Promise<void>

  storeFlags(change: FlagChange): Promise<Stored>
  copy(transfer: Transfer): Promise<Transferred>
  move(transfer: Transfer): Promise<Transferred>
  expunge(expunge: Expunge): Promise<{ modseq: number }>
  intake(bytes: number): Intake
  /** Stores all or none; gives their uids. Discarding what was received is the caller's. */
  append(folder: Target, messages: readonly NewMessage[]): Promise<number[]>

  /** The uid from which no session was told of messages of a folder (RFC 3501 2.3.2). */
  recentFrom(folder: number): number | Promise<number>
  /** Somebody is told of everything below `uidNext`: the same as it was before. */
  claimRecent(folder: number, uidNext: number): number | Promise<number>
  /** A folder is left or opened: what was claimed in it should be on disk soon. */
  keepRecent(folder: number): void

  /** Bytes that may still be moved today. */
  transferLeft(kind: TransferKind): number | Promise<number>
  transferred(kind: TransferKind, bytes: number): void

  messages(folder: number): FolderReads
  /** @throws Fault MessageNotFound, BodyUnreadable */
  body(num: number): Promise<Body>
  /** Makes sure that bytes of a body will come. @throws Fault as `body` */
  prove(num: number, body: Body, start: number, end: number): Promise<void>
  /** What something means that was thrown while a body was read. */
  faultOf(num: number, error: unknown): Promise<unknown>
  /** Opening each of these next costs little. */
  readAhead(bodies: readonly number[]): Promise<void>
  /** The same on a thread. */
  readAheadElsewhere(bodies: readonly number[]): Promise<void>
  /** A folder of so many messages was opened: what long reads need gets ready. */
  expect(total: number): void
  /** Long reads, until nobody waits for them any more. */
  candidates(task: Omit<CandidateTask, 'user'>, gone: AbortSignal): Promise<Uint32Array | null>
  scan(task: Omit<ScanTask, 'user'>, gone: AbortSignal): Promise<number[]>
  sort(task: SortTask, gone: AbortSignal): Promise<Uint32Array>
  thread(task: ThreadTask, gone: AbortSignal): Promise<Int32Array>
}

export type TransferKind = 'imapUpload' | 'imapDownload'

export interface NewMessage {
  readonly received: Received
  readonly flags: number
  readonly keywords: readonly string[]
  /** Internal date; now where absent. */
  readonly idate: number | undefined
}

/** Committed rows of one folder, as store/mailboxes/listing.ts gives them. */
export interface FolderReads {
  /** What happened since, in one picture. @throws Fault SessionEnded where it is not known any more what went */
  compare(since: { gone?: number | undefined; arrived?: number | undefined }): Promise<Compared>
  /** @throws Fault SessionEnded where that is not known any more */
  uidsAsOf(modseq: number, uidNext: number): Promise<Uint32Array<ArrayBuffer>>
  countBetween(from: number, to: number): Promise<number>
  changesAfter(modseq: number, uid: number, upTo: number, count: number): Promise<FlagRow[]>
  /** Rising; undefined where it is not known any more. */
  goneAfter(modseq: number): Promise<number[] | undefined>
  /** Whether one of the uids that went after `modseq` is such a one. */
  wentAfter(modseq: number, isIt: (uid: number) => boolean): Promise<boolean>
  firstUnseen(): Promise<number | undefined>
  /** Flags of all of them as they are now, for who goes through the folder; it may change whenever its reader waits. */
  flags(slices: Slices): Promise<FlagIndex>
  deletedUids(from: number, to: number): Promise<number[]>
  /** Bytes of the messages from one uid to another. */
  sizeBetween(from: number, to: number): Promise<number>
  deleted(): Promise<{ count: number; size: number }>
  rows(listed: Listed, slice: UidSlice, after: number): Promise<ListedRow[]>
  /** The first of them, no more than some memory holds, and what is left. */
  someRows(
    listed: Listed,
    slice: UidSlice,
    after: number,
    words: readonly string[],
  ): Promise<{ rows: ListedRow[]; rest: UidSlice | undefined }>
}

export type FlagRow = [uid: number, modseq: number, flags: number, keywords: string | null]

interface Compared {
  /** The folder's change number; undefined where it is gone. */
  readonly modseq: number | undefined
  /** Uids that went after the change number `gone`. */
  readonly gone: number[]
  /** Uids from `arrived` on. */
  readonly fresh: number[]
}
