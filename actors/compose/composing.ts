// Writing messages: sending one that was written field by field, sending a draft, storing what was written or brought.
//
// What goes out is queued in one unit with its copy in Sent; another part of the service sends it. From is replaced
// without a word where the account may not use it. Limits are checked before anything is stored; whether the account is
// open is asked first (`requireActive`). Everything received on the way is let go in the end.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isAddress, type Mailbox as MailAddress, mailboxes } from '#mail/address/address.ts'
import { flag } from '#mail/flags.ts'
import { compose, recipientsOf } from '#mail/made/compose.ts'
import { isOpen } from '#store/accounts/standing.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Settings } from '#store/folder/settings.ts'
import { findMailbox, listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { MessageMeta, Outlined } from '#store/mailboxes/messages.ts'
import { readDetail, type StoredSummary } from '#store/mailboxes/outlines.ts'
import { learned } from '../delivery/address-book.ts'
import { encrypted, wantsEncryption } from '../delivery/encryption.ts'
import { prepare } from '../delivery/prepare.ts'
import { prepareStored } from '../delivery/stored.ts'
import type { Actors } from '../kernel/system.ts'
import { type Append, appendMessage, type Prepared } from '../mailbox/append.ts'
import { type Submission, type Submitted, submitMessage } from '../mailbox/submit.ts'
import type { Allowance } from '../sending/allowance.ts'
import { mailTargets, type Outgoing } from '../sending/outgoing.ts'
import { senderFor } from '../sending/sender.ts'
import { sentForm, writtenIn } from '../sending/sent-form.ts'
import { refuseSuppressed } from '../sending/suppression.ts'
import { gatherAttachments } from './attachments.ts'
import {
  composeInput,
  everybody,
  findReferenced,
  type MessageFields,
  type Person,
  placeOf,
  type Referenced,
  type ReferenceTo,
} from './fields.ts'
import { Kept } from './kept.ts'
import { withRecipients } from './reply-recipients.ts'
import type { SubmissionLine } from './submission-line.ts'

export interface ComposingDeps {
  readonly settings: Settings
  readonly allowance: Allowance
  readonly system: Actors
  readonly bodies: Bodies
  readonly reads: Reads
  readonly sequence: Numbers
  /** Right side of what has no domain of its own. */
  readonly hostname: string
  /** Whom an account has written to. */
  readonly addressBook: { note(user: number, addresses: readonly MailAddress[], used: number, known?: boolean): void }
}

/** A message and what is to be done with it. */
export interface Letter {
  readonly user: User
  readonly fields: MessageFields
  readonly reference?: ReferenceTo | undefined
  /** Stored as a draft, nothing sent. */
  readonly isDraft: boolean
  /** Stored as sent, nothing sent. */
  readonly uploadOnly: boolean
  /** Id of the folder for the copy; that of its use where not given. */
  readonly mailbox?: string | undefined
  /** Free data of the caller, kept with the copy. */
  readonly meta?: Record<string, unknown> | undefined
  /** A draft that goes with it. */
  readonly draft?: { readonly mailbox: string; readonly id: number } | undefined
  /** Milliseconds since 1970 before which it is not sent. */
  readonly sendTime?: number | undefined
  /** It goes only to proven hosts that keep it so (RFC 8689 4.3). */
  readonly requireTls?: boolean | undefined
  readonly line?: SubmissionLine | undefined
  /** Who sends it and who gets it, where that is not what the fields say. */
  readonly envelope?: { readonly from?: Person | undefined; readonly to?: readonly Person[] | undefined } | undefined
}

/** A draft that is to be sent. */
export interface DraftToSend {
  readonly user: User
  readonly mailbox: Mailbox
  readonly message: Outlined
  /** Stored files it was made from go with it. */
  readonly deleteFiles: boolean
  readonly sendTime?: number | undefined
  /** As of a letter. */
  readonly requireTls?: boolean | undefined
  readonly line?: SubmissionLine | undefined
}

/** What is to be stored: bytes as they come, or fields. */
export interface Upload {
  readonly user: User
  readonly mailbox: Mailbox
  readonly content: AsyncIterable<Buffer> | Buffer | MessageFields
  readonly reference?: ReferenceTo | undefined
  readonly draft: boolean
  /** Flags beside \Draft. */
  readonly flags: number
  /** Internal date, and the Date field of what is composed; milliseconds since 1970. */
  readonly date?: number | undefined
  readonly meta?: Record<string, unknown> | undefined
}

type Sender = { readonly name: string; readonly address: string }

export class Composing {
  readonly #deps: ComposingDeps

  constructor(deps: ComposingDeps) {
    this.#deps = deps
  }

  /** Sends or stores a message, and nothing in between. @throws Fault ENORECIPIENTS, RecipientSuppressed, TooMany, RateLimitedError, OverQuotaError */
  async send(letter: Letter, signal: AbortSignal): Promise<Submitted> {
    const { read, addressBook } = this.#parts
    const { user, isDraft, uploadOnly, envelope, draft } = letter
    const target = await this.#targetOf(user, letter.mailbox, isDraft)
    const referenced = await findReferenced(read, user, letter.reference)
    const fields = await withRecipients(read, user, letter.fields, referenced)
    const from = await this.#senderFor(user, fields.from)
    const sender = envelope?.from === undefined ? from : await this.#senderFor(user, envelope.from)
    const sends = !isDraft && !uploadOnly
    const recipients = recipientsOf({ to: envelope?.to ?? everybody(fields) })
    if (sends && recipients.length === 0) throw new Fault('ENORECIPIENTS')
    if (sends) await refuseSuppressed(read, user.id, recipients)
    return Kept.during(async kept => {
      const written = await this.#write(user, { letter, fields, from, sender, referenced, target }, kept)
      if (sends) await this.#spend(user, recipients.length)
      const submission: Submission = {
        outgoing: sends ? outgoingOf(user, sender.address, recipients, written.sent, letter) : null,
        copy: { ...written.copy, flags: flag.seen | (isDraft ? flag.draft : 0) },
        copyMayFail: sends,
        replaced: draft && { mailbox: draft.mailbox, uid: draft.id },
        reference: sends && referenced ? answered(placeOf(referenced)) : undefined,
      }
      const done = await this.#submit(user, submission, letter.line, signal)
      if (sends) addressBook.note(user.num, everybody(fields), now(), true)
      return done
    })
  }

  /** Sends a draft; null where it names nobody. @throws Fault MessageNotDraft, MessageMalformed, TooMany, RateLimitedError */
  async sendDraft(given: DraftToSend, signal: AbortSignal): Promise<Submitted | null> {
    const { system, addressBook } = this.#deps
    const { user, mailbox, message } = given
    if ((message.flags & flag.draft) === 0) throw new Fault('MessageNotDraft')
    const summary = JSON.parse(message.summary) as StoredSummary
    const people = mailboxes([...summary.to, ...summary.cc, ...summary.bcc])
    const recipients = [...new Set(people.map(({ address }) => address))].filter(isAddress)
    if (recipients.length === 0) return null
    await refuseSuppressed(system.read, user.id, recipients)
    await this.#spend(user, recipients.length)
    return Kept.during(async kept => {
      const { from, sent } = await this.#formOf(user, message, kept)
      const copy = await this.#copyOf(user, message, sent, kept)
      const { reference, files = [] } = message.meta
      const submission: Submission = {
        outgoing: outgoingOf(user, from.address, recipients, sent, given),
        copy: copyInto({ specialUse: '\\Sent' }, copy, { ...message.meta, from: from.address }),
        copyMayFail: false,
        draft: { mailbox: mailbox.id, uid: message.uid },
        reference: reference && answered(reference),
        files: given.deleteFiles ? files : [],
      }
      const done = await this.#submit(user, submission, given.line, signal)
      addressBook.note(user.num, people, now(), true)
      return done
    })
  }

  /** Stores what was brought or written. @throws Fault EmptyMessage, MessageTooLarge, OverQuotaError */
  async store(given: Upload, signal: AbortSignal): Promise<{ uid: number; size: number }> {
    const { read, system, sequence, addressBook } = this.#parts
    const { user, mailbox, meta } = given
    const referenced = await findReferenced(read, user, given.reference)
    const draft = given.draft || referenced !== undefined
    return Kept.during(async kept => {
      const { received, files } = await this.#receive({ ...given, draft }, referenced)
      kept.add(received)
      const sealed = !draft && wantsEncryption(user, mailbox)
      const stored = sealed ? kept.add(await encrypted(this.#deps, user, received)) : received
      const append: Append = {
        prepared: await prepare(stored, sequence),
        to: { id: mailbox.id },
        ...{ prefix: '', keywords: [], once: false, limited: 'before' },
        flags: given.flags | (draft ? flag.draft : 0),
        idate: given.date,
        meta: metaOf({ meta, files, referenced }),
      }
      const appended = await system.handle(user.id).run(appendMessage, append, signal)
      const { specialUse } = mailbox
      if (!draft) addressBook.note(user.num, learned(received.root.header, specialUse), now(), specialUse === '\\Sent')
      return appended
    })
  }

  async #submit(user: User, submission: Submission, line: SubmissionLine | undefined, signal: AbortSignal) {
    const done = await this.#deps.system.handle(user.id).run(submitMessage, submission, signal)
    if (submission.outgoing !== null && done.queueId !== null) line?.queued(submission.outgoing, done.queueId)
    return done
  }

  /** @throws Fault TooMany for one message with too many, and as `Allowance.spend` */
  async #spend(user: User, recipients: number): Promise<void> {
    const { settings, allowance } = this.#deps
    if (recipients > settings.get('const:max:rcpt_to')) throw new Fault('TooMany')
    await allowance.spend(user, recipients)
  }

  get #parts() {
    return { ...this.#deps, read: this.#deps.system.read }
  }

  #senderFor(user: User, wanted: Person | undefined): Promise<Sender> {
    return senderFor(this.#deps.system.read, user, wanted, this.#deps.hostname)
  }

  /** The message in the form that goes out, and the copy as it is kept. */
  async #write(
    user: User,
    {
      letter: { isDraft, uploadOnly, meta },
      fields,
      from,
      sender,
      referenced,
      target,
    }: {
      readonly letter: Letter
      readonly fields: MessageFields
      readonly from: Sender
      /** Of the envelope. */
      readonly sender: Sender
      readonly referenced: Referenced | undefined
      readonly target: Mailbox | undefined
    },
    kept: Kept,
  ): Promise<{ sent: Prepared; copy: Append }> {
    const { read, bodies, sequence, hostname } = this.#parts
    const { attachments, files } = await gatherAttachments({ read, bodies }, user, fields, referenced)
    const options = { hostname, date: now(), keepBcc: isDraft }
    const { message } = await compose(composeInput(fields, from, attachments, referenced?.reference), options)
    const received = kept.add(await bodies.receive(message))
    const sealed = !isDraft && wantsEncryption(user, target)
    const stored = sealed ? kept.add(await encrypted(this.#deps, user, received)) : received
    const form = isDraft || uploadOnly ? null : await sentForm({ read, bodies, hostname }, user, writtenIn(received))
    const goes = form?.received ? kept.add(form.received) : received
    const sent = await prepare(goes, sequence)
    const to = target === undefined ? { specialUse: isDraft ? '\\Drafts' : '\\Sent' } : { id: target.id }
    const copy = stored === goes ? sent : await prepare(stored, sequence)
    return { sent, copy: copyInto(to, copy, { ...metaOf({ meta, files, referenced }), from: sender.address }) }
  }

  /** The bytes of what is to be stored, and the stored files that went into it. */
  async #receive(
    { user, content, draft, date }: Upload,
    referenced: Referenced | undefined,
  ): Promise<{ received: Received; files: readonly string[] }> {
    const { read, bodies, hostname } = this.#parts
    if (Buffer.isBuffer(content)) {
      if (content.length === 0) throw new Fault('EmptyMessage')
      return { received: await bodies.receive(content), files: [] }
    }
    if (Symbol.asyncIterator in content) return { received: await this.#receiveStream(content), files: [] }
    const fields = await withRecipients(read, user, content, referenced)
    const given = fields.from
    const from =
      draft || given === undefined
        ? await this.#senderFor(user, given)
        : { name: given.name ?? '', address: given.address }
    const { attachments, files } = await gatherAttachments({ read, bodies }, user, fields, referenced)
    const { message } = await compose(composeInput(fields, from, attachments, referenced?.reference), {
      ...{ hostname, date: date ?? now(), keepBcc: true },
    })
    return { received: await bodies.receive(message), files }
  }

  async #receiveStream(stream: AsyncIterable<Buffer>): Promise<Received> {
    const received = await this.#deps.bodies.receiveAll(stream, limits.body.messageBytesMax)
    if (received.size > 0) return received
    await received.discard()
    throw new Fault('EmptyMessage')
  }

  /** The folder for the copy; undefined where the account has none of that use. @throws Fault NoSuchMailbox */
  async #targetOf(user: User, id: string | undefined, isDraft: boolean): Promise<Mailbox | undefined> {
    const { read } = this.#deps.system
    if (id === undefined) {
      const use = isDraft ? '\\Drafts' : '\\Sent'
      return (await listMailboxes(read, user.num)).find(({ specialUse }) => specialUse === use)
    }
    const mailbox = await findMailbox(read, user.num, id)
    if (mailbox === undefined) throw new Fault('NoSuchMailbox')
    return mailbox
  }

  /** A draft as it goes out, and who it is from. */
  async #formOf(user: User, message: Outlined, kept: Kept): Promise<{ from: Sender; sent: Prepared }> {
    const { read, bodies, sequence, hostname } = this.#parts
    const detail = await readDetail(read, message.body)
    if (detail === undefined) throw new Fault('MessageNotFound')
    const body = await bodies.open(message.body)
    const written = {
      ...{ headerSize: detail.headerSize, size: body.size },
      ...{ read: body.read.bind(body), stream: body.stream.bind(body) },
    }
    const { from, received } = await sentForm({ read, bodies, hostname }, user, written)
    if (received === null) return { from, sent: await prepareStored(read, message.body) }
    return { from, sent: await prepare(kept.add(received), sequence) }
  }

  /** What is kept of a sent draft: the draft as it was, or what was sent, encrypted. */
  async #copyOf(user: User, message: Outlined, sent: Prepared, kept: Kept): Promise<Prepared> {
    const { read, bodies, sequence } = this.#parts
    const target = await this.#targetOf(user, undefined, false)
    if (!wantsEncryption(user, target)) return await prepareStored(read, message.body)
    const plain = kept.add(await bodies.receiveAll(bodies.stream(message.body), message.size))
    const sealed = kept.add(await encrypted(this.#deps, user, plain))
    return sealed === plain ? sent : prepare(sealed, sequence)
  }
}

