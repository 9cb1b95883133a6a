// Writes of filters, autoreplies and what they decided: they run in the writer thread, inside a unit.
//
// A row's JSON is put together by store/rules.ts. Decisions are kept for a while and swept a bounded piece at a time.

import { defineWrite } from './write.ts'

export interface FilterRow {
  readonly num: number
  readonly id: string
  /** Number of the account. */
  readonly user: number
  readonly name: string | null
  readonly disabled: number
  /** JSON; see store/rules.ts. */
  readonly query: string
  readonly action: string
  readonly meta: string | null
  readonly offences: string | null
  readonly created: number
}

export const filterInsert = defineWrite<FilterRow>('filter.insert', (sql, row) => {
  sql(`INSERT INTO filter (num, id, user, name, disabled, query, action, meta, offences, created) VALUES
    (@num, @id, @user, @name, @disabled, @query, @action, @meta, @offences, @created)`).run(row)
})

export const filterUpdate = defineWrite<FilterRow>('filter.update', (sql, row) => {
  sql(`UPDATE filter SET name = @name, disabled = @disabled, query = @query, action = @action, meta = @meta,
    offences = @offences WHERE num = @num AND id = @id AND user = @user AND created = @created`).run(row)
})

export const filterDelete = defineWrite<{ num: number }>('filter.delete', (sql, row) => {
  sql('DELETE FROM filter WHERE num = ?').run(row.num)
})

export interface AutoreplyRow {
  readonly user: number
  readonly id: string
  readonly status: number
  readonly name: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly starts: number | null
  readonly ends: number | null
  readonly created: number
}

export const autoreplyPut = defineWrite<AutoreplyRow>('autoreply.put', (sql, row) => {
  sql(`INSERT INTO autoreply (user, id, status, name, subject, text, html, starts, ends, created) VALUES
    (@user, @id, @status, @name, @subject, @text, @html, @starts, @ends, @created)
    ON CONFLICT DO UPDATE SET status = @status, name = @name, subject = @subject, text = @text, html = @html,
      starts = @starts, ends = @ends, created = @created`).run(row)
})

export const autoreplyDelete = defineWrite<{ user: number }>('autoreply.delete', (sql, row) => {
  sql('DELETE FROM autoreply WHERE user = ?').run(row.user)
})

export interface TraceRow {
  readonly user: number
  readonly num: number
  readonly at: number
  readonly message: number | null
  readonly mailbox: number | null
  readonly uid: number | null
  /** Hash of the Message-ID, 0 where there is none. */
  readonly reference: number
  /** JSON; see store/rules.ts. */
  readonly body: string
}

export const traceInsert = defineWrite<TraceRow>('trace.insert', (sql, row) => {
  sql(`INSERT INTO trace (user, num, at, message, mailbox, uid, reference, body) VALUES
    (@user, @num, @at, @message, @mailbox, @uid, @reference, @body)`).run(row)
})

/** Forgets decisions older than `before`. */
export const traceSweep = defineWrite<{ before: number; count: number }>('trace.sweep', (sql, row) => {
  const old = sql('SELECT user, num FROM trace WHERE at < ? LIMIT ?').all(row.before, row.count)
  for (const { user, num } of old as { user: number; num: number }[]) {
    sql('DELETE FROM trace WHERE user = ? AND num = ?').run(user, num)
  }
})
