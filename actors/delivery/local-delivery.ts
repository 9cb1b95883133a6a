// Where incoming mail is dropped: from a recipient's address to an account, from received bytes to a stored message.
//
// A recipient is looked up before the bytes arrive, so that a stranger hears of a wrong address at RCPT. What is stored is
// what was received with `Delivered-To`, `Return-Path` and the trace of this service on top, and nothing else changed (but
// see classification.ts). Rules of the account are decided before its turn; what they queue is one unit with the message. A
// delivery resolves only when every recipient's fate is on disk or refused. Addresses that only forward, and senders we
// rewrote, are recipients, too.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { normalizeAddress } from '#mail/address/address.ts'
import { rewriteSender } from '#mail/address/srs.ts'
import { Header } from '#mail/header/header.ts'
import { addedTo } from '#mail/header/trace.ts'
import { isAnswer, mayBeBounce } from '#mail/report/bounce.ts'
import type { SpamText } from '#mail/spam/features.ts'
import type { Address, ForwardReply } from '#store/accounts/address.ts'
import type { Lookup } from '#store/accounts/lookup.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { Actors } from '../kernel/system.ts'
import { type Append, type Appended, appendMessage } from '../mailbox/append.ts'
import { saysOfSpam, spamFields, spamLevelOf, withoutVerdicts } from '../screening/classification.ts'
import { saidBy, saidIn } from '../screening/said.ts'
import type { SpamJudge } from '../screening/spam.ts'
import { Storms } from '../screening/storm.ts'
import type { VerificationResults } from '../screening/verification.ts'
import { type Outgoing, type Queued, queue } from '../sending/outgoing.ts'
import { noteReport } from '../sending/report-arrival.ts'
import { noteBounce } from '../sending/returned-arrival.ts'
import { type AddressBook, learned, sendersOf } from './address-book.ts'
import { type Settled, scored, storedAs } from './arrival-line.ts'
import { type Carried, type CarriedOut, carried, deliverMessage, dropMessage, forwarding } from './decision.ts'
import { keysOf, sealDelivery, sealForward } from './encryption.ts'
import {
  type DeliveryEnvelope,
  type DeliveryRecipient,
  type DeliveryResult,
  type StoredMessage,
  trustOf,
} from './envelope.ts'
import { type ForwardKeys, planForward } from './forward.ts'
import { prepare } from './prepare.ts'
import { Recipients } from './recipients.ts'
import { planReply, type Reply, type ReplyRequest, unanswered } from './reply.ts'
import type { Arriving, Rules } from './rules.ts'
import { arriveReceived, arriveStored } from './stored.ts'

/** Gives a message from its first byte. */
type Bytes = () => AsyncIterable<Buffer>

/** Gives a message, and what the screening reads in it. */
interface Contents {
  readonly bytes: Bytes
  readonly said: () => Promise<SpamText>
}

type ToAccount = DeliveryRecipient & { readonly account: User }

export interface DeliveryOptions {
  readonly system: Actors
  readonly sequence: Numbers
  readonly settings: Settings
  readonly bodies: Bodies
  readonly reads: Reads
  readonly rules: Rules
  readonly spam: SpamJudge
  readonly keys: ForwardKeys
  readonly throttle: Counters
  readonly addressBook: Pick<AddressBook, 'note'>
  readonly lookup: Lookup
  /** Address of the account that gets mail to postmaster@ and abuse@ of all domains; '' leaves it to each domain's first. */
  readonly postmaster: string
  readonly log: Log
}

/** Hears of every delivery when its outcomes are on disk, and before its sender does; reads the message while it is called. */
export type DeliveryObserver = (
  envelope: DeliveryEnvelope,
  results: readonly DeliveryResult[],
  message: { readonly body: number; readonly size: number; readonly bytes: Bytes },
) => Promise<void>

export class LocalDelivery {
  readonly #options: DeliveryOptions
  readonly #recipients: Recipients
  readonly #storms: Storms
  #observer: DeliveryObserver | undefined

  constructor(options: DeliveryOptions) {
    this.#options = options
    this.#storms = new Storms(options.throttle)
    this.#recipients = new Recipients(options)
  }

  /** Who an address is: an account, a forward, a sender we rewrote. @throws Fault as `Recipients.find` */
  recipient(address: string): Promise<DeliveryRecipient> {
    return this.#recipients.find(address)
  }

  /** Has one observer told of every delivery; it must not throw. */
  observe(observer: DeliveryObserver): void {
    this.#observer = observer
  }

