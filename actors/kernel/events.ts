// The catalogue: every event there is, with the payload it carries (specification, Event payload fields).
//
// An event is a row in the unit of the change it describes, written while somebody subscribes to it. Where delivery is
// switched off all of the catalogue is written and gathers, except what is marked as an addition.

/** Payloads by name. `user`, where there is one, is the account the event is about. */
export interface Events {
  'address.user.created': { user: string; address: string; value: string }
  'address.user.deleted': { user: string; address: string; value: string }
  'address.forwarded.created': { address: string; value: string }
  'address.forwarded.deleted': { address: string; value: string }
  'address.domain.renamed': { previous: string; current: string }
  'asp.created': { user: string; asp: string; description: string }
  'asp.deleted': { user: string; asp: string; description: string }
  'autoreply.user.enabled': { user: string }
  'autoreply.user.disabled': { user: string }
  'cert.created': Certificate
  'cert.updated': Certificate
  'cert.deleted': Certificate
  'dkim.created': SigningKey
  'dkim.updated': SigningKey
  'dkim.deleted': SigningKey
  'domainalias.created': { domainalias: string; alias: string; domain: string }
  'domainalias.deleted': { domainalias: string; alias: string; domain: string }
  'filter.created': { user: string; filter: string }
  'filter.deleted': { user: string; filter: string }
  'forward.added': { user?: string; type: 'user' | 'filter'; target: string; filter?: string }
  'mailbox.created': { user: string; mailbox: string; path: string }
  'mailbox.renamed': { user: string; mailbox: string; previous: string; current: string }
  'mailbox.deleted': { user: string; mailbox: string; path: string }
  'marked.spam': Marked
  'marked.ham': Marked
  'mfa.totp.enabled': { user: string }
  'mfa.totp.disabled': { user: string }
  'mfa.custom.enabled': { user: string }
  'mfa.custom.disabled': { user: string }
  'mfa.webauthn.registered': { user: string; credential: Credential }
  'mfa.webauthn.removed': { user: string; credential: string }
  'mfa.disabled': { user: string }
  'user.created': { user: string; username: string; name?: string; address: string }
  'user.password.changed': { user: string }
  'user.delete.started': { user: string; result: object }
  'user.delete.completed': { user: string; result: object }
  'user.delete.cancelled': { user: string; result: object }
  /** Addition: a message was delivered to an account; what its owner stores is none. */
  'message.received': { user: string; mailbox: string; message: number; size: number; from: string; subject: string }
  /** Addition: a recipient of an outgoing message took it. */
  'message.sent': { user?: string; queueId: string; recipient: string }
  /** Addition: a recipient did not get an outgoing message, as an answer or a report that came later says. */
  'message.bounced': {
    user?: string
    queueId: string
    recipient: string
    kind: string
    /** As in RFC 3463; empty where nothing like it was said. */
    status: string
    response: string
    /** Whether it was given up. */
    final: boolean
    /** Whether a report said it that came after the message was taken. */
    reported: boolean
    /** Whether it comes from where the message went. */
    proven: boolean
  }
  /** Addition: a target of a forward has refused everything for days. */
  'forward.failing': { user?: string; address: string; target: string; since: string }
  /** Addition: an account sent much more than it usually does, or an operator holds it back. */
  'sending.paused': { user: string; reason: string; recipients: number; usual: number }
  /** Addition. */
  'sending.resumed': { user: string }
  /** Addition: an account is about to reach its limit of a day. */
  'sending.limit.near': { user: string; used: number; allowed: number }
  /** Addition. */
  'authentication.succeeded': { user: string; scope: string; protocol: string; ip: string }
  /** Addition. */
  'authentication.failed': { user?: string; scope: string; protocol: string; ip: string; result: string }
  /** Addition. */
  'filter.updated': { user: string; filter: string }
  /** Addition: something was said of a domain for the first time. */
  'domain.created': { domain: string }
  /** Addition: limits, admins or notes of a domain were changed, or it was closed or opened. */
  'domain.updated': { domain: string; disabled: boolean }
  /** Addition: what was said of a domain was forgotten. */
  'domain.deleted': { domain: string }
  /** Addition: a subscription was paused because its endpoint kept failing. */
  'webhook.disabled': { webhook: string; url: string; reason: string; user?: string }
}

export type EventName = keyof Events

interface Certificate {
  cert: string
  servername: string
  fingerprint: string
}

interface SigningKey {
  dkim: string
  domain: string
  selector: string
  fingerprint: string
}

interface Credential {
  id: string
  rawId: string
  description: string
  authenticatorAttachment: string
}

/** Payload of marked.spam and marked.ham (specification, Event payload fields). */
export interface Marked {
  user: string
  mailbox: string
  /** UID in that folder. */
  message: number
  from?: { name: string; address: string }
  to?: unknown[]
  cc?: unknown[]
  bcc?: unknown[]
  messageId: string
  subject: string
  /** ISO time. */
  date: string
  verificationResults?: unknown
  bimi?: unknown
}

/** Events that are kept only while somebody subscribes to them. */
export const additions: ReadonlySet<EventName> = new Set<EventName>([
  'message.received',
  'message.sent',
  'message.bounced',
  'forward.failing',
  'sending.paused',
  'sending.resumed',
  'sending.limit.near',
  'authentication.succeeded',
  'authentication.failed',
  'filter.updated',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'webhook.disabled',
])
