// Every INSERT, UPDATE and DELETE there is, named and typed, except those of bodies (body-writes.ts).
//
// Names are `table.verb`. Counters are changed by differences, never set from a copy that may be old. A rule across users
// is a UNIQUE constraint; `conflicts` says which refusal a broken one means.

import type { FaultCode } from '#lib/fault.ts'
import { searchWait } from './search-writes.ts'
import { defineWrite } from './write.ts'

/** Constraint, as the engine names it -> the fault of the caller who broke it. */
export const conflicts: Readonly<Record<string, FaultCode>> = {
  'user.key': 'UserExistsError',
  'address.key': 'AddressExistsError',
  'mailbox.user, mailbox.path': 'MailboxExistsError',
  'domainalias.alias': 'AliasExists',
}

export interface UserRow {
  num: number
  id: string
  username: string
  key: string
  name: string
  address: string
  password: string
  temporary: string | null
  authVersion: number
  disabled: number
  suspended: number
  activated: number
  quota: number
  /** JSON array of text. */
  tags: string
  /** JSON object; see store/users.ts. */
  options: string
  created: number
  deleted: string | null
}

export const userInsert = defineWrite<UserRow>('user.insert', (sql, row) => {
  sql(`INSERT INTO user (num, id, username, key, name, address, password, temporary, auth_version, disabled, suspended,
    activated, quota, tags, options, created, deleted) VALUES (@num, @id, @username, @key, @name, @address, @password,
    @temporary, @authVersion, @disabled, @suspended, @activated, @quota, @tags, @options, @created, @deleted)`).run(row)
  sql('INSERT INTO usage (user, storage, modseq) VALUES (?, 0, 0)').run(row.num)
})

export const userUpdate = defineWrite<UserRow>('user.update', (sql, row) => {
  sql(`UPDATE user SET username = @username, key = @key, name = @name, address = @address, password = @password,
    temporary = @temporary, auth_version = @authVersion, disabled = @disabled, suspended = @suspended,
    activated = @activated, quota = @quota, tags = @tags, options = @options, deleted = @deleted
    WHERE num = @num AND id = @id AND created = @created`).run(row)
})

export const passwordReplace = defineWrite<{ num: number; from: string; to: string }>('user.rehash', (sql, row) => {
  sql('UPDATE user SET password = ? WHERE num = ? AND password = ?').run(row.to, row.num, row.from)
})

export const usageAdd = defineWrite<{ user: number; storage: number; modseq: number }>('usage.add', (sql, row) => {
  sql('UPDATE usage SET storage = storage + ?, modseq = max(modseq, ?) WHERE user = ?').run(
    row.storage,
    row.modseq,
    row.user,
  )
})

export interface AddressRow {
  id: string
  key: string
  address: string
  domain: string
  user: string | null
  name: string
  tags: string
  meta: string | null
  internal: string | null
  forward: string | null
  created: number
}

export const addressInsert = defineWrite<AddressRow>('address.insert', (sql, row) => {
  sql(`INSERT INTO address (id, key, address, domain, user, name, tags, meta, internal, forward, created) VALUES
    (@id, @key, @address, @domain, @user, @name, @tags, @meta, @internal, @forward, @created)`).run(row)
})

export const addressUpdate = defineWrite<AddressRow>('address.update', (sql, row) => {
  sql(`UPDATE address SET key = @key, address = @address, domain = @domain, name = @name, tags = @tags, meta = @meta,
    internal = @internal, forward = @forward, user = @user, created = @created WHERE id = @id`).run(row)
})

export const addressDelete = defineWrite<{ id: string }>('address.delete', (sql, row) => {
  sql('DELETE FROM address WHERE id = ?').run(row.id)
})

export interface MailboxRow {
  num: number
  id: string
  user: number
  path: string
  specialUse: string | null
  uidValidity: number
  subscribed: number
  hidden: number
  encrypt: number
  retention: number
  /** JSON array of the keywords ever used in the folder, in order of appearance. */
  keywords: string
  modseq: number
  created: number
}

