// Messages: what a row means, and reading them by folder, uid, thread and page. Parsed facts come from the outline that
// was stored with the body; nothing here parses mail.
//
// Short reads by index, but where a function says that it scans.

import type { Reader } from '../engine/reader.ts'

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
  /** What is known of From (actors/delivery/forward.ts); `theirs` where absent. */
  trust?: 'ours' | 'nobody'
  bimi?: Record<string, unknown>
  /** Answered and forwarded marks set by the service live in flags; this is what a client adds. */
  forwarded?: boolean
}

export interface Message {
  readonly mailbox: number
  readonly uid: number
  readonly num: number
  readonly user: number
  modseq: number
  flags: number
  readonly idate: number
  readonly size: number
  readonly thread: number
  readonly body: number
  readonly saved: number
  readonly attachments: boolean
  keywords: string[]
  expires: number | null
  readonly prefix: string
  meta: MessageMeta
}

export interface Outlined extends Message {
  /** JSON text of the outline's summary (mail/mime/outline.ts). */
  readonly summary: string
}

interface Row {
  mailbox: number
  uid: number
  num: number
  user: number
  modseq: number
  flags: number
  idate: number
  size: number
  thread: number
  body: number
  saved: number
  attachments: number
  keywords: string | null
  expires: number | null
  prefix: string
  meta: string
  summary: string
}

const columns = `m.mailbox, m.uid, m.num, m.user, m.modseq, m.flags, m.idate, m.size, m.thread, m.body, m.saved,
  m.attachments, m.keywords, m.expires, m.prefix, m.meta`

/** One message of a folder. */
export async function findMessage(read: Reader, mailbox: number, uid: number): Promise<Outlined | undefined> {
  const row = read.one<Row>(
    `SELECT ${columns}, o.summary FROM message m JOIN outline o ON o.body = m.body WHERE m.mailbox = ? AND m.uid = ?`,
    mailbox,
    uid,
  )
  return row === undefined ? undefined : { ...decode(row), summary: row.summary }
}

/** Messages of a folder with uids in [from, to], rising, at most `count`. */
export async function rangeMessages(
  read: Reader,
  mailbox: number,
  from: number,
  to: number,
  count: number,
): Promise<Message[]> {
  return read
    .all<Row>(
      `SELECT ${columns} FROM message m WHERE m.mailbox = ? AND m.uid BETWEEN ? AND ? ORDER BY m.uid LIMIT ?`,
      mailbox,
      from,
      to,
      count,
    )
    .map(decode)
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
  /** One message of each thread: the first of the list. */
  readonly collapse: boolean
}

