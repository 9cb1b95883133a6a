// Mail that an account sends through SMTP submission: under its own addresses only, to whoever is here at once, to others
// through the outbound queue, and with a copy in Sent where the account wants one.
//
// The account is looked at anew for every message, so a session that began before it was closed sends nothing more.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { domainToUnicode, mailboxes, splitAddress } from '#mail/address.ts'
import { parseAddresses } from '#mail/address-list.ts'
import { formatDate } from '#mail/date.ts'
import { flag } from '#mail/flags.ts'
import type { Received } from '#store/blobs.ts'
import type { Cache } from '#store/cache.ts'
import { holdsDomain } from '#store/directory.ts'
import { findAlias } from '#store/domains.ts'
import type { Sequence } from '#store/sequence.ts'
import type { Settings } from '#store/settings.ts'
import { findUser, type User } from '#store/users.ts'
import type { Drop, DropRecipient, DropResult } from './drop.ts'
import { mailTargets, queueMessage } from './outgoing.ts'
import { prepare } from './prepare.ts'
import { maySendAs } from './sender.ts'
import type { ActorSystem } from './system.ts'
import { appendMessage } from './user/append.ts'

export interface SubmissionOptions {
  readonly system: ActorSystem
  readonly sequence: Sequence
  readonly settings: Settings
  readonly drop: Drop
  readonly cache: Cache
  readonly hostname: string
}

/** `local` is null for an address elsewhere. */
export interface SubmissionRecipient {
  readonly address: string
  readonly local: DropRecipient | null
}

export interface SubmissionEnvelope {
  /** Id of the account that logged in. */
  readonly user: string
  readonly from: string
  readonly recipients: readonly SubmissionRecipient[]
  /** As in a Received field: ESMTPSA for example. */
  readonly protocol: string
  /** Of the session. */
  readonly id: string
  readonly utf8: boolean
}

export class Submission {
  readonly #options: SubmissionOptions

  constructor(options: SubmissionOptions) {
    this.#options = options
  }

  /** Whether the account may send as `address`, the envelope's sender. @throws Fault UserDisabled, SenderNotAllowed */
  async sender(id: string, address: string): Promise<void> {
    const user = await this.#live(id)
    if (!(await maySendAs(this.#options.system.read, user, address))) throw new Fault('SenderNotAllowed')
  }

  /** Who an address is. @throws Fault as `Drop.recipient` for domains of ours, RateLimitedError past the daily limit */
  async recipient(id: string, address: string): Promise<SubmissionRecipient> {
    const { system, drop, cache } = this.#options
    const user = await this.#live(id)
    const counted = cache.counted('recipients', id)
    if (counted.used >= this.#recipientsMax(user)) throw this.#tooMany(counted.ttlMs)
    try {
      return { address, local: await drop.recipient(address) }
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'UserNotFound') throw error
      const domain = domainToUnicode(splitAddress(address).domain)
      const own = (await holdsDomain(system.read, domain)) || (await findAlias(system.read, domain)) !== undefined
      if (own) throw error
      return { address, local: null }
    }
  }

  /** Sends a message; one result for each recipient, in order. */
  async deliver(received: Received, envelope: SubmissionEnvelope): Promise<DropResult[]> {
    const { cache, drop } = this.#options
    const user = await this.#live(envelope.user)
    await this.#checkFrom(user, received)
    const { recipients, from } = envelope
    const max = this.#recipientsMax(user)
    const spent = cache.spend('recipients', user.id, limits.time.day, max, recipients.length)
    if (!spent.allowed) throw this.#tooMany(spent.ttlMs)
    const local = recipients.flatMap(one => (one.local === null ? [] : [one.local]))
    const here =
      local.length === 0 ? [] : await drop.deliver(received, { from, recipients: local, source: 'submission' })
    const remote = recipients.filter(one => one.local === null).map(one => one.address)
    const away = remote.length === 0 ? undefined : await this.#queue(user, received, envelope, remote)
    const keeps = user.options.uploadSentMessages === true && here.every(result => 'stored' in result)
    if (keeps && away?.refused === undefined) await this.#keep(user, received, from)
    let at = 0
    return recipients.map(one => {
      const result: DropResult | undefined = one.local === null ? away?.result : here[at++]
      return result ?? { refused: away?.refused ?? new Fault('InternalError') }
    })
  }

  async #queue(
    user: User,
    received: Received,
    envelope: SubmissionEnvelope,
    to: readonly string[],
  ): Promise<{ result?: DropResult; refused?: unknown }> {
    const { system, sequence, hostname } = this.#options
    const { from, protocol, id, utf8 } = envelope
    try {
      const prepared = await prepare(received, sequence)
      const prefix = `Received: by ${hostname} with ${protocol} id ${id};\r\n ${formatDate(now())}\r\n`
      const relay = user.options.mtaRelay
      const options = { messageId: prepared.messageId, utf8, ...(relay === undefined ? {} : { relay }) }
      const targets = mailTargets(to)
      const outgoing = { user: user.id, from, targets, prepared, prefix, origin: 'submission', options } as const
      await system.door(user.id).run(queueMessage, outgoing)
      return { result: { stored: null } }
    } catch (refused) {
      return { refused }
    }
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
      await system.door(user.id).run(appendMessage, append)
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'OverQuotaError') throw error
    }
  }

  /** Every address in From is the account's. @throws Fault SenderNotAllowed */
  async #checkFrom(user: User, received: Received): Promise<void> {
    const fields = received.root.header.raw('from') ?? ''
    for (const { address } of mailboxes(parseAddresses(fields))) {
      if (!(await maySendAs(this.#options.system.read, user, address))) {
        throw new Fault('SenderNotAllowed', { text: 'The address in From is not yours' })
      }
    }
  }

  /** The account, if it may send. @throws Fault UserDisabled */
  async #live(id: string): Promise<User> {
    const user = await findUser(this.#options.system.read, id)
    if (user === undefined || user.deleted !== null || user.disabled || user.suspended) throw new Fault('UserDisabled')
    return user
  }

  #recipientsMax(user: User): number {
    return user.options.limits?.recipients || this.#options.settings.get('const:max:recipients')
  }

  #tooMany(ttlMs: number): Fault {
    const text = 'As many recipients as there may be in a day have been written to'
    return new Fault('RateLimitedError', { text, retryAfter: Math.ceil(ttlMs / 1000) })
  }
}
