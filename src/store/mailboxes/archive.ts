// The archive of deleted messages: what a row means, and reading it.
//
// Archived messages hold their bodies until their time is over. The rules of the consistency checker about them stand
// at the end.

import type { Reader } from '../engine/reader.ts'
import { checkParts } from '../upkeep/check.ts'
import type { Message, MessageBoundary, MessageMeta, Outlined } from './messages.ts'

export interface Archived {
  /** As it was; `mailbox` is the number of the folder it lay in, `uid` its number there. */
  readonly message: Outlined
  readonly mailboxId: string
  readonly path: string
  /** When it was deleted, and until when it is kept. */
  readonly archived: number
  readonly expires: number
}

interface Row {
  num: number
  user: number
  mailbox: number
  mailboxId: string
  path: string
  uid: number
  flags: number
  idate: number
  size: number
  thread: number
  body: number
  saved: number
  attachments: number
  keywords: string | null
  prefix: string
  meta: string
  archived: number
  expires: number
  summary: string
}

const select = `SELECT a.num, a.user, a.mailbox, a.mailbox_id AS mailboxId, a.path, a.uid, a.flags, a.idate, a.size,
  a.thread, a.body, a.saved, a.attachments, a.keywords, a.prefix, a.meta, a.archived, a.expires, o.summary
  FROM archive a JOIN outline o ON o.body = a.body`

/** Those of these archived messages of an account that are there, in the order of their numbers. */
export async function findArchived(read: Reader, user: number, nums: readonly number[]): Promise<Archived[]> {
  const text = `${select} WHERE a.num IN (SELECT value FROM json_each(?)) AND a.user = ? ORDER BY a.num`
  return read.all<Row>(text, JSON.stringify(nums), user).map(decode)
}

/** A page of an account's archive by internal date; a boundary's `uid` is the archived message's number. */
export async function pageArchive(
  read: Reader,
  user: number,
  falling: boolean,
  boundary: MessageBoundary | null,
  count: number,
): Promise<Archived[]> {
  const edge = boundary ?? (falling ? { idate: 9e15, uid: 9e15 } : { idate: -9e15, uid: 0 })
  const order = falling ? 'DESC' : 'ASC'
  const text = `${select} WHERE a.user = ? AND (a.idate, a.num) ${falling ? '<' : '>'} (?, ?)
    ORDER BY a.idate ${order}, a.num ${order} LIMIT ?`
  return read.all<Row>(text, user, edge.idate, edge.uid, count).map(decode)
}

/** How many messages an account has in the archive. */
export async function countArchive(read: Reader, user: number): Promise<number> {
  return read.one<{ total: number }>('SELECT total FROM archive_tally WHERE user = ?', user)?.total ?? 0
}

/** Numbers above `after` of messages that were deleted between two moments (both included), rising. */
export async function archivedBetween(
  read: Reader,
  user: number,
  start: number,
  end: number,
  after: number,
  count: number,
): Promise<number[]> {
  return read
    .arrays<[number]>(
      `SELECT num FROM archive WHERE user = ? AND archived BETWEEN ? AND ? AND num > ? ORDER BY num LIMIT ?`,
      user,
      start,
      end,
      after,
      count,
    )
    .map(([num]) => num)
}

/** Archived messages whose time is over at `at`, with the ids of their accounts. */
export async function expiredArchive(
  read: Reader,
  at: number,
  count: number,
): Promise<{ user: string; num: number }[]> {
  return read.all(
    `SELECT u.id AS user, a.num FROM archive a JOIN user u ON u.num = a.user WHERE a.expires <= ?
     ORDER BY a.expires LIMIT ?`,
    at,
    count,
  )
}

function decode(row: Row): Archived {
  const { mailboxId, path, archived, expires, attachments, keywords, meta, ...rest } = row
  const message: Message & { summary: string } = {
    ...rest,
    modseq: 0,
    attachments: attachments === 1,
    keywords: keywords === null ? [] : keywords.split(' '),
    expires: null,
    meta: JSON.parse(meta) as MessageMeta,
  }
  return { message, mailboxId, path, archived, expires }
}

checkParts.push({
  bodies: 'SELECT body FROM archive',
  rules: [
    {
      says: 'every archived message has its account, a body and an outline',
      query: `SELECT num FROM archive a WHERE user NOT IN (SELECT num FROM user)
        OR NOT EXISTS (SELECT 1 FROM outline o WHERE o.body = a.body)`,
    },
    {
      says: 'the counter of an archive equals its rows',
      query: `SELECT user FROM archive_tally t WHERE total <> (SELECT count(*) FROM archive a WHERE a.user = t.user)
        UNION ALL SELECT user FROM archive WHERE user NOT IN (SELECT user FROM archive_tally)`,
    },
    {
      says: 'a message is not in a mailbox and in the archive',
      query: 'SELECT num FROM archive WHERE num IN (SELECT num FROM message)',
    },
  ],
})
