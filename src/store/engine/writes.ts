// Every INSERT, UPDATE and DELETE there is, named and typed, except those of bodies (bodies/writes.ts).
//
// Names are `table.verb`. Counters are changed by differences, never set from a copy that may be old. A rule across users
// is a UNIQUE constraint; `conflicts` says which refusal a broken one means.

import type { FaultCode } from '#lib/fault.ts'
import { searchWait } from '../search/writes.ts'
import { defineWrite } from './write.ts'

/** Constraint, as the engine names it -> the fault of the caller who broke it. */
export const conflicts: Readonly<Record<string, FaultCode>> = {
  'user.key': 'UserExistsError',
  'address.key': 'AddressExistsError',
  'mailbox.user, mailbox.path': 'MailboxExistsError',
  'domainalias.alias': 'AliasExists',
}

export interface MessageRow {
  mailbox: number
  uid: number
  num: number
  user: number
  modseq: number
  flags: number
  idate: number
  size: number
  thread: number
  body: number
  saved: number
  attachments: number
  keywords: string | null
  expires: number | null
  prefix: string
  /** JSON; see store/mailboxes/messages.ts. */
  meta: string
}

export const messageInsert = defineWrite<MessageRow>('message.insert', (sql, row) => {
  sql(`INSERT INTO message (mailbox, uid, num, user, modseq, flags, idate, size, thread, body, saved, attachments,
    created_modseq, keywords, expires, prefix, meta) VALUES (@mailbox, @uid, @num, @user, @modseq, @flags, @idate,
    @size, @thread, @body, @saved, @attachments, @modseq, @keywords, @expires, @prefix, @meta)`).run(row)
  searchWait(sql, row.body, row.user)
})

export interface FlagsRow {
  mailbox: number
  modseq: number
  /** Messages and the flags each has now. */
  uids: Uint32Array
  flags: Uint8Array
  /** Their keywords, or null where none of them has or had any. */
  keywords: (string | null)[] | null
}

export const messageFlags = defineWrite<FlagsRow>('message.flags', (sql, row) => {
  const { mailbox, modseq, uids, flags, keywords } = row
  const update = sql('UPDATE message SET modseq = ?, flags = ?, keywords = ? WHERE mailbox = ? AND uid = ?')
  for (let at = 0; at < uids.length; at++) {
    update.run(modseq, flags[at], keywords === null ? null : keywords[at], mailbox, uids[at])
  }
})

export const messageMeta = defineWrite<{
  mailbox: number
  uid: number
  modseq: number
  expires: number | null
  meta: string
}>('message.meta', (sql, row) => {
  sql(`UPDATE message SET modseq = @modseq, expires = @expires, meta = @meta
      WHERE mailbox = @mailbox AND uid = @uid`).run(row)
})

export interface ExpungeRow {
  mailbox: number
  uid: number
  num: number
  thread: number
  modseq: number
  at: number
}

/** Takes a message out of its folder. What becomes of its body is the caller's to say. */
export const messageExpunge = defineWrite<ExpungeRow>('message.expunge', (sql, row) => {
  sql('DELETE FROM message WHERE mailbox = ? AND uid = ?').run(row.mailbox, row.uid)
  sql(`INSERT INTO expunged (mailbox, modseq, uid, num, thread, at)
    VALUES (@mailbox, @modseq, @uid, @num, @thread, @at)`).run(row)
})

export interface ReferenceRow {
  user: number
  hash: number
  thread: number
}

/** The first thread that mentions an id keeps it. */
export const referenceInsert = defineWrite<ReferenceRow>('reference.insert', (sql, row) => {
  sql('INSERT INTO reference (user, hash, thread) VALUES (@user, @hash, @thread) ON CONFLICT DO NOTHING').run(row)
})

export interface OutlineRow {
  body: number
  envelope: string
  bodystructure: string
  summary: string
  detail: string
}

export const outlineInsert = defineWrite<OutlineRow>('outline.insert', (sql, row) => {
  sql(`INSERT INTO outline (body, envelope, bodystructure, summary, detail)
    VALUES (@body, @envelope, @bodystructure, @summary, @detail) ON CONFLICT DO NOTHING`).run(row)
})

export const settingPut = defineWrite<{ key: string; value: string | null }>('setting.put', (sql, row) => {
  if (row.value === null) sql('DELETE FROM setting WHERE key = ?').run(row.key)
  else sql('INSERT INTO setting (key, value) VALUES (@key, @value) ON CONFLICT DO UPDATE SET value = @value').run(row)
})

export const metaPut = defineWrite<{ key: string; value: string | number }>('meta.put', (sql, row) => {
  sql('INSERT INTO meta (key, value) VALUES (@key, @value) ON CONFLICT DO UPDATE SET value = @value').run(row)
})

export const metaDelete = defineWrite<{ key: string }>('meta.delete', (sql, row) => {
  sql('DELETE FROM meta WHERE key = ?').run(row.key)
})
