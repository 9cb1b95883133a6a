// Answering by itself: whether a message may be answered, and what the answer says (api-semantics 7, RFC 3834, RFC 5230).
//
// Pure. Whatever was not written by a person to this account is not answered: null senders and such as are forged, lists of every kind,
// bulk mail, reports, other autoreplies, senders that nobody reads, and mail in which the account is not among To and Cc.

import { mailboxes, normalizeAddress, splitAddress } from '../address/address.ts'
import { parseAddresses } from '../address/address-list.ts'
import type { Header } from '../header/header.ts'
import { type ComposeInput, referenceFields } from './compose.ts'

/** Why a message is not answered: a small closed set, shown in traces. */
export type NoReply =
  | 'off'
  | 'not-now'
  | 'spam'
  | 'null-sender'
  | 'forged-sender'
  | 'own-address'
  | 'automatic-sender'
  | 'automatic-message'
  | 'bulk'
  | 'list'
  | 'report'
  | 'suppressed'
  | 'address-gone'
  | 'not-addressed'
  | 'answered-lately'
  | 'too-many'

export interface ReplyQuestion {
  readonly header: Header
  /** Envelope sender. */
  readonly sender: string
  /** Its domain says that it is not its. */
  readonly forged?: boolean | undefined
  /** Keys (`normalizeAddress`) of the account's addresses, the envelope recipient's among them. */
  readonly own: ReadonlySet<string>
  readonly start: number | null
  readonly end: number | null
  readonly now: number
}

/** Why this message is not answered; undefined where it may be. */
export function noReply(question: ReplyQuestion): NoReply | undefined {
  const { header, sender, forged, own, start, end, now } = question
  if ((start !== null && now < start) || (end !== null && now > end)) return 'not-now'
  if (sender === '') return 'null-sender'
  if (forged === true) return 'forged-sender'
  if (own.has(normalizeAddress(sender).key)) return 'own-address'
  if (isAutomatic(sender)) return 'automatic-sender'
  return byHeader(header) ?? (isAddressed(header, own) ? undefined : 'not-addressed')
}

const anywhere = /mailer-daemon|no[-_.]?reply|do[-_.]?not[-_.]?reply/i
const locals =
  /^(?:owner-.*|.*-owner|.*-request|.*-bounces?(?:\+.*)?|bounces?(?:[-+=].*)?|listserv|majordomo|postmaster|autoreply|auto-reply|null|nobody)$/i

/** Senders that no person reads (RFC 5230 4.6, RFC 3834 2). */
function isAutomatic(sender: string): boolean {
  return anywhere.test(sender) || locals.test(splitAddress(sender).local)
}

const listFields = [
  'list-id',
  'list-unsubscribe',
  'list-post',
  'list-help',
  'list-subscribe',
  'list-owner',
  'list-archive',
  'mailing-list',
]

function byHeader(header: Header): NoReply | undefined {
  const submitted = header.raw('auto-submitted')?.split(';', 1)[0]?.trim().toLowerCase()
  if (submitted !== undefined && submitted !== 'no') return 'automatic-message'
  if (header.has('x-autoreply') || header.has('x-autorespond') || header.has('x-autoreply-from')) {
    return 'automatic-message'
  }
  if (header.rawAll('precedence').some(value => /^\s*(?:list|junk|bulk|auto_reply)\b/i.test(value))) return 'bulk'
  if (header.has('feedback-id')) return 'bulk'
  if (listFields.some(field => header.has(field))) return 'list'
  const suppressed = header
    .rawAll('x-auto-response-suppress')
    .join(',')
    .toLowerCase()
    .split(/[\s,;]+/)
  if (suppressed.some(word => word === 'all' || word === 'oof' || word === 'autoreply')) return 'suppressed'
  return /^multipart\/report\b/i.test(header.raw('content-type')?.trim() ?? '') ? 'report' : undefined
}

/** Whether one of the addresses is among those the message names as its recipients (RFC 5230 4.5). */
function isAddressed(header: Header, own: ReadonlySet<string>): boolean {
  return addressees(header).some(address => own.has(normalizeAddress(address).key))
}

/** The addresses that a message names as its recipients. */
export function addressees(header: Header): string[] {
  const named = ['to', 'cc', 'resent-to', 'resent-cc'].flatMap(key => header.rawAll(key))
  return mailboxes(parseAddresses(named.join(', '))).map(({ address }) => address)
}

export interface ReplyForm {
  /** Shown before the address. */
  readonly name: string
  /** Empty: the subject of the message that is answered. */
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** The answer, to be composed. `recipient` is the address that got the message. */
export function replyInput(form: ReplyForm, header: Header, sender: string, recipient: string): ComposeInput {
  const messageId = header.raw('message-id') ?? ''
  const references = (header.raw('references') ?? '').match(/<[^<>\s]{1,998}>/g) ?? []
  const fields = referenceFields({ messageId, references })
  const subject = form.subject === '' ? `Re: ${header.get('subject') ?? ''}`.trim() : form.subject
  const headers = [
    { key: 'Auto-Submitted', value: 'auto-replied' },
    { key: 'X-Auto-Response-Suppress', value: 'All' },
  ]
  if (fields.inReplyTo !== undefined) {
    headers.push({ key: 'In-Reply-To', value: fields.inReplyTo })
    headers.push({ key: 'References', value: fields.references.join(' ') })
  }
  return {
    from: { name: form.name, address: recipient },
    to: [{ address: sender }],
    subject: `Auto: ${subject}`,
    text: form.text === '' && form.html !== '' ? undefined : form.text,
    ...(form.html === '' ? {} : { html: form.html }),
    headers,
  }
}