  /** Notes whom an account heard from. */
  #note(message: Arriving, account: User, stored: Appended, junk: boolean): void {
    if (!stored.duplicate && !junk) this.#options.addressBook.note(account.num, sendersOf(message.header), now())
  }

  /** Notes whom an account writes to: those in its fields who get it. */
  noteSent(account: User, header: Header, recipients: readonly string[]): void {
    const keys = new Set(recipients.map(address => normalizeAddress(address).key))
    const people = learned(header, '\\Sent').filter(({ address }) => keys.has(normalizeAddress(address).key))
    this.#options.addressBook.note(account.num, people, now(), true)
  }

  /** Stores a message for each recipient; one result for each, in order. */
  async deliver(received: Received, envelope: DeliveryEnvelope): Promise<DeliveryResult[]> {
    const { root, size } = received
    // Who hands over by LMTP is of our own house: he may have said in our name what he looked at, and of spam what he found.
    const hostname = envelope.source === 'lmtp' ? null : this.#options.keys.hostname
    const stream = (start: number, end?: number) => received.stream(start, end)
    const { rules, bodies } = this.#options
    const heeded = envelope.found?.some(({ name }) => name === 'relay')
    const trusted = envelope.relayed === true || envelope.source === 'lmtp'
    const relay = !trusted ? undefined : heeded ? 'heeded' : 'trusted'
    const verdicts = { classifies: rules.classifies, hostname, relay } as const
    const clean = await withoutVerdicts(bodies, { headerEnd: root.headerEnd, size, stream }, verdicts)
    try {
      return await this.#deliver(clean ?? received, envelope)
    } finally {
      await clean?.discard()
    }
  }

  async #deliver(received: Received, envelope: DeliveryEnvelope): Promise<DeliveryResult[]> {
    const prepared = await prepare(received, this.#options.sequence)
    const { from, score = 0, verification, found, trace: prefix = '', transport, requireTls, bimi } = envelope
    const arrived = arriveReceived(prepared, received, { from, score })
    const message = { ...arrived, verification, found, prefix, transport, requireTls, bimi, trust: trustOf(envelope) }
    return this.#toAll(message, envelope, contentsOf(received))
  }

  /** The same for a message whose body is stored and held by a row of the queue. */
  async deliverStored(stored: StoredMessage, envelope: DeliveryEnvelope): Promise<DeliveryResult[]> {
    const { system, bodies } = this.#options
    const { from, score = 0, requireTls } = envelope
    const trust = trustOf(envelope)
    const body = await bodies.open(stored.body)
    const message = { ...(await arriveStored(system.read, bodies, { ...stored, from, score })), trust, requireTls }
    const { length: prefix } = Buffer.from(stored.prefix)
    const stream = (start: number, end?: number) => body.stream(start, end)
    const headerEnd = message.header.block.length - prefix
    const verdicts = { classifies: this.#options.rules.classifies, hostname: this.#options.keys.hostname }
    const clean = await withoutVerdicts(bodies, { headerEnd, size: body.size, stream }, verdicts)
    if (clean === null) return this.#toAll(message, envelope, { bytes: () => stream(0), said: () => saidBy(stream(0)) })
    try {
      const prepared = await prepare(clean, this.#options.sequence)
      const header = new Header(
        Buffer.concat([Buffer.from(stored.prefix), clean.root.header.block]),
        clean.root.header.assumed,
      )
      const arrived = arriveReceived(prepared, clean, { from, score })
      const cleaned = { ...arrived, header, prefix: stored.prefix, trust, requireTls }
      return await this.#toAll(cleaned, envelope, contentsOf(clean))
    } finally {
      await clean.discard()
    }
  }

  async #toAll(message: Arriving, envelope: DeliveryEnvelope, contents: Contents): Promise<DeliveryResult[]> {
    const { source } = envelope
    const settled = await Promise.allSettled(
      envelope.recipients.map(one => this.#toEach(message, one, source, contents)),
    )
    const results = settled.map(one => (one.status === 'fulfilled' ? one.value : { refused: one.reason }))
    const { body, size } = message.prepared
    await this.#observer?.(envelope, results, { body, size, bytes: contents.bytes })
    await noteReport(this.#options, message, envelope.recipients, results)
    // What this service says itself is known already.
    if (source !== 'submission') {
      await noteBounce(this.#options, message, envelope.recipients, results, contents.bytes)
    }
    return results
  }

  /** To whoever answers for the address, and to others who look after it; what becomes of theirs the sender does not hear. */
  async #toEach(message: Arriving, recipient: DeliveryRecipient, source: string, contents: Contents): Promise<Settled> {
    const { address, also = [] } = recipient
    const others = also.map(user => this.#toOne(message, { address, user }, source, contents))
    const [settled] = await Promise.all([this.#toOne(message, recipient, source, contents), Promise.allSettled(others)])
    return settled
  }

  async #toOne(message: Arriving, recipient: DeliveryRecipient, source: string, contents: Contents): Promise<Settled> {
    const { bytes, said } = contents
    if (recipient.forward !== undefined) return this.#forward(message, recipient, recipient.forward)
    const { returned } = recipient
    // A program's answer to what was sent on is for who wrote it.
    if (returned !== undefined && (recipient.user === '' || isAnswer(message.header))) {
      return this.#bounce(message, returned.sender)
    }
    const account = recipient.account ?? (await this.#options.lookup.user(recipient.user))
    if (account === undefined) {
      const append = this.#append(message, recipient, source)
      return storedAs(await this.#options.system.handle(recipient.user).run(appendMessage, append), undefined)
    }
    const judged = await this.#options.spam.judge(message, account, source, said)
    return this.#storms.counting(account, () => this.#toAccount(judged, { ...recipient, account }, source, bytes))
  }

  async #toAccount(judged: Arriving, recipient: ToAccount, source: string, bytes: Bytes): Promise<Settled> {
    const { account, returned } = recipient
    // What came back is no letter: it goes on to nobody, and is answered by nobody. Whoever else writes to such an address is a stranger.
    const cameBack = returned !== undefined && mayBeBounce(judged.header, judged.from)
    if (!cameBack && this.#options.rules.has(account, judged.score)) {
      return this.#byRules(judged, recipient, source, bytes)
    }
    const stored = await this.#store(account, this.#append(judged, recipient, source), bytes)
    this.#note(judged, account, stored, false)
    return storedAs(stored, judged.spam?.score)
  }

  /** Stores a message for an account, encrypted where the account wants it. */
  async #store(
    account: User,
    append: Append,
    bytes: Bytes,
    decision?: CarriedOut,
  ): Promise<Appended & Partial<Carried>> {
    const { system, bodies, reads, sequence, keys } = this.#options
    const handle = system.handle(account.id)
    const put = (append: Append) =>
      decision === undefined ? handle.run(appendMessage, append) : handle.run(deliverMessage, { append, decision })
    if (keysOf(account) === null) return put(append)
    const how = { secret: keys.loopSecret, bytes }
    const sealed = await sealDelivery({ read: system.read, bodies, reads, sequence }, account, append, how)
    if (sealed === null) return put(append)
    try {
      return await put({ ...append, prepared: { ...sealed.prepared, plain: append.prepared.body } })
    } finally {
      await sealed.discard()
    }
  }

  #append(message: Arriving, recipient: DeliveryRecipient, source: string): Append {
    return plainAppend(message, recipient, source, this.#options.rules.classifies)
  }

  async #byRules(message: Arriving, recipient: ToAccount, source: string, bytes: Bytes): Promise<Settled> {
    const { rules, system } = this.#options
    const { user, address, account } = recipient
    const handle = system.handle(user)
    const append = this.#append(message, recipient, source)
    const decided = await rules.decide(account, address, message)
    let decision = decided
    let discard = async () => {}
    let taken = false
    try {
      const sealed = await sealForward(this.#options, account, decided.outgoing, bytes)
      discard = sealed.discard
      decision = forwarding(decided, sealed)
      if (decision.drop) {
        const flagged = { ...append, flags: decision.flags }
        const { queued } = await handle.run(dropMessage, { append: flagged, decision: carried(decision, message) })
        taken = true
        const action = queued.length > 0 ? 'forwarded' : 'dropped'
        return { stored: null, fate: { action, ...scored(message.spam?.score), queued } }
      }
      const { to, flags, forward } = decision
      const forwardTargets = forward?.targets.map(({ kind: type, value }) => ({ type, value })) ?? []
      const meta = { ...append.meta, ...(forwardTargets.length > 0 && { forwardTargets }) }
      const prefix = addedTo(append.prefix, decision.lines)
      const placed = { ...append, to, flags, meta, prefix }
      const stored = await this.#store(account, placed, bytes, carried(decision, message))
      taken = !stored.duplicate
      const isJunk = typeof to === 'object' && 'specialUse' in to && to.specialUse === '\\Junk'
      this.#note(message, account, stored, isJunk)
      return storedAs(stored, message.spam?.score)
    } finally {
      if (!taken) decision.undo()
      await decision.discard()
      await discard()
    }
  }

  /** An address that belongs to no account: nothing is stored, all its targets are queued, and its answer, if it has one. */
  async #forward(message: Arriving, { address }: DeliveryRecipient, found: Address): Promise<Settled> {
    const { keys, throttle, settings, system } = this.#options
    const { header, prepared, prefix, from, verification, trust = 'theirs', requireTls } = message
    const { targets = [], forwards = 0, autoreply } = found.forward ?? {}
    const allowed = forwards || settings.get('const:max:forwards')
    const own = new Set([found.key, normalizeAddress(address).key])
    const request = {
      ...{ owner: found.id, user: null, address, from, header, prepared, prefix },
      ...{ targets, allowed, own, trust, requireTls, standing: true },
    }
    const plan = await planForward(request, keys, throttle)
    // Nothing is kept of it, so what cannot go on must not be taken.
    if (plan.reason === 'daily-limit')
      throw new Fault('TransferLimit', { text: 'The daily limit of this address is reached' })
    const answers = autoreply?.status === true
    if (plan.outgoing.length === 0 && (targets.length > 0 || !answers)) throw new Fault('ForwardLoop')
    const asked = { address, own, header, from, forged: verification?.forgedSender, requireTls }
    const reply = answers ? await this.#replyFor(found, autoreply, asked) : unanswered('off')
    let queued: Queued[] | undefined
    try {
      const all = [...plan.outgoing, ...(reply.outgoing === undefined ? [] : [reply.outgoing])]
      queued = all.length > 0 ? await system.directory.run(queueAll, all) : []
    } finally {
      if (queued === undefined) reply.undo()
      await reply.discard()
    }
    return { stored: null, fate: { action: 'forwarded', queued: queued.map(({ queueId }) => queueId) } }
  }

  #replyFor(
    found: Address,
    { start, end, name = '', subject = '', text = '', html = '' }: ForwardReply,
    message: Pick<ReplyRequest, 'address' | 'own' | 'header' | 'from' | 'forged' | 'requireTls'>,
  ): Promise<Reply> {
    const form = { name: name || found.name, subject, text, html }
    const bounds = { start: start || null, end: end || null }
    return planReply(this.#options, { ...message, owner: found.id, user: null, id: found.id, form, ...bounds })
  }

  /**
   * What came back to a sender we rewrote goes on to the sender there was: no letters, and so much in a day, since whoever got a forward
   * knows the address, and would have in us a way to somebody who never asked for him.
   */
  async #bounce(message: Arriving, to: string): Promise<Settled> {
    const { keys, system, throttle } = this.#options
    const { header, prepared, prefix, from, requireTls } = message
    if (!mayBeBounce(header, from) && !isAnswer(header)) throw new Fault('UserNotFound')
    const { answeredMax } = limits.outbound
    const { allowed } = await throttle.spend('answered', normalizeAddress(to).key, limits.time.day, answeredMax)
    if (!allowed)
      throw new Fault('TransferLimit', { text: 'The daily limit of what goes back to this sender is reached' })
    const targets = [{ kind: 'mail' as const, value: to }]
    const sender = from === '' ? '' : rewriteSender(from, keys.srs, now())
    const options = { messageId: prepared.messageId, ...(requireTls === true && ({ requireTls } as const)) }
    const outgoing: Outgoing = { user: null, from: sender, targets, prepared, prefix, origin: 'forward', options }
    const queued = await system.directory.run(queueAll, [outgoing])
    return { stored: null, fate: { action: 'returned', queued: queued.map(({ queueId }) => queueId) } }
  }
}

function contentsOf(received: Received): Contents {
  return { bytes: () => received.stream(), said: () => saidIn(received) }
}

function plainAppend(
  { header, prepared, prefix, from, verification, transport, trust, spam, requireTls, bimi }: Arriving,
  { address, account }: DeliveryRecipient,
  source: string,
  classifies: boolean,
): Append {
  // Two verdicts side by side would be none: what a relay that is trusted with it wrote stays alone.
  const tells = classifies && spam !== undefined && account !== undefined && !saysOfSpam(header)
  const verdict = tells ? spamFields(spam, spamLevelOf(account)) : ''
  return {
    prepared,
    to: 'INBOX',
    prefix: `Delivered-To: ${address}\r\nReturn-Path: <${from}>\r\n${verdict}${prefix}`,
    flags: 0,
    keywords: [],
    meta: {
      ...{ from, rcpt: address, source },
      ...(transport !== undefined && { transport }),
      ...(verification !== undefined && { verificationResults: shownOf(verification) }),
      ...(bimi !== undefined && { bimi: { ...bimi } }),
      ...(spam !== undefined && { spam }),
      ...(trust !== undefined && trust !== 'theirs' && { trust }),
      ...(requireTls === true && { requireTls }),
    },
    once: true,
    limited: true,
  }
}

/** What is kept of it: that a sender is forged decides on arrival alone. */
function shownOf({ forgedSender: _, ...shown }: VerificationResults): Record<string, unknown> {
  return shown
}

/** Queues messages that belong to no account. */
export const queueAll: DirectoryCommand<readonly Outgoing[], Queued[]> = {
  name: 'outgoing.queue-all',
  run: (turn, all) => all.map(outgoing => queue(turn, outgoing)),
}
