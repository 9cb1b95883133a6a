// A thread that tries strangers' patterns. It holds nothing worth keeping: when a pattern runs past its deadline the
// thread is killed and another takes its place. Lower in priority than the main loop.

import { matchEach, matchPatterns } from '../src/lib/pattern.ts'
import { yieldToOthers } from '../src/lib/process/polite.ts'
import { serve } from '../src/lib/process/serve.ts'

// On Linux this is the thread's own priority; elsewhere it would be the whole process's.
if (process.platform === 'linux') yieldToOthers(5)

serve({ match: matchPatterns, each: matchEach })