export const mailboxInsert = defineWrite<MailboxRow>('mailbox.insert', (sql, row) => {
  sql(`INSERT INTO mailbox (num, id, user, path, special_use, uid_validity, subscribed, hidden, encrypt, retention,
    keywords, modseq, created, created_modseq, path_modseq) VALUES (@num, @id, @user, @path, @specialUse, @uidValidity,
    @subscribed, @hidden, @encrypt, @retention, @keywords, @modseq, @created, @modseq, @modseq)`).run(row)
  sql('INSERT INTO tally (mailbox, uid_next, modseq, total, unseen, size) VALUES (?, 1, ?, 0, 0, 0)').run(
    row.num,
    row.modseq,
  )
})

export const mailboxUpdate = defineWrite<MailboxRow>('mailbox.update', (sql, row) => {
  sql(`UPDATE mailbox SET path_modseq = CASE WHEN path = @path THEN path_modseq ELSE @modseq END, path = @path, special_use = @specialUse, uid_validity = @uidValidity,
    subscribed = @subscribed, hidden = @hidden, encrypt = @encrypt, retention = @retention, keywords = @keywords,
    modseq = @modseq WHERE num = @num AND id = @id AND user = @user AND created = @created`).run(row)
})

export interface MailboxRemovedRow {
  num: number
  id: string
  user: number
  path: string
  uidValidity: number
  modseq: number
  at: number
}

/** The folder must be empty: its messages go one by one, with their bodies. */
export const mailboxDelete = defineWrite<MailboxRemovedRow>('mailbox.delete', (sql, row) => {
  sql('DELETE FROM mailbox WHERE num = ?').run(row.num)
  sql('DELETE FROM tally WHERE mailbox = ?').run(row.num)
  sql('DELETE FROM expunged WHERE mailbox = ?').run(row.num)
  sql('DELETE FROM imported WHERE mailbox = ?').run(row.num)
  sql(`INSERT INTO removed_mailbox (user, modseq, mailbox, id, path, uid_validity, at)
    VALUES (@user, @modseq, @num, @id, @path, @uidValidity, @at)`).run(row)
})

export interface TallyChange {
  mailbox: number
  /** Next uid after this change; never lowers the stored one. */
  uidNext: number
  modseq: number
  total: number
  unseen: number
  size: number
}

/** Adds differences to a folder's counters. */
export const tallyAdd = defineWrite<TallyChange>('tally.add', (sql, row) => {
  sql(`UPDATE tally SET uid_next = max(uid_next, @uidNext), modseq = max(modseq, @modseq), total = total + @total,
    unseen = unseen + @unseen, size = size + @size WHERE mailbox = @mailbox`).run(row)
})

/** Some session was told of all messages below `uid`; never lowers the mark. */
export const toldMark = defineWrite<{ mailbox: number; uid: number }>('tally.told', (sql, row) => {
  sql('UPDATE tally SET told = max(told, @uid) WHERE mailbox = @mailbox').run(row)
})

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
  /** JSON; see store/messages.ts. */
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

export interface TokenRow {
  hash: string
  id: string
  label: string
  role: string
  user: string | null
  authVersion: number
  created: number
  /** Milliseconds by which each use pushes `expires` out; null: never expires. */
  ttl: number | null
  expires: number | null
  /** The moment after which no use helps. */
  dies: number | null
}

export const tokenInsert = defineWrite<TokenRow>('token.insert', (sql, row) => {
  sql(`INSERT INTO token (hash, id, label, role, user, auth_version, created, ttl, expires, dies)
    VALUES (@hash, @id, @label, @role, @user, @authVersion, @created, @ttl, @expires, @dies)`).run(row)
})

export const tokenExtend = defineWrite<{ hash: string; expires: number }>('token.extend', (sql, row) => {
  sql('UPDATE token SET expires = max(expires, @expires) WHERE hash = @hash').run(row)
})

export const tokenDelete = defineWrite<{ hash: string }>('token.delete', (sql, row) => {
  sql('DELETE FROM token WHERE hash = ?').run(row.hash)
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

/**
 * An event as it is bound, by place: it rides in nearly every unit, and names would cost a fifth of its statement.
 */
export type EventRow = readonly [num: number, name: string, user: string | null, body: string, at: number]

export const eventInsert = defineWrite<EventRow>('event.insert', (sql, row) => {
  sql('INSERT INTO event (num, name, user, body, at) VALUES (?, ?, ?, ?, ?)').run(row)
})
