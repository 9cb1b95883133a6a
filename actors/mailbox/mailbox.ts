// Commands on folders: create, rename with everything below, change, delete.
//
// Folders above one need not exist; a new path takes the folders below along in the same unit. INBOX and folders of
// special use are never deleted. Names were normalised before the turn (mail/path.ts): nothing here may take one as a
// client wrote it.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { keptPath, pathProblem } from '#mail/path.ts'
import { taskInsert } from '#store/accounts/task.ts'
import { userUpdate } from '#store/accounts/users.ts'
import { isDeletable, type Mailbox, mailboxDelete, mailboxInsert, mailboxUpdate } from '#store/mailboxes/mailboxes.ts'
import { newMailbox } from '../user/account.ts'
import { dropFiltersTo } from '../user/rules.ts'
import { mailboxAt, nextModseq, requireMailbox, requireUser, type UserCommand, type UserTurn } from '../user/user.ts'
import { expungeAll } from './message.ts'

export interface NewMailbox {
  /** Normalised (mail/path.ts). */
  readonly path: string
  readonly hidden: boolean
  /** Milliseconds, 0 for ever; as the account has it where absent (api-semantics 10.6). */
  readonly retention?: number | undefined
  readonly encrypt: boolean
  readonly subscribed: boolean
  readonly specialUse?: string | null
}

/** Makes one folder; folders above it need not exist. */
export const createMailbox: UserCommand<NewMailbox, { id: string; mailbox: Mailbox }> = {
  name: 'mailbox.create',
  async run(turn, input) {
    const user = requireUser(turn)
    const { state } = turn
    if (mailboxAt(state, { path: input.path }) !== undefined) throw new Fault('MailboxExistsError')
    if (state.mailboxes.size >= turn.settings.get('const:max:mailboxes')) {
      throw new Fault('DisallowedMailboxMethod', { text: 'There are as many mailboxes as there may be' })
    }
    requireRoomForNames(turn, input.path.length)
    if (input.specialUse && mailboxAt(state, { specialUse: input.specialUse }) !== undefined) {
      throw new Fault('MailboxExistsError', { text: 'A mailbox with this special use already exists' })
    }
    const mailbox = await newMailbox(turn, input.path, input.specialUse ?? null)
    const { hidden, encrypt, subscribed, retention = user.options.retention ?? 0 } = input
    Object.assign(mailbox, { hidden, retention, encrypt, subscribed: takeName(turn, input.path) || subscribed })
    turn.write(mailboxInsert, mailbox)
    state.mailboxes.set(mailbox.num, mailbox)
    turn.emit('mailbox.created', { user: user.id, mailbox: mailbox.id, path: mailbox.path })
    told(turn, mailbox, 'created')
    return { id: mailbox.id, mailbox }
  },
}

export interface MailboxChange {
  readonly id: string
  readonly path?: string | undefined
  readonly retention?: number | undefined
  readonly subscribed?: boolean | undefined
  readonly hidden?: boolean | undefined
  readonly encrypt?: boolean | undefined
}

/** Changes a folder; a new path moves the folders below it along. */
export const updateMailbox: UserCommand<MailboxChange, void> = {
  name: 'mailbox.update',
  run(turn, input) {
    requireUser(turn)
    const mailbox = requireMailbox(turn, input.id)
    if (input.path !== undefined && input.path !== mailbox.path) rename(turn, mailbox, input.path)
    const { retention, subscribed, hidden, encrypt } = input
    if (retention === undefined && subscribed === undefined && hidden === undefined && encrypt === undefined) return
    if (retention !== undefined) restamp(turn, mailbox, retention)
    if (subscribed !== undefined) mailbox.subscribed = subscribed
    if (hidden !== undefined) mailbox.hidden = hidden
    if (encrypt !== undefined) mailbox.encrypt = encrypt
    mailbox.modseq = nextModseq(turn)
    turn.write(mailboxUpdate, mailbox)
    told(turn, mailbox, 'changed')
  },
}

/** Moves folders below a name that has no folder itself, as a program wants that shows such a name as a folder. */
export const renameParent: UserCommand<{ from: string; to: string }, void> = {
  name: 'mailbox.parent',
  run(turn, { from, to }) {
    requireUser(turn)
    if (mailboxAt(turn.state, { path: from }) !== undefined) throw new Fault('NothingChanged')
    if (mailboxAt(turn.state, { path: to }) !== undefined) throw new Fault('MailboxExistsError')
    const below = foldersBelow(turn, from)
    if (below.every(({ hidden }) => hidden)) throw new Fault('NoSuchMailbox')
    move(turn, from, to, below)
  },
}

export interface MailboxDeletion {
  readonly id: string
  /** The account stays subscribed to the name, if it was (RFC 9051 6.3.7). */
  readonly staysSubscribed?: boolean
}

