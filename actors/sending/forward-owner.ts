// Whose a forward is, and who hears of what becomes of it: the account, or who keeps the domain of an address that belongs to none.
//
// Who wrote the message does not: he wrote to the one who forwards it, and that arrived; where it goes on to is not his business
// (RFC 5321 3.9.2 has whoever expands an address that way take what comes back).

import { domainToUnicode, splitAddress } from '#mail/address/address.ts'
import { firstUser, resolveAddress } from '#store/accounts/address.ts'
import { keepersOf } from '#store/accounts/lookup.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Outbound } from '#store/sending/outbound.ts'

/** @param postmaster address of the account that has the postmaster's mail of all domains; may be empty */
export async function ownerOfForward(
  read: Reader,
  { user, options: { forwardedFor = '' } }: Pick<Outbound, 'user' | 'options'>,
  postmaster: string,
): Promise<User | undefined> {
  const id = user ?? (await keepersFor(read, forwardedFor, postmaster))[0]
  const owner = id === undefined ? undefined : await findUser(read, id)
  return owner === undefined || owner.deleted !== null ? undefined : owner
}

/** Accounts that have the postmaster's mail of an address's domain; where it is not here, whoever came first. */
export async function keepersFor(read: Reader, address: string, postmaster: string): Promise<readonly string[]> {
  const named = postmaster === '' ? undefined : await resolveAddress(read, postmaster, false)
  if (typeof named?.user === 'string') return [named.user]
  const keepers = await keepersOf(read, domainToUnicode(splitAddress(address).domain))
  const first = keepers.length > 0 ? undefined : await firstUser(read)
  return first === undefined ? keepers : [first]
}
