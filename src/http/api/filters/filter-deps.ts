// What the calls on filters need of the service.

import type { AuthLog } from '#actors/auth/auth-log.ts'
import type { Rules } from '#actors/delivery/rules.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import type { Settings } from '#store/folder/settings.ts'

export interface FilterDeps {
  readonly system: ActorSystem
  readonly settings: Settings
  readonly rules: Rules
  readonly bodies: Bodies
  readonly sequence: Sequence
  readonly authLog: AuthLog
}
