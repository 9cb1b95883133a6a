// What the calls that write a message take (wire-shapes, Messages and Submission; api-semantics 5.3).
//
// Form and lengths are checked here; what becomes of the fields is in actors/compose.

import { limits } from '#lib/limits.ts'
import { bool, email, field, id, list, mailboxId, messageId, object, oneOf, optional, text } from '../../schema.ts'

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

/** `unseen` and the like, with what they mean where absent. */
export const uploadFlags = {
  unseen: bool({ default: false, description: 'Not read yet' }),
  flagged: bool({ default: false }),
  draft: bool({ default: false }),
}
