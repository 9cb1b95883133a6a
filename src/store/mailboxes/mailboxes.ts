// Folders and their counters: the tables, their reads and writes.
//
// Counters in the row are those of the last unit; the consistency checker counts them anew. They are changed by
// differences, never set from a copy that may be old. Only the account's actor may say what comes next of uid, modseq and
// uid validity.

import { limits } from '#lib/limits.ts'
import { boolean, integer, json, moment, nullable, type Stored, span, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { dropExpunged } from './gone/expunged.ts'

const mailboxes = table(
  'mailbox',
  {
    num: integer,
    id: text,
    /** Internal number of the owner. */
    user: integer,
    path: text,
    /** `\\Sent` and the like; null for ordinary folders. INBOX has none. */
    specialUse: nullable(text),
    uidValidity: integer,
    subscribed: boolean,
    hidden: boolean,
    encrypt: boolean,
    /** Milliseconds; 0: kept for ever. */
    retention: span,
    /** Every keyword ever used in the folder, in order of appearance. */
    keywords: json<string[]>(),
    /** Change number of its own last change. */
    modseq: integer,
    created: moment,
    createdModseq: integer,
    pathModseq: integer,
  },
  {
    key: ['num'],
    long: ['path'],
    indexes: {
      mailbox_id: { on: ['id'], unique: true },
      mailbox_path: { on: ['user', 'path'], unique: true, conflict: 'MailboxExistsError' },
    },
  },
)

/** Narrow, and apart from the folder, since it changes with every message. */
const counters = table(
  'tally',
  {
    mailbox: integer,
    uidNext: integer,
    modseq: integer,
    total: integer,
    unseen: integer,
    size: integer,
    /** The uid from which no IMAP session was told of messages (RFC 3501 2.3.2). */
    told: integer,
    /** Change number up to which it is not known any more what went (gone/expunged.ts). */
    forgotten: integer,
  },
  { key: ['mailbox'] },
)

/** A folder that is gone, so that no uid validity is ever used twice and streams can tell. */
const removed = table(
  'removed_mailbox',
  { user: integer, modseq: integer, mailbox: integer, id: text, path: text, uidValidity: integer, at: moment },
  { key: ['user', 'modseq', 'mailbox'], clustered: true },
)

const own = [
  ...(['num', 'id', 'user', 'path', 'specialUse', 'uidValidity', 'subscribed', 'hidden', 'encrypt'] as const),
  ...(['retention', 'keywords', 'created'] as const),
]
const counted = ['uidNext', 'modseq', 'total', 'unseen', 'size'] as const

type MailboxRow = Omit<RowOf<typeof mailboxes>, 'createdModseq' | 'pathModseq'>
type Counters = RowOf<typeof counters>

/** A folder with its counters: `modseq` is the highest change number of the folder and everything in it. */
export type Mailbox = MailboxRow & Pick<Counters, 'uidNext' | 'total' | 'unseen' | 'size'>

const insertion = mailboxes.insertion
const counting = counters.insertion

/** An empty folder. */
export const mailboxInsert = defineWrite<MailboxRow, readonly [mailbox: Stored[], counters: Stored[]]>(
  'mailbox.insert',
  (sql, [mailbox, empty]) => {
    sql(insertion).run(mailbox)
    sql(counting).run(empty)
  },
  {
    encode: row => {
      const { num, modseq } = row
      return [
        mailboxes.values({ ...row, createdModseq: modseq, pathModseq: modseq }),
        counters.values({ mailbox: num, uidNext: 1, modseq, total: 0, unseen: 0, size: 0, told: 1, forgotten: 0 }),
      ]
    },
  },
)

export const mailboxUpdate = defineWrite<MailboxRow, Record<string, unknown>>(
  'mailbox.update',
  (sql, row) => {
    sql(`UPDATE mailbox SET path_modseq = CASE WHEN path = @path THEN path_modseq ELSE @modseq END, path = @path,
      special_use = @specialUse, uid_validity = @uidValidity, subscribed = @subscribed, hidden = @hidden,
      encrypt = @encrypt, retention = @retention, keywords = @keywords, modseq = @modseq
      WHERE num = @num AND id = @id AND "user" = @user AND created = @created`).run(row)
  },
  { encode: row => mailboxes.encode(row) },
)

const removal = removed.insertion

/** The newest stay, and the one that had the highest uid validity. */
const forgetRemoved = `DELETE FROM removed_mailbox WHERE "user" = ? AND modseq <= (
    SELECT modseq FROM removed_mailbox WHERE "user" = ? ORDER BY modseq DESC LIMIT 1 OFFSET ?)
  AND uid_validity < (SELECT max(uid_validity) FROM removed_mailbox WHERE "user" = ?)`

/** The folder must be empty: its messages go one by one, with their bodies. */
export const mailboxDelete = defineWrite<Readonly<RowOf<typeof removed>>, Stored[]>(
  'mailbox.delete',
  (sql, values) => {
    const mailbox = values[removed.at.mailbox]
    sql('DELETE FROM mailbox WHERE num = ?').run(mailbox)
    sql('DELETE FROM tally WHERE mailbox = ?').run(mailbox)
    // Of very many some stay behind, which are taken in pieces (jobs/tasks/forgetting.ts).
    dropExpunged(sql, mailbox as number, limits.mailbox.forgetRows)
    sql('DELETE FROM imported WHERE mailbox = ?').run(mailbox)
    sql(removal).run(values)
    const user = values[removed.at.user]
    sql(forgetRemoved).run(user, user, limits.mailbox.removedMax, user)
  },
  { encode: row => removed.values(row) },
)

/** Whether folders that went after this change number may have been forgotten. */
export async function forgetsRemoved(read: Reader, user: number, after: number): Promise<boolean> {
  const text = 'SELECT modseq FROM removed_mailbox WHERE "user" = ? ORDER BY modseq DESC LIMIT 1 OFFSET ?'
  const oldest = await read.one<{ modseq: number }>(text, user, limits.mailbox.removedMax - 1)
  return oldest !== undefined && after < oldest.modseq
}

/** Adds differences to a folder's counters; the next uid and the change number are never lowered. */
export const countersAdd = counters.defineUpdate('add', {
  raise: ['uidNext', 'modseq'],
  add: ['total', 'unseen', 'size'],
  by: ['mailbox'],
})

/** Some session was told of all messages below `told`; never lowers the mark. */
export const toldMark = counters.defineUpdate('told', { raise: ['told'], by: ['mailbox'] })

const select = `SELECT ${mailboxes.listOf('m', own)}, ${counters.listOf('t', counted)}
  FROM mailbox m JOIN tally t ON t.mailbox = m.num`

/** The folders of an account, in order of creation. */
export async function listMailboxes(read: Reader, user: number): Promise<Mailbox[]> {
  return (await read.all<Record<string, unknown>>(`${select} WHERE m."user" = ? ORDER BY m.num`, user)).map(decode)
}

/** One folder of an account by its id. */
export async function findMailbox(read: Reader, user: number, id: string): Promise<Mailbox | undefined> {
  const row = await read.one<Record<string, unknown>>(`${select} WHERE m.id = ? AND m."user" = ?`, id, user)
  return row === undefined ? undefined : decode(row)
}

/** One folder of an account by its path. */
export async function findMailboxByPath(read: Reader, user: number, path: string): Promise<Mailbox | undefined> {
  const row = await read.one<Record<string, unknown>>(`${select} WHERE m."user" = ? AND m.path = ?`, user, path)
  return row === undefined ? undefined : decode(row)
}

/** The highest uid validity among the folders an account has had; 0 where there were none. */
export async function lastRemovedValidity(read: Reader, user: number): Promise<number> {
  return (
    (
      await read.one<{ last: number | null }>(
        'SELECT max(uid_validity) AS last FROM removed_mailbox WHERE "user" = ?',
        user,
      )
    )?.last ?? 0
  )
}

function decode(stored: Record<string, unknown>): Mailbox {
  return mailboxes.decode(stored, own) as unknown as Mailbox
}

/** INBOX, folders of special use and hidden ones stay. */
export function isDeletable({ path, specialUse, hidden }: Mailbox): boolean {
  return path !== 'INBOX' && specialUse === null && !hidden
}
