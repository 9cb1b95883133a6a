// Mail that an account sends through SMTP submission: under its own addresses only, to whoever is here at once, to others
// through the outbound queue, and with a copy in Sent where the account wants one.
//
// A foreign sender is replaced by the account's own (actors/sending/sent-form.ts), as it is over HTTP. Who asked to hear of a
// delivery goes through the queue, which reports (RFC 3461). The account is looked at anew for every message, so a session
// that began before it was closed sends nothing more.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { cut, type Journal } from '#lib/journal/journal.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'
import { domainToUnicode, splitAddress } from '#mail/address/address.ts'
import { flag } from '#mail/flags.ts'
import { type Passage, receivedField } from '#mail/header/received.ts'
import type { MessageNotice, RecipientNotice } from '#mail/made/notice.ts'
import { holdsDomain } from '#store/accounts/address.ts'
import { isOpen } from '#store/accounts/standing.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import { findAlias } from '#store/domains/alias.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import { arrivalOf, midway, traced } from '../delivery/arrival-line.ts'
import type { DeliveryRecipient, DeliveryResult } from '../delivery/envelope.ts'
import type { LocalDelivery } from '../delivery/local-delivery.ts'
import { prepare } from '../delivery/prepare.ts'
import type { Actors } from '../kernel/system.ts'
import { appendMessage } from '../mailbox/append.ts'
import { type Allowance, tooMany } from './allowance.ts'
import { mailTargets, queueMessage } from './outgoing.ts'
import { senderFor } from './sender.ts'
import { sentForm, writtenIn } from './sent-form.ts'
import { refuseSuppressed } from './suppression.ts'

export interface SubmissionOptions {
  readonly system: Actors
  readonly sequence: Numbers
  readonly delivery: LocalDelivery
  readonly allowance: Allowance
  readonly counters: Counters
  readonly bodies: Bodies
  readonly journal: Journal
  readonly tracer: Tracer | undefined
  readonly hostname: string
}

/** `local` is null for an address elsewhere. */
export interface SubmissionRecipient {
  readonly address: string
  readonly local: DeliveryRecipient | null
  /** What the sender wants to hear of it. */
  readonly notice: RecipientNotice
}

export interface SubmissionEnvelope {
  /** Id of the account that logged in. */
  readonly user: string
  readonly from: string
  readonly recipients: readonly SubmissionRecipient[]
  readonly speaker: {
    /** As in a Received field: ESMTPSA for example. */
    readonly protocol: string
    readonly service: string
    readonly remoteAddress: string
    readonly helo: string
    readonly tls: Passage['tls']
  }
  /** By which its sender knows it. */
  readonly id: string
  readonly utf8: boolean
  readonly notice: MessageNotice
  /** When it is to be sent; at once where absent. */
  readonly release?: number
}

export class Submission {
  readonly #options: SubmissionOptions

  constructor(options: SubmissionOptions) {
    this.#options = options
  }

  /** Whether the account may send at all. @throws Fault UserDisabled, SendingPaused */
  async sender(id: string): Promise<void> {
    await this.#live(id)
    await this.#options.allowance.refusePaused(id)
  }

