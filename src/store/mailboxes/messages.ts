// Messages: the table, its writes, and reading them by folder, uid, thread and page. Parsed facts come from the outline
// that was stored with the body; nothing here parses mail.
//
// Short reads by index, but where a function says that it scans.

import { boolean, integer, json, moment, nullable, type Stored, span, text, words } from '../engine/column.ts'
import { among, flagAt, jsonAt } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import type { Sql } from '../engine/sqlite/handle.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { searchWait } from '../search/docs.ts'
import { type MeasuredText, type SomeRows, SomeRowsTaken, unhurried, withSummaries } from '../search/pages.ts'
import { expunged } from './gone/expunged.ts'
import { measuredSummary } from './outlines.ts'

/** What is known about a message besides its bytes; JSON in `message.meta`. */
export interface MessageMeta {
  /** Envelope of the transaction that brought it. */
  from?: string
  rcpt?: string
  /** `lmtp`, `smtp`, `submission`, `api`, `imap`, `import`. */
  source: string
  /** How it came: address and name of who brought it, protocol, moment in milliseconds. */
  transport?: { origin?: string; transhost?: string; transtype: string; time: number }
  metaData?: Record<string, unknown>
  reference?: { mailbox: string; id: number; action: 'reply' | 'replyAll' | 'forward' }
  files?: string[]
  outbound?: string[]
  forwardTargets?: { type: string; value: string }[]
  verificationResults?: Record<string, unknown>
  /** How much spoke for spam when it came, 0 to 100, and what that was made of. */
  spam?: SpamScore
  /** What is known of From (actors/delivery/forward.ts); `theirs` where absent. */
  trust?: 'ours' | 'nobody'
  /** It came with REQUIRETLS (RFC 8689), and goes on with it. */
  requireTls?: boolean
  bimi?: Record<string, unknown>
  /** Answered and forwarded marks set by the service live in flags; this is what a client adds. */
  forwarded?: boolean
}

/** How much speaks for spam: points of named parts, and what they came to, 0 to 100. */
export interface SpamScore {
  readonly score: number
  readonly parts: readonly SpamPart[]
}

export interface SpamPart {
  readonly name: string
  readonly score: number
  /** Why, for whoever asks. */
  readonly info?: string
}

/** A message in a folder. */
export const messages = table(
  'message',
  {
    mailbox: integer,
    uid: integer,
    /** Its number across all folders: another one after a move. */
    num: integer,
    /** Number of the account. */
    user: integer,
    /** Change number of its last change. */
    modseq: integer,
    /** Bits, see mail/flags.ts. */
    flags: integer,
    /** Internal date. */
    idate: moment,
    /** Bytes of the body and of the lines on top. */
    size: integer,
    thread: integer,
    body: integer,
    /** When it came into this folder. */
    saved: moment,
    attachments: boolean,
    /** Change number it came with. */
    createdModseq: integer,
    keywords: words,
    expires: nullable(span),
    /** Header lines on top of the body. */
    prefix: text,
    meta: json<MessageMeta>(),
  },
  {
    key: ['mailbox', 'uid'],
    clustered: true,
    indexes: {
      message_num: { on: ['num'], unique: true },
      message_changed: { on: ['mailbox', 'modseq'], where: 'modseq > created_modseq' },
      message_idate: { on: ['mailbox', 'idate', 'uid'] },
      message_unseen: { on: ['mailbox', 'idate', 'uid'], where: 'flags & 1 = 0' },
      message_thread: { on: ['thread'] },
      message_expires: { on: ['expires'], where: 'expires IS NOT NULL' },
      message_body: { on: ['body', 'user'] },
    },
  },
)

type Row = RowOf<typeof messages>

const own = [
  ...(['mailbox', 'uid', 'num', 'user', 'modseq', 'flags', 'idate', 'size', 'thread', 'body', 'saved'] as const),
  ...(['attachments', 'keywords', 'expires', 'prefix', 'meta'] as const),
]

export type Message = Pick<Row, 'flags'> & Readonly<Pick<Row, (typeof own)[number]>>

export interface Outlined extends Message {
  /** JSON text of the outline's summary (outlines.ts). */
  readonly summary: string
}

const insertion = messages.insertion

/** A message that came into a folder: its body waits to be indexed, unless it is already. */
export const messageInsert = defineWrite<Message, Stored[]>('message.insert', insertMessage, { encode: encodeMessage })

/** What crosses for a message; for other writes that store one. */
export function encodeMessage(message: Message): Stored[] {
  return messages.values({ ...message, createdModseq: message.modseq })
}

/** The message of that. */
export function decodeMessage(values: readonly Stored[]): Message {
  return messages.rowOf(values)
}

/** What `message.insert` does. */
export function insertMessage(sql: Sql, values: readonly Stored[]): void {
  sql(insertion).run(values)
  searchWait(sql, values[messages.at.body] as number, values[messages.at.user] as number)
}

