// Writes that take away what a deleted account leaves behind, a bounded piece at a time, so that no other writer waits
// long. Every piece leaves the store whole: counters and quota go down with the rows, bodies lose their references.
//
// A piece that broke off can be asked for again.

import { limits } from '#lib/limits.ts'
import { bodyRelease, releaseBody } from '../bodies/writes.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { defineWrite } from '../engine/write.ts'
import { dropExpunged } from '../mailboxes/gone/expunged.ts'

export interface RemovalPart {
  /** Name of the counter in the result; rows of one kind are counted together. Null for what nobody counts. */
  readonly kind: string | null
  readonly table: string
  /** The column that names the account. */
  readonly owner: string
  /** Whether that is the account's number or its id. */
  readonly by: 'num' | 'id'
  /** A column that tells the rows of one account apart. */
  readonly key: string
}

/** Rows of an account beside its folders, messages and files. Whoever adds a table adds a line. */
export const removalParts: readonly RemovalPart[] = [
  { kind: 'asps', table: 'asp', owner: 'user', by: 'num', key: 'id' },
  { kind: null, table: 'asp_use', owner: 'user', by: 'num', key: 'asp' },
  { kind: null, table: 'credential', owner: 'user', by: 'num', key: 'id' },
  { kind: null, table: 'authlog', owner: 'user', by: 'num', key: 'id' },
  { kind: null, table: 'login', owner: 'user', by: 'num', key: 'user' },
  { kind: 'filters', table: 'filter', owner: 'user', by: 'num', key: 'num' },
  { kind: 'autoreplies', table: 'autoreply', owner: 'user', by: 'num', key: 'user' },
  { kind: 'addressregister', table: 'register', owner: 'user', by: 'num', key: 'id' },
  { kind: null, table: 'contact', owner: 'user', by: 'num', key: 'id' },
  { kind: 'tokens', table: 'token', owner: 'user', by: 'id', key: 'hash' },
  { kind: null, table: 'trace', owner: 'user', by: 'num', key: 'num' },
  { kind: null, table: 'reference', owner: 'user', by: 'num', key: 'hash' },
  { kind: null, table: 'spam_mark', owner: 'user', by: 'num', key: 'reference' },
  { kind: null, table: 'spam_model', owner: 'user', by: 'num', key: 'user' },
  { kind: null, table: 'suppression', owner: 'user', by: 'id', key: 'address' },
  { kind: null, table: 'sending_pace', owner: 'user', by: 'id', key: 'day' },
  { kind: null, table: 'forward_trouble', owner: 'owner', by: 'id', key: 'target' },
  { kind: null, table: 'domain_admin', owner: 'user', by: 'id', key: 'domain' },
  { kind: null, table: 'removed_mailbox', owner: 'user', by: 'num', key: 'modseq' },
]

const takeMessages = defineProcedure(
  'removal_messages',
  '_mailbox bigint, _user bigint, _count bigint',
  `DECLARE _one record; _total bigint := 0; _size bigint := 0; _unseen bigint := 0;
BEGIN
  FOR _one IN SELECT uid, body, size, flags FROM message WHERE mailbox = _mailbox ORDER BY uid LIMIT _count LOOP
    DELETE FROM message WHERE mailbox = _mailbox AND uid = _one.uid;
    PERFORM ${releaseBody}(_one.body);
    _total := _total + 1;
    _size := _size + _one.size;
    IF _one.flags & 1 = 0 THEN _unseen := _unseen + 1; END IF;
  END LOOP;
  UPDATE tally SET total = total - _total, unseen = unseen - _unseen, size = size - _size WHERE mailbox = _mailbox;
  UPDATE usage SET storage = storage - _size WHERE "user" = _user;
END`,
)

