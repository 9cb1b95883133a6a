// The thread that encrypts what is stored and looks at keys, and reads what cannot be read any more once that is done. It has nothing to do with searches, however many there are:
// mail that arrives for an account that encrypts waits for this thread.

import { serve } from '../src/lib/process/serve.ts'
import { inspectKey as inspect, type SealTasks, sealMessage } from '../src/mail/crypt/sealing.ts'
import { type PoolBounceTask, readBounce } from '../src/mail/report/bounce.ts'

serve({
  encrypt: sealMessage,
  inspectKey: ({ key }: SealTasks['inspectKey']['input']) => inspect(key),
  bounce: ({ data }: PoolBounceTask['bounce']['input']) => readBounce(data),
})
