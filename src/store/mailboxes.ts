// Folders and their counters: what a row means, and reading them.
//
// Counters in the row are those of the last unit; the consistency checker counts them anew. Only the account's actor
// may say what comes next of uid, modseq and uid validity.

import type { Reader } from './reader.ts'
import type { MailboxRow } from './writes.ts'

export interface Mailbox {
  readonly num: number
  readonly id: string
  /** Internal number of the owner. */
  readonly user: number
  path: string
  /** `\Sent` and the like; null for ordinary folders. INBOX has none. */
  specialUse: string | null
  uidValidity: number
  subscribed: boolean
  hidden: boolean
  encrypt: boolean
  /** Milliseconds; 0: kept for ever. */
  retention: number
  /** Every keyword ever used in the folder, in order of appearance. */
  keywords: string[]
  readonly created: number
  uidNext: number
  /** Highest change number of the folder and everything in it. */
  modseq: number
  total: number
  unseen: number
  /** Bytes of its messages. */
  size: number
}

type Joined = MailboxRow & { uidNext: number; total: number; unseen: number; size: number }

const columns = `m.num, m.id, m.user, m.path, m.special_use AS specialUse, m.uid_validity AS uidValidity, m.subscribed,
  m.hidden, m.encrypt, m.retention, m.keywords, m.created, t.uid_next AS uidNext, t.modseq, t.total, t.unseen, t.size`

/** The folders of an account, in order of creation. */
export async function listMailboxes(read: Reader, user: number): Promise<Mailbox[]> {
  const rows = read.all<Joined>(
    `SELECT ${columns} FROM mailbox m JOIN tally t ON t.mailbox = m.num WHERE m.user = ? ORDER BY m.num`,
    user,
  )
  return rows.map(decode)
}

/** One folder of an account by its id. */
export async function findMailbox(read: Reader, user: number, id: string): Promise<Mailbox | undefined> {
  const row = read.one<Joined>(
    `SELECT ${columns} FROM mailbox m JOIN tally t ON t.mailbox = m.num WHERE m.id = ? AND m.user = ?`,
    id,
    user,
  )
  return row === undefined ? undefined : decode(row)
}

/** One folder of an account by its path. */
export async function findMailboxByPath(read: Reader, user: number, path: string): Promise<Mailbox | undefined> {
  const row = read.one<Joined>(
    `SELECT ${columns} FROM mailbox m JOIN tally t ON t.mailbox = m.num WHERE m.user = ? AND m.path = ?`,
    user,
    path,
  )
  return row === undefined ? undefined : decode(row)
}

/** The highest uid validity among the folders an account has had; 0 where there were none. */
export function lastRemovedValidity(read: Reader, user: number): number {
  return (
    read.one<{ last: number | null }>('SELECT max(uid_validity) AS last FROM removed_mailbox WHERE user = ?', user)
      ?.last ?? 0
  )
}

/** A folder as its row. */
export function encodeMailbox(mailbox: Mailbox): MailboxRow {
  return {
    num: mailbox.num,
    id: mailbox.id,
    user: mailbox.user,
    path: mailbox.path,
    specialUse: mailbox.specialUse,
    uidValidity: mailbox.uidValidity,
    subscribed: mailbox.subscribed ? 1 : 0,
    hidden: mailbox.hidden ? 1 : 0,
    encrypt: mailbox.encrypt ? 1 : 0,
    retention: mailbox.retention,
    keywords: JSON.stringify(mailbox.keywords),
    modseq: mailbox.modseq,
    created: mailbox.created,
  }
}

function decode(row: Joined): Mailbox {
  return {
    num: row.num,
    id: row.id,
    user: row.user,
    path: row.path,
    specialUse: row.specialUse,
    uidValidity: row.uidValidity,
    subscribed: row.subscribed === 1,
    hidden: row.hidden === 1,
    encrypt: row.encrypt === 1,
    retention: row.retention,
    keywords: JSON.parse(row.keywords) as string[],
    created: row.created,
    uidNext: row.uidNext,
    modseq: row.modseq,
    total: row.total,
    unseen: row.unseen,
    size: row.size,
  }
}
