// Commands on stored messages: flags, copy, move, expunge. Each takes ranges of uids and does all of them in one unit, so
// that a client sees all or nothing.
//
// A message that already is as asked keeps its modseq. Deleting is one way whatever the protocol, and it goes through
// the archive unless told otherwise. One command touches at most limits.actor.messagesMax messages, so that nobody
// holds the account for long.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { changeKeywords, flag } from '#mail/flags.ts'
import { joinRanges } from '#mail/numbers.ts'
import { bodyAdd, bodyRelease, bodyRetain } from '#store/bodies/writes.ts'
import { flagRows } from '#store/mailboxes/listing.ts'
import { countersAdd, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import {
  type Message,
  type MessageMeta,
  messageExpunge,
  messageFlags,
  messageInsert,
  messageMeta,
  rangeMessages,
} from '#store/mailboxes/messages.ts'
import { headerInsert, outlineInsert, outlineWeight } from '#store/mailboxes/outlines.ts'
import { nextModseq, quotaOf, requireMailbox, requireUser, type UserCommand, type UserTurn } from '../user/user.ts'
import { asSpelled, learnKeywords, type Prepared } from './append.ts'
import { shelve } from './archive.ts'
import { FlagRuns } from './flag-runs.ts'
import { markFlagged, markTransfer } from './mark.ts'

/** Inclusive ranges of uids, rising. */
export type UidRanges = readonly (readonly [from: number, to: number])[]

export interface FlagChange {
  readonly mailbox: string
  readonly uids: UidRanges
  readonly how: 'add' | 'remove' | 'set'
  /** Bits of mail/flags.ts. With `set`, bits outside `mask` stay. */
  readonly flags: number
  /** Bits that `set` may change; all where absent. */
  readonly mask?: number
  readonly keywords: readonly string[]
  /** Leave alone what changed after this (RFC 7162 UNCHANGEDSINCE). */
  readonly unchangedSince?: number | undefined
  /** Messages that become flagged by this are said to be no spam (API only). */
  readonly ham?: boolean
}

interface Flagged {
  readonly uid: number
  readonly modseq: number
  readonly flags: number
  readonly keywords: readonly string[]
}

export interface Stored {
  readonly changed: readonly Flagged[]
  /** Messages that had these flags already. */
  readonly same: readonly Flagged[]
  /** Uids that changed after `unchangedSince`. */
  readonly refused: readonly number[]
  /** How many messages there were. */
  readonly found: number
}

/** Changes flags; messages that already have them are left untouched and keep their modseq. */
export const storeFlags: UserCommand<FlagChange, Stored> = {
  name: 'message.flags',
  async run(turn, asked) {
    requireUser(turn)
    const mailbox = requireMailbox(turn, asked.mailbox)
    const input = { ...asked, keywords: asSpelled(mailbox, asked.keywords) }
    const rows: { row: Awaited<ReturnType<typeof flagRows>>[number]; first: boolean }[] = []
    for (const [from, to] of input.uids) {
      const found = await flagRows(turn.read, mailbox.num, from, to)
      // Between two ranges there are messages that are none of them.
      for (const [at, row] of found.entries()) rows.push({ row, first: at === 0 })
    }
    if (rows.length > limits.actor.messagesMax) throw new Fault('TooManyMessages')
    const modseq = turn.state.modseq + 1
    const changed: Flagged[] = []
    const same: Flagged[] = []
    const refused: number[] = []
    const flagged: number[] = []
    const runs = new FlagRuns()
    let unseen = 0
    let apart = true
    for (const { row, first } of rows) {
      const [uid, num, before, flagsBefore, keywordsBefore, thread] = row
      apart ||= first
      if (input.unchangedSince !== undefined && before > input.unchangedSince) {
        refused.push(uid)
        apart = true
        continue
      }
      const had = keywordsBefore === null ? none : keywordsBefore.split(' ')
      const flags = flagsAfter(flagsBefore, input)
      const keywords = keywordsAfter(had, input)
      if (flags === flagsBefore && sameKeywords(keywords, had)) {
        same.push({ uid, modseq: before, flags, keywords: had })
        apart = true
        continue
      }
      unseen += seenChange(flagsBefore, flags)
      if ((flags & ~flagsBefore & flag.flagged) !== 0) flagged.push(uid)
      changed.push({ uid, modseq, flags, keywords })
      runs.add(uid, flags, apart)
      apart = false
      turn.notify({ kind: 'flags', mailbox: mailbox.num, uid, num, modseq, flags, keywords, thread })
    }
    if (changed.length > 0) writeFlags(turn, mailbox, input, { changed, runs, unseen })
    if (input.ham === true && flagged.length > 0 && turn.wants('marked.ham')) {
      await markFlagged(turn, mailbox, await select(turn, mailbox, joinRanges(flagged.map(uid => [uid, uid]))))
    }
    return { changed, same, refused, found: rows.length }
  },
}

const none: readonly string[] = []
/** Up to so many runs cross as plain numbers. */
const runsAsNumbers = 8

/** All changes of one command have one change number and are one write, and a run of messages is one row of it. */
function writeFlags(
  turn: UserTurn,
  mailbox: Mailbox,
  input: FlagChange,
  { changed, runs, unseen }: { readonly changed: readonly Flagged[]; readonly runs: FlagRuns; readonly unseen: number },
): void {
  const modseq = nextModseq(turn)
  const plain = changed.every(one => one.keywords.length === 0) && input.keywords.length === 0
  const uids = changed.map(one => one.uid)
  const { from, to, flags } = plain ? runs : { from: uids, to: uids, flags: changed.map(one => one.flags) }
  // Three pieces of memory cost the thread that writes more than the statement, where there is but one message.
  const numbers = from.length <= runsAsNumbers ? { from, to, flags } : undefined
  const form = numbers ?? { from: Uint32Array.from(from), to: Uint32Array.from(to), flags: Uint8Array.from(flags) }
  const keywords = plain ? null : changed.map(one => one.keywords)
  // What it does to no flags and to all of them says what it does to any.
  const put = flagsAfter(0, input)
  const keep = flagsAfter(0xff, input) & ~put
  turn.write(messageFlags, { mailbox: mailbox.num, modseq, keep, put, ...form, keywords }, 60 + changed.length * 16)
  learnKeywords(turn, mailbox, input.how === 'remove' ? [] : input.keywords)
  count(turn, mailbox, modseq, 0, unseen, 0)
}

export interface MetaChange {
  readonly mailbox: string
  readonly uids: UidRanges
  readonly expires?: number | null | undefined
  /** Instead of what the owner of the messages had put there. */
  readonly metaData?: MessageMeta['metaData']
}

/** Changes what is kept about messages besides flags: expiry and metadata. */
export const changeMeta: UserCommand<MetaChange, { changed: number }> = {
  name: 'message.meta',
  async run(turn, input) {
    requireUser(turn)
    const mailbox = requireMailbox(turn, input.mailbox)
    const messages = await select(turn, mailbox, input.uids)
    for (const message of messages) {
      const meta = input.metaData === undefined ? message.meta : { ...message.meta, metaData: input.metaData }
      const expires = input.expires === undefined ? message.expires : input.expires
      const { uid, modseq } = message
      turn.write(messageMeta, { mailbox: mailbox.num, uid, modseq, expires, meta })
    }
    return { changed: messages.length }
  },
}

export interface Transfer {
  readonly from: string
  readonly to: string
  readonly uids: UidRanges
  /** Moving into the folder where they are gives them new uids, as IMAP has it; otherwise it does nothing. */
  readonly anew?: boolean
  /** Messages that change on the way, by uid: their encrypted form (transfer.ts). */
  readonly sealed?: ReadonlyMap<number, Prepared>
}

export interface Transferred {
  /** Id and uid validity of the target. */
  readonly mailbox: string
  readonly uidValidity: number
  /** Old uid -> new uid, in order. */
  readonly uids: readonly (readonly [number, number])[]
}

/** Copies messages to another (or the same) folder of the account; bodies are shared. */
export const copyMessages: UserCommand<Transfer, Transferred> = {
  name: 'message.copy',
  async run(turn, input) {
    requireUser(turn)
    const source = requireMailbox(turn, input.from)
    const target = requireMailbox(turn, input.to)
    const messages = await select(turn, source, input.uids)
    const placed = messages.map(message => sealedForm(message, input.sealed))
    const size = bytesOf(placed)
    if (size > 0 && turn.state.storage + size > quotaOf(turn)) throw new Fault('OverQuotaError')
    for (const { uid, body } of messages) {
      if (input.sealed?.has(uid) !== true) turn.write(bodyRetain, { num: body }, 20)
    }
    const uids = place(turn, target, placed, size, input.sealed)
    await markTransfer(turn, source, target, messages, uids)
    return { mailbox: target.id, uidValidity: target.uidValidity, uids: pairs(messages, uids) }
  },
}

/** Moves messages to another folder of the account: new uids there, gone here. */
export const moveMessages: UserCommand<Transfer, Transferred> = {
  name: 'message.move',
  async run(turn, input) {
    requireUser(turn)
    const source = requireMailbox(turn, input.from)
    const target = requireMailbox(turn, input.to)
    if (source === target && input.anew !== true)
      return { mailbox: target.id, uidValidity: target.uidValidity, uids: [] }
    const messages = await select(turn, source, input.uids)
    const placed = messages.map(message => sealedForm(message, input.sealed))
    const uids = place(turn, target, placed, bytesOf(placed) - bytesOf(messages), input.sealed)
    for (const { uid, body } of messages) {
      if (input.sealed?.has(uid) === true) turn.write(bodyRelease, { num: body }, 20)
    }
    takeOut(turn, source, messages)
    await markTransfer(turn, source, target, messages, uids)
    return { mailbox: target.id, uidValidity: target.uidValidity, uids: pairs(messages, uids) }
  },
}

function bytesOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + message.size, 0)
}

