// What a domain says of how its hosts are sent to, and which of them it keeps from being sent to, as reports about TLS tell it
// (RFC 8460 4).
//
// Of a session it is told when it is made, so that counts are those of sessions, and not of messages.

import type { TlsFlaw } from '#net/tls/peer.ts'

/** What a domain says of how it is sent to, as reports tell it (RFC 8460 4.4). */
export interface DomainPolicy {
  readonly kind: 'tlsa' | 'sts' | 'no-policy-found'
  /** That was sent to. */
  readonly domain: string
  readonly strings: readonly string[]
  /** Hosts that it names. */
  readonly hosts: readonly string[]
}

/** A host of a domain that must not be sent to, and why: told when its turn has come, as reports count sessions (RFC 8460 4.4). */
export interface PassedOver {
  readonly policy: DomainPolicy
  readonly host: string
  readonly flaw: TlsFlaw
  readonly reason: string
}