/** A page of a folder by internal date; `back` gives what comes before the boundary, the nearest first. */
export async function pageMessages(
  read: Reader,
  { mailbox, falling, unseen, collapse }: MessagePage,
  boundary: MessageBoundary | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<Outlined[]> {
  const down = falling === (direction === 'forward')
  const edge = boundary ?? (down ? { idate: 9e15, uid: 9e15 } : { idate: -9e15, uid: 0 })
  const order = down ? 'DESC' : 'ASC'
  const only = unseen ? 'AND m.flags & 1 = 0' : ''
  const first = collapse
    ? `AND NOT EXISTS (SELECT 1 FROM message n WHERE n.thread = m.thread AND n.mailbox = m.mailbox
        ${unseen ? 'AND n.flags & 1 = 0' : ''} AND (n.idate, n.uid) ${falling ? '>' : '<'} (m.idate, m.uid))`
    : ''
  const rows = read.all<Row>(
    `SELECT ${columns}, o.summary FROM message m JOIN outline o ON o.body = m.body
     WHERE m.mailbox = ? AND (m.idate, m.uid) ${down ? '<' : '>'} (?, ?) ${only} ${first}
     ORDER BY m.idate ${order}, m.uid ${order} LIMIT ?`,
    mailbox,
    edge.idate,
    edge.uid,
    count,
  )
  return rows.map(row => ({ ...decode(row), summary: row.summary }))
}

/** Messages of an account by their numbers, in the order of `nums`; those that are gone are left out. */
export async function findByNumbers(read: Reader, user: number, nums: readonly number[]): Promise<Outlined[]> {
  const rows = read.all<Row>(
    `SELECT ${columns}, o.summary FROM message m JOIN outline o ON o.body = m.body
     WHERE m.num IN (SELECT value FROM json_each(?)) AND m.user = ?`,
    JSON.stringify(nums),
    user,
  )
  const byNumber = new Map(rows.map(row => [row.num, { ...decode(row), summary: row.summary }]))
  return nums.flatMap(num => byNumber.get(num) ?? [])
}

/** Messages of a folder that are not encrypted and lack some flags, in uid order. */
export function plainBodies(
  read: Reader,
  mailbox: number,
  from: number,
  to: number,
  without: number,
  count: number,
): { uid: number; body: number }[] {
  return read.all(
    `SELECT m.uid, m.body FROM message m JOIN outline o ON o.body = m.body WHERE m.mailbox = ? AND m.uid BETWEEN ? AND ?
     AND m.flags & ? = 0 AND json_extract(o.summary, '$.encrypted') = 0 ORDER BY m.uid LIMIT ?`,
    mailbox,
    from,
    to,
    without,
    count,
  )
}

/** How many threads have messages in a folder. Scans: not for the main loop. */
export async function countFolderThreads(read: Reader, mailbox: number, unseen: boolean): Promise<number> {
  const text = `SELECT count(DISTINCT thread) AS n FROM message WHERE mailbox = ? ${unseen ? 'AND flags & 1 = 0' : ''}`
  return read.one<{ n: number }>(text, mailbox)?.n ?? 0
}

/** Drafts of an account in some threads, with the id each answers; at most a thousand. */
export async function threadDrafts(
  read: Reader,
  user: number,
  threads: readonly number[],
): Promise<{ thread: number; inReplyTo: string }[]> {
  return read.all(
    `SELECT m.thread, coalesce(json_extract(o.summary, '$.inReplyTo'), '') AS inReplyTo FROM message m
     JOIN outline o ON o.body = m.body
     WHERE m.thread IN (SELECT value FROM json_each(?)) AND m.user = ? AND m.flags & 16 <> 0 LIMIT 1000`,
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
  const rows = read.all<{ thread: number; n: number }>(
    `SELECT thread, count(*) AS n FROM message WHERE thread IN (SELECT value FROM json_each(?)) AND user = ? GROUP BY thread`,
    JSON.stringify(threads),
    user,
  )
  return new Map(rows.map(row => [row.thread, row.n]))
}

/** The thread each known Message-ID hash of an account belongs to. */
export async function findReferences(
  read: Reader,
  user: number,
  hashes: readonly number[],
): Promise<{ hash: number; thread: number }[]> {
  const found: { hash: number; thread: number }[] = []
  for (const hash of hashes) {
    const row = read.one<{ thread: number }>('SELECT thread FROM reference WHERE user = ? AND hash = ?', user, hash)
    if (row !== undefined) found.push({ hash, thread: row.thread })
  }
  return found
}

/** Up to `count` ids of an account, by hash, with the thread each belongs to. */
export async function listReferences(read: Reader, user: number, count: number): Promise<[number, number][]> {
  return read.arrays<[number, number]>('SELECT hash, thread FROM reference WHERE user = ? LIMIT ?', user, count)
}

/** Messages of a thread that lie in one folder, with the summary (JSON) and size of their bodies. */
export async function threadSummaries(
  read: Reader,
  mailbox: number,
  thread: number,
): Promise<{ uid: number; num: number; modseq: number; size: number; summary: string }[]> {
  return read.all(
    `SELECT m.uid, m.num, m.modseq, b.size, o.summary FROM message m JOIN outline o ON o.body = m.body
     JOIN body b ON b.num = m.body WHERE m.thread = ? AND m.mailbox = ? LIMIT 1000`,
    thread,
    mailbox,
  )
}

function decode(row: Row): Message {
  return {
    mailbox: row.mailbox,
    uid: row.uid,
    num: row.num,
    user: row.user,
    modseq: row.modseq,
    flags: row.flags,
    idate: row.idate,
    size: row.size,
    thread: row.thread,
    body: row.body,
    saved: row.saved,
    attachments: row.attachments === 1,
    keywords: row.keywords === null ? [] : row.keywords.split(' '),
    expires: row.expires,
    prefix: row.prefix,
    meta: JSON.parse(row.meta) as MessageMeta,
  }
}
