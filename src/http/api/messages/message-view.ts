// How a stored message looks over HTTP: the row of a listing and the whole of one message (wire-shapes, Messages).
//
// Everything comes from the outline stored with the body; text is read by the caller and handed in. It must not invent:
// what a message does not say is absent or empty as the shapes have it.

import { type Static, Type } from 'typebox'
import type { ListedMessage } from '#actors/view/listing.ts'
import type { WayOut } from '#actors/view/message.ts'
import { numberId } from '#lib/id.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { type Address, mailboxes } from '#mail/address/address.ts'
import { flag } from '#mail/flags.ts'
import type { MessageText } from '#mail/text/text.ts'
import type { FileRow } from '#store/accounts/file.ts'
import type { Outlined } from '#store/mailboxes/messages.ts'
import { type StoredSummary, shownMessageId } from '#store/mailboxes/outlines.ts'
import type { Conversation } from '#store/search/conversations.ts'
import type { ValueOf } from '../../endpoint.ts'
import { moment } from '../../schema.ts'
import { seqText } from '../sending/way.ts'
import { headerRecord } from './header-record.ts'

const person = Type.Object({ name: Type.String(), address: Type.String() })
const people = Type.Array(person)
const free = Type.Object({}, { additionalProperties: true, description: 'Free data' })
const verification = Type.Optional(Type.Object({}, { additionalProperties: true }))

/** How much spoke for spam, and what that is made of. */
export const spamShape = Type.Object({
  score: Type.Number({ description: '0 to 100; from `spamLevel` of the user on it is spam' }),
  parts: Type.Array(Type.Object({ name: Type.String(), score: Type.Number(), info: Type.Optional(Type.String()) }), {
    description: 'What the score is the sum of',
  }),
})

const attachmentShape = Type.Object({
  id: Type.String({ description: '`ATT00001` and so on' }),
  filename: Type.String(),
  contentType: Type.String(),
  disposition: Type.Union([Type.String(), Type.Literal(false)], { description: 'False where the part does not say' }),
  transferEncoding: Type.String(),
  related: Type.Boolean({ description: 'It belongs to the text, as a picture does' }),
  size: Type.Integer({ description: 'Bytes as encoded' }),
  sizeKb: Type.Integer(),
  hash: Type.String({ description: 'SHA-256 of the encoded bytes, hexadecimal' }),
  fileContentHash: Type.String({ description: 'SHA-256 of the content, base64' }),
  cid: Type.Optional(Type.String()),
})

const sharedShape = {
  id: Type.Integer({ description: 'Number of the message in its mailbox' }),
  mailbox: Type.String(),
  thread: Type.String(),
  subject: Type.String(),
  messageId: Type.String(),
  date: moment,
  idate: moment,
  size: Type.Integer(),
  seen: Type.Boolean(),
  deleted: Type.Boolean(),
  flagged: Type.Boolean(),
  draft: Type.Boolean(),
  answered: Type.Boolean(),
  forwarded: Type.Boolean(),
  references: Type.Array(Type.String()),
  contentType: Type.Object({ value: Type.String(), params: Type.Record(Type.String(), Type.String()) }),
  encrypted: Type.Optional(Type.Boolean()),
  bimi: verification,
}

const conversationShape = Type.Object(
  {
    total: Type.Integer(),
    unseen: Type.Integer(),
    flagged: Type.Integer(),
    here: Type.Integer({ description: 'Those in this mailbox' }),
    messages: Type.Array(Type.Integer(), { description: 'Their numbers, the newest first; at most 500' }),
  },
  {
    description:
      'With `collapseThreads` and `threadCounters`, in a mailbox: the letters of the thread that do not lie in Junk or Trash, unless that is this mailbox',
  },
)

