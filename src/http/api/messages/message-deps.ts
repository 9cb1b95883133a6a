// What the calls on messages need of the service.

import type { Composing } from '#actors/compose/composing.ts'
import type { ForwardingDeps } from '#actors/compose/forwarding.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import type { Journal } from '#lib/journal/journal.ts'
import type { TaskStarter } from '../accounts/tasks.ts'

export interface MessageDeps extends ForwardingDeps {
  readonly system: ActorSystem
  readonly tasks: TaskStarter
  readonly composing: Composing
  /** Where a message that is sent has its line. */
  readonly journal: Journal
}
