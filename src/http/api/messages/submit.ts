// Sending over HTTP: a draft, or a message given with the call (wire-shapes, Messages and Submission; wire-details 7).
//
// What goes out is queued in one unit with its copy in Sent; another part of the service sends it. From is replaced
// without a word where the account may not use it. Limits are checked before anything is stored.

import { type Static, Type } from 'typebox'
import { encrypted, wantsEncryption } from '#actors/delivery/encryption.ts'
import { prepare } from '#actors/delivery/prepare.ts'
import { prepareStored } from '#actors/delivery/stored.ts'
import type { Append, Prepared } from '#actors/mailbox/append.ts'
import { submitMessage } from '#actors/mailbox/submit.ts'
import { mailTargets, type Outgoing } from '#actors/sending/outgoing.ts'
import { senderFor, spendRecipients } from '#actors/sending/sender.ts'
import { sentForm, writtenIn } from '#actors/sending/sent-form.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isAddress, mailboxes } from '#mail/address/address.ts'
import { flag } from '#mail/flags.ts'
import { compose, recipientsOf } from '#mail/made/compose.ts'
import type { User } from '#store/accounts/users.ts'
import type { Received } from '#store/bodies/bodies.ts'
import { findMailbox, listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { MessageMeta, Outlined } from '#store/mailboxes/messages.ts'
import { readDetail, type StoredSummary } from '#store/mailboxes/outlines.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, date, list, mailboxId, messageId, metaData, object, optional, userId } from '../../schema.ts'
import {
  type ComposeValues,
  composeFields,
  composeInput,
  findReferenced,
  gatherAttachments,
  person,
  type Referenced,
  referenceField,
} from './compose-fields.ts'
import type { MessageDeps } from './message-deps.ts'
import { messageOf, place, requireActive } from './message-place.ts'
import { withRecipients } from './reply-recipients.ts'

type Sender = { name: string; address: string }

/** What the call says beside the message. */
interface Wishes {
  readonly isDraft: boolean
  readonly uploadOnly: boolean
  readonly meta?: Record<string, unknown>
  readonly reference?: Static<typeof referenceField>
}

const sendTime = optional(date({ description: 'Not sent before this moment' }))

const sendFaults = [
  ...(['UserNotFound', 'UserDisabled', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable'] as const),
  ...(['TooMany', 'RateLimitedError'] as const),
] as const

export function submitEndpoints(deps: MessageDeps): Endpoint[] {
  const { system, bodies, sequence, hostname, register } = deps
  const { read } = system

  const submitDraft = endpoint({
    method: 'POST',
    path: '/users/:user/mailboxes/:mailbox/messages/:message/submit',
    tag: 'Messages',
    summary: 'Send a draft',
    allow: 'messages.create',
    params: place,
    body: { deleteFiles: optional(bool({ description: 'Delete the stored files it was made from' })), sendTime },
    reply: {
      queueId: Type.Optional(Type.String()),
      message: Type.Optional(Type.Object({ id: Type.Integer(), mailbox: Type.String(), size: Type.Integer() })),
    },
    faults: [...sendFaults, 'MessageNotDraft', 'MessageMalformed'],
    async run({ input, signal }) {
      const user = await requireActive(read, input.user)
      const { mailbox, message } = await messageOf(read, input)
      if ((message.flags & flag.draft) === 0) throw new Fault('MessageNotDraft')
      const summary = JSON.parse(message.summary) as StoredSummary
      const people = mailboxes([...summary.to, ...summary.cc, ...summary.bcc])
      const recipients = [...new Set(people.map(({ address }) => address))].filter(isAddress)
      if (recipients.length === 0) return {}
      spendRecipients(deps, user, recipients.length)
      const kept: Received[] = []
      try {
        const { from, sent } = await outgoingForm(user, message, kept)
        const copy = await copyOf(user, message, sent, kept)
        const { reference, files } = message.meta
        const submission = {
          outgoing: outgoingOf(user, from.address, recipients, sent, input.sendTime),
          copy: copyInto({ specialUse: '\\Sent' }, copy, { ...message.meta, from: from.address }),
          copyMayFail: false,
          draft: { mailbox: mailbox.id, uid: message.uid },
          reference: reference && { mailbox: reference.mailbox, uid: reference.id, action: reference.action },
          files: input.deleteFiles === true ? (files ?? []) : [],
        }
        const { queueId, stored } = await system.handle(user.id).run(submitMessage, submission, signal)
        register.note(user.num, people, now())
        return {
          ...(queueId === null ? {} : { queueId }),
          ...(stored === null ? {} : { message: { id: stored.uid, mailbox: stored.mailbox, size: stored.size } }),
        }
      } finally {
        for (const one of kept) await one.discard()
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
    async run({ input: said, request, signal }) {
      if (request.raw) throw new Fault('UnsupportedMediaType')
      const user = await requireActive(read, said.user)
      const { isDraft, uploadOnly, envelope, reference: given, draft } = said
      const target = await targetOf(user, said.mailbox, isDraft)
      const referenced = given === undefined ? undefined : await findReferenced(read, user, given)
      const input = await withRecipients(read, user, said, referenced)
      const from = await senderFor(read, user, input.from, hostname)
      const sends = !isDraft && !uploadOnly
      const recipients = recipientsOf({ to: envelope?.to ?? everybody(input) })
      if (sends && recipients.length === 0) throw new Fault('ENORECIPIENTS')
      const kept: Received[] = []
      try {
        const written = await write(user, input, { from, referenced, target }, kept)
        if (sends) spendRecipients(deps, user, recipients.length)
        const sender = envelope?.from === undefined ? from : await senderFor(read, user, envelope.from, hostname)
        const place = referenced && placeOf(referenced)
        const submission = {
          outgoing: sends ? outgoingOf(user, sender.address, recipients, written.sent, input.sendTime) : null,
          copy: { ...written.copy, flags: flag.seen | (isDraft ? flag.draft : 0) },
          copyMayFail: sends,
          replaced: draft && { mailbox: draft.mailbox, uid: draft.id },
          reference: sends && place ? { mailbox: place.mailbox, uid: place.id, action: place.action } : undefined,
        }
        const done = await system.handle(user.id).run(submitMessage, submission, signal)
        if (sends) register.note(user.num, everybody(input), now())
        const queueId = done.queueId ?? (false as const)
        if (done.stored === null) {
          return { message: { id: false as const, mailbox: false as const, queueId, overQuota: true as const } }
        }
        return { message: { id: done.stored.uid, mailbox: done.stored.mailbox, queueId } }
      } finally {
        for (const one of kept) await one.discard()
      }
    },
  })

  /** The message in the form that goes out, and the copy as it is kept. */
  async function write(
    user: User,
    input: ComposeValues & Wishes,
    { from, referenced, target }: { from: Sender; referenced: Referenced | undefined; target: Mailbox | undefined },
    kept: Received[],
  ): Promise<{ sent: Prepared; copy: Append }> {
    const { isDraft, meta: metaOfCaller, reference } = input
    const wanted = reference?.attachments ?? false
    const { attachments, files } = await gatherAttachments({ read, bodies }, user, input, referenced, wanted)
    const options = { hostname, date: now(), keepBcc: isDraft }
    const { message } = await compose(composeInput(input, from, attachments, referenced?.reference), options)
    const received = await bodies.receive(message)
    kept.push(received)
    const stored = !isDraft && wantsEncryption(user, target) ? await encrypted(deps, user, received) : received
    if (stored !== received) kept.push(stored)
    const form =
      isDraft || input.uploadOnly ? null : await sentForm({ read, bodies, hostname }, user, writtenIn(received))
    if (form?.received) kept.push(form.received)
    const sent = await prepare(form?.received ?? received, sequence)
    const meta: MessageMeta = {
      source: 'api',
      from: from.address,
      ...(metaOfCaller !== undefined && { metaData: metaOfCaller }),
      ...(files.length > 0 && { files }),
      ...(referenced && { reference: placeOf(referenced) }),
    }
    const to = target === undefined ? { specialUse: isDraft ? '\\Drafts' : '\\Sent' } : { id: target.id }
    return {
      sent,
      copy: copyInto(to, stored === (form?.received ?? received) ? sent : await prepare(stored, sequence), meta),
    }
  }

  /** The folder for the copy; undefined where the account has none of that use. */
  async function targetOf(user: User, id: string | undefined, isDraft: boolean): Promise<Mailbox | undefined> {
    if (id === undefined) {
      const use = isDraft ? '\\Drafts' : '\\Sent'
      return (await listMailboxes(read, user.num)).find(({ specialUse }) => specialUse === use)
    }
    const mailbox = await findMailbox(read, user.num, id)
    if (mailbox === undefined) throw new Fault('NoSuchMailbox')
    return mailbox
  }

  /** A draft as it goes out, and who it is from. */
  async function outgoingForm(
    user: User,
    message: Outlined,
    kept: Received[],
  ): Promise<{ from: Sender; sent: Prepared }> {
    const detail = await readDetail(read, message.body)
    if (detail === undefined) throw new Fault('MessageNotFound')
    const body = bodies.open(message.body)
    const written = {
      ...{ headerSize: detail.headerSize, size: body.size },
      ...{ read: body.read.bind(body), stream: body.stream.bind(body) },
    }
    const { from, received } = await sentForm({ read, bodies, hostname }, user, written)
    if (received === null) return { from, sent: prepareStored(read, message.body) }
    kept.push(received)
    return { from, sent: await prepare(received, sequence) }
  }

  /** What is kept of a sent draft: the draft as it was, or what was sent, encrypted. */
  async function copyOf(user: User, message: Outlined, sent: Prepared, kept: Received[]): Promise<Prepared> {
    const target = await targetOf(user, undefined, false)
    if (!wantsEncryption(user, target)) return prepareStored(read, message.body)
    const intake = bodies.intake(message.size)
    for await (const chunk of bodies.open(message.body).stream()) await intake.write(chunk)
    const plain = await intake.finish()
    kept.push(plain)
    const sealed = await encrypted(deps, user, plain)
    if (sealed === plain) return sent
    kept.push(sealed)
    return prepare(sealed, sequence)
  }

  return [submitDraft, submit]
}

function outgoingOf(
  user: User,
  from: string,
  recipients: readonly string[],
  prepared: Prepared,
  sendAt: number | undefined,
): Outgoing {
  const relay = user.options.mtaRelay
  return {
    user: user.id,
    from,
    targets: mailTargets(recipients),
    prepared,
    origin: 'submission',
    sendTime: sendAt,
    options: { messageId: prepared.messageId, ...(relay ? { relay } : {}) },
  }
}

function copyInto(to: Append['to'], prepared: Prepared, meta: MessageMeta): Append {
  return { prepared, to, prefix: '', flags: flag.seen, keywords: [], meta, once: false, limited: false }
}

function placeOf({ mailbox, message, action }: Referenced): NonNullable<MessageMeta['reference']> {
  return { mailbox, id: message.uid, action }
}

function everybody({ to = [], cc = [], bcc = [] }: ComposeValues): Sender[] {
  return [...to, ...cc, ...bcc].map(named)
}

function named({ name, address }: { name?: string; address: string }): { name: string; address: string } {
  return { name: name ?? '', address }
}
