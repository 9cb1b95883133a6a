// How sessions with the hosts of a domain went, as its reports about TLS tell it (RFC 8460 4).
//
// Counted is what TLS has a part in: that nobody answered is none of it.

import { limits } from '#lib/limits.ts'
import type { TlsDetail } from '#mail/made/tls-report.ts'
import type { MissedPolicy } from '#net/tls/mta-sts.ts'
import type { TlsFlaw } from '#net/tls/peer.ts'
import type { DomainPolicy } from './proof/domain-policy.ts'
import type { MailRoute, SessionFacts } from './smtp-client.ts'

/** Where it is counted. */
export interface TlsCounts {
  add(kind: 'tls', domain: string, detail: TlsDetail): void
}

interface Flawed {
  readonly mx: string
  readonly flaw: TlsFlaw
  readonly reason: string
  readonly local: string
  readonly remote: string
}

/** A session that was made, or was not. */
export function tell(
  counts: TlsCounts | undefined,
  { policy, host }: Pick<MailRoute, 'host' | 'policy'>,
  facts: SessionFacts,
): void {
  const { flaw, reason, local, remote } = facts
  if (counts === undefined || policy === undefined) return
  if (flaw !== undefined) tellFlaw(counts, policy, { mx: host, flaw, reason, local, remote })
  else if (reason === '') counts.add('tls', policy.domain, { policy: shown(policy) })
}

export function tellFlaw(counts: TlsCounts | undefined, policy: DomainPolicy, flawed: Flawed): void {
  const reason = flawed.reason.slice(0, limits.tlsReport.reasonLengthMax)
  counts?.add('tls', policy.domain, { policy: shown(policy), ...flawed, reason })
}

/** A policy is announced and cannot be had, or is none (RFC 8460 4.3.2.2). */
export function tellMissed(counts: TlsCounts | undefined, domain: string, { flaw, reason }: MissedPolicy): void {
  counts?.add('tls', domain, { policy: { kind: 'sts', strings: [], hosts: [] }, flaw, reason })
}

function shown({ kind, strings, hosts }: DomainPolicy): TlsDetail['policy'] {
  return { kind, strings, hosts }
}
