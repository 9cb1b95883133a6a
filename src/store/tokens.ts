// Access tokens: reading them by the hash of their text, and what a row means. The text itself is never stored.

import type { Reader } from './reader.ts'
import type { TokenRow } from './writes.ts'

const columns = 'hash, id, label, role, user, auth_version AS authVersion, created, ttl, expires, dies'

/** A token by its hash, whether or not it is still good. */
export async function findToken(read: Reader, hash: string): Promise<TokenRow | undefined> {
  return read.one<TokenRow>(`SELECT ${columns} FROM token WHERE hash = ?`, hash)
}

/** Every provisioned token (those without an account), newest last. */
export async function listTokens(read: Reader): Promise<TokenRow[]> {
  return read.all<TokenRow>(`SELECT ${columns} FROM token WHERE user IS NULL ORDER BY created LIMIT 10000`)
}

/** Tokens whose time is over, for the sweep. */
export async function expiredTokens(read: Reader, at: number, count: number): Promise<string[]> {
  return read.all<{ hash: string }>('SELECT hash FROM token WHERE expires < ? LIMIT ?', at, count).map(row => row.hash)
}
