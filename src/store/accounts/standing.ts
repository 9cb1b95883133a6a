// What decides whether somebody may stay: the standing of an account, of an application password and of a token.
//
// Each is read in one go and without waiting, since every live session asks again and again. What follows from it is
// decided elsewhere (actors/auth/grant.ts).

import { jsonAt } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'

/** Of an account; none where it is gone. */
export interface Standing {
  /** Neither disabled nor suspended nor deleted, nor is its domain closed. */
  readonly open: boolean
  readonly disabled: boolean
  readonly suspended: boolean
  /** The domain of its main address is closed, by itself or as another name of one that is. */
  readonly closed: boolean
  readonly deleted: boolean
  readonly authVersion: number
  readonly disabledScopes: readonly string[]
  /** Whether any second factor is on. */
  readonly factors: boolean
}

/** Of a row of accounts: whether its domain is closed. */
export const closedByDomain = `EXISTS (SELECT 1 FROM domain d WHERE d.disabled = 1 AND
  d.name IN ("user".domain, (SELECT a.domain FROM domainalias a WHERE a.alias = "user".domain)))`

const standing = `SELECT disabled, suspended, ${closedByDomain} AS closed, deleted IS NOT NULL AS deleted, auth_version AS authVersion,
  ${jsonAt('options', 'disabledScopes')} AS scopes, ${jsonAt('options', 'enabled2fa')} AS factors FROM "user" WHERE id = ?`

export async function standingOf(read: Reader, user: string): Promise<Standing | undefined> {
  const row = await read.one<
    Record<'disabled' | 'suspended' | 'closed' | 'deleted' | 'authVersion', number> & Record<Json, string | null>
  >(standing, user)
  if (row === undefined) return undefined
  const [disabled, suspended, deleted] = [row.disabled === 1, row.suspended === 1, row.deleted === 1]
  const closed = row.closed === 1
  return {
    ...{ disabled, suspended, closed, deleted, open: !disabled && !suspended && !closed && !deleted },
    ...{ authVersion: row.authVersion },
    disabledScopes: names(row.scopes),
    factors: names(row.factors).length > 0,
  }
}

/** Whether an account may be used: it is there, and nobody closed it or its domain. */
export async function isOpen(read: Reader, user: string): Promise<boolean> {
  return (await standingOf(read, user))?.open === true
}

type Json = 'scopes' | 'factors'

/** An application password: what it opens, and when it ends. */
export async function aspStanding(
  read: Reader,
  id: string,
): Promise<{ readonly scopes: readonly string[]; readonly expires: number | null } | undefined> {
  const row = await read.one<{ scopes: string; expires: number | null }>(
    'SELECT scopes, expires FROM asp WHERE id = ?',
    id,
  )
  return row === undefined ? undefined : { scopes: names(row.scopes), expires: row.expires }
}

/** A token by its hash: whose it is, and when it ends. */
export async function tokenStanding(
  read: Reader,
  hash: string,
): Promise<{ readonly user: string | null; readonly authVersion: number; readonly ends: number } | undefined> {
  const row = await read.one<{ user: string | null; authVersion: number; expires: number | null; dies: number | null }>(
    'SELECT "user", auth_version AS authVersion, expires, dies FROM token WHERE hash = ?',
    hash,
  )
  if (row === undefined) return undefined
  return { user: row.user, authVersion: row.authVersion, ends: Math.min(row.expires ?? Infinity, row.dies ?? Infinity) }
}

function names(text: string | null): string[] {
  return text === null ? [] : (JSON.parse(text) as string[])
}
