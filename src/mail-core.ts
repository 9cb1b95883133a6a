// Of the service, what the mail protocols stand on, in whichever thread their sessions live.
//
// Where that is the thread of the actors it is the core itself (core.ts); a front thread has the same over its line to
// there (front/thread.ts). What both assemble in the same way is assembled here.

import type { Authentication } from '#actors/auth/authentication.ts'
import type { Grant, Grants } from '#actors/auth/grant.ts'
import type { Places } from '#actors/auth/session-places.ts'
import { LocalDelivery } from '#actors/delivery/local-delivery.ts'
import { Rules } from '#actors/delivery/rules.ts'
import type { Actors } from '#actors/kernel/system.ts'
import type { Marks } from '#actors/mailbox/recency.ts'
import { SpamJudge } from '#actors/screening/spam.ts'
import type { Verifier } from '#actors/screening/verification.ts'
import type { Traffic } from '#actors/user/traffic.ts'
import type { Config } from '#config'
import { version } from '#lib/build-info.ts'
import type { Journal } from '#lib/journal/journal.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { Tracer } from '#lib/tracing/tracer.ts'
import { postSpans } from '#net/outward/collector.ts'
import { Lookup } from '#store/accounts/lookup.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Changes } from '#store/engine/watched.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'

/** Local delivery and what decides for it, which are the same wherever they run. */
export function openDelivery(parts: DeliveryParts): { rules: Rules; delivery: LocalDelivery } {
  const { config, log, read, changes, reads, addressBook, pools, ...given } = parts
  const shared = { ...given, log }
  const { classificationHeaders: classify, postmaster } = config.mail
  const rules = new Rules({ ...shared, patterns: pools.patterns, classify })
  const spam = new SpamJudge({ read, changes, pool: pools.spam, classifies: config.spam.classifier, log })
  const lookup = new Lookup(read, changes)
  return { rules, delivery: new LocalDelivery({ ...shared, reads, rules, spam, addressBook, lookup, postmaster }) }
}

/** Who is asked about mail that comes in, and about keys of ours. */
export function screeningServers({ smtp, network }: Config): readonly string[] {
  return smtp.dnsServers.length > 0 ? smtp.dnsServers : network.dnsServers
}

/** What gathers spans, where a collector was configured. */
export function openTracer({ tracing, hostname }: Config, { spans }: Metrics): Tracer | undefined {
  const { endpoint, authorization, sample } = tracing
  if (endpoint === '') return undefined
  return new Tracer({
    ...{ sample, version },
    resource: { 'service.name': 'teal', 'service.version': version, 'host.name': hostname },
    post: text => postSpans(endpoint, authorization, text),
    onSpans: (result, count) => spans.labels(result).inc(count),
  })
}

type RulesParts = ConstructorParameters<typeof Rules>[0]

interface DeliveryParts extends Omit<RulesParts, 'patterns' | 'classify'> {
  readonly config: Config
  readonly log: Log
  readonly read: Reader
  readonly changes: Changes
  readonly reads: Reads
  readonly addressBook: ConstructorParameters<typeof LocalDelivery>[0]['addressBook']
  readonly pools: {
    readonly patterns: RulesParts['patterns']
    readonly spam: ConstructorParameters<typeof SpamJudge>[0]['pool']
  }
}

/** Of the service, what mail listeners need. */
export interface MailCore {
  readonly config: Config
  readonly log: Log
  readonly journal: Journal
  /** Where a collector was configured. */
  readonly tracer: Tracer | undefined
  readonly metrics: Metrics
  /** Which tables were changed; seen by all threads. */
  readonly changes: Changes
  readonly system: Actors
  readonly bodies: Bodies
  readonly sequence: Numbers
  readonly settings: Settings
  readonly reads: Reads
  readonly counters: Counters
  readonly delivery: LocalDelivery
  readonly pools: { readonly verify: ConstructorParameters<typeof Verifier>[0]['pool'] }
  readonly credentials: {
    readonly authentication: {
      authenticate(attempt: Parameters<Authentication['authenticate']>[0]): Promise<{ user: string; grant: Grant }>
    }
    readonly grants: Pick<Grants, 'hold'>
  }
  readonly places: Pick<Places, 'enter' | 'left'>
  readonly recency: Marks
  readonly traffic: Traffic
}