/** The message as it arrives in its new folder. */
function sealedForm(message: Message, sealed: Transfer['sealed']): Message {
  const prepared = sealed?.get(message.uid)
  if (prepared === undefined) return message
  const { body, size, attachments } = prepared
  return { ...message, body, size: size + Buffer.byteLength(message.prefix), attachments }
}

function pairs(messages: readonly Message[], uids: readonly number[]): [number, number][] {
  return messages.map((message, at) => [message.uid, uids[at] ?? 0])
}

export interface Expunge {
  readonly mailbox: string
  readonly uids: UidRanges
  /** Only messages marked `\Deleted`. */
  readonly marked: boolean
  /** False: they do not go into the archive. */
  readonly archive?: boolean
}

/** Takes messages out of their folder: the one way in which messages are deleted, whatever the protocol. */
export const expungeMessages: UserCommand<Expunge, { uids: number[]; modseq: number }> = {
  name: 'message.expunge',
  async run(turn, input) {
    requireUser(turn)
    const mailbox = requireMailbox(turn, input.mailbox)
    const found = await select(turn, mailbox, input.uids)
    const messages = input.marked ? found.filter(message => (message.flags & flag.deleted) !== 0) : found
    remove(turn, mailbox, messages, input.archive !== false)
    return { uids: messages.map(message => message.uid), modseq: mailbox.modseq }
  },
}

