// Audits: the tables, their reads and writes. A copy holds its body, whatever becomes of the message and the account; a
// message that is copied or moved within the account is one.
//
// Arriving mail is copied in the unit that stores it, so that no audit misses any. Copies are listed oldest first and a
// bounded number at a time. An audit whose time is over holds nothing, whether it was swept yet or not; what is over goes in
// bounded pieces.

import { bodyRelease, releaseBody } from '../bodies/writes.ts'
import { integer, json, moment, nullable, type Stored, text } from '../engine/column.ts'
import { greatest, jsonAt } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import type { Sql } from '../engine/sqlite/handle.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, type Write } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'
import { decodeMessage, encodeMessage, insertMessage, type Message } from './messages.ts'

const audits = table(
  'audit',
  {
    id: text,
    /** Id of the account, which need not be there. */
    user: text,
    starts: nullable(moment),
    ends: nullable(moment),
    expires: moment,
    notes: text,
    meta: json<Record<string, unknown>>(),
    created: moment,
    /** Of the copy in the background: queued, importing, imported, failed. */
    state: text,
    copied: integer,
    failed: integer,
    /** Messages in all, and when the last was added. */
    audited: integer,
    last: nullable(moment),
    /** When its time was over. */
    deleted: nullable(moment),
  },
  {
    key: ['id'],
    clustered: true,
    indexes: { audit_user: { on: ['user'], where: 'deleted IS NULL' }, audit_expires: { on: ['expires'] } },
  },
)

/** What an audit holds. */
const copies = table(
  'audit_message',
  {
    audit: text,
    idate: moment,
    body: integer,
    size: integer,
    flags: integer,
    path: text,
    prefix: text,
    sender: text,
  },
  { key: ['audit', 'idate', 'body'], clustered: true },
)

export type Audit = RowOf<typeof audits>
type NewAudit = Pick<Audit, 'id' | 'user' | 'starts' | 'ends' | 'expires' | 'notes' | 'meta' | 'created'>
const copyColumns = ['body', 'idate', 'flags', 'path', 'prefix', 'sender'] as const
export type AuditMessage = Pick<RowOf<typeof copies>, (typeof copyColumns)[number]>

const insert = audits.defineInsert()

export const auditInsert: Write<NewAudit> = {
  ...insert,
  encode: audit =>
    insert.encode?.({ ...audit, state: 'queued', copied: 0, failed: 0, audited: 0, last: null, deleted: null }),
}

export const auditState = audits.defineUpdate('state', { set: ['state', 'failed'], by: ['id'] })

type Copied = Omit<RowOf<typeof copies>, 'audit'>

const copyInsertion = `${copies.insertion} ON CONFLICT DO NOTHING`

/** What is copied of a message. */
const copiedColumns = `m.body, m.idate, m.size, m.flags, m.prefix, coalesce(${jsonAt('m.meta', 'from')}, '') AS sender`

const keepCopy = defineProcedure(
  'audit_keep',
  `_audit text, _idate bigint, _body bigint, _size bigint, _flags bigint, _path text, _prefix text, _sender text,
    _at bigint`,
  `BEGIN
  INSERT INTO audit_message (audit, idate, body, size, flags, path, prefix, sender)
    VALUES (_audit, _idate, _body, _size, _flags, _path, _prefix, _sender) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE body SET refs = refs + 1 WHERE num = _body;
  UPDATE audit SET audited = audited + 1, last = GREATEST(coalesce(last, 0), _at) WHERE id = _audit;
  RETURN true;
END`,
  'boolean',
)

const copyThese = defineProcedure(
  'audit_copy',
  '_audit text, _nums text, _at bigint',
  `DECLARE _num bigint; _one record; _copied bigint := 0;
BEGIN
  FOR _num IN SELECT value::bigint FROM jsonb_array_elements_text(_nums::jsonb) LOOP
    SELECT ${copiedColumns}, b.path INTO _one FROM message m JOIN mailbox b ON b.num = m.mailbox WHERE m.num = _num;
    IF NOT FOUND THEN SELECT ${copiedColumns}, m.path INTO _one FROM archive m WHERE m.num = _num; END IF;
    IF FOUND THEN
      IF ${keepCopy}(_audit, _one.idate, _one.body, _one.size, _one.flags, _one.path, _one.prefix, _one.sender, _at) THEN
        _copied := _copied + 1;
      END IF;
    END IF;
  END LOOP;
  UPDATE audit SET copied = copied + _copied WHERE id = _audit;
END`,
)

