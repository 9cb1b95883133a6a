// Uploading messages and drafts, raw or as fields (wire-shapes, Messages; wire-details 7).
//
// Raw bytes are stored as they are and streamed in as they come. A draft is written under an address of its owner. What
// is replaced goes after the new one is stored, and as everything that is deleted: drafts at once, others into the archive.

import { Type } from 'typebox'
import { learned } from '#actors/delivery/address-book.ts'
import { encrypted, wantsEncryption } from '#actors/delivery/encryption.ts'
import { prepare } from '#actors/delivery/prepare.ts'
import { appendMessage } from '#actors/mailbox/append.ts'
import { expungeMessages } from '#actors/mailbox/message.ts'
import { senderFor } from '#actors/sending/sender.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { compose } from '#mail/made/compose.ts'
import type { User } from '#store/accounts/users.ts'
import type { Received } from '#store/bodies/bodies.ts'
import type { Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { MessageMeta } from '#store/mailboxes/messages.ts'
import { type Endpoint, endpoint, type Request } from '../../endpoint.ts'
import { content, date, metaData, object, optional, text, userId } from '../../schema.ts'
import {
  type ComposeValues,
  composeFields,
  composeInput,
  findReferenced,
  gatherAttachments,
  messageField,
  type Referenced,
  referenceField,
  uploadFlags,
} from './compose-fields.ts'
import { mailboxOrResolve } from './mailboxes.ts'
import type { MessageDeps } from './message-deps.ts'
import { mailboxOf, requireActive } from './message-place.ts'
import { withRecipients } from './reply-recipients.ts'

interface Upload extends ComposeValues {
  raw?: Buffer | string
  date?: number
  draft: boolean
}

export function uploadEndpoints(deps: MessageDeps): Endpoint[] {
  const { system, bodies, sequence, register } = deps
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
      bimi: optional(object({ domain: text({ max: 255 }), selector: optional(text({ max: 255 })) })),
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
      const { reference: given, replacePrevious, metaData: meta } = input
      const referenced = given === undefined ? undefined : await findReferenced(read, user, given)
      const draft = input.draft || referenced !== undefined
      const filled = await withRecipients(read, user, { ...input, draft }, referenced)
      const arrived = await receive(user, filled, request, referenced, given?.attachments ?? false)
      const kept: Received[] = [arrived.received]
      try {
        const stored = await sealFor(user, mailbox, draft, arrived.received)
        kept.push(stored)
        const prepared = await prepare(stored, sequence)
        const messageMeta: MessageMeta = {
          source: 'api',
          ...(meta !== undefined && { metaData: meta }),
          ...(arrived.files.length > 0 && { files: arrived.files }),
          ...(referenced && {
            reference: { mailbox: referenced.mailbox, id: referenced.message.uid, action: referenced.action },
          }),
        }
        const handle = system.handle(input.user)
        const appended = await handle.run(
          appendMessage,
          {
            prepared,
            to: { id: mailbox.id },
            prefix: '',
            flags: flagsOf(input, draft),
            keywords: [],
            idate: input.date,
            meta: messageMeta,
            once: false,
            limited: true,
          },
          signal,
        )
        if (!draft) register.note(user.num, learned(arrived.received.root.header, mailbox.specialUse), now())
        const message = { id: appended.uid, mailbox: mailbox.id, size: appended.size }
        if (replacePrevious === undefined) return { message }
        const previous = { mailbox: replacePrevious.mailbox ?? mailbox.id, uid: replacePrevious.id }
        return { message, ...(await removePrevious(input.user, previous)) }
      } finally {
        for (const one of new Set(kept)) await one.discard()
      }
    },
  })

  /** Bytes of the message, and the stored files that went into it. */
  async function receive(
    user: User,
    input: Upload,
    request: Request,
    referenced: Referenced | undefined,
    wanted: boolean | readonly string[],
  ): Promise<{ received: Received; files: string[] }> {
    if (request.raw) return { received: await receiveStream(request.stream()), files: [] }
    // A body of no bytes is none at all, so its type alone says that there should be one.
    if (request.header('content-type').startsWith('message/')) throw new Fault('EmptyMessage')
    if (input.raw !== undefined) {
      const bytes = typeof input.raw === 'string' ? Buffer.from(input.raw) : input.raw
      if (bytes.length === 0) throw new Fault('EmptyMessage')
      return { received: await bodies.receive(bytes), files: [] }
    }
    const given = input.from
    const own = input.draft || given === undefined
    const from = own
      ? await senderFor(read, user, given, deps.hostname)
      : { name: given.name ?? '', address: given.address }
    const { attachments, files } = await gatherAttachments({ read, bodies }, user, input, referenced, wanted)
    const { message } = await compose(composeInput(input, from, attachments, referenced?.reference), {
      hostname: deps.hostname,
      date: input.date ?? now(),
      keepBcc: true,
    })
    return { received: await bodies.receive(message), files }
  }

  async function receiveStream(stream: AsyncIterable<Buffer>): Promise<Received> {
    const intake = bodies.intake(limits.body.messageBytesMax)
    try {
      for await (const chunk of stream) await intake.write(chunk)
      if (intake.size === 0) throw new Fault('EmptyMessage')
      return await intake.finish()
    } catch (error) {
      await intake.abort()
      throw error
    }
  }

  async function sealFor(user: User, mailbox: Mailbox, draft: boolean, received: Received): Promise<Received> {
    if (draft || !wantsEncryption(user, mailbox)) return received
    return encrypted(deps, user, received)
  }

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

function flagsOf(input: { unseen: boolean; flagged: boolean }, draft: boolean): number {
  return (input.unseen ? 0 : flag.seen) | (input.flagged ? flag.flagged : 0) | (draft ? flag.draft : 0)
}
