// What the calls on messages need of the service.

import type { Composing } from '#actors/compose/composing.ts'
import type { ForwardingDeps } from '#actors/compose/forwarding.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import type { TaskStarter } from '../accounts/tasks.ts'

export interface MessageDeps extends ForwardingDeps {
  readonly system: ActorSystem
  readonly tasks: TaskStarter
  readonly composing: Composing
}
