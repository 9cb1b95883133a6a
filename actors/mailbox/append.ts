// Putting a message into a folder: delivery, upload, APPEND. Pipelined: while one message is being synced the next is
// already numbered, so one busy account fills a batch by itself.
//
// The body was split, hashed and outlined before the turn; a turn only gives out numbers. Threads are kept on write: a
// message joins the thread of the first message it refers to that the account knows.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { remember } from '#lib/memoize.ts'
import { mailboxes } from '#mail/address/address.ts'
import { flag } from '#mail/flags.ts'
import { type LongText, wholeText } from '#mail/text/long-text.ts'
import { type BodyRow, bodyAdd } from '#store/bodies/writes.ts'
import { messageAppend } from '#store/mailboxes/audits.ts'
import { countersAdd, type Mailbox, mailboxUpdate } from '#store/mailboxes/mailboxes.ts'
import { type MessageMeta, threadSummaries } from '#store/mailboxes/messages.ts'
import { headerInsert, outlineInsert, outlineWeight, summaryOf } from '#store/mailboxes/outlines.ts'
import { referenceInsert } from '#store/mailboxes/references.ts'
import {
  inbox,
  mailboxAt,
  nextModseq,
  quotaOf,
  requireMailbox,
  requireUser,
  type UserCommand,
  type UserTurn,
} from '../user/user.ts'

/** A received message, ready for any number of folders (store/intake). */
export interface Prepared {
  /** Number of the body, and where it is an encrypted form, of the body that arrived. */
  readonly body: number
  readonly plain?: number
  readonly row: BodyRow
  /** Bytes that cross to the writer, about. */
  readonly weight: number
  /** Bytes of the body. */
  readonly size: number
  readonly outline: {
    readonly envelope: LongText
    readonly bodystructure: LongText
    readonly summary: LongText
    readonly detail: LongText
  }
  /** Header lines that lists are made of (mail/header/pick.ts). */
  readonly header: string | null
  readonly attachments: boolean
  /** How many files it has, those included that are shown within a text. */
  readonly files: number
  readonly messageId: string
  /** By which a copy of the message is known (format/identity.ts); empty where it cannot be told from another mail. */
  readonly identity: string
  /** Hash of the Message-ID. */
  readonly hash: number
  /** Hashes of the ids it refers to, nearest first. */
  readonly refers: readonly number[]
}

export interface Append {
  readonly prepared: Prepared
  /** Where to: a folder's id, a special use, or INBOX. A special use that does not exist means INBOX. */
  readonly to: { id: string; orInbox?: boolean } | { specialUse: string } | 'INBOX'
  /** Header lines put on top of the body. */
  readonly prefix: string
  readonly flags: number
  readonly keywords: readonly string[]
  /** Internal date; the moment of the turn where absent. */
  readonly idate?: number | undefined
  readonly meta: MessageMeta
  readonly expires?: number | null | undefined
  /** Drop it, and say so, when the same message already lies in the folder. */
  readonly once: boolean
  /** Refuse it where it does not fit; `before`: where the account is above its quota already (wire-details 7). */
  readonly limited: boolean | 'before'
  /** It was received long ago elsewhere: nobody is told by an event. */
  readonly silent?: boolean
}

export interface Appended {
  readonly mailbox: string
  readonly mailboxNumber: number
  /** Of the folder. */
  readonly path: string
  readonly uidValidity: number
  readonly uid: number
  readonly num: number
  readonly size: number
  readonly thread: number
  readonly modseq: number
  /** The same message was there already; `uid` is the one it has. */
  readonly duplicate: boolean
}

export const appendMessage: UserCommand<Append, Appended> = {
  name: 'message.append',
  pipelined: true,
  async run(turn, input) {
    const user = requireUser(turn)
    const mailbox = targetOf(turn, input.to)
    const size = input.prepared.size + Buffer.byteLength(input.prefix)
    const more = input.limited === 'before' ? 0 : size
    if (input.limited !== false && turn.state.storage + more > quotaOf(turn)) throw new Fault('OverQuotaError')
    const known = await threadOf(turn, input.prepared)
    if (input.once) {
      const there = await repeated(turn, mailbox, input.prepared, known)
      if (there !== undefined)
        return { ...there, mailbox: mailbox.id, mailboxNumber: mailbox.num, path: mailbox.path, size, duplicate: true }
    }
    const appended = insert(turn, mailbox, input, size, known)
    if (input.silent === true) return appended
    // Only what was delivered: people know of what they store themselves.
    const arrived = input.meta.rcpt !== undefined
    if (arrived && turn.wants('message.received')) turn.emit('message.received', received(user.id, input, appended))
    return appended
  },
}

function received(user: string, { prepared, meta }: Append, { mailbox, uid, size }: Appended) {
  const { from: senders, subject } = summaryOf(wholeText(prepared.outline.summary))
  const from = mailboxes(senders)[0]?.address ?? meta.from ?? ''
  return { user, mailbox, message: uid, size, from, subject }
}

/** Stores several messages in one unit: all of them or none (RFC 3502). The first fault refuses them all. */
export const appendMessages: UserCommand<readonly Append[], Appended[]> = {
  name: 'message.append-all',
  pipelined: true,
  async run(turn, inputs) {
    requireUser(turn)
    // A turn that throws after its first write drops the state, so what can be refused is refused before.
    const size = inputs.reduce((sum, input) => sum + input.prepared.size + Buffer.byteLength(input.prefix), 0)
    if (inputs.some(input => input.limited) && turn.state.storage + size > quotaOf(turn)) {
      throw new Fault('OverQuotaError')
    }
    for (const input of inputs) targetOf(turn, input.to)
    const appended: Appended[] = []
    for (const input of inputs) appended.push(await appendMessage.run(turn, input))
    return appended
  },
}

