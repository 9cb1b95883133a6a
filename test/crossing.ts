// In every test of the service, what crosses to an actor and back is copied: nothing but data gets through.

import { copyAll } from '#actors/kernel/crossing.ts'

copyAll()