  /** Who an address is. @throws Fault as `LocalDelivery.recipient` for domains of ours, RateLimitedError past the daily limit, RecipientSuppressed */
  async recipient(id: string, address: string, notice: RecipientNotice): Promise<SubmissionRecipient> {
    const { system, delivery, counters, allowance } = this.#options
    const user = await this.#live(id)
    await allowance.refusePaused(id)
    const counted = await counters.counted('recipients', id)
    if (counted.used >= allowance.dayMax(user)) throw tooMany(counted.ttlMs)
    try {
      return { address, notice, local: await delivery.recipient(address) }
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'UserNotFound') throw error
      const domain = domainToUnicode(splitAddress(address).domain)
      const own = (await holdsDomain(system.read, domain)) || (await findAlias(system.read, domain)) !== undefined
      if (own) throw error
      await refuseSuppressed(system.read, id, [address])
      return { address, notice, local: null }
    }
  }

  /** A message that was refused before its end has no line of its own but this. */
  declined(
    { user, from, recipients, speaker }: Pick<SubmissionEnvelope, 'user' | 'from' | 'recipients' | 'speaker'>,
    size: number,
    reason: unknown,
  ): void {
    if (!(reason instanceof Fault)) return
    const { service, helo, remoteAddress } = speaker
    const about = { service, helo: cut(helo), user, ...midway(from, recipients, size), result: reason.code }
    this.#options.journal.note('refused', remoteAddress, about, 'turned away')
  }

  /** Sends a message, and says in the log what came of it; one result for each recipient, in order. */
  async deliver(received: Received, envelope: SubmissionEnvelope): Promise<DeliveryResult[]> {
    const { tracer } = this.#options
    return traced(tracer, received, envelope, envelope.user, () => this.#tell(received, envelope))
  }

  async #tell(received: Received, envelope: SubmissionEnvelope): Promise<DeliveryResult[]> {
    const { journal } = this.#options
    const told = journal.on ? arrivalOf(received, envelope, envelope.user) : undefined
    try {
      const results = await this.#deliver(received, envelope)
      told?.settled(journal, results)
      return results
    } catch (error) {
      told?.refused(journal, error)
      throw error
    }
  }

  async #deliver(received: Received, envelope: SubmissionEnvelope): Promise<DeliveryResult[]> {
    const { system, hostname, bodies, delivery } = this.#options
    const { read } = system
    const { recipients } = envelope
    const user = await this.#live(envelope.user)
    const form = await sentForm({ read, bodies, hostname }, user, writtenIn(received))
    try {
      await this.#options.allowance.spend(user, envelope.recipients.length)
      // Receipts have the null sender and keep it (RFC 8098 3).
      const wanted = { address: envelope.from }
      const from = envelope.from === '' ? '' : (await senderFor(read, user, wanted, hostname)).address
      const results = await this.#send(user, form.received ?? received, { ...envelope, from })
      const sent = results.every(result => 'stored' in result)
      const gets = recipients.flatMap(({ address }, at) => ('stored' in (results[at] ?? {}) ? [address] : []))
      delivery.noteSent(user, received.root.header, gets)
      if (sent && user.options.uploadSentMessages === true) await this.#keep(user, received, from)
      return results
    } finally {
      await form.received?.discard()
    }
  }

  /**
   * To whoever is here at once, to all others, later, and to those whose delivery is to be reported through the queue. What one of
   * these cannot take now goes through it as well, where somebody else has the message: nobody is to send it again for his sake.
   */
  async #send(user: User, received: Received, envelope: SubmissionEnvelope): Promise<DeliveryResult[]> {
    const { recipients, from, release, notice } = envelope
    const direct = ({ local, notice: wanted }: SubmissionRecipient) =>
      local !== null && release === undefined && wanted.notify?.includes('success') !== true ? [local] : []
    const local = recipients.flatMap(direct)
    const { delivery } = this.#options
    const trace = this.#trace(envelope)
    const transport = { transtype: envelope.speaker.protocol, time: now() }
    const here =
      local.length === 0
        ? []
        : await delivery.deliver(received, {
            ...{ from, recipients: local, source: 'submission', trust: 'ours', trace, transport },
            requireTls: notice.requireTls,
          })
    let at = 0
    const results = recipients.map(one => (direct(one).length > 0 ? here[at++] : undefined))
    const others = recipients.filter((_, index) => results[index] === undefined)
    const shared = others.length > 0 || here.some(result => 'stored' in result)
    const queued = shared ? recipients.filter((_, index) => !('stored' in (results[index] ?? {}))) : []
    const away = queued.length === 0 ? undefined : await this.#queue(user, received, envelope, queued)
    return recipients.map((one, index) => {
      const result = queued.includes(one) ? away : results[index]
      return result ?? { refused: new Fault('InternalError') }
    })
  }

  async #queue(
    user: User,
    received: Received,
    envelope: SubmissionEnvelope,
    recipients: readonly SubmissionRecipient[],
  ): Promise<DeliveryResult> {
    const { system, sequence } = this.#options
    const { from, utf8, notice, release: sendTime } = envelope
    try {
      const prepared = await prepare(received, sequence)
      const prefix = this.#trace(envelope)
      const relay = user.options.mtaRelay
      const asked = recipients.filter(one => Object.keys(one.notice).length > 0)
      const options = {
        ...{ messageId: prepared.messageId, utf8, ...notice },
        ...(relay !== undefined && { relay }),
        ...(asked.length > 0 && { notices: Object.fromEntries(asked.map(one => [one.address, one.notice])) }),
      }
      const targets = mailTargets(recipients.map(({ address }) => address))
      const outgoing = {
        user: user.id,
        from,
        targets,
        prepared,
        prefix,
        origin: 'submission',
        options,
        sendTime,
      } as const
      const { queueId } = await system.handle(user.id).run(queueMessage, outgoing)
      return { stored: null, fate: { action: 'queued', queued: [queueId] } }
    } catch (refused) {
      return { refused }
    }
  }

  /** Where its author is, and who else got it, is nobody's business: the field says neither. */
  #trace({ speaker: { protocol, tls }, id, utf8 }: SubmissionEnvelope): string {
    return receivedField({ by: this.#options.hostname, protocol, id, utf8, tls, recipients: [], at: now() })
  }

  /** A copy for the sender. The message is on its way, so one that finds no room is left out. */
  async #keep(user: User, received: Received, from: string): Promise<void> {
    const { system, sequence } = this.#options
    const prepared = await prepare(received, sequence)
    const append = {
      ...{ prepared, prefix: '', keywords: [], flags: flag.seen, once: true, limited: true },
      to: { specialUse: '\\Sent' },
      meta: { from, source: 'submission' },
    }
    try {
      await system.handle(user.id).run(appendMessage, append)
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'OverQuotaError') throw error
    }
  }

  /** The account, if it may send. @throws Fault UserDisabled */
  async #live(id: string): Promise<User> {
    const { read } = this.#options.system
    const user = await findUser(read, id)
    if (user === undefined || !(await isOpen(read, id))) throw new Fault('UserDisabled')
    return user
  }
}
