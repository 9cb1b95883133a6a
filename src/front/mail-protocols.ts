// The mail protocols, a line for each. They open in this order, in every thread that has sessions; HTTP opens after them where it
// is spoken there (api.ts).

import type { ListenerName } from '#config'
import type { MailCore } from '#mail-core'
import type { Protocol } from '#protocol'
import { imap } from '#protocols/imap'
import { pop3 } from '#protocols/pop3'
import { smtp } from '#protocols/smtp'

export const mailProtocols: readonly Protocol<MailCore>[] = [smtp, imap, pop3]

/** Listeners of fronts. */
export function frontListeners(withHttp: boolean): ListenerName[] {
  const mail = mailProtocols.flatMap(protocol => protocol.config)
  return withHttp ? [...mail, 'api', 'web'] : mail
}
