// What was moved in from elsewhere: the table, its reads and its write; and reading a whole account to move it.
//
// Sources are told apart by their kind, messages by the names they have there. An account is read as it is at one
// moment, without internal numbers, so that it fits another store; which tables belong to an account stands here for
// that and nowhere else.

import { createHash } from 'node:crypto'
import { fold } from '#mail/text/fold.ts'
import { integer, text } from '../engine/column.ts'
import { among, folded, listRows } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { table } from '../engine/table.ts'
import { checkParts } from '../upkeep/check.ts'

const imported = table(
  'imported',
  {
    mailbox: integer,
    /** Kind of the source. */
    source: text,
    /** Name a message has there. */
    key: text,
  },
  { key: ['mailbox', 'source', 'key'], clustered: true },
)

/** Remembers that a message of a source lies in a folder; in the unit that stores the message. */
export const importedInsert = imported.defineInsert('insert', { ifNew: true })

/** Those of `keys` that were not moved into the folder from this source. */
export async function missingKeys(
  read: Reader,
  mailbox: number,
  source: string,
  keys: readonly string[],
): Promise<string[]> {
  return (
    await read.arrays<[string]>(
      `SELECT value FROM ${listRows()} AS k WHERE value NOT IN (SELECT key FROM imported WHERE mailbox = ? AND source = ?
        AND key IN ${among()}) ORDER BY k.key`,
      JSON.stringify(keys),
      mailbox,
      source,
      JSON.stringify(keys),
    )
  ).map(([key]) => key)
}

/** Whether a message was moved into the folder with this id. */
export async function isImported(read: Reader, mailbox: string, source: string, key: string): Promise<boolean> {
  const text = `SELECT 1 FROM imported WHERE mailbox = (SELECT num FROM mailbox WHERE id = ?) AND source = ? AND key = ?`
  return (await read.one(text, mailbox, source, key)) !== undefined
}

checkParts.push({
  rules: [
    {
      says: 'what was moved in lies in a folder that is there',
      query: 'SELECT mailbox FROM imported AS o WHERE NOT EXISTS (SELECT 1 FROM mailbox AS i WHERE i.num = o.mailbox)',
    },
  ],
})

/** What an account consists of beside its mail, in the order in which it is moved. */
export const accountParts = [
  'user',
  'address',
  'asp',
  'credential',
  'register',
  'contact',
  'suppression',
  'autoreply',
  'filter',
  'mailbox',
] as const

export type AccountPart = (typeof accountParts)[number]

/** One row of an account as it is exported: without internal numbers, JSON texts as they are stored. */
export interface AccountEntry {
  readonly part: AccountPart
  readonly entry: Readonly<Record<string, unknown>>
}

const queries: Readonly<Record<AccountPart, string>> = {
  user: `SELECT id, username, name, address, password, temporary, auth_version AS authVersion, disabled, suspended,
    activated, quota, tags, options, created FROM "user" WHERE num = ?`,
  address: `SELECT a.id, a."user", a.address, a.name, a.tags, a.meta, a.internal, a.created, a.signature FROM address a
    JOIN "user" u ON u.id = a."user" WHERE u.num = ? ORDER BY a.created, a.id`,
  asp: `SELECT t.id, u.id AS user, t.selector, t.hash, t.description, t.scopes, t.ttl, t.expires, t.created
    FROM asp t JOIN "user" u ON u.num = t."user" WHERE t."user" = ? ORDER BY t.id`,
  credential: `SELECT t.id, u.id AS user, t.raw_id AS rawId, t.public_key AS publicKey, t.counter, t.description,
    t.attachment, t.created FROM credential t JOIN "user" u ON u.num = t."user" WHERE t."user" = ? ORDER BY t.id`,
  register: `SELECT t.id, u.id AS user, t.key, t.address, t.name, t.used, t.disabled, t.known
    FROM register t JOIN "user" u ON u.num = t."user" WHERE t."user" = ? ORDER BY t.id`,
  contact: `SELECT t.id, u.id AS user, t.card, t.created, t.changed
    FROM contact t JOIN "user" u ON u.num = t."user" WHERE t."user" = ? ORDER BY t.id`,
  suppression: `SELECT "user", address, created, until, failures, status, response, source FROM suppression
    WHERE "user" = (SELECT id FROM "user" WHERE num = ?) ORDER BY address`,
  autoreply: `SELECT t.id, u.id AS user, t.status, t.name, t.subject, t.text, t.html, t.starts, t.ends, t.created
    FROM autoreply t JOIN "user" u ON u.num = t."user" WHERE t."user" = ?`,
  filter: `SELECT t.id, u.id AS user, t.name, t.disabled, t.query, t.action, t.meta, t.created
    FROM filter t JOIN "user" u ON u.num = t."user" WHERE t."user" = ? ORDER BY t.num`,
  mailbox: `SELECT t.id, u.id AS user, t.path, t.special_use AS specialUse, t.uid_validity AS uidValidity, t.subscribed,
    t.hidden, t.encrypt, t.retention, t.created FROM mailbox t JOIN "user" u ON u.num = t."user" WHERE t."user" = ?
    ORDER BY t.num`,
}

/** Everything of an account but its mail, as it is at one moment. */
export function accountEntries(read: Reader, user: number): Promise<AccountEntry[]> {
  return read.snapshot(async picture => {
    const entries: AccountEntry[] = []
    for (const part of accountParts) {
      const rows = await picture.all<Record<string, unknown>>(queries[part], user)
      for (const entry of rows) entries.push({ part, entry: named(part, entry) })
    }
    return entries
  })
}

export interface AccountFilter {
  /** Ids; null: all. */
  readonly users: readonly string[] | null
  /** Any of these; null: all. */
  readonly tags: readonly string[] | null
}

/** Numbers of accounts above `after` that fit, rising. */
export async function accountNumbers(
  read: Reader,
  filter: AccountFilter,
  after: number,
  count: number,
): Promise<number[]> {
  const users = filter.users === null ? '' : `AND id IN ${among('@users')}`
  const tags =
    filter.tags === null
      ? ''
      : `AND EXISTS (SELECT 1 FROM ${listRows('tags')} t WHERE ${folded('t.value')} IN ${among('@tags')})`
  const values = {
    after,
    count,
    users: JSON.stringify(filter.users),
    tags: JSON.stringify(filter.tags?.map(fold)),
  }
  return (
    await read.arrays<[number]>(
      `SELECT num FROM "user" WHERE deleted IS NULL AND num > @after ${users} ${tags} ORDER BY num LIMIT @count`,
      values,
    )
  ).map(([num]) => num)
}

/** With an id, also where a row has none of its own. */
function named(part: AccountPart, entry: Record<string, unknown>): Record<string, unknown> {
  if (part !== 'suppression') return entry
  const id = createHash('sha256').update(`${entry.user} ${entry.address}`).digest('hex').slice(0, 24)
  return { id, ...entry }
}

/** Whether a row of a part with this id is there, whoever has it; of what has no id of its own its taker knows. */
export async function hasEntry(read: Reader, part: AccountPart, id: string): Promise<boolean> {
  if (part === 'suppression') return false
  return (await read.one(`SELECT 1 FROM ${part} WHERE id = ?`, id)) !== undefined
}
