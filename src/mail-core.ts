// Of the service, what the mail protocols stand on, in whichever thread their sessions live.
//
// Where that is the thread of the actors it is the core itself (core.ts); a front thread has the same over its line to
// there (front/thread.ts).

import type { Authentication } from '#actors/auth/authentication.ts'
import type { Grant, Grants } from '#actors/auth/grant.ts'
import type { SessionPlaces } from '#actors/auth/session-places.ts'
import type { LocalDelivery } from '#actors/delivery/local-delivery.ts'
import type { Verifier } from '#actors/delivery/verification.ts'
import type { Actors } from '#actors/kernel/system.ts'
import type { Marks } from '#actors/mailbox/recency.ts'
import type { Config } from '#config'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'

/** Of the service, what mail listeners need. */
export interface MailCore {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly system: Actors
  readonly bodies: Bodies
  readonly sequence: Numbers
  readonly settings: Settings
  readonly reads: Reads
  readonly cache: Counters
  readonly delivery: LocalDelivery
  readonly pools: { readonly verify: ConstructorParameters<typeof Verifier>[0]['pool'] }
  readonly credentials: {
    readonly authentication: {
      authenticate(attempt: Parameters<Authentication['authenticate']>[0]): Promise<{ user: string; grant: Grant }>
    }
    readonly grants: Pick<Grants, 'hold'>
  }
  readonly places: Pick<SessionPlaces, 'enter' | 'left'>
  readonly recency: Marks
}
