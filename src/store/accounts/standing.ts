// What decides whether somebody may stay: the standing of an account, of an application password and of a token.
//
// Each is read in one go and without waiting, since every live session asks again and again. What follows from it is
// decided elsewhere (actors/auth/grant.ts).

import { jsonAt } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'

/** Of an account; none where it is gone. */
export interface Standing {
  /** Neither disabled nor suspended nor deleted. */
  readonly open: boolean
  readonly disabled: boolean
  readonly suspended: boolean
  readonly deleted: boolean
  readonly authVersion: number
  readonly disabledScopes: readonly string[]
  /** Whether any second factor is on. */
  readonly factors: boolean
}

const standing = `SELECT disabled, suspended, deleted IS NOT NULL AS deleted, auth_version AS authVersion,
  ${jsonAt('options', 'disabledScopes')} AS scopes, ${jsonAt('options', 'enabled2fa')} AS factors FROM "user" WHERE id = ?`

export function standingOf(read: Reader, user: string): Standing | undefined {
  const row = read.one<
    Record<'disabled' | 'suspended' | 'deleted' | 'authVersion', number> & Record<Json, string | null>
  >(standing, user)
  if (row === undefined) return undefined
  const [disabled, suspended, deleted] = [row.disabled === 1, row.suspended === 1, row.deleted === 1]
  return {
    ...{ disabled, suspended, deleted, open: !disabled && !suspended && !deleted, authVersion: row.authVersion },
    disabledScopes: names(row.scopes),
    factors: names(row.factors).length > 0,
  }
}

type Json = 'scopes' | 'factors'

/** An application password: what it opens, and when it ends. */
export function aspStanding(
  read: Reader,
  id: string,
): { readonly scopes: readonly string[]; readonly expires: number | null } | undefined {
  const row = read.one<{ scopes: string; expires: number | null }>('SELECT scopes, expires FROM asp WHERE id = ?', id)
  return row === undefined ? undefined : { scopes: names(row.scopes), expires: row.expires }
}

/** A token by its hash: whose it is, and when it ends. */
export function tokenStanding(
  read: Reader,
  hash: string,
): { readonly user: string | null; readonly authVersion: number; readonly ends: number } | undefined {
  const row = read.one<{ user: string | null; authVersion: number; expires: number | null; dies: number | null }>(
    'SELECT "user", auth_version AS authVersion, expires, dies FROM token WHERE hash = ?',
    hash,
  )
  if (row === undefined) return undefined
  return { user: row.user, authVersion: row.authVersion, ends: Math.min(row.expires ?? Infinity, row.dies ?? Infinity) }
}

function names(text: string | null): string[] {
  return text === null ? [] : (JSON.parse(text) as string[])
}
