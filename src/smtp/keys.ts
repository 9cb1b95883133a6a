// The sections of the configuration that belong to SMTP, LMTP and submission, one for each listener. What is said here is read by config show
// and the sample, too.

import { limits } from '#lib/limits.ts'
import { choice, flag, list, notServer } from '../config/kinds.ts'
import { listener } from '../config/listener.ts'

export const smtpKeys = {
  smtp: {
    ...listener(1025, 'SMTP for incoming mail', limits.smtp),
    authenticate: flag(
      false,
      'Whether SPF, DKIM and DMARC are looked at; for a listener that other servers reach without one in between',
    ),
    dmarc: choice(
      ['note', 'heed'],
      'note',
      'What a DMARC failure leads to: it is noted, or what the sender domain asks for is done (refuse, junk)',
    ),
    dnsServers: list([], 'DNS servers (address or address:port) asked for that; unset: those of the system', notServer),
  },
  lmtp: listener(2424, 'LMTP', limits.smtp),
  submission: listener(1587, 'submission with STARTTLS', limits.smtp),
  submissions: listener(1465, 'submission over TLS', limits.smtp),
}