const copyNew = defineProcedure(
  'audit_append',
  `_user bigint, _mailbox bigint, _saved bigint, _idate bigint, _body bigint, _size bigint, _flags bigint, _prefix text,
    _sender text`,
  `DECLARE _audit text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM audit WHERE deleted IS NULL) THEN RETURN; END IF;
  FOR _audit IN SELECT a.id FROM audit a JOIN "user" u ON u.id = a."user" WHERE u.num = _user AND a.deleted IS NULL
      AND coalesce(a.starts, 0) <= _saved AND coalesce(a.ends, _saved) >= _saved AND a.expires > _saved LOOP
    PERFORM ${keepCopy}(_audit, _idate, _body, _size, _flags, (SELECT path FROM mailbox WHERE num = _mailbox), _prefix,
      _sender, _saved);
  END LOOP;
END`,
)

/** Copies messages, in folders or in the archive, by their numbers; those that are gone are passed over. */
export const auditCopy = defineWrite<{ audit: string; nums: readonly number[]; at: number }>(
  'audit.copy',
  (sql, row) => {
    let copied = 0
    for (const num of row.nums) {
      const found = (sql(`SELECT ${copiedColumns}, b.path FROM message m JOIN mailbox b ON b.num = m.mailbox
        WHERE m.num = ?`).get(num) ?? sql(`SELECT ${copiedColumns}, m.path FROM archive m WHERE num = ?`).get(num)) as
        | Copied
        | undefined
      if (found !== undefined && keep(sql, row.audit, found, row.at)) copied += 1
    }
    sql('UPDATE audit SET copied = copied + ? WHERE id = ?').run(copied, row.audit)
  },
  { told: (sql, row) => void sql(copyThese.call).run(row.audit, JSON.stringify(row.nums), row.at) },
)

/** A message that came in: stored, and copied for every audit of its account that is on. */
export const messageAppend = defineWrite<Message, Stored[]>(
  'message.append',
  (sql, values) => {
    insertMessage(sql, values)
    if (sql('SELECT 1 FROM audit WHERE deleted IS NULL LIMIT 1').get() !== undefined) audit(sql, decodeMessage(values))
  },
  {
    encode: encodeMessage,
    told: (sql, values) => {
      insertMessage(sql, values)
      tellArrival(sql, values)
    },
  },
)

/** A message that came and is not stored: only audits of its account get it. */
export const auditArrival = defineWrite<Message, Stored[]>(
  'audit.arrival',
  (sql, values) => audit(sql, decodeMessage(values)),
  { encode: encodeMessage, told: tellArrival },
)

function tellArrival(sql: Sql, values: readonly Stored[]): void {
  const { user, mailbox, saved, body, idate, size, flags, prefix, meta } = decodeMessage(values)
  sql(copyNew.call).run(user, mailbox, saved, idate, body, size, flags, prefix, meta.from ?? '')
}

function audit(sql: Sql, message: Message): void {
  const audits =
    sql(`SELECT a.id FROM audit a JOIN "user" u ON u.id = a."user" WHERE u.num = @user AND a.deleted IS NULL
    AND coalesce(a.starts, 0) <= @at AND coalesce(a.ends, @at) >= @at AND a.expires > @at`).all({
      user: message.user,
      at: message.saved,
    }) as { id: string }[]
  if (audits.length === 0) return
  const { path } = sql('SELECT path FROM mailbox WHERE num = ?').get(message.mailbox) as { path: string }
  for (const { id } of audits) keep(sql, id, { ...message, path, sender: message.meta.from ?? '' }, message.saved)
}

function keep(sql: Sql, audit: string, copy: Copied, at: number): boolean {
  const { changes } = sql(copyInsertion).run(copies.values({ ...copy, audit }))
  if (changes === 0) return false
  sql('UPDATE body SET refs = refs + 1 WHERE num = ?').run(copy.body)
  sql(`UPDATE audit SET audited = audited + 1, last = ${greatest('coalesce(last, 0)', '?')} WHERE id = ?`).run(
    at,
    audit,
  )
  return true
}

/** The time of an audit is over: nothing is added any more. */
export const auditEnd = defineWrite<{ id: string; at: number }>('audit.end', (sql, row) => {
  sql('UPDATE audit SET deleted = coalesce(deleted, @at) WHERE id = @id').run(row)
})

const dropSome = defineProcedure(
  'audit_drop',
  '_id text, _count bigint',
  `DECLARE _one record;
BEGIN
  FOR _one IN SELECT idate, body FROM audit_message WHERE audit = _id ORDER BY idate, body LIMIT _count LOOP
    DELETE FROM audit_message WHERE audit = _id AND idate = _one.idate AND body = _one.body;
    PERFORM ${releaseBody}(_one.body);
  END LOOP;
END`,
)

