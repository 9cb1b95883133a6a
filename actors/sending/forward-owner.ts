// Whose a forward is, and who hears of what becomes of it: the account, or who keeps the domain of an address that belongs to none.
//
// Who wrote the message does not: he wrote to the one who forwards it, and that arrived; where it goes on to is not his business
// (RFC 5321 3.9.2 has whoever expands an address that way take what comes back).

import { domainToUnicode, splitAddress } from '#mail/address/address.ts'
import { firstUser, firstUserOf, resolveAddress } from '#store/accounts/address.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import { findAlias } from '#store/domains/alias.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Outbound } from '#store/sending/outbound.ts'

/** @param postmaster address of the account that has the postmaster's mail of all domains; may be empty */
export async function ownerOfForward(
  read: Reader,
  { user, options: { forwardedFor = '' } }: Pick<Outbound, 'user' | 'options'>,
  postmaster: string,
): Promise<User | undefined> {
  const id = user ?? (await keeperOf(read, forwardedFor, postmaster))
  const owner = id === undefined ? undefined : await findUser(read, id)
  return owner === undefined || owner.deleted !== null ? undefined : owner
}

/** The account that has the postmaster's mail of an address's domain. */
export async function keeperOf(read: Reader, address: string, postmaster: string): Promise<string | undefined> {
  const named = postmaster === '' ? undefined : await resolveAddress(read, postmaster, false)
  if (typeof named?.user === 'string') return named.user
  const domain = domainToUnicode(splitAddress(address).domain)
  const alias = await findAlias(read, domain)
  return (await firstUserOf(read, alias?.domain ?? domain)) ?? firstUser(read)
}
