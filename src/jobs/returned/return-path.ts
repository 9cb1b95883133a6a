// Under what a message leaves, so that it is known when it comes back: the sender of a forward names it, and the trace line of every
// message has a mark.
//
// Recipients of one transaction see the same header. Where they are in several domains (a relay for everything) the mark is of the
// message alone, and proves only what had one recipient.

import { domainOf } from '#mail/address/address.ts'
import { rewriteSender, type SrsKey } from '#mail/address/srs.ts'
import { returnMark } from '#mail/report/return-mark.ts'
import { type Outbound, queueId, type Target } from '#store/sending/outbound.ts'

/** For what goes to several destinations in one transaction. */
export const anyDestination = '*'

/** The envelope sender as it leaves; a rewritten one with the number of its message. */
export function returnPath({ sender, num, created, options }: Outbound, srs: SrsKey): string {
  const { originalSender } = options
  if (originalSender === undefined || sender === originalSender) return sender
  return rewriteSender(originalSender, srs, created, num)
}

/** Whose mark a recipient bears: that of his domain, whatever way leads there. */
export function placeOf({ kind, value, destination }: Pick<Target, 'kind' | 'value' | 'destination'>): string {
  return kind === 'mail' ? domainOf(value) : destination
}

export function markOf({ num }: Outbound, targets: readonly Target[], { secret }: SrsKey): string {
  const destinations = new Set(targets.map(placeOf))
  const [first = anyDestination] = destinations
  return returnMark(secret, queueId(num), destinations.size === 1 ? first : anyDestination)
}