export interface FlagsChange {
  readonly mailbox: number
  readonly modseq: number
  /** Runs of messages, all of the folder between two uids, and the flags that the first of a run has now. */
  readonly from: ArrayLike<number>
  readonly to: ArrayLike<number>
  readonly flags: ArrayLike<number>
  /** What those of a run keep of their flags, and what they get. */
  readonly keep: number
  readonly put: number
  /** Keywords where runs are single messages, or null where no message has any now. */
  readonly keywords: readonly (readonly string[])[] | null
}

interface FlagsForm extends Omit<FlagsChange, 'keywords'> {
  readonly keywords: readonly (string | null)[] | null
}

const updateFlags = messages.updating({ set: ['modseq', 'flags', 'keywords'], by: ['mailbox', 'uid'] })
const updateRun =
  'UPDATE message SET modseq = ?, flags = (flags & ?) | ?, keywords = NULL WHERE mailbox = ? AND uid BETWEEN ? AND ?'

export const messageFlags = defineWrite<FlagsChange, FlagsForm>(
  'message.flags',
  (sql, { mailbox, modseq, from, to, flags, keep, put, keywords }) => {
    for (let at = 0; at < from.length; at++) {
      // A range is planned anew by its values, which is dear for one message and half the price for many.
      if (from[at] !== to[at]) sql(updateRun).run(modseq, keep, put, mailbox, from[at], to[at])
      else sql(updateFlags).run(modseq, flags[at], keywords === null ? null : keywords[at], mailbox, from[at])
    }
  },
  { encode: change => ({ ...change, keywords: change.keywords?.map(words.codec.encode) ?? null }) },
)

export const messageMeta = messages.defineUpdate('meta', { set: ['modseq', 'expires', 'meta'], by: ['mailbox', 'uid'] })

const deletion = messages.deleting(['mailbox', 'uid'])
const expunge = expunged.insertion

/** Takes a message out of its folder. What becomes of its body is the caller's to say. */
export const messageExpunge = defineWrite<Readonly<RowOf<typeof expunged>>, Stored[]>(
  'message.expunge',
  (sql, values) => {
    sql(deletion).run(values[expunged.at.mailbox], values[expunged.at.uid])
    sql(expunge).run(values)
  },
  { encode: row => expunged.values(row) },
)

/** One whose summary may still have to be read (`withSummaries`). */
export type Measured = Omit<Outlined, 'summary'> & { readonly summary: string | null }

const outlined = `SELECT ${messages.listOf('m', own)}, o.summary FROM message m JOIN outline o ON o.body = m.body`
const measured = `SELECT ${messages.listOf('m', own)}, ${measuredSummary} FROM message m JOIN outline o ON o.body = m.body`

/** One message of a folder. */
export async function findMessage(read: Reader, mailbox: number, uid: number): Promise<Outlined | undefined> {
  const row = await read.one<Record<string, unknown>>(`${outlined} WHERE m.mailbox = ? AND m.uid = ?`, mailbox, uid)
  return row === undefined ? undefined : decode(row)
}

/** Messages of a folder with uids in [from, to], rising, at most `count`. */
export async function rangeMessages(
  read: Reader,
  mailbox: number,
  from: number,
  to: number,
  count: number,
): Promise<Message[]> {
  return await messages.all(
    read,
    'WHERE mailbox = ? AND uid BETWEEN ? AND ? ORDER BY uid LIMIT ?',
    mailbox,
    from,
    to,
    count,
  )
}

/** Where a page of a folder's list begins or ends. */
export interface MessageBoundary {
  idate: number
  uid: number
}

export interface MessagePage {
  readonly mailbox: number
  /** The list begins with the newest. */
  readonly falling: boolean
  /** Only messages without `\Seen`. */
  readonly unseen: boolean
}