/** A row of a listing, for the documentation. */
export const listedShape = Type.Object({
  ...sharedShape,
  threadMessageCount: Type.Optional(Type.Integer()),
  conversation: Type.Optional(conversationShape),
  hasDrafts: Type.Optional(Type.Boolean({ description: 'A draft answers it, or lies in its thread' })),
  from: Type.Optional(person),
  to: people,
  cc: people,
  bcc: people,
  intro: Type.String(),
  attachments: Type.Boolean(),
  attachmentsList: Type.Array(attachmentShape),
  metaData: Type.Optional(free),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'By lower-case name: the value, a list for a repeated field; addresses as lists, types as `{value, type, subtype, params, hasParams}`',
    }),
  ),
})

/** One whole message, for the documentation. */
export const shownShape = {
  ...sharedShape,
  user: Type.String(),
  envelope: Type.Object({
    from: Type.String(),
    rcpt: Type.Optional(Type.Array(Type.Object({ value: Type.String(), formatted: Type.String() }))),
  }),
  from: person,
  replyTo: Type.Optional(people),
  to: Type.Optional(people),
  cc: Type.Optional(people),
  bcc: Type.Optional(people),
  list: Type.Optional(Type.Object({ id: Type.Optional(person), unsubscribe: Type.Optional(people) })),
  expires: Type.Optional(moment),
  html: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'A form of every text: HTML as its sender wrote it, scripts and all, so it must be made safe before it is shown; plain text escaped',
    }),
  ),
  text: Type.String(),
  attachments: Type.Array(attachmentShape),
  verificationResults: verification,
  spam: Type.Optional(spamShape),
  transport: Type.Optional(
    Type.Object(
      {
        origin: Type.Optional(Type.String({ description: 'Address of the host that brought it' })),
        transhost: Type.Optional(Type.String({ description: 'What that host calls itself' })),
        transtype: Type.String({ description: 'Protocol, as in a Received field' }),
        time: moment,
      },
      { description: 'How it came, where another server brought it' },
    ),
  ),
  metaData: free,
  reference: Type.Optional(Type.Object({ mailbox: Type.String(), id: Type.Integer(), action: Type.String() })),
  files: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        filename: Type.String(),
        contentType: Type.String(),
        size: Type.Integer(),
        cid: Type.Optional(Type.String()),
      }),
      { description: 'Stored files it was made from, as far as they are still there' },
    ),
  ),
  outbound: Type.Optional(
    Type.Array(
      Type.Object({
        queueId: Type.String(),
        entries: Type.Optional(
          Type.Array(
            Type.Object({ seq: Type.String(), recipient: Type.String(), sendingZone: Type.String(), queued: moment }),
            { description: 'Recipients that still wait' },
          ),
        ),
      }),
    ),
  ),
  forwardTargets: Type.Optional(Type.Array(Type.Object({ type: Type.String(), value: Type.String() }))),
}

/** A message as a row of a listing. @param metaData whether the caller's free data is wished */
export function listedMessage(
  { message, summary, threadMessageCount, hasDrafts, header }: ListedMessage,
  mailbox: string,
  metaData: boolean,
): Static<typeof listedShape> {
  return {
    ...shared(message, mailbox, summary),
    ...(threadMessageCount === undefined ? {} : { threadMessageCount }),
    ...(hasDrafts === undefined ? {} : { hasDrafts }),
    ...(summary.from.length > 0 ? { from: firstOf(summary.from) } : {}),
    to: peopleOf(summary.to),
    cc: peopleOf(summary.cc),
    bcc: peopleOf(summary.bcc),
    intro: summary.intro,
    attachments: message.attachments,
    attachmentsList: [...summary.attachments],
    contentType: contentTypeOf(summary),
    ...(summary.encrypted ? { encrypted: true } : {}),
    ...(metaData ? { metaData: message.meta.metaData ?? {} } : {}),
    ...(header === undefined ? {} : { headers: headerRecord(header) }),
  }
}

