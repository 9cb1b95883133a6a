// The sections of the configuration that are listeners: each protocol names its own, and here is a line for each protocol.
//
// The order is the one in which they are printed, and in which of two that want one port the second is refused.

import { httpKeys } from '../http/keys.ts'
import { imapKeys } from '../imap/keys.ts'
import { pop3Keys } from '../pop3/keys.ts'
import { smtpKeys } from '../smtp/keys.ts'

export const protocolKeys = {
  ...httpKeys,
  ...smtpKeys,
  ...imapKeys,
  ...pop3Keys,
}

/** A section that is a listener, and the name under which the service says where it listens. */
export type ListenerName = keyof typeof protocolKeys

export const listeners = Object.keys(protocolKeys) as readonly ListenerName[]