/** A page of a folder by internal date; `back` gives what comes before the boundary, the nearest first. */
export async function pageMessages(
  read: Reader,
  { mailbox, falling, unseen }: MessagePage,
  boundary: MessageBoundary | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<SomeRows<Measured>> {
  const down = falling === (direction === 'forward')
  const edge = boundary ?? (down ? { idate: 9e15, uid: 9e15 } : { idate: -9e15, uid: 0 })
  const order = down ? 'DESC' : 'ASC'
  const only = unseen ? 'AND m.flags & 1 = 0' : ''
  const text = `${measured} WHERE m.mailbox = ? AND (m.idate, m.uid) ${down ? '<' : '>'} (?, ?) ${only}
     ORDER BY m.idate ${order}, m.uid ${order} LIMIT ?`
  const some = new SomeRowsTaken(decodeMeasured)
  await read.each<MeasuredText>(row => !some.take(row), text, mailbox, edge.idate, edge.uid, count)
  return some.taken
}

/** Messages of an account by their numbers, in the order of `nums`; those that are gone are left out. */
export async function findByNumbers(read: Reader, user: number, nums: readonly number[]): Promise<SomeRows<Measured>> {
  const some = new SomeRowsTaken(decodeMeasured)
  for (let at = 0; at < nums.length; at += numbersAtOnce) {
    const asked = nums.slice(at, at + numbersAtOnce)
    const text = `${measured} WHERE m.num IN ${among()} AND m."user" = ?`
    const rows = await read.all<MeasuredText & { num: number }>(text, JSON.stringify(asked), user)
    const byNumber = new Map(rows.map(row => [row.num, row]))
    for (const num of asked) {
      const row = byNumber.get(num)
      if (row !== undefined && !some.take(row)) return some.taken
    }
  }
  return some.taken
}

/** Messages looked up in one statement: their short texts are all read before the first is counted. */
const numbersAtOnce = 50

/** Messages of a folder that are not encrypted and lack some flags, in uid order. */
export async function plainBodies(
  read: Reader,
  mailbox: number,
  from: number,
  to: number,
  without: number,
  count: number,
): Promise<{ uid: number; body: number }[]> {
  return await read.all(
    `SELECT m.uid, m.body FROM message m JOIN outline o ON o.body = m.body WHERE m.mailbox = ? AND m.uid BETWEEN ? AND ?
     AND m.flags & ? = 0 AND ${flagAt('o.summary', 'encrypted')} = 0 ORDER BY m.uid LIMIT ?`,
    mailbox,
    from,
    to,
    without,
    count,
  )
}

/** A place in a folder's list, counted from its start. */
export interface RowAt {
  readonly mailbox: number
  readonly falling: boolean
  readonly unseen: boolean
  /** The row of this number, from 1. */
  readonly row: number
}

/** Where that row is, to list what follows it; null where the list is shorter. Steps over an index: not for the main loop. */
export async function rowAt(read: Reader, { mailbox, falling, unseen, row }: RowAt): Promise<MessageBoundary | null> {
  const order = falling ? 'DESC' : 'ASC'
  const text = `SELECT idate, uid FROM message WHERE mailbox = ? ${unseen ? 'AND flags & 1 = 0' : ''}
    ORDER BY idate ${order}, uid ${order} LIMIT 1 OFFSET ?`
  return (await read.one<MessageBoundary>(text, mailbox, row - 1)) ?? null
}

/** Messages of a folder by their uids, in the order of `uids`. */
export async function messagesOf(read: Reader, mailbox: number, uids: readonly number[]): Promise<SomeRows<Outlined>> {
  const text = `${measured} WHERE m.mailbox = ? AND m.uid IN ${among()}`
  const rows = await read.all<MeasuredText & { uid: number }>(text, mailbox, JSON.stringify(uids))
  const byUid = new Map(rows.map(row => [row.uid, row]))
  const some = new SomeRowsTaken(decodeMeasured)
  for (const uid of uids) {
    const row = byUid.get(uid)
    if (row !== undefined && !some.take(row)) break
  }
  const { rows: taken, more } = some.taken
  return { rows: await withSummaries(read, taken, unhurried), more }
}

/** Drafts of an account in some threads, with the id each answers; at most a thousand. */
export async function threadDrafts(
  read: Reader,
  user: number,
  threads: readonly number[],
): Promise<{ thread: number; inReplyTo: string }[]> {
  return await read.all(
    `SELECT m.thread, coalesce(${jsonAt('o.summary', 'inReplyTo')}, '') AS inReplyTo FROM message m
     JOIN outline o ON o.body = m.body
     WHERE m.thread IN ${among()} AND m."user" = ? AND m.flags & 16 <> 0 LIMIT 1000`,
    JSON.stringify(threads),
    user,
  )
}

/** How many messages of the account each of these threads has. */
export async function countThreads(
  read: Reader,
  user: number,
  threads: readonly number[],
): Promise<Map<number, number>> {
  const rows = await read.all<{ thread: number; n: number }>(
    `SELECT thread, count(*) AS n FROM message WHERE thread IN ${among()} AND "user" = ? GROUP BY thread`,
    JSON.stringify(threads),
    user,
  )
  return new Map(rows.map(row => [row.thread, row.n]))
}

/** Messages of a thread that lie in one folder, with the summary (JSON) and size of their bodies. */
export async function threadSummaries(
  read: Reader,
  mailbox: number,
  thread: number,
): Promise<{ uid: number; num: number; modseq: number; size: number; summary: string }[]> {
  return await read.all(
    `SELECT m.uid, m.num, m.modseq, b.size, o.summary FROM message m JOIN outline o ON o.body = m.body
     JOIN body b ON b.num = m.body WHERE m.thread = ? AND m.mailbox = ? LIMIT 1000`,
    thread,
    mailbox,
  )
}

function decode(stored: Record<string, unknown>): Outlined {
  return messages.decode(stored, own) as unknown as Outlined
}

function decodeMeasured(stored: MeasuredText): Measured {
  return messages.decode(stored as unknown as Record<string, unknown>, own) as unknown as Measured
}
