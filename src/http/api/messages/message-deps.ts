// What the calls on messages need of the service.

import type { ForwardKeys } from '#actors/delivery/forward.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import type { RecipientLimits } from '#actors/sending/sender.ts'
import type { Mailbox } from '#mail/address/address.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { TaskStarter } from '../accounts/tasks.ts'

export interface MessageDeps {
  readonly system: ActorSystem
  readonly bodies: Bodies
  readonly reads: Reads
  readonly tasks: TaskStarter
  readonly sequence: Sequence
  readonly settings: Settings
  readonly hostname: string
  /** Recipients of a day. */
  readonly counters: RecipientLimits['counters']
  /** Whom an account has written to. */
  readonly register: { note(user: number, addresses: readonly Mailbox[], used: number): void }
  readonly forward: ForwardDeps
}

interface ForwardDeps {
  readonly throttle: Counters
  readonly keys: ForwardKeys
}