/** Takes up to `count` messages out of a folder of a deleted account, with their bodies. */
export const removalMessages = defineWrite<{ mailbox: number; user: number; count: number }>(
  'removal.messages',
  (sql, { mailbox, user, count }, effects) => {
    const rows = sql('SELECT uid, body, size, flags FROM message WHERE mailbox = ? ORDER BY uid LIMIT ?').all(
      mailbox,
      count,
    ) as { uid: number; body: number; size: number; flags: number }[]
    let size = 0
    let unseen = 0
    for (const row of rows) {
      sql('DELETE FROM message WHERE mailbox = ? AND uid = ?').run(mailbox, row.uid)
      bodyRelease.run(sql, { num: row.body }, effects)
      size += row.size
      if ((row.flags & 1) === 0) unseen += 1
    }
    sql('UPDATE tally SET total = total - ?, unseen = unseen - ?, size = size - ? WHERE mailbox = ?').run(
      rows.length,
      unseen,
      size,
      mailbox,
    )
    sql('UPDATE usage SET storage = storage - ? WHERE "user" = ?').run(size, user)
  },
  { told: (sql, { mailbox, user, count }) => void sql(takeMessages.call).run(mailbox, user, count) },
)

/** Takes away an empty folder of a deleted account. What was expunged from it goes in pieces before. */
export const removalMailbox = defineWrite<{ mailbox: number }>('removal.mailbox', (sql, { mailbox }) => {
  sql('DELETE FROM mailbox WHERE num = ?').run(mailbox)
  sql('DELETE FROM tally WHERE mailbox = ?').run(mailbox)
  dropExpunged(sql, mailbox, limits.removal.batchRows)
  sql('DELETE FROM imported WHERE mailbox = ?').run(mailbox)
})

/** Takes up to `count` rows of what was expunged from a folder. */
export const removalExpunged = defineWrite<{ mailbox: number; count: number }>('removal.expunged', (sql, row) => {
  dropExpunged(sql, row.mailbox, row.count)
})

/** Takes up to `count` rows of a part. */
export const removalRows = defineWrite<{ part: number; user: number; id: string; count: number }>(
  'removal.rows',
  (sql, { part, user, id, count }) => {
    const found = removalParts[part]
    if (found === undefined) throw new Error(`there is no part ${part}`)
    const { table, owner, key, by } = found
    sql(`DELETE FROM ${table} WHERE ${owner} = @whose AND ${key} IN
      (SELECT ${key} FROM ${table} WHERE ${owner} = @whose LIMIT @count)`).run({
      whose: by === 'num' ? user : id,
      count,
    })
  },
)

/** Rows that are gathered and written late: some may have come after their part was taken. */
const late = ['authlog', 'login', 'asp_use'] as const

const removeUser = defineProcedure(
  'removal_user',
  '_user bigint, _id text',
  `BEGIN
  DELETE FROM "user" WHERE num = _user AND id = _id;
  IF FOUND THEN INSERT INTO meta (key, value) VALUES ('account.removed', 1) ON CONFLICT DO NOTHING; END IF;
END`,
)

/**
 * The account itself, when nothing else of it is left but what was written late. That there was one is remembered: a store
 * without any is taken for a new one (lookup.ts).
 */
export const removalUser = defineWrite<{ user: number; id: string }>(
  'removal.user',
  (sql, { user, id }) => {
    for (const table of late) sql(`DELETE FROM ${table} WHERE "user" = ?`).run(user)
    sql('DELETE FROM usage WHERE "user" = ?').run(user)
    const { changes } = sql('DELETE FROM "user" WHERE num = ? AND id = ?').run(user, id)
    if (changes > 0) sql(`INSERT INTO meta (key, value) VALUES ('account.removed', 1) ON CONFLICT DO NOTHING`).run()
  },
  {
    told: (sql, { user, id }) => {
      for (const table of late) sql(`DELETE FROM ${table} WHERE "user" = ?`).run(user)
      sql('DELETE FROM usage WHERE "user" = ?').run(user)
      sql(removeUser.call).run(user, id)
    },
  },
)

/** Numbers of some messages of an account's archive. */
export async function archivedNumbers(read: Reader, user: number, count: number): Promise<number[]> {
  return (await read.arrays<[number]>('SELECT num FROM archive WHERE "user" = ? LIMIT ?', user, count)).flat()
}

/** Rows of one part of an account, up to `count`. */
export async function countRemoval(
  { table, owner }: RemovalPart,
  read: Reader,
  key: number | string,
  count: number,
): Promise<number> {
  const text = `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE ${owner} = ? LIMIT ?)`
  return (await read.one<{ n: number }>(text, key, count))?.n ?? 0
}
