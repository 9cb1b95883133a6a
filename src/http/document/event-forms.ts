// The events of the catalogue as the documentation prints them: a sentence and the fields of each.
//
// The compiler holds this table against actors/kernel/events.ts: every event has a form, and a payload always fits it.

import { Type } from 'typebox'
import { additions, type EventName, type Events } from '#actors/kernel/events.ts'
import type { Fields, ValueOf } from '../endpoint.ts'
import type { EventForm } from './openapi.ts'

const text = Type.String
const user = Type.String({ description: 'Id of the user' })
const result = Type.Object({}, { additionalProperties: true })
const maybe = Type.Optional

const userAddress = { user, address: text({ description: 'Id of the address' }), value: text() }
const forwardedAddress = { address: text({ description: 'Id of the address' }), value: text() }
const asp = { user, asp: text({ description: 'Id of the application password' }), description: text() }
const cert = { cert: text({ description: 'Id of the certificate' }), servername: text(), fingerprint: text() }
const dkim = { dkim: text({ description: 'Id of the key' }), domain: text(), selector: text(), fingerprint: text() }
const alias = { domainalias: text({ description: 'Id of the alias' }), alias: text(), domain: text() }
const filter = { user, filter: text({ description: 'Id of the filter' }) }
const mailbox = { user, mailbox: text({ description: 'Id of the mailbox' }), path: text() }
const attempt = { scope: text(), protocol: text(), ip: text() }
const people = Type.Array(Type.Unknown(), { description: 'Objects with name and address' })

const marked = {
  user,
  mailbox: text({ description: 'Id of the mailbox it is in now' }),
  message: Type.Integer({ description: 'Its number (UID) there' }),
  from: maybe(Type.Object({ name: text(), address: text() })),
  to: maybe(people),
  cc: maybe(people),
  bcc: maybe(people),
  messageId: text(),
  subject: text(),
  date: Type.String({ format: 'date-time' }),
  verificationResults: maybe(Type.Unknown({ description: 'tls, spf, dkim and dmarc as they were found at arrival' })),
  bimi: maybe(Type.Unknown({ description: 'certified, url, image and type' })),
}

