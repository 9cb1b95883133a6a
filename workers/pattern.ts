// A thread that tries strangers' patterns. It holds nothing worth keeping: when a pattern runs past its deadline the
// thread is killed and another takes its place. Lower in priority than the main loop.

import { matchEach, matchPatterns } from '../src/lib/pattern.ts'
import { standBack } from '../src/lib/process/polite.ts'
import { serve } from '../src/lib/process/serve.ts'

standBack()

serve({ match: matchPatterns, each: matchEach })
