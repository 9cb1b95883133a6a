// What the calls that write a message take, and how it becomes the input of mail/made/compose.ts (wire-shapes, Messages and
// Submission; api-semantics 5.3).
//
// Attachments from all sources together are bounded by limits.compose and by the greatest message there may be. What is
// referred to must be the account's own.

import type { Static } from 'typebox'
import { readFile } from '#actors/user/files.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { ComposeAttachment, ComposeInput, ComposeReference } from '#mail/made/compose.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { findMessage, type Outlined } from '#store/mailboxes/messages.ts'
import { type AttachmentPlace, readDetail, type StoredSummary } from '#store/mailboxes/outlines.ts'
import { bool, email, field, id, list, mailboxId, messageId, object, oneOf, optional, text } from '../../schema.ts'
import { decodedStream } from './message-place.ts'

export const person = object({
  name: optional(text({ max: 255, empty: true })),
  address: email(),
})

const people = list(person, { max: limits.compose.addressesMax })

const attachment = object({
  filename: optional(text({ max: 255 })),
  contentType: optional(text({ max: 255 })),
  encoding: text({ max: 24, default: 'base64', description: 'Of `content`: base64, hex, utf8 and the like' }),
  contentTransferEncoding: optional(text({ max: 24 })),
  contentDisposition: optional(oneOf(['inline', 'attachment'])),
  content: text({ max: limits.compose.attachmentLengthMax, empty: true }),
  cid: optional(text({ max: 255 })),
})

/** Fields of the message itself. */
export const composeFields = {
  from: optional(person),
  replyTo: optional(person),
  to: optional(people),
  cc: optional(people),
  bcc: optional(people),
  headers: optional(
    list(object({ key: optional(text({ max: 255 })), value: optional(text({ max: 100 * 1024, empty: true })) }), {
      max: limits.compose.headersMax,
    }),
  ),
  subject: optional(text({ max: 2 * 1024, empty: true })),
  text: optional(text({ max: limits.compose.textLengthMax, empty: true })),
  html: optional(text({ max: limits.compose.htmlLengthMax, empty: true })),
  attachments: optional(list(attachment, { max: limits.compose.attachmentsMax })),
  files: optional(
    list(id(), { max: limits.compose.attachmentsMax, description: 'Stored files that become attachments' }),
  ),
} as const

/** A message of the account that is answered or forwarded. */
export const referenceField = object({
  mailbox: mailboxId,
  id: messageId,
  action: oneOf(['reply', 'replyAll', 'forward']),
  attachments: optional(
    field<boolean | string[]>(
      { anyOf: [{ type: 'boolean' }, { type: 'array', items: { type: 'string' } }] },
      (value, at, problems) => {
        if (Array.isArray(value)) {
          const ids = value.filter(one => typeof one === 'string')
          if (ids.length === value.length && ids.length <= limits.compose.attachmentsMax) return ids
        } else if (value === true || value === false) return value
        else if (typeof value === 'string')
          return /^(true|1|yes|on|y)$/i.test(value) || !/^(false|0|no|off|n)$/i.test(value)
        return problems.add(at, 'must be true, false, or a list of attachment ids')
      },
      { description: 'Attachments of that message to take along: all, or those with these ids' },
    ),
  ),
})

/** A message of the account by folder and number; the folder of the path where none is named. */
export const messageField = object({ mailbox: optional(mailboxId), id: messageId })

export type ComposeValues = {
  from?: Static<typeof person>
  replyTo?: Static<typeof person>
  to?: Static<typeof person>[]
  cc?: Static<typeof person>[]
  bcc?: Static<typeof person>[]
  headers?: { key?: string; value?: string }[]
  subject?: string
  text?: string
  html?: string
  attachments?: Static<typeof attachment>[]
  files?: string[]
}

/** The message that is answered or forwarded, with what composing needs of it. */
export interface Referenced {
  readonly message: Outlined
  readonly mailbox: string
  readonly action: ComposeReference['action']
  readonly reference: ComposeReference
  readonly summary: StoredSummary
}

