// Mail that others bring: recipients by their addresses, a place for the bytes, what is found out about the message, and
// its delivery to whoever is here. Nothing is relayed.
//
// What other servers bring over SMTP is strange: who sent it is asked. What comes over LMTP was looked at by whoever hands
// it on. Whatever becomes of a message, its bytes are let go.

import { now } from '#lib/clock.ts'
import { Fault, type FaultCode } from '#lib/fault.ts'
import { cut, type Journal } from '#lib/journal/journal.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'
import { checkHeaderSize } from '#mail/header/authored.ts'
import { authenticationResults, type Passage, receivedField } from '#mail/header/received.ts'
import { topOf } from '#mail/header/trace.ts'
import type { MessageNotice } from '#mail/made/notice.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { SpamPart } from '#store/mailboxes/messages.ts'
import type { Door } from '../screening/door.ts'
import type { Scanners } from '../screening/scanning.ts'
import type { Bringer, VerificationResults, Verifier } from '../screening/verification.ts'
import { arrivalOf, midway, traced } from './arrival-line.ts'
import type { DeliveryRecipient, DeliveryResult } from './envelope.ts'
import type { LocalDelivery } from './local-delivery.ts'

export interface ReceptionOptions {
  readonly delivery: Pick<LocalDelivery, 'recipient' | 'deliver'>
  readonly bodies: Pick<Bodies, 'intake'>
  readonly verifier: Pick<Verifier, 'judge' | 'isStrange'>
  readonly door: Pick<Door, 'enter' | 'unknown' | 'suspect' | 'took'>
  readonly scanners: Pick<Scanners, 'scan' | 'isRelay'>
  readonly journal: Journal
  readonly tracer: Tracer | undefined
  readonly hostname: string
  /** Bytes of the largest message that is taken. */
  readonly messageBytesMax: number
}

/** Refusals for what a message is or who brings it. */
const explained: ReadonlySet<FaultCode> = new Set([
  ...(['SenderRefused', 'SenderUnproven', 'VirusFound', 'Greylisted', 'NetworkBusy', 'TooManyUnknown'] as const),
])

/** Who names recipients. */
export interface Speaking extends Lender {
  readonly service: string
  readonly remoteAddress: string
  readonly helo?: string
  /** Of this session. */
  readonly refusedRecipients?: number
}

/** A session that has no claim to its place while it is made to wait for something. */
interface Lender {
  lend?<Value>(task: Promise<Value>): Promise<Value>
}

/** Waits as the session of whoever speaks lets it. */
function lent<Value>(speaker: Lender, task: Promise<Value>): Promise<Value> {
  return speaker.lend?.(task) ?? task
}

export interface BroughtEnvelope {
  /** Envelope sender; empty for a null sender. */
  readonly from: string
  readonly recipients: readonly DeliveryRecipient[]
  /** By which the peer knows the message. */
  readonly id: string
  readonly utf8: boolean
  readonly notice?: MessageNotice
  readonly speaker: Deliverer
}

/** Who brings a message. */
interface Deliverer extends Bringer, Lender {
  /** The listener: what comes by any other than SMTP is not strange. */
  readonly service: string
  /** As in a Received field: ESMTPS for example. */
  readonly protocol: string
  /** What the listener knows of a login. */
  readonly user?: unknown
  readonly tls: Passage['tls']
}

export class Reception {
  readonly #options: ReceptionOptions

  constructor(options: ReceptionOptions) {
    this.#options = options
  }

  /** Before a message. @throws Fault NetworkBusy, TooManyUnknown */
  async sender(from: string, speaker: Speaking): Promise<void> {
    try {
      if (this.#isStrange(speaker)) await this.#asking(this.#options.door.enter(speaker.remoteAddress))
    } catch (error) {
      this.#refused(speaker, { from: cut(from) }, error)
      throw error
    }
  }

  /** A line in the log about whoever was turned away before there was a message. */
  #refused({ remoteAddress, service, helo = '' }: Speaking, about: object, error: unknown): void {
    if (!(error instanceof Fault)) return
    const by = { service, helo: cut(helo), ...about }
    this.#options.journal.note('refused', remoteAddress, { ...by, result: error.code }, 'turned away')
  }

  /** A message that was refused before its end has no line of its own but this. */
  declined(
    { from, recipients, size, speaker }: Omit<BroughtEnvelope, 'id' | 'utf8' | 'notice'> & { readonly size: number },
    reason: unknown,
  ): void {
    this.#refused(speaker, midway(from, recipients, size), reason)
  }