/** The account, if it may write and send: one that cannot log in cannot do so by API either. @throws Fault UserNotFound, UserDisabled */
export async function requireActive(read: Actors['read'], id: string): Promise<User> {
  const user = await findUser(read, id)
  if (user === undefined || user.deleted !== null) throw new Fault('UserNotFound')
  if (!(await isOpen(read, id))) throw new Fault('UserDisabled')
  return user
}

function outgoingOf(
  user: User,
  from: string,
  recipients: readonly string[],
  prepared: Prepared,
  { sendTime, requireTls }: Pick<Letter, 'sendTime' | 'requireTls'>,
): Outgoing {
  const relay = user.options.mtaRelay
  return {
    ...{ user: user.id, from, prepared, sendTime },
    targets: mailTargets(recipients),
    origin: 'submission',
    options: {
      messageId: prepared.messageId,
      ...(relay ? { relay } : {}),
      ...(requireTls === true && { requireTls: true }),
    },
  }
}

function copyInto(to: Append['to'], prepared: Prepared, meta: MessageMeta): Append {
  return { prepared, to, prefix: '', flags: flag.seen, keywords: [], meta, once: false, limited: false }
}

/** What is kept beside a message that was written here. */
function metaOf({
  meta,
  files,
  referenced,
}: {
  readonly meta: Record<string, unknown> | undefined
  readonly files: readonly string[]
  readonly referenced: Referenced | undefined
}): MessageMeta {
  return {
    source: 'api',
    ...(meta !== undefined && { metaData: meta }),
    ...(files.length > 0 && { files: [...files] }),
    ...(referenced && { reference: placeOf(referenced) }),
  }
}

/** The message that is marked as answered or forwarded. */
function answered({ mailbox, id, action }: NonNullable<MessageMeta['reference']>): Submission['reference'] {
  return { mailbox, uid: id, action }
}
