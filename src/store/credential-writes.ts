// Writes of what opens an account beside its password: application passwords, security keys, and the log of who came in.
//
// Use and log rows are added by what happened since the last write, never set from a copy, so that they may be written
// late and gathered.

import { defineWrite } from './write.ts'

export interface AspRow {
  id: string
  user: number
  selector: string
  hash: string
  description: string
  /** JSON array. */
  scopes: string
  /** Milliseconds by which each use pushes `expires` out; 0: does not expire. */
  ttl: number
  expires: number | null
  created: number
}

export const aspInsert = defineWrite<AspRow>('asp.insert', (sql, row) => {
  sql(`INSERT INTO asp (id, user, selector, hash, description, scopes, ttl, expires, created)
    VALUES (@id, @user, @selector, @hash, @description, @scopes, @ttl, @expires, @created)`).run(row)
})

export const aspDelete = defineWrite<{ id: string }>('asp.delete', (sql, { id }) => {
  sql('DELETE FROM asp WHERE id = ?').run(id)
  sql('DELETE FROM asp_use WHERE asp = ?').run(id)
})

export interface AspUseRow {
  asp: string
  user: number
  at: number
  /** Entry of the log; null where none is kept. */
  event: string | null
  ip: string
  /** New end, for those that have one. */
  expires: number | null
}

/** One that is gone by now stays gone. */
export const aspUse = defineWrite<AspUseRow>('asp.use', (sql, row) => {
  const { asp, user, at, event, ip, expires } = row
  if (sql('SELECT 1 FROM asp WHERE id = ?').get(asp) === undefined) return
  sql(`INSERT INTO asp_use (asp, user, at, event, ip) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET at = excluded.at, event = excluded.event, ip = excluded.ip
    WHERE excluded.at >= asp_use.at`).run(asp, user, at, event, ip)
  if (expires !== null) sql('UPDATE asp SET expires = max(expires, ?) WHERE id = ? AND ttl > 0').run(expires, asp)
})

export interface CredentialRow {
  id: string
  user: number
  rawId: string
  publicKey: string
  counter: number
  description: string
  attachment: string
  created: number
}

export const credentialInsert = defineWrite<CredentialRow>('credential.insert', (sql, row) => {
  sql(`INSERT INTO credential (id, user, raw_id, public_key, counter, description, attachment, created)
    VALUES (@id, @user, @rawId, @publicKey, @counter, @description, @attachment, @created)`).run(row)
})

export const credentialCount = defineWrite<{ id: string; counter: number }>('credential.count', (sql, row) => {
  sql('UPDATE credential SET counter = max(counter, ?) WHERE id = ?').run(row.counter, row.id)
})

export const credentialDelete = defineWrite<{ id: string }>('credential.delete', (sql, { id }) => {
  sql('DELETE FROM credential WHERE id = ?').run(id)
})

/** Every security key of an account. */
export const credentialClear = defineWrite<{ user: number }>('credential.clear', (sql, { user }) => {
  sql('DELETE FROM credential WHERE user = ?').run(user)
})

export interface AuthLogRow {
  id: string
  user: number
  key: string
  action: string
  ip: string
  created: number
  last: number
  expires: number
  /** How many are added. */
  events: number
  body: string
}

/** Written later than it happened: an account that went meanwhile gets no entry. */
export const authLogAdd = defineWrite<AuthLogRow>('authlog.add', (sql, row) => {
  sql(`INSERT INTO authlog (id, user, key, action, ip, created, last, expires, events, body)
    SELECT @id, @user, @key, @action, @ip, @created, @last, @expires, @events, @body FROM user WHERE num = @user
    ON CONFLICT (id) DO UPDATE SET events = events + excluded.events, last = max(last, excluded.last)`).run(row)
})

/** Takes up to `count` entries whose time is over. */
export const authLogExpire = defineWrite<{ at: number; count: number }>('authlog.expire', (sql, { at, count }) => {
  sql('DELETE FROM authlog WHERE id IN (SELECT id FROM authlog WHERE expires < ? LIMIT ?)').run(at, count)
})

export const loginPut = defineWrite<{ user: number; at: number }>('login.put', (sql, { user, at }) => {
  sql(`INSERT INTO login (user, at) SELECT num, ? FROM user WHERE num = ?
    ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`).run(at, user)
})

/** Lets one token of an account live on when its version goes up; the others end by it. */
export const tokenKeep = defineWrite<{ hash: string; user: string; authVersion: number }>('token.keep', (sql, row) => {
  sql('UPDATE token SET auth_version = @authVersion WHERE hash = @hash AND user = @user').run(row)
})
