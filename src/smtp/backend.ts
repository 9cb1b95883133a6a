// What SMTP and LMTP need from those who keep mail: recipients, a place for the bytes, and a delivery.
//
// The session promises: `recipient` before any byte, `open` once for each message, then `finish` and `deliver`, or `abort`
// whatever happens to the peer; nothing is answered with 250 before `deliver` has resolved. The backend promises: a delivery
// resolves only after every outcome is on disk or refused, and a message that comes again (same Message-ID and Date) to
// somebody who has it is not stored twice, since a peer that lost our answer will send it again.

import type { MessageNotice, RecipientNotice } from '#mail/made/notice.ts'
import type { TlsInfo } from '#net/tls/tls.ts'

export type SmtpService = 'smtp' | 'lmtp' | 'submission' | 'submissions'

/** Who is speaking; what a backend may decide on. */
export interface Speaker {
  /** Of the connection, for logs. */
  readonly id: string
  readonly service: SmtpService
  /** As in a Received field (RFC 3848): SMTP, ESMTP, ESMTPS, ESMTPA, ESMTPSA, LMTP, LMTPS. */
  readonly protocol: string
  readonly remoteAddress: string
  readonly remotePort: number
  /** What the peer calls itself; a claim. */
  readonly helo: string
  readonly tls: TlsInfo | undefined
  /** What `authenticate` gave; undefined where nobody logged in. */
  readonly user: unknown
  /** Bytes the peer says the message has (RFC 1870); 0 where it does not say. */
  readonly declaredBytes: number
  /** Recipients of this session that were refused. */
  readonly refusedRecipients: number
  /** While it is made to wait for this, whoever needs room may have its place. @throws what `task` does */
  lend<Value>(task: Promise<Value>): Promise<Value>
  /** Ends the session: at once where it waits for its peer, else after what it is doing. */
  end(reason: string): void
}

export interface Envelope<Recipient> {
  /** Address without brackets; '' is the null sender. */
  readonly from: string
  /** In the order of RCPT; the same account may come twice. */
  readonly recipients: readonly Recipient[]
  /** By which the message is known to whoever sent it: it stands in the reply. */
  readonly id: string
  /** Bytes of the message. */
  readonly size: number
  /** Whether addresses or header fields may hold UTF-8 (RFC 6531). */
  readonly utf8: boolean
  /** What its sender wants to hear. */
  readonly notice: MessageNotice
  /** When it is to be sent (RFC 4865); at once where absent. */
  readonly release?: number
  readonly speaker: Speaker
}

/** One message on its way in. */
export interface Intake<Received> {
  /** Takes bytes, which do not change afterwards; a promise is waited for before more comes. @throws Fault */
  write(chunk: Buffer): void | Promise<void>
  /** @throws Fault; then `abort` is called */
  finish(): Promise<Received>
  abort(): void | Promise<void>
}

/** What became of one recipient: refused for a reason, or else stored. */
export interface Outcome {
  readonly stored?: unknown
  readonly refused?: unknown
}

export interface Backend<Recipient, Received> {
  /** Whether this speaker may send as `address`; '' is the null sender. @throws Fault, UserDisabled for example */
  sender?(address: string, speaker: Speaker): void | Promise<void>
  /** Finds the recipient of an address. @throws Fault UserNotFound, NoAccountsYet, OverQuotaError, UserDisabled, ... */
  recipient(address: string, speaker: Speaker, notice: RecipientNotice): Recipient | Promise<Recipient>
  /** A place for the bytes of one message. @throws Fault StorageUnavailable, Overloaded, ... */
  open(speaker: Speaker): Intake<Received>
  /** A message was refused before it was there as a whole: for its size, its form, its slowness. */
  declined?(message: Pick<Envelope<Recipient>, 'from' | 'recipients' | 'size' | 'speaker'>, reason: unknown): void
  /** A session that may have logged in is over. */
  left?(speaker: Speaker): void
  /** One outcome for each recipient, in order. Owns `received` from here on, also where it throws. */
  deliver(received: Received, envelope: Envelope<Recipient>): Promise<readonly Outcome[]>
}