/** One whole message. */
export function shownMessage(
  message: Outlined,
  mailbox: string,
  user: string,
  text: MessageText,
  bimi: Record<string, unknown> | undefined,
): ValueOf<typeof shownShape> {
  const summary = JSON.parse(message.summary) as StoredSummary
  const { meta } = message
  const given = (key: 'to' | 'cc' | 'bcc' | 'replyTo') =>
    summary[key].length > 0 ? { [key]: peopleOf(summary[key]) } : {}
  return {
    ...shared(message, mailbox, summary),
    user,
    envelope: {
      from: meta.from ?? '',
      ...(meta.rcpt === undefined ? {} : { rcpt: [{ value: meta.rcpt, formatted: meta.rcpt }] }),
    },
    from: firstOf(summary.from.length > 0 ? summary.from : summary.sender),
    ...given('replyTo'),
    ...given('to'),
    ...given('cc'),
    ...given('bcc'),
    ...(summary.list === null ? {} : { list: listOf(summary.list) }),
    ...(message.expires === null ? {} : { expires: new Date(message.expires).toISOString() }),
    ...(summary.encrypted ? { text: '', encrypted: true } : { html: [...text.html], text: text.text }),
    attachments: [...summary.attachments],
    ...(meta.verificationResults === undefined ? {} : { verificationResults: meta.verificationResults }),
    ...(meta.spam === undefined ? {} : { spam: { score: meta.spam.score, parts: [...meta.spam.parts] } }),
    ...(meta.transport && { transport: { ...meta.transport, time: new Date(meta.transport.time).toISOString() } }),
    ...(bimi === undefined ? {} : { bimi }),
    contentType: contentTypeOf(summary),
    metaData: meta.metaData ?? {},
    ...(meta.reference === undefined ? {} : { reference: meta.reference }),
    ...(meta.forwardTargets === undefined ? {} : { forwardTargets: meta.forwardTargets.map(masked) }),
  }
}

function masked({ type, value }: { type: string; value: string }) {
  return { type, value: maskUrl(value) }
}

function shared(message: Outlined, mailbox: string, summary: StoredSummary) {
  const has = (bit: number) => (message.flags & bit) !== 0
  return {
    id: message.uid,
    mailbox,
    thread: numberId(message.thread),
    subject: summary.subject,
    messageId: shownMessageId(summary, message.body),
    date: new Date(summary.date ?? message.idate).toISOString(),
    idate: new Date(message.idate).toISOString(),
    size: message.size,
    seen: has(flag.seen),
    deleted: has(flag.deleted),
    flagged: has(flag.flagged),
    draft: has(flag.draft),
    answered: has(flag.answered),
    forwarded: message.keywords.includes('$Forwarded'),
    references: [...summary.references],
  }
}

function peopleOf(addresses: readonly Address[]): { name: string; address: string }[] {
  return mailboxes(addresses).map(({ name, address }) => ({ name, address }))
}

function firstOf(addresses: readonly Address[]): { name: string; address: string } {
  const [first] = mailboxes(addresses)
  return { name: first?.name ?? '', address: first?.address ?? '' }
}

function contentTypeOf({ contentType }: StoredSummary) {
  return { value: contentType.value, params: { ...contentType.params } }
}

function listOf(list: NonNullable<StoredSummary['list']>) {
  return {
    ...(list.id === null ? {} : { id: list.id }),
    ...(list.unsubscribe.length > 0 ? { unsubscribe: [...list.unsubscribe] } : {}),
  }
}

export function shownConversation({ total, unseen, flagged, here, uids }: Conversation) {
  return { total, unseen, flagged, here, messages: [...uids] }
}

/** A stored file that a message was made from. */
export function shownFile({ id, filename, type, size, cid }: FileRow) {
  return { id, filename, contentType: type, size, ...(cid === null ? {} : { cid }) }
}

/** A way that a message went out, with the recipients that still wait. */
export function shownWay({ queueId, queued: at, waiting }: WayOut) {
  const queued = new Date(at).toISOString()
  const entries = waiting.map(({ seq, value, kind }) => {
    const recipient = kind === 'mail' ? value : maskUrl(value)
    return { seq: seqText(seq), recipient, sendingZone: 'default', queued }
  })
  return { queueId, ...(entries.length > 0 && { entries }) }
}