/** Ends up to `count` copies of an audit, with their bodies. */
export const auditDrop = defineWrite<{ id: string; count: number }>(
  'audit.drop',
  (sql, { id, count }, effects) => {
    const rows = sql('SELECT idate, body FROM audit_message WHERE audit = ? LIMIT ?').all(id, count) as {
      idate: number
      body: number
    }[]
    for (const { idate, body } of rows) {
      sql('DELETE FROM audit_message WHERE audit = ? AND idate = ? AND body = ?').run(id, idate, body)
      bodyRelease.run(sql, { num: body }, effects)
    }
  },
  { told: (sql, { id, count }) => void sql(dropSome.call).run(id, count) },
)

/** Whether an account may have an audit that is on. */
export async function isAudited(read: Reader, user: string): Promise<boolean> {
  return (await read.one('SELECT 1 FROM audit WHERE "user" = ? AND deleted IS NULL LIMIT 1', user)) !== undefined
}

export async function findAudit(read: Reader, id: string): Promise<Audit | undefined> {
  return await audits.one(read, 'WHERE id = ?', id)
}

/** Audits, of one account where `user` is not null; the newest first, from `boundary` on. */
export async function listAudits(
  read: Reader,
  user: string | null,
  boundary: string | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<Audit[]> {
  const [sign, order, edge] = direction === 'forward' ? ['<', 'DESC', '\u{10ffff}'] : ['>', 'ASC', '']
  const whose = user === null ? [] : [user]
  const own = user === null ? '' : 'AND "user" = ?'
  return await audits.all(
    read,
    `WHERE id ${sign} ? ${own} ORDER BY id ${order} LIMIT ?`,
    boundary ?? edge,
    ...whose,
    count,
  )
}

export async function countAudits(read: Reader, user: string | null): Promise<number> {
  return user === null ? await audits.count(read, 'WHERE 1 = 1') : await audits.count(read, 'WHERE "user" = ?', user)
}

/** Messages of an audit behind a place, oldest first. */
export async function auditMessages(
  read: Reader,
  audit: string,
  after: { idate: number; body: number },
  count: number,
): Promise<AuditMessage[]> {
  return await read.all<AuditMessage>(
    `SELECT ${copies.listOf(undefined, copyColumns)} FROM audit_message
     WHERE audit = ? AND (idate, body) > (?, ?) ORDER BY idate, body LIMIT ?`,
    audit,
    after.idate,
    after.body,
    count,
  )
}

/** Numbers above `after` of messages of an account, in folders or archived, that were received in a span; rising. */
export async function messagesBetween(
  read: Reader,
  user: string,
  span: { starts: number | null; ends: number | null },
  table: 'message' | 'archive',
  after: number,
  count: number,
): Promise<number[]> {
  return (
    await read.arrays<[number]>(
      `SELECT t.num FROM ${table} t JOIN "user" u ON u.num = t."user" WHERE u.id = ? AND t.num > ?
       AND t.idate >= ? AND t.idate <= ? ORDER BY t.num LIMIT ?`,
      user,
      after,
      span.starts ?? -9e15,
      span.ends ?? 9e15,
      count,
    )
  ).map(([num]) => num)
}

/** Audits whose time is over at `at` and that still hold something, or were not marked. */
export async function expiredAudits(read: Reader, at: number): Promise<string[]> {
  return (
    await read.all<{ id: string }>(
      `SELECT id FROM audit a WHERE expires <= ? AND (deleted IS NULL
        OR EXISTS (SELECT 1 FROM audit_message m WHERE m.audit = a.id)) LIMIT 100`,
      at,
    )
  ).map(({ id }) => id)
}

/** Whether an audit holds messages. */
export async function holdsMessages(read: Reader, audit: string): Promise<boolean> {
  return (await read.one('SELECT 1 FROM audit_message WHERE audit = ? LIMIT 1', audit)) !== undefined
}

checkParts.push({
  bodies: 'SELECT body FROM audit_message',
  rules: [
    {
      says: 'every audited message has its audit, a body and an outline',
      query: `SELECT audit || ':' || body FROM audit_message m WHERE audit NOT IN (SELECT id FROM audit)
        OR NOT EXISTS (SELECT 1 FROM outline o WHERE o.body = m.body)`,
    },
    {
      says: 'an audit counts what it holds',
      query: `SELECT id FROM audit a WHERE deleted IS NULL
        AND audited <> (SELECT count(*) FROM audit_message m WHERE m.audit = a.id)`,
    },
  ],
})