function targetOf(turn: UserTurn, to: Append['to']): Mailbox {
  if (to === 'INBOX') return inbox(turn)
  if ('id' in to) {
    const known = [...turn.state.mailboxes.values()].some(({ id }) => id === to.id)
    return known || to.orInbox !== true ? requireMailbox(turn, to.id) : inbox(turn)
  }
  return mailboxAt(turn.state, to) ?? inbox(turn)
}

function insert(
  turn: UserTurn,
  mailbox: Mailbox,
  input: Append,
  size: number,
  known: { thread: number | undefined; missing: readonly number[] },
): Appended {
  const { prepared, flags } = input
  const { state } = turn
  const keywords = asSpelled(mailbox, input.keywords)
  const num = turn.sequence.next('message')
  const thread = known.thread ?? num
  const uid = mailbox.uidNext
  const modseq = nextModseq(turn, size)
  const idate = input.idate ?? turn.now
  const unseen = (flags & flag.seen) === 0 ? 1 : 0
  mailbox.uidNext += 1
  mailbox.modseq = modseq
  mailbox.total += 1
  mailbox.unseen += unseen
  mailbox.size += size
  learnKeywords(turn, mailbox, keywords)
  const expires = input.expires ?? (mailbox.retention > 0 ? turn.now + mailbox.retention : null)
  turn.write(bodyAdd, prepared.row, prepared.weight)
  turn.write(outlineInsert, { body: prepared.body, ...prepared.outline }, outlineWeight(prepared.outline))
  if (prepared.header !== null) turn.write(headerInsert, { body: prepared.body, lines: prepared.header })
  turn.write(messageAppend, {
    mailbox: mailbox.num,
    uid,
    num,
    user: state.num,
    modseq,
    flags,
    idate,
    size,
    thread,
    body: prepared.body,
    saved: turn.now,
    attachments: prepared.attachments,
    keywords,
    expires,
    prefix: input.prefix,
    meta: input.meta,
  })
  turn.write(countersAdd, { mailbox: mailbox.num, uidNext: mailbox.uidNext, modseq, total: 1, unseen, size })
  for (const hash of known.missing) {
    turn.write(referenceInsert, { user: state.num, hash, thread }, 30)
    state.references.put(hash, thread)
  }
  remember(state.recent, repeatKey(mailbox, prepared), uid, limits.actor.deliveriesMax)
  turn.notify({ kind: 'exists', mailbox: mailbox.num, uid, num, modseq, flags, keywords, idate, size, thread })
  turn.notify({ kind: 'counters', mailbox: mailbox.num, total: mailbox.total, unseen: mailbox.unseen, modseq })
  const { id, num: mailboxNumber, path, uidValidity } = mailbox
  return { mailbox: id, mailboxNumber, path, uidValidity, uid, num, size, thread, modseq, duplicate: false }
}

/** Keywords as the folder has them already: case makes no difference (RFC 9051 9), so that each has one spelling there. */
export function asSpelled({ keywords: known }: Mailbox, keywords: readonly string[]): readonly string[] {
  if (keywords.every(keyword => known.includes(keyword))) return keywords
  const spelling = new Map(known.toReversed().map(keyword => [keyword.toLowerCase(), keyword]))
  return keywords.map(keyword => spelling.get(keyword.toLowerCase()) ?? keyword)
}

/** Notes keywords a folder has not had before. */
export function learnKeywords(turn: UserTurn, mailbox: Mailbox, keywords: readonly string[]): void {
  const fresh = keywords.filter(keyword => !mailbox.keywords.includes(keyword))
  if (fresh.length === 0) return
  mailbox.keywords.push(...fresh)
  turn.write(mailboxUpdate, mailbox)
}

async function threadOf(
  turn: UserTurn,
  prepared: Prepared,
): Promise<{ thread: number | undefined; seen: number | undefined; missing: number[] }> {
  const { state } = turn
  const hashes = [prepared.hash, ...prepared.refers]
  await state.references.load(turn.read, state.num, hashes)
  const seen = state.references.get(prepared.hash)
  const referred = prepared.refers.map(hash => state.references.get(hash)).find(thread => thread !== undefined)
  const missing = [...new Set(hashes)].filter(hash => !state.references.has(hash))
  return { thread: seen ?? referred, seen, missing }
}

function repeatKey(mailbox: Mailbox, { identity, body, plain = body }: Prepared): string {
  return `${mailbox.num} ${identity === '' ? plain : identity}`
}

/**
 * The same message in the folder: equal in all but its trace, and with a Message-ID or a Date of its own, since a device
 * that says the same every day sends another mail every day. Anything less would lose mail that was accepted. Without
 * either, only a further recipient of the same delivery is a repetition.
 */
async function repeated(
  turn: UserTurn,
  mailbox: Mailbox,
  prepared: Prepared,
  { seen, thread }: { readonly seen: number | undefined; readonly thread: number | undefined },
): Promise<{ uid: number; num: number; thread: number; modseq: number; uidValidity: number } | undefined> {
  const { uidValidity } = mailbox
  const pending = turn.state.recent.get(repeatKey(mailbox, prepared))
  if (pending !== undefined) return { uid: pending, num: 0, thread: thread ?? 0, modseq: mailbox.modseq, uidValidity }
  if (seen === undefined || prepared.identity === '') return undefined
  for (const row of await threadSummaries(turn.read, mailbox.num, seen)) {
    const { identity } = summaryOf(row.summary)
    if (identity === prepared.identity) return { ...row, thread: seen, uidValidity }
  }
  return undefined
}
