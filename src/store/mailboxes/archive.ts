// The archive of deleted messages: the tables, their reads and writes.
//
// Archived messages hold their bodies until their time is over: one that goes into the archive keeps its reference to its
// body, and hands it on when it comes back. The rules of the consistency checker about them stand
// at the end.

import { bodyRelease, releaseBody } from '../bodies/writes.ts'
import { boolean, integer, json, moment, type Stored, text, words } from '../engine/column.ts'
import { among } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { type MeasuredText, type SomeRows, SomeRowsTaken } from '../search/pages.ts'
import { checkParts } from '../upkeep/check.ts'
import type { Measured, MessageBoundary, MessageMeta, Outlined } from './messages.ts'
import { measuredSummary } from './outlines.ts'

const archive = table(
  'archive',
  {
    /** The number the message had. */
    num: integer,
    user: integer,
    /** Number, id and path of the folder it lay in, and its number there. */
    mailbox: integer,
    mailboxId: text,
    path: text,
    uid: integer,
    flags: integer,
    idate: moment,
    size: integer,
    thread: integer,
    body: integer,
    saved: moment,
    attachments: boolean,
    keywords: words,
    prefix: text,
    meta: json<MessageMeta>(),
    /** When it was deleted, and until when it is kept. */
    archived: moment,
    expires: moment,
  },
  {
    key: ['num'],
    indexes: { archive_user: { on: ['user', 'idate', 'num'] }, archive_expires: { on: ['expires'] } },
  },
)

/** How many an account has: read, never counted. */
table('archive_tally', { user: integer, total: integer }, { key: ['user'] })

type Row = RowOf<typeof archive>

export interface Archived<Message = Outlined> extends Pick<Row, 'mailboxId' | 'path' | 'archived' | 'expires'> {
  /** As it was; `mailbox` is the number of the folder it lay in, `uid` its number there. */
  readonly message: Message
}

const insertion = archive.insertion

export const archiveInsert = defineWrite<Readonly<Row>, Stored[]>(
  'archive.insert',
  (sql, values) => {
    sql(insertion).run(values)
    sql(
      'INSERT INTO archive_tally ("user", total) VALUES (?, 1) ON CONFLICT ("user") DO UPDATE SET total = archive_tally.total + 1',
    ).run(values[archive.at.user])
  },
  { encode: row => archive.values(row) },
)

const takeOut = defineProcedure(
  'archive_take',
  '_num bigint',
  `DECLARE _user bigint;
BEGIN
  DELETE FROM archive WHERE num = _num RETURNING "user" INTO _user;
  IF NOT FOUND THEN RAISE EXCEPTION 'message % is not in the archive', _num; END IF;
  UPDATE archive_tally SET total = total - 1 WHERE "user" = _user;
END`,
)

/** Takes a message out of the archive; whoever does so has its body now. Fails where it is not there any more. */
export const archiveTake = defineWrite<{ num: number }>(
  'archive.take',
  (sql, { num }) => {
    const row = sql('DELETE FROM archive WHERE num = ? RETURNING user').get(num) as { user: number } | undefined
    if (row === undefined) throw new Error(`message ${num} is not in the archive`)
    sql('UPDATE archive_tally SET total = total - 1 WHERE "user" = ?').run(row.user)
  },
  { told: (sql, { num }) => void sql(takeOut.call).run(num) },
)

const dropThese = defineProcedure(
  'archive_drop',
  '_nums text',
  `DECLARE _num bigint; _user bigint; _body bigint;
BEGIN
  FOR _num IN SELECT value::bigint FROM jsonb_array_elements_text(_nums::jsonb) LOOP
    DELETE FROM archive WHERE num = _num RETURNING "user", body INTO _user, _body;
    CONTINUE WHEN NOT FOUND;
    UPDATE archive_tally SET total = total - 1 WHERE "user" = _user;
    PERFORM ${releaseBody}(_body);
  END LOOP;
END`,
)

/** Ends archived messages for good, with their bodies; those that are gone already are passed over. */
export const archiveDrop = defineWrite<{ nums: readonly number[] }>(
  'archive.drop',
  (sql, { nums }, effects) => {
    for (const num of nums) {
      const row = sql('DELETE FROM archive WHERE num = ? RETURNING user, body').get(num) as
        | { user: number; body: number }
        | undefined
      if (row === undefined) continue
      sql('UPDATE archive_tally SET total = total - 1 WHERE "user" = ?').run(row.user)
      bodyRelease.run(sql, { num: row.body }, effects)
    }
  },
  { told: (sql, { nums }) => void sql(dropThese.call).run(JSON.stringify(nums)) },
)

