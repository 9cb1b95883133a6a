// The sections of the configuration that belong to POP3, one for each listener. What is said here is read by config show
// and the sample, too.

import { limits } from '#lib/limits.ts'
import { choice, count } from '../config/kinds.ts'
import { listener } from '../config/listener.ts'

export const pop3Keys = {
  pop3: {
    ...listener(1110, 'POP3 with STLS', limits.pop3),
    deleteTo: choice(['trash', 'expunge'], 'trash', 'What QUIT does with deleted messages'),
    maxMessages: count(250, 1, 100_000, 'Newest messages a POP3 session sees, unless the user has an own number'),
  },
  pop3s: listener(1995, 'POP3 over TLS', limits.pop3),
}