/** The same for messages whose time is over, which nobody waits for. */
export const expireMessages: typeof expungeMessages = { ...expungeMessages, name: 'message.expire', background: true }

/** Empties a folder inside a turn. */
export async function expungeAll(turn: UserTurn, mailbox: Mailbox): Promise<number> {
  const messages = await select(turn, mailbox, [[1, 0xffffffff]])
  remove(turn, mailbox, messages, true)
  return messages.length
}

function remove(turn: UserTurn, mailbox: Mailbox, messages: readonly Message[], archive: boolean): void {
  shelve(turn, mailbox, messages, archive)
  const size = messages.reduce((sum, message) => sum + message.size, 0)
  takeOut(turn, mailbox, messages)
  if (size > 0) nextModseq(turn, -size)
}

/** Puts messages that are in no folder now into one; whoever calls has taken their bodies over. */
export function putBack(turn: UserTurn, target: Mailbox, messages: readonly Message[]): number[] {
  const size = messages.reduce((sum, message) => sum + message.size, 0)
  return place(turn, target, messages, size)
}

async function select(turn: UserTurn, mailbox: Mailbox, uids: UidRanges): Promise<Message[]> {
  const messages: Message[] = []
  for (const [from, to] of uids) {
    const room = limits.actor.messagesMax + 1 - messages.length
    messages.push(...(await rangeMessages(turn.read, mailbox.num, from, to, room)))
    if (messages.length > limits.actor.messagesMax) throw new Fault('TooManyMessages')
  }
  return messages
}

