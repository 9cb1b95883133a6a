// Sending over HTTP: a draft, or a message given with the call (wire-shapes, Messages and Submission; wire-details 7).
//
// What is done is in actors/compose/composing.ts.

import { Type } from 'typebox'
import { requireActive } from '#actors/compose/composing.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, date, list, mailboxId, messageId, metaData, object, optional, userId } from '../../schema.ts'
import type { MessageDeps } from '../messages/message-deps.ts'
import { messageOf, place } from '../messages/message-place.ts'
import { composeFields, person, referenceField } from './compose-fields.ts'
import { submissionLine } from './submitter.ts'

const sendTime = optional(date({ description: 'Not sent before this moment' }))

const sendFaults = [
  ...(['UserNotFound', 'UserDisabled', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable'] as const),
  ...(['TooMany', 'RateLimitedError', 'RecipientSuppressed', 'SendingPaused'] as const),
] as const

const requireTls = optional(
  bool({
    description:
      'It goes only over TLS to hosts that prove themselves and keep it so on all of its way (RFC 8689), or comes back',
  }),
)

export function submitEndpoints({ system, composing, journal }: MessageDeps): Endpoint[] {
  const { read } = system

  const submitDraft = endpoint({
    method: 'POST',
    path: '/users/:user/mailboxes/:mailbox/messages/:message/submit',
    tag: 'Messages',
    summary: 'Send a draft',
    allow: 'messages.create',
    params: place,
    body: {
      deleteFiles: optional(bool({ description: 'Delete the stored files it was made from' })),
      sendTime,
      requireTls,
    },
    reply: {
      queueId: Type.Optional(Type.String()),
      message: Type.Optional(Type.Object({ id: Type.Integer(), mailbox: Type.String(), size: Type.Integer() })),
    },
    faults: [...sendFaults, 'MessageNotDraft', 'MessageMalformed'],
    async run({ input, request, signal }) {
      const user = await requireActive(read, input.user)
      const found = await messageOf(read, input)
      const wishes = { deleteFiles: input.deleteFiles === true, sendTime: input.sendTime, requireTls: input.requireTls }
      const line = submissionLine(journal, user, input, request)
      const sent = await line.during(() => composing.sendDraft({ user, ...found, ...wishes, line }, signal))
      if (sent === null) return {}
      const { queueId, stored } = sent
      return {
        ...(queueId === null ? {} : { queueId }),
        ...(stored === null ? {} : { message: { id: stored.uid, mailbox: stored.mailbox, size: stored.size } }),
      }
    },
  })

  const submit = endpoint({
    method: 'POST',
    path: '/users/:user/submit',
    tag: 'Submission',
    summary: 'Send a message',
    allow: 'messages.create',
    open: true,
    bodyKind: 'upload',
    params: { user: userId },
    body: {
      ...composeFields,
      mailbox: optional(mailboxId),
      meta: optional(metaData()),
      reference: optional(referenceField),
      isDraft: bool({ default: false, description: 'Store it as a draft and send nothing' }),
      draft: optional(object({ mailbox: mailboxId, id: messageId })),
      sendTime,
      requireTls,
      uploadOnly: bool({ default: false, description: 'Store it as sent and send nothing' }),
      envelope: optional(
        object({ from: optional(person), to: optional(list(person, { max: limits.compose.addressesMax })) }),
      ),
    },
    reply: {
      message: Type.Object({
        mailbox: Type.Union([Type.String(), Type.Literal(false)]),
        id: Type.Union([Type.Integer(), Type.Literal(false)]),
        queueId: Type.Union([Type.String(), Type.Literal(false)]),
        overQuota: Type.Optional(Type.Literal(true, { description: 'It was sent, and there was no room for a copy' })),
      }),
    },
    faults: [
      ...sendFaults,
      'OverQuotaError',
      'ENORECIPIENTS',
      'MessageTooLarge',
      'UnsupportedMediaType',
      'MessageMalformed',
    ],
    async run({ input, request, signal }) {
      if (request.raw) throw new Fault('UnsupportedMediaType')
      const user = await requireActive(read, input.user)
      const line = submissionLine(journal, user, input, request)
      const send = () => composing.send({ ...input, user, fields: input, line }, signal)
      const done = await (input.isDraft || input.uploadOnly ? send() : line.during(send))
      const queueId = done.queueId ?? (false as const)
      if (done.stored === null) {
        return { message: { id: false as const, mailbox: false as const, queueId, overQuota: true as const } }
      }
      return { message: { id: done.stored.uid, mailbox: done.stored.mailbox, queueId } }
    },
  })

  return [submitDraft, submit]
}
