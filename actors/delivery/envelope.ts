// What comes with a message that is delivered here, and what became of it: its envelope, its recipients, their fates.
//
// Plain data: a recipient was looked up before the bytes came, and its fate is told when it is on disk.

import type { Rewritten } from '#mail/address/srs.ts'
import type { Address } from '#store/accounts/address.ts'
import type { User } from '#store/accounts/users.ts'
import type { HeldMark } from '#store/domains/mark.ts'
import type { MessageMeta, SpamPart } from '#store/mailboxes/messages.ts'
import type { Appended } from '../mailbox/append.ts'
import type { VerificationResults } from '../screening/verification.ts'
import type { Trust } from './forward.ts'

export interface DeliveryRecipient {
  /** As the envelope gave it. */
  readonly address: string
  /** Id of the account; empty where the address belongs to none. */
  readonly user: string
  /** The account as it was a moment ago; looked up where absent. */
  readonly account?: User | undefined
  /** Accounts that get it as well, where they can: others who look after a domain. */
  readonly also?: readonly string[]
  /** The address only forwards. */
  readonly forward?: Address | undefined
  /** The address stands for a sender we rewrote: who that was, and the message of the queue that left with it (0: it does not say). */
  readonly returned?: Rewritten | undefined
}

/** A session in which a message came, where there was one. */
interface Bringing {
  readonly protocol: string
  readonly helo: string
  readonly remoteAddress: string
  readonly tls: { readonly protocol: string; readonly cipher: string } | undefined
  /** What the listener knows of a login. */
  readonly user?: unknown
}

export interface DeliveryEnvelope {
  /** Envelope sender; empty for a null sender. */
  readonly from: string
  readonly recipients: readonly DeliveryRecipient[]
  readonly source: 'lmtp' | 'smtp' | 'submission'
  /** What a scanner made of it, 0 to 100 (api-semantics 10.5). */
  readonly score?: number
  /** A relay brings it whose word on spam is trusted. */
  readonly relayed?: boolean
  /** What other programs said of it. */
  readonly found?: readonly SpamPart[]
  /** Whether it comes from whom it says, where that was looked at. */
  readonly verification?: VerificationResults
  /** The mark of its author's domain. */
  readonly bimi?: HeldMark | undefined
  /** What is known of From; worked out where absent. */
  readonly trust?: Trust
  /** What goes on of it is protected as it was (RFC 8689). */
  readonly requireTls?: boolean | undefined
  /** Trace fields to be put on top, each with its CRLF (mail/header/received.ts). */
  readonly trace?: string
  /** How it came, as it is shown. */
  readonly transport?: MessageMeta['transport']
  /** Who brought it in this very session, for those who observe deliveries. */
  readonly speaker?: Bringing
}

/** `stored` is null where rules or a forwarding address took the message without storing it. */
export type DeliveryResult = { readonly stored: Appended | null; readonly fate?: Fate } | { readonly refused: unknown }

/** What became of a message for one recipient, for the log. */
export interface Fate {
  readonly action: 'stored' | 'duplicate' | 'dropped' | 'forwarded' | 'returned' | 'queued'
  /** Path of the folder. */
  readonly folder?: string
  readonly score?: number
  /** Ids in the queue of what goes on to others. */
  readonly queued?: readonly string[]
}

/** A queued message that is delivered here. */
export interface StoredMessage {
  readonly body: number
  readonly prefix: string
}

/** What is known of From: where nobody has said, a stranger who proves nothing brought it, or somebody in front of us. */
export function trustOf({ trust, source, verification }: DeliveryEnvelope): Trust {
  if (trust !== undefined) return trust
  return source !== 'smtp' || typeof verification?.dmarc?.domain === 'string' ? 'theirs' : 'nobody'
}
