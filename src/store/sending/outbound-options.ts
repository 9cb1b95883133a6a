// What is kept with a queued message beside its envelope: how it came about, and how it is sent.
//
// Data only, stored as JSON: what is absent here is so in rows of old.

import type { Mailbox } from '#mail/address/address.ts'
import type { MessageNotice, RecipientNotice } from '#mail/made/notice.ts'

/** Who made the message that is sent. */
export type Origin = 'submission' | 'forward' | 'autoreply' | 'report'

export interface OutboundOptions extends MessageNotice {
  /** Relay of the account (an smtp: or smtps: URL) for targets of kind `mail`, instead of the service's way out. */
  readonly relay?: string
  /** Account or address it is forwarded for. */
  readonly forwardedFor?: string
  /** A report to who forwards: it goes on to nobody, least of all to where it says that nothing arrives. */
  readonly ofForward?: true
  /** It was forwarded by itself, as its owner wants all such mail to be. */
  readonly standing?: true
  /** What is forwarded was stored for its owner, too. */
  readonly kept?: true
  /** The sender before it was rewritten (SRS). */
  readonly originalSender?: string
  /** Of what is forwarded: what is known of From (actors/delivery/forward.ts). What is ours is signed like what is written here. */
  readonly trust?: 'ours' | 'theirs' | 'nobody'
  /** Who stands in From instead of who stood there, to whom answers go then. */
  readonly author?: Mailbox
  /** What its sender wants to hear, by recipient. */
  readonly notices?: Readonly<Record<string, RecipientNotice>>
  /** When it was to be sent, where its sender said so. */
  readonly notBefore?: number
  /** Of what waits for its moment: the copy that was kept, by folder and number, to be a draft again. */
  readonly copy?: { readonly mailbox: string; readonly uid: number }
  /** Message-ID, for reports and logs. */
  readonly messageId?: string
  /** It goes whatever its domain wants proven: a report of what failed (RFC 8460 3), or its sender said so (RFC 8689 4.2.2). */
  readonly anyTls?: true
  /** Address or header fields hold UTF-8. */
  readonly utf8?: boolean
}
