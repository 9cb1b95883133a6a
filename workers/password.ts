// A thread that hashes and checks passwords. It runs at a lower priority than the main loop, so that a storm of logins
// leaves the rest of the service its share of the processors.

import { standBack } from '../src/lib/process/polite.ts'
import { serve } from '../src/lib/process/serve.ts'
import { hashPassword, type PasswordTasks, verifyPassword } from '../src/lib/secret/hash.ts'

standBack()

serve({
  hash: ({ password, rounds }: PasswordTasks['hash']['input']) => hashPassword(password, rounds),
  verify: ({ password, stored, rounds }: PasswordTasks['verify']['input']) => verifyPassword(password, stored, rounds),
})