function takeOut(turn: UserTurn, mailbox: Mailbox, messages: readonly Message[]): void {
  if (messages.length === 0) return
  const modseq = nextModseq(turn)
  let unseen = 0
  let size = 0
  for (const { uid, num, thread, ...message } of messages) {
    turn.write(messageExpunge, { mailbox: mailbox.num, uid, num, thread, modseq, at: turn.now }, 60)
    turn.notify({ kind: 'expunge', mailbox: mailbox.num, uid, num, modseq, thread })
    if ((message.flags & flag.seen) === 0) unseen -= 1
    size -= message.size
  }
  turn.state.recent.clear()
  count(turn, mailbox, modseq, -messages.length, unseen, size)
}

/** Puts messages of the account into a folder, `storage` more bytes in all, and returns their uids there. */
function place(
  turn: UserTurn,
  target: Mailbox,
  messages: readonly Message[],
  storage: number,
  sealed?: Transfer['sealed'],
): number[] {
  if (messages.length === 0) return []
  for (const { uid } of messages) {
    const prepared = sealed?.get(uid)
    if (prepared === undefined) continue
    turn.write(bodyAdd, prepared.row, prepared.weight)
    turn.write(outlineInsert, { body: prepared.body, ...prepared.outline }, outlineWeight(prepared.outline))
    if (prepared.header !== null) turn.write(headerInsert, { body: prepared.body, lines: prepared.header })
  }
  const modseq = nextModseq(turn, storage)
  const expires = target.retention > 0 ? turn.now + target.retention : null
  let unseen = 0
  let bytes = 0
  const uids: number[] = []
  for (const message of messages) {
    const { flags, idate, size, thread, body, prefix } = message
    const keywords = asSpelled(target, message.keywords)
    learnKeywords(turn, target, keywords)
    const num = turn.sequence.next('message')
    const uid = target.uidNext
    target.uidNext += 1
    turn.write(messageInsert, {
      mailbox: target.num,
      uid,
      num,
      user: turn.state.num,
      modseq,
      flags,
      idate,
      size,
      thread,
      body,
      saved: turn.now,
      attachments: message.attachments,
      keywords,
      expires,
      prefix,
      meta: message.meta,
    })
    turn.notify({ kind: 'exists', mailbox: target.num, uid, num, modseq, flags, keywords, idate, size, thread })
    if ((flags & flag.seen) === 0) unseen += 1
    bytes += size
    uids.push(uid)
  }
  count(turn, target, modseq, messages.length, unseen, bytes)
  return uids
}

function count(turn: UserTurn, mailbox: Mailbox, modseq: number, total: number, unseen: number, size: number): void {
  mailbox.modseq = modseq
  mailbox.total += total
  mailbox.unseen += unseen
  mailbox.size += size
  turn.write(countersAdd, { mailbox: mailbox.num, uidNext: mailbox.uidNext, modseq, total, unseen, size }, 60)
  turn.notify({ kind: 'counters', mailbox: mailbox.num, total: mailbox.total, unseen: mailbox.unseen, modseq })
}

function flagsAfter(flags: number, input: FlagChange): number {
  if (input.how === 'add') return flags | input.flags
  if (input.how === 'remove') return flags & ~input.flags
  const mask = input.mask ?? 0xff
  return (flags & ~mask) | (input.flags & mask)
}

function keywordsAfter(keywords: readonly string[], input: FlagChange): readonly string[] {
  if (input.how === 'set') return input.mask === undefined ? changeKeywords([], input.keywords) : keywords
  if (input.keywords.length === 0) return keywords
  return input.how === 'add' ? changeKeywords(keywords, input.keywords) : changeKeywords(keywords, [], input.keywords)
}

function sameKeywords(left: readonly string[], right: readonly string[]): boolean {
  return left === right || (left.length === right.length && left.every(keyword => right.includes(keyword)))
}

function seenChange(before: number, after: number): number {
  return ((before & flag.seen) === 0 ? -1 : 0) + ((after & flag.seen) === 0 ? 1 : 0)
}
