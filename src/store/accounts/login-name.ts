// Whom the name means that somebody logs in with.

import { normalizeAddress, normalizeUsername, splitAddress } from '#mail/address/address.ts'
import { findAlias } from '../domains/alias.ts'
import type { Reader } from '../engine/reader.ts'
import { resolveAddress } from './address.ts'
import { findUserByKey } from './users.ts'

/** The id of the account a login name means: a username, or an address of the account (api-semantics 2.4). */
export async function resolveLogin(read: Reader, name: string): Promise<string | undefined> {
  if (!name.includes('@')) return findUserByKey(read, name.trim().toLowerCase().replaceAll('.', ''))
  const address = await resolveAddress(read, name, false)
  if (address !== undefined) return address.user ?? undefined
  return findUserByKey(read, normalizeAddress(name).key)
}

/** What a name that nobody has is known by: the same for all that would mean one account if there was one. */
export async function nameOfNobody(read: Reader, name: string): Promise<string> {
  const key = normalizeUsername(name)
  const { local, domain } = splitAddress(key)
  const alias = domain === '' ? undefined : await findAlias(read, domain)
  return alias === undefined ? key : `${local}@${alias.domain}`
}
