// The mail protocols, a line for each. They open in this order, in every thread that has sessions.

import type { MailCore } from '#mail-core'
import type { Protocol } from '#protocol'
import { imap } from '#protocols/imap'
import { pop3 } from '#protocols/pop3'
import { smtp } from '#protocols/smtp'

export const mailProtocols: readonly Protocol<MailCore>[] = [smtp, imap, pop3]