/** Deletes a folder with its messages. INBOX and folders of special use stay. */
export const deleteMailbox: UserCommand<MailboxDeletion, void> = {
  name: 'mailbox.delete',
  async run(turn, { id, staysSubscribed = false }) {
    const user = requireUser(turn)
    const mailbox = requireMailbox(turn, id)
    if (!isDeletable(mailbox)) {
      throw new Fault('DisallowedMailboxMethod', { text: reasonToStay(mailbox) })
    }
    await expungeAll(turn, mailbox)
    await dropFiltersTo(turn, id)
    const { num, path, uidValidity, subscribed } = mailbox
    if (staysSubscribed && subscribed) setNames(turn, [...namesOf(turn), path])
    turn.state.mailboxes.delete(num)
    const modseq = nextModseq(turn)
    const gone = { mailbox: num, id, user: turn.state.num, path: keptPath(path), uidValidity, modseq, at: turn.now }
    turn.write(mailboxDelete, gone)
    turn.emit('mailbox.deleted', { user: user.id, mailbox: id, path })
    turn.notify({ kind: 'mailbox', what: 'deleted', mailbox: num, id, path, modseq })
  },
}

/** Ends the subscription to a name that has no folder. */
export const unsubscribeName: UserCommand<{ path: string }, void> = {
  name: 'mailbox.unsubscribe',
  run(turn, { path }) {
    requireUser(turn)
    takeName(turn, path)
  },
}

function reasonToStay({ path, hidden }: Mailbox): string {
  if (path === 'INBOX') return 'INBOX cannot be deleted'
  return hidden ? 'A hidden mailbox cannot be deleted' : 'A mailbox with a special use cannot be deleted'
}

/** Kind of the task that dates the messages of a folder anew. */
export const retentionTask = 'mailbox.retention'

/** What is there already is dated anew in the background, and not at once for thousands of messages. */
function restamp(turn: UserTurn, mailbox: Mailbox, retention: number): void {
  mailbox.retention = retention
  const input = { mailbox: mailbox.id }
  const task = { id: newId(), kind: retentionTask, user: turn.state.id, due: turn.now, input, created: turn.now }
  if (mailbox.total > 0) turn.write(taskInsert, task)
}

function refused(text: string): Fault {
  return new Fault('DisallowedMailboxMethod', { text })
}

/** All paths are read for each listing. @throws Fault DisallowedMailboxMethod where `more` characters of them are too many */
function requireRoomForNames({ state, settings }: UserTurn, more: number): void {
  if (more <= 0) return
  const most = Math.max(largestPath, settings.get('const:max:mailboxes') * limits.mailbox.pathLengthMean)
  let length = more
  for (const { path } of state.mailboxes.values()) length += path.length
  if (length > most) throw refused('The names of all mailboxes together would be too long')
}

const { mailboxDepthMax, mailboxPartLengthMax } = limits.name
const largestPath = mailboxDepthMax * (mailboxPartLengthMax + 1)

function rename(turn: UserTurn, mailbox: Mailbox, path: string): void {
  if (mailbox.path === 'INBOX') throw refused('INBOX cannot be renamed')
  if (mailbox.hidden) throw refused('A hidden mailbox cannot be renamed')
  move(turn, mailbox.path, path, [mailbox, ...foldersBelow(turn, mailbox.path)])
}

function foldersBelow({ state }: UserTurn, path: string): Mailbox[] {
  return [...state.mailboxes.values()].filter(one => one.path.startsWith(`${path}/`))
}

/** Folders whose paths begin with `from` come to begin with `path`. */
function move(turn: UserTurn, from: string, path: string, mailboxes: readonly Mailbox[]): void {
  if (path.startsWith(`${from}/`)) throw refused('A mailbox cannot be moved below itself')
  const { state } = turn
  const moves = mailboxes.map(one => ({ one, to: path + one.path.slice(from.length) }))
  const moving = new Set(moves.map(move => move.one))
  for (const { to } of moves) {
    if (pathProblem(to) !== undefined) throw refused('The name of a mailbox would be too long or too deep')
    const there = mailboxAt(state, { path: to })
    if (there !== undefined && !moving.has(there)) {
      throw new Fault('MailboxExistsError')
    }
  }
  requireRoomForNames(
    turn,
    moves.reduce((sum, { one, to }) => sum + to.length - one.path.length, 0),
  )
  for (const { one, to } of moves) {
    const previous = one.path
    one.path = to
    if (takeName(turn, to)) one.subscribed = true
    one.modseq = nextModseq(turn)
    turn.write(mailboxUpdate, one)
    turn.emit('mailbox.renamed', { user: state.id, mailbox: one.id, previous, current: to })
    told(turn, one, 'renamed')
  }
}

/** Names the account is subscribed to without such a folder. */
function namesOf(turn: UserTurn): readonly string[] {
  return requireUser(turn).options.subscriptions ?? []
}

/** A folder comes to have the name: whether the account was subscribed to it. */
function takeName(turn: UserTurn, path: string): boolean {
  const names = namesOf(turn)
  if (!names.includes(path)) return false
  setNames(
    turn,
    names.filter(name => name !== path),
  )
  return true
}

function setNames(turn: UserTurn, names: readonly string[]): void {
  const { subscriptionsMax, subscriptionsLengthMax } = limits.mailbox
  const kept = names.slice(-subscriptionsMax)
  let length = kept.reduce((sum, name) => sum + name.length, 0)
  while (length > subscriptionsLengthMax) length -= kept.shift()?.length ?? 0
  const user = requireUser(turn)
  user.options = { ...user.options, subscriptions: kept }
  turn.write(userUpdate, user, 1000)
}

function told(turn: UserTurn, mailbox: Mailbox, what: 'created' | 'renamed' | 'changed'): void {
  const { num, id, path, modseq } = mailbox
  turn.notify({ kind: 'mailbox', what, mailbox: num, id, path, modseq })
}
