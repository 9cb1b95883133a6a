// The sections of the configuration that belong to IMAP, one for each listener. What is said here is read by config show
// and the sample, too.

import { limits } from '#lib/limits.ts'
import { count } from '../config/kinds.ts'
import { listener } from '../config/listener.ts'

export const imapKeys = {
  imap: {
    ...listener(1143, 'IMAP with STARTTLS', limits.imap),
    maxConnections: count(15, 1, 10_000, 'Sessions at once of one user, unless the user has an own number'),
  },
  imaps: listener(1993, 'IMAP over TLS', limits.imap),
}
