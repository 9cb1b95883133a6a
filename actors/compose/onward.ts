// A stored message that its owner forwards by hand: under which sender it goes on, and whether From is to be believed.
//
// What came here is forwarded as it would have been when it came. What the owner put here himself (an upload, APPEND) says
// whatever he likes: as his own where From is his, under his own name where From is somebody else's of this house, and else
// as he has it, unsigned, under a sender that proves nothing about From.

import { domainToUnicode, mailboxes, splitAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import { namesAuthorsClearly, plainHeader } from '#mail/header/authored.ts'
import type { Header } from '#mail/header/header.ts'
import { holdsDomain } from '#store/accounts/address.ts'
import type { User } from '#store/accounts/users.ts'
import { findAlias } from '#store/domains/alias.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { MessageMeta } from '#store/mailboxes/messages.ts'
import type { ForwardRequest } from '../delivery/forward.ts'
import { isHonest } from '../sending/sent-form.ts'

const arrived = new Set(['smtp', 'lmtp', 'submission'])

/** What a request to forward it says. `header` has the lines that came on top. */
export async function onward(
  read: Reader,
  user: User,
  { from = '', source, trust }: MessageMeta,
  header: Header,
): Promise<Pick<ForwardRequest, 'from' | 'trust' | 'asOwn' | 'ownSender'>> {
  if (trust === 'ours') return { from, trust }
  if (isPlain(header) && (await isHonest(read, user, header))) {
    return { from: authors(header)[0] ?? user.address, trust: 'ours', ownSender: true }
  }
  if (arrived.has(source)) return { from, trust: trust ?? 'theirs' }
  const asOwn = !namesAuthorsClearly(header) || (await isOfThisHouse(read, authors(header)))
  return { from: user.address, trust: 'nobody', asOwn, ownSender: asOwn }
}

function isPlain({ block }: Header): boolean {
  try {
    return plainHeader(block) === block
  } catch {
    return false
  }
}

function authors(header: Header): string[] {
  const people = mailboxes(parseAddresses(header.rawAll('from').join(', ')))
  return people.map(({ address }) => address)
}

async function isOfThisHouse(read: Reader, addresses: readonly string[]): Promise<boolean> {
  for (const domain of new Set(addresses.map(address => domainToUnicode(splitAddress(address).domain)))) {
    if (domain === '' || (await holdsDomain(read, domain)) || (await findAlias(read, domain)) !== undefined) return true
  }
  return addresses.length === 0
}