/** @throws Fault MessageNotFound */
export async function findReferenced(
  read: Reader,
  user: User,
  given: Static<typeof referenceField>,
): Promise<Referenced> {
  const mailbox = await findMailbox(read, user.num, given.mailbox)
  const message = mailbox === undefined ? undefined : await findMessage(read, mailbox.num, given.id)
  if (mailbox === undefined || message === undefined) {
    throw new Fault('MessageNotFound', { text: 'The message that is referred to does not exist' })
  }
  const summary = JSON.parse(message.summary) as StoredSummary
  const { messageId: id, references, subject } = summary
  const reference = { action: given.action, messageId: id, references, subject }
  return { message, mailbox: mailbox.id, action: given.action, reference, summary }
}

export interface GatherDeps {
  readonly read: Reader
  readonly bodies: Bodies
}

/** Attachments from all three sources: given, stored as files, and of the message referred to. */
export async function gatherAttachments(
  deps: GatherDeps,
  user: User,
  values: ComposeValues,
  referenced: Referenced | undefined,
  wanted: boolean | readonly string[],
): Promise<{ attachments: ComposeAttachment[]; files: string[] }> {
  const attachments: ComposeAttachment[] = [...(values.attachments ?? [])]
  const files: string[] = []
  let room = limits.body.messageBytesMax
  const add = (one: ComposeAttachment & { content: Buffer }) => {
    room -= one.content.length
    if (room < 0) throw new Fault('MessageTooLarge')
    attachments.push(one)
  }
  for (const fileId of new Set(values.files ?? [])) {
    const file = await readFile(deps, user.id, fileId)
    // Files that went meanwhile are left out without a word.
    if (file === undefined) continue
    if (file.size > room) throw new Fault('MessageTooLarge')
    const { filename, type: contentType, cid } = file
    const content = await collect(file.stream(), room)
    const shown = cid === null ? {} : { cid, contentDisposition: 'inline' as const }
    add({ filename, contentType, content, ...shown })
    files.push(fileId)
  }
  if (referenced !== undefined && wanted !== false) {
    for (const one of await attachmentsOf(deps, referenced, wanted, () => room)) add(one)
  }
  return { attachments, files }
}

async function attachmentsOf(
  { read, bodies }: GatherDeps,
  { message, summary }: Referenced,
  wanted: true | readonly string[],
  room: () => number,
): Promise<(ComposeAttachment & { content: Buffer })[]> {
  const detail = await readDetail(read, message.body)
  if (detail === undefined) return []
  const body = bodies.open(message.body)
  const found: (ComposeAttachment & { content: Buffer })[] = []
  let left = room()
  for (const info of summary.attachments) {
    const at = detail.attachments.find(one => one.id === info.id)
    if (at === undefined || (wanted === true ? isWithin(at, detail.attachments) : !wanted.includes(info.id))) continue
    await bodies.proof.prove(message.body, body, at.start, at.end)
    const stored = body.attachment(at.start, at.end)
    const source =
      stored === null ? decodedStream(body.stream(at.start, at.end), info.transferEncoding) : stored.stream()
    const content = await collect(source, left)
    left -= content.length
    const { filename, contentType, cid } = info
    const shown = cid === undefined ? {} : { cid, contentDisposition: 'inline' as const }
    found.push({ filename, contentType, content, ...shown })
  }
  return found
}

/** Whether an attachment comes with another one, the message it is attached to. */
function isWithin(at: AttachmentPlace, all: readonly AttachmentPlace[]): boolean {
  return all.some(one => one !== at && one.start <= at.headerStart && at.end <= one.end)
}

/** All of a stream. @throws Fault MessageTooLarge */
export async function collect(source: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > bytesMax) throw new Fault('MessageTooLarge')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

/** Fields of the message as composing takes them. */
export function composeInput(
  values: ComposeValues,
  from: { name: string; address: string },
  attachments: readonly ComposeAttachment[],
  reference: ComposeReference | undefined,
): ComposeInput {
  const { replyTo, to, cc, bcc, headers, subject, text: plain, html } = values
  return { from, replyTo, to, cc, bcc, headers, subject, text: plain, html, attachments, reference }
}

/** `unseen` and the like, with what they mean where absent. */
export const uploadFlags = {
  unseen: bool({ default: false, description: 'Not read yet' }),
  flagged: bool({ default: false }),
  draft: bool({ default: false }),
}
