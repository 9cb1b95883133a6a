// Uploading messages and drafts, raw or as fields (wire-shapes, Messages; wire-details 7).
//
// Raw bytes are stored as they are and streamed in as they come. A draft is written under an address of its owner. What
// is replaced goes after the new one is stored, and as everything that is deleted: drafts at once, others into the archive.

import { Type } from 'typebox'
import { requireActive, type Upload } from '#actors/compose/composing.ts'
import type { MessageFields } from '#actors/compose/fields.ts'
import { expungeMessages } from '#actors/mailbox/message.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { type Endpoint, endpoint, type Request } from '../../endpoint.ts'
import { content, date, metaData, object, optional, text, userId } from '../../schema.ts'
import { composeFields, messageField, referenceField, uploadFlags } from '../sending/compose-fields.ts'
import { mailboxOrResolve } from './mailboxes.ts'
import type { MessageDeps } from './message-deps.ts'
import { mailboxOf } from './message-place.ts'

export function uploadEndpoints({ system, composing }: MessageDeps): Endpoint[] {
  const { read } = system

  const upload = endpoint({
    method: 'POST',
    path: '/users/:user/mailboxes/:mailbox/messages',
    tag: 'Messages',
    summary: 'Upload a message or a draft',
    description: 'Either the bytes of a message, as body of the type message/rfc822 or in `raw`, or its fields',
    allow: 'messages.create',
    bodyKind: 'upload',
    headers: ['content-type'],
    params: { user: userId, mailbox: mailboxOrResolve },
    query: { path: optional(text({ max: 4096 })) },
    body: {
      date: optional(date({ description: 'Internal date, and the Date field of a composed message' })),
      ...uploadFlags,
      raw: optional(content(limits.body.messageBytesMax)),
      ...composeFields,
      metaData: optional(metaData()),
      reference: optional(referenceField),
      replacePrevious: optional(messageField),
      bimi: optional(
        object({
          domain: text({
            max: 255,
            description: 'Taken and not looked at: a mark is shown with proof of the author alone',
          }),
          selector: optional(text({ max: 255 })),
        }),
      ),
    },
    reply: {
      message: Type.Object({ id: Type.Integer(), mailbox: Type.String(), size: Type.Integer() }),
      previousDeleted: Type.Optional(Type.Boolean()),
      previousDeleteError: Type.Optional(Type.String()),
    },
    faults: [
      ...(['UserNotFound', 'UserDisabled', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable'] as const),
      ...(['OverQuotaError', 'EmptyMessage', 'MessageTooLarge'] as const),
    ],
    async run({ input, request, signal }) {
      const user = await requireActive(read, input.user)
      const mailbox = await mailboxOf(read, input.user, input.mailbox, input.path)
      const { reference, replacePrevious, metaData: meta, draft, date } = input
      const flags = (input.unseen ? 0 : flag.seen) | (input.flagged ? flag.flagged : 0)
      const content = contentOf(input, request)
      const stored = await composing.store({ user, mailbox, content, reference, draft, flags, date, meta }, signal)
      const message = { id: stored.uid, mailbox: mailbox.id, size: stored.size }
      if (replacePrevious === undefined) return { message }
      const previous = { mailbox: replacePrevious.mailbox ?? mailbox.id, uid: replacePrevious.id }
      return { message, ...(await removePrevious(input.user, previous)) }
    },
  })

  async function removePrevious(
    user: string,
    { mailbox, uid }: { mailbox: string; uid: number },
  ): Promise<{ previousDeleted: boolean; previousDeleteError?: string }> {
    try {
      const expunge = { mailbox, uids: [[uid, uid]] as const, marked: false }
      const { uids } = await system.handle(user).run(expungeMessages, expunge)
      if (uids.length > 0) return { previousDeleted: true }
      return { previousDeleted: false, previousDeleteError: new Fault('MessageNotFound').message }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return { previousDeleted: false, previousDeleteError: error.message }
    }
  }

  return [upload]
}

/** Bytes of the message, or its fields. */
function contentOf(input: MessageFields & { readonly raw?: Buffer | string }, request: Request): Upload['content'] {
  if (request.raw) return request.stream()
  // A body of no bytes is none at all, so its type alone says that there should be one.
  if (request.header('content-type').startsWith('message/')) throw new Fault('EmptyMessage')
  if (input.raw === undefined) return input
  return typeof input.raw === 'string' ? Buffer.from(input.raw) : input.raw
}
