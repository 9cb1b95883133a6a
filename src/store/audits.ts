// Audits: what a row means, and reading them and what they hold.
//
// Copies are listed oldest first and a bounded number at a time. An audit whose time is over holds nothing, whether it
// was swept yet or not.

import { checkParts } from './check.ts'
import type { Reader } from './reader.ts'

export interface Audit {
  readonly id: string
  readonly user: string
  readonly starts: number | null
  readonly ends: number | null
  readonly expires: number
  readonly notes: string
  readonly meta: Record<string, unknown>
  readonly created: number
  /** Of the copy in the background: queued, importing, imported, failed. */
  readonly state: string
  readonly copied: number
  readonly failed: number
  /** Messages in all, and when the last was added. */
  readonly audited: number
  readonly last: number | null
  /** When its time was over. */
  readonly deleted: number | null
}

export interface AuditMessage {
  readonly body: number
  readonly idate: number
  readonly flags: number
  readonly path: string
  readonly prefix: string
  readonly sender: string
}

export async function findAudit(read: Reader, id: string): Promise<Audit | undefined> {
  const row = read.one<Omit<Audit, 'meta'> & { meta: string }>(
    `SELECT id, user, starts, ends, expires, notes, meta, created, state, copied, failed, audited, last, deleted
     FROM audit WHERE id = ?`,
    id,
  )
  return row === undefined ? undefined : { ...row, meta: JSON.parse(row.meta) as Record<string, unknown> }
}

/** Messages of an audit behind a place, oldest first. */
export function auditMessages(
  read: Reader,
  audit: string,
  after: { idate: number; body: number },
  count: number,
): AuditMessage[] {
  return read.all<AuditMessage>(
    `SELECT body, idate, flags, path, prefix, sender FROM audit_message
     WHERE audit = ? AND (idate, body) > (?, ?) ORDER BY idate, body LIMIT ?`,
    audit,
    after.idate,
    after.body,
    count,
  )
}

/** Numbers above `after` of messages of an account, in folders or archived, that were received in a span; rising. */
export function messagesBetween(
  read: Reader,
  user: string,
  span: { starts: number | null; ends: number | null },
  table: 'message' | 'archive',
  after: number,
  count: number,
): number[] {
  return read
    .arrays<[number]>(
      `SELECT t.num FROM ${table} t JOIN user u ON u.num = t.user WHERE u.id = ? AND t.num > ?
       AND t.idate >= ? AND t.idate <= ? ORDER BY t.num LIMIT ?`,
      user,
      after,
      span.starts ?? -9e15,
      span.ends ?? 9e15,
      count,
    )
    .map(([num]) => num)
}

/** Audits whose time is over at `at` and that still hold something, or were not marked. */
export function expiredAudits(read: Reader, at: number): string[] {
  return read
    .all<{ id: string }>(
      `SELECT id FROM audit a WHERE expires <= ? AND (deleted IS NULL
        OR EXISTS (SELECT 1 FROM audit_message m WHERE m.audit = a.id)) LIMIT 100`,
      at,
    )
    .map(({ id }) => id)
}

/** Whether an audit holds messages. */
export function holdsMessages(read: Reader, audit: string): boolean {
  return read.one('SELECT 1 FROM audit_message WHERE audit = ? LIMIT 1', audit) !== undefined
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
