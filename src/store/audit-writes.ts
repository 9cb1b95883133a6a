// Writes of audits: they run in the writer thread, inside a unit. A copy holds its body, whatever becomes of the message
// and the account; a message that is copied or moved within the account is one.
//
// Arriving mail is copied in the unit that stores it, so that no audit misses any. What is over goes in bounded pieces.

import { bodyRelease } from './body-writes.ts'
import type { Sql } from './sqlite.ts'
import { defineWrite } from './write.ts'
import { type MessageRow, messageInsert } from './writes.ts'

export interface AuditRow {
  readonly id: string
  /** Id of the account, which need not be there. */
  readonly user: string
  readonly starts: number | null
  readonly ends: number | null
  readonly expires: number
  readonly notes: string
  /** JSON. */
  readonly meta: string
  readonly created: number
}

export const auditInsert = defineWrite<AuditRow>('audit.insert', (sql, row) => {
  sql(`INSERT INTO audit (id, user, starts, ends, expires, notes, meta, created, state, copied, failed, audited)
    VALUES (@id, @user, @starts, @ends, @expires, @notes, @meta, @created, 'queued', 0, 0, 0)`).run(row)
})

export const auditState = defineWrite<{ id: string; state: string; failed: number }>('audit.state', (sql, row) => {
  sql('UPDATE audit SET state = @state, failed = @failed WHERE id = @id').run(row)
})

interface Copied {
  readonly body: number
  readonly idate: number
  readonly size: number
  readonly flags: number
  readonly path: string
  readonly prefix: string
  readonly meta: string
}

/** Copies messages, in folders or in the archive, by their numbers; those that are gone are passed over. */
export const auditCopy = defineWrite<{ audit: string; nums: readonly number[]; at: number }>(
  'audit.copy',
  (sql, row) => {
    let copied = 0
    for (const num of row.nums) {
      const found = (sql(`SELECT m.body, m.idate, m.size, m.flags, b.path, m.prefix, m.meta FROM message m
      JOIN mailbox b ON b.num = m.mailbox WHERE m.num = ?`).get(num) ??
        sql('SELECT body, idate, size, flags, path, prefix, meta FROM archive WHERE num = ?').get(num)) as
        | Copied
        | undefined
      if (found !== undefined && keep(sql, row.audit, found, row.at)) copied += 1
    }
    sql('UPDATE audit SET copied = copied + ? WHERE id = ?').run(copied, row.audit)
  },
)

/** A message that came in: stored, and copied for every audit of its account that is on. */
export const messageAppend = defineWrite<MessageRow>('message.append', (sql, row, effects) => {
  messageInsert.run(sql, row, effects)
  if (sql('SELECT 1 FROM audit WHERE deleted IS NULL LIMIT 1').get() === undefined) return
  const audits = sql(`SELECT a.id FROM audit a JOIN user u ON u.id = a.user WHERE u.num = @user AND a.deleted IS NULL
    AND coalesce(a.starts, 0) <= @at AND coalesce(a.ends, @at) >= @at AND a.expires > @at`).all({
    user: row.user,
    at: row.saved,
  }) as { id: string }[]
  if (audits.length === 0) return
  const { path } = sql('SELECT path FROM mailbox WHERE num = ?').get(row.mailbox) as { path: string }
  for (const { id } of audits) keep(sql, id, { ...row, path }, row.saved)
})

function keep(sql: Sql, audit: string, { body, idate, size, flags, path, prefix, meta }: Copied, at: number): boolean {
  const sender = (JSON.parse(meta) as { from?: string }).from ?? ''
  const row = { audit, body, idate, size, flags, path, prefix, sender }
  const { changes } = sql(`INSERT INTO audit_message (audit, idate, body, size, flags, path, prefix, sender)
    VALUES (@audit, @idate, @body, @size, @flags, @path, @prefix, @sender) ON CONFLICT DO NOTHING`).run(row)
  if (changes === 0) return false
  sql('UPDATE body SET refs = refs + 1 WHERE num = ?').run(body)
  sql('UPDATE audit SET audited = audited + 1, last = max(coalesce(last, 0), ?) WHERE id = ?').run(at, audit)
  return true
}

/** The time of an audit is over: nothing is added any more. */
export const auditEnd = defineWrite<{ id: string; at: number }>('audit.end', (sql, row) => {
  sql('UPDATE audit SET deleted = coalesce(deleted, @at) WHERE id = @id').run(row)
})

/** Ends up to `count` copies of an audit, with their bodies. */
export const auditDrop = defineWrite<{ id: string; count: number }>('audit.drop', (sql, { id, count }, effects) => {
  const rows = sql('SELECT idate, body FROM audit_message WHERE audit = ? LIMIT ?').all(id, count) as {
    idate: number
    body: number
  }[]
  for (const { idate, body } of rows) {
    sql('DELETE FROM audit_message WHERE audit = ? AND idate = ? AND body = ?').run(id, idate, body)
    bodyRelease.run(sql, { num: body }, effects)
  }
})
