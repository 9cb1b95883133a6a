// Whom the name means that somebody logs in with.

import { normalizeAddress } from '#mail/address/address.ts'
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
