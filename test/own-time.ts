// Many files of tests run in one process: the clock that one of them moved is right again for the next one.

import { afterAll } from 'vitest'
import { shiftClock } from '#lib/clock.ts'

afterAll(() => shiftClock(0))
