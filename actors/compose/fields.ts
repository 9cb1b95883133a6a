// A message as somebody writes it, field by field, before there are any bytes of it: what every front that lets people
// write takes, and how it becomes the input of mail/made/compose.ts (api-semantics 5.3).
//
// Must not know how a front was told of it, and checks no form: addresses and lengths are the front's to check.

import { Fault } from '#lib/fault.ts'
import type { ComposeAttachment, ComposeInput, ComposeReference } from '#mail/made/compose.ts'
import type { User } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { findMessage, type MessageMeta, type Outlined } from '#store/mailboxes/messages.ts'
import type { StoredSummary } from '#store/mailboxes/outlines.ts'

/** Somebody with an address; the name may be missing. */
export interface Person {
  readonly name?: string | undefined
  readonly address: string
}

/** Fields of a message; what is absent was not said. */
export interface MessageFields {
  readonly from?: Person | undefined
  readonly replyTo?: Person | undefined
  readonly to?: readonly Person[] | undefined
  readonly cc?: readonly Person[] | undefined
  readonly bcc?: readonly Person[] | undefined
  readonly headers?: readonly { key?: string; value?: string }[] | undefined
  readonly subject?: string | undefined
  readonly text?: string | undefined
  readonly html?: string | undefined
  readonly attachments?: readonly ComposeAttachment[] | undefined
  /** Ids of stored files that become attachments. */
  readonly files?: readonly string[] | undefined
}

/** A message of the account that is answered or forwarded, as a caller names it. */
export interface ReferenceTo {
  readonly mailbox: string
  readonly id: number
  readonly action: ComposeReference['action']
  /** Attachments of that message to take along: all, none, or those with these ids. */
  readonly attachments?: boolean | readonly string[] | undefined
}

/** The message that is answered or forwarded, with what composing needs of it. */
export interface Referenced {
  readonly message: Outlined
  readonly mailbox: string
  readonly action: ComposeReference['action']
  readonly attachments: boolean | readonly string[]
  readonly reference: ComposeReference
  readonly summary: StoredSummary
}

/** The message that is referred to; undefined where none is. @throws Fault MessageNotFound where it is not the account's */
export async function findReferenced(
  read: Reader,
  user: User,
  given: ReferenceTo | undefined,
): Promise<Referenced | undefined> {
  if (given === undefined) return undefined
  const mailbox = await findMailbox(read, user.num, given.mailbox)
  const message = mailbox === undefined ? undefined : await findMessage(read, mailbox.num, given.id)
  if (mailbox === undefined || message === undefined) {
    throw new Fault('MessageNotFound', { text: 'The message that is referred to does not exist' })
  }
  const summary = JSON.parse(message.summary) as StoredSummary
  const { messageId, references, subject } = summary
  const { action, attachments = false } = given
  return {
    ...{ message, mailbox: mailbox.id, action, attachments, summary },
    reference: { action, messageId, references, subject },
  }
}

/** What a stored message says of the one it answers. */
export function placeOf({ mailbox, message, action }: Referenced): NonNullable<MessageMeta['reference']> {
  return { mailbox, id: message.uid, action }
}

/** Fields of the message as composing takes them. */
export function composeInput(
  fields: MessageFields,
  from: { readonly name: string; readonly address: string },
  attachments: readonly ComposeAttachment[],
  reference: ComposeReference | undefined,
): ComposeInput {
  const { replyTo, to, cc, bcc, headers, subject, text, html } = fields
  return { from, replyTo, to, cc, bcc, headers, subject, text, html, attachments, reference }
}

/** Everybody the fields name as recipient. */
export function everybody({ to = [], cc = [], bcc = [] }: MessageFields): { name: string; address: string }[] {
  return [...to, ...cc, ...bcc].map(({ name, address }) => ({ name: name ?? '', address }))
}