const forms = {
  'address.user.created': ['A user got another address', userAddress],
  'address.user.deleted': ['A user lost an address', userAddress],
  'address.forwarded.created': ['A forwarded address was made', forwardedAddress],
  'address.forwarded.deleted': ['A forwarded address was deleted', forwardedAddress],
  'address.domain.renamed': ['A domain was renamed', { previous: text(), current: text() }],
  'asp.created': ['An application password was made', asp],
  'asp.deleted': ['An application password was deleted', asp],
  'autoreply.user.enabled': ['An autoreply was switched on', { user }],
  'autoreply.user.disabled': ['An autoreply was switched off', { user }],
  'cert.created': ['A certificate was added', cert],
  'cert.updated': ['A certificate was replaced', cert],
  'cert.deleted': ['A certificate was deleted', cert],
  'dkim.created': ['A DKIM key was added', dkim],
  'dkim.updated': ['A DKIM key was replaced', dkim],
  'dkim.deleted': ['A DKIM key was deleted', dkim],
  'domainalias.created': ['A domain alias was made', alias],
  'domainalias.deleted': ['A domain alias was deleted', alias],
  'filter.created': ['A filter was made', filter],
  'filter.deleted': ['A filter was deleted', filter],
  'forward.added': [
    'A forward target was added to a user or a filter; a subscription to `forward added` gets it too',
    {
      user: maybe(user),
      type: Type.Union([Type.Literal('user'), Type.Literal('filter')]),
      target: text(),
      filter: maybe(text()),
    },
  ],
  'mailbox.created': ['A mailbox was made', mailbox],
  'mailbox.renamed': ['A mailbox was renamed', { user, mailbox: text(), previous: text(), current: text() }],
  'mailbox.deleted': ['A mailbox was deleted', mailbox],
  'marked.spam': ['A message was moved or copied to Junk', marked],
  'marked.ham': ['A message was taken out of Junk, or marked as no spam', marked],
  'mfa.totp.enabled': ['TOTP was switched on', { user }],
  'mfa.totp.disabled': ['TOTP was switched off', { user }],
  'mfa.custom.enabled': ['A second factor kept elsewhere was switched on', { user }],
  'mfa.custom.disabled': ['A second factor kept elsewhere was switched off', { user }],
  'mfa.webauthn.registered': [
    'A security key was registered',
    {
      user,
      credential: Type.Object({
        id: text(),
        rawId: text(),
        description: text(),
        authenticatorAttachment: text(),
      }),
    },
  ],
  'mfa.webauthn.removed': ['A security key was removed', { user, credential: text() }],
  'mfa.disabled': ['All second factors were switched off', { user }],
  'user.created': ['A user was made', { user, username: text(), name: maybe(text()), address: text() }],
  'user.password.changed': ['A password was changed', { user }],
  'user.delete.started': ['A user was deleted and can be restored until `result.deleteAfter`', { user, result }],
  'user.delete.completed': ['Everything of a deleted user is gone', { user, result }],
  'user.delete.cancelled': ['A deleted user was restored', { user, result }],
  'message.received': [
    'A message was delivered to a user',
    { user, mailbox: text(), message: Type.Integer(), size: Type.Integer(), from: text(), subject: text() },
  ],
  'message.sent': [
    'A recipient of an outgoing message took it',
    { user: maybe(user), queueId: text(), recipient: text() },
  ],
  'message.bounced': [
    'A recipient did not get an outgoing message: an answer says so, or a report that came after it was taken',
    {
      ...{ user: maybe(user), queueId: text(), recipient: text(), kind: text(), status: text(), response: text() },
      ...{ final: Type.Boolean(), reported: Type.Boolean(), proven: Type.Boolean() },
    },
  ],
  'forward.failing': [
    'A target of a forward has refused everything for days',
    { user: maybe(user), address: text(), target: text(), since: text() },
  ],
  'sending.paused': [
    'A user sent much more than usual, or an operator holds the user back: nothing more is taken, and what waits is held',
    { user, reason: text(), recipients: Type.Integer(), usual: Type.Integer() },
  ],
  'sending.resumed': ['A user may send again', { user }],
  'sending.limit.near': [
    'A user is about to reach the limit of a day',
    { user, used: Type.Integer(), allowed: Type.Integer() },
  ],
  'authentication.succeeded': ['Somebody logged in', { user, ...attempt }],
  'authentication.failed': ['Somebody failed to log in', { user: maybe(user), ...attempt, result: text() }],
  'filter.updated': ['A filter was changed', filter],
  'domain.created': ['A domain was made, or something was said of one for the first time', { domain: text() }],
  'domain.updated': [
    'Limits, admins or notes of a domain were changed, or it was closed (`disabled`) or opened',
    { domain: text(), disabled: Type.Boolean() },
  ],
  'domain.deleted': ['What was said of a domain was forgotten', { domain: text() }],
  'webhook.disabled': [
    'A webhook was paused because its endpoint kept failing, or ended because the endpoint answered 410',
    { webhook: text(), url: text(), reason: text(), user: maybe(user) },
  ],
} as const satisfies Record<EventName, readonly [summary: string, fields: Fields]>

/** Fails to compile where a payload does not fit its form. */
const fitting: {
  readonly [Name in EventName]: Events[Name] extends ValueOf<(typeof forms)[Name][1]> ? (typeof forms)[Name] : never
} = forms

/** Name -> what the documentation says about it. */
export const eventForms: Readonly<Record<string, EventForm>> = Object.fromEntries(
  Object.entries(fitting).map(([name, [summary, fields]]) => {
    const added = additions.has(name as EventName)
    return [
      name,
      { summary: added ? `${summary} (an addition: kept only while somebody subscribes)` : summary, fields },
    ]
  }),
)