  /** @throws Fault TooManyUnknown, and as `LocalDelivery.recipient` */
  async recipient(address: string, speaker: Speaking): Promise<DeliveryRecipient> {
    const { delivery, door } = this.#options
    try {
      return await delivery.recipient(address)
    } catch (error) {
      this.#refused(speaker, { to: cut(address) }, error)
      const unknown = error instanceof Fault && error.code === 'UserNotFound'
      if (unknown && this.#isStrange(speaker)) {
        const wait = door.unknown(speaker.remoteAddress, speaker.refusedRecipients ?? 0)
        await this.#asking(lent(speaker, wait))
      }
      throw error
    }
  }

  #isStrange({ service, remoteAddress }: Pick<Speaking, 'service' | 'remoteAddress'>): boolean {
    return service === 'smtp' && this.#options.verifier.isStrange(remoteAddress)
  }

  /** A refusal of mail for what it is says whom to ask. */
  async #asking<Value>(task: Promise<Value>): Promise<Value> {
    try {
      return await task
    } catch (error) {
      if (!(error instanceof Fault) || !explained.has(error.code)) throw error
      throw new Fault(error.code, {
        text: `${error.message}; questions to postmaster@${this.#options.hostname}`,
        cause: error,
      })
    }
  }

  /** A place for the bytes of one message. @throws Fault StorageUnavailable, Overloaded */
  open(): ReturnType<Bodies['intake']> {
    return this.#options.bodies.intake(this.#options.messageBytesMax)
  }

  /** Delivers, and says in the log what came of it. @throws as `#deliver` */
  async deliver(received: Received, envelope: BroughtEnvelope): Promise<DeliveryResult[]> {
    return traced(this.#options.tracer, received, envelope, undefined, () => this.#tell(received, envelope))
  }

  async #tell(received: Received, envelope: BroughtEnvelope): Promise<DeliveryResult[]> {
    const { journal } = this.#options
    const told = journal.on ? arrivalOf(received, envelope) : undefined
    try {
      const { results, ...judged } = await this.#deliver(received, envelope)
      told?.settled(journal, results, judged)
      return results
    } catch (error) {
      told?.refused(journal, error)
      throw error
    }
  }

  /** One outcome for each recipient, in order, on disk. @throws Fault MessageMalformed, SenderRefused, SenderUnproven, VirusFound, and as `LocalDelivery.deliver` */
  async #deliver(
    received: Received,
    { from, recipients, speaker, id, utf8, notice }: BroughtEnvelope,
  ): Promise<{
    results: DeliveryResult[]
    verification?: VerificationResults
    score: number
    found: readonly SpamPart[]
  }> {
    const { verifier, scanners, hostname: by, delivery, door } = this.#options
    const { helo, remoteAddress, protocol, tls } = speaker
    const strange = speaker.service === 'smtp'
    const at = now()
    try {
      // What others find behind what is read of a header here nobody has judged. What the own house hands over keeps its verdicts.
      if (strange) checkHeaderSize(received.root.headerEnd)
      // Name servers that a stranger chose are asked: how long they take is not to hold his place for him.
      const judged = strange ? await this.#asking(lent(speaker, verifier.judge(received, from, speaker))) : undefined
      const to = recipients.map(({ address }) => address)
      const standing = judged?.standing ?? []
      const suspicion = standing.reduce((sum, { score }) => sum + score, 0)
      if (strange)
        await this.#asking(door.suspect({ ip: remoteAddress, organization: judged?.organization, from, to, suspicion }))
      const scanned = await this.#asking(scanners.scan(received, { from, recipients: to, ip: remoteAddress, helo, id }))
      const found = [...scanned, ...standing]
      const brought = { from: { helo, address: remoteAddress }, recipients: to }
      const passage = receivedField({ by, protocol, id, utf8, tls, at, ...brought })
      const lines = (judged === undefined ? '' : authenticationResults(by, judged.results)) + passage
      const trace = topOf(lines, received.root.headerEnd)
      const transport = { origin: remoteAddress, transhost: helo, transtype: protocol, time: at }
      const { verification, score = 0 } = judged ?? {}
      const source = strange ? 'smtp' : 'lmtp'
      const known = verification === undefined ? {} : { verification }
      const results = await delivery.deliver(received, {
        from,
        recipients,
        source,
        score,
        found,
        relayed: scanners.isRelay(remoteAddress),
        trace,
        transport,
        speaker,
        requireTls: notice?.requireTls,
        bimi: judged?.bimi,
        ...known,
      })
      // It is taken, whatever becomes of the count.
      if (this.#isStrange(speaker)) door.took(remoteAddress, recipients.length).catch(() => undefined)
      return { results, score, found, ...known }
    } finally {
      await received.discard()
    }
  }
}
