// What of the queue is for this house: addresses that lead to an account or to a forward of ours, and senders we rewrote.
//
// Such mail never leaves the service, and arrives where nothing else is sent. Must not decide whether it can be delivered.

import { domainToAscii, domainToUnicode } from '#mail/address/address.ts'
import { isRewritten } from '#mail/address/srs.ts'
import { holdsDomain, resolveAddress } from '#store/accounts/address.ts'
import { findAlias } from '#store/domains/alias.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Here } from './destinations.ts'

/** Whether an address is one of this service. */
export async function isHere(read: Reader, srsDomain: string, address: string): Promise<boolean> {
  return isRewritten(address, srsDomain) || (await resolveAddress(read, address, true)) !== undefined
}

/** The same for destinations and targets of the queue. */
export function hereOf(read: Reader, srsDomain: string): Here {
  return {
    async destination(name) {
      // By a relay of the account's own, anybody may be written to.
      if (name.includes('://')) return true
      const domain = domainToUnicode(name)
      const ours = name === domainToAscii(srsDomain) || (await holdsDomain(read, domain))
      return ours || (await findAlias(read, domain)) !== undefined
    },
    target: async ({ kind, value }) => kind === 'mail' && isHere(read, srsDomain, value),
  }
}