/** The account is gone. Its archived messages must be dropped before. */
export const archiveForget = defineWrite<{ user: number }>('archive.forget', (sql, { user }) => {
  sql('DELETE FROM archive_tally WHERE "user" = ?').run(user)
})

const joined = 'FROM archive a JOIN outline o ON o.body = a.body'
const select = `SELECT ${archive.listOf('a')}, o.summary ${joined}`
const measured = `SELECT ${archive.listOf('a')}, ${measuredSummary} ${joined}`

/** Those of these archived messages of an account that are there, in the order of their numbers. */
export async function findArchived(read: Reader, user: number, nums: readonly number[]): Promise<Archived[]> {
  const text = `${select} WHERE a.num IN ${among()} AND a."user" = ? ORDER BY a.num`
  return (await read.all<{ summary: string }>(text, JSON.stringify(nums), user)).map(row => decode(row))
}

/** A page of an account's archive by internal date; a boundary's `uid` is the archived message's number. */
export async function pageArchive(
  read: Reader,
  user: number,
  falling: boolean,
  boundary: MessageBoundary | null,
  count: number,
): Promise<SomeRows<Archived<Measured>>> {
  const edge = boundary ?? (falling ? { idate: 9e15, uid: 9e15 } : { idate: -9e15, uid: 0 })
  const order = falling ? 'DESC' : 'ASC'
  const text = `${measured} WHERE a."user" = ? AND (a.idate, a.num) ${falling ? '<' : '>'} (?, ?)
    ORDER BY a.idate ${order}, a.num ${order} LIMIT ?`
  const some = new SomeRowsTaken((row: MeasuredText) => decode<Measured>(row))
  await read.each<MeasuredText>(row => !some.take(row), text, user, edge.idate, edge.uid, count)
  return some.taken
}

/** How many messages an account has in the archive. */
export async function countArchive(read: Reader, user: number): Promise<number> {
  return (await read.one<{ total: number }>('SELECT total FROM archive_tally WHERE "user" = ?', user))?.total ?? 0
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
  return (
    await read.arrays<[number]>(
      `SELECT num FROM archive WHERE "user" = ? AND archived BETWEEN ? AND ? AND num > ? ORDER BY num LIMIT ?`,
      user,
      start,
      end,
      after,
      count,
    )
  ).map(([num]) => num)
}

/** Archived messages whose time is over at `at`, with the ids of their accounts. */
export async function expiredArchive(
  read: Reader,
  at: number,
  count: number,
): Promise<{ user: string; num: number }[]> {
  return await read.all(
    `SELECT u.id AS user, a.num FROM archive a JOIN "user" u ON u.num = a."user" WHERE a.expires <= ?
     ORDER BY a.expires LIMIT ?`,
    at,
    count,
  )
}

function decode<Row extends Measured = Outlined>(stored: Pick<Row, 'summary'>): Archived<Row> {
  const { summary } = stored
  const { mailboxId, path, archived, expires, ...rest } = archive.decode({ ...stored })
  const message = { ...rest, modseq: 0, expires: null, summary } as Measured as Row
  return { message, mailboxId, path, archived, expires }
}

checkParts.push({
  bodies: 'SELECT body FROM archive',
  rules: [
    {
      says: 'every archived message has its account, a body and an outline',
      query: `SELECT num FROM archive a WHERE "user" NOT IN (SELECT num FROM "user")
        OR NOT EXISTS (SELECT 1 FROM outline o WHERE o.body = a.body)`,
    },
    {
      says: 'the counter of an archive equals its rows',
      query: `SELECT "user" FROM archive_tally t WHERE total <> (SELECT count(*) FROM archive a WHERE a."user" = t."user")
        UNION ALL SELECT "user" FROM archive AS o WHERE NOT EXISTS (SELECT 1 FROM archive_tally AS i WHERE i."user" = o."user")`,
    },
    {
      says: 'a message is not in a mailbox and in the archive',
      query: 'SELECT num FROM archive WHERE num IN (SELECT num FROM message)',
    },
  ],
})
