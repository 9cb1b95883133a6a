// A message in the hands of another server: host after host of a domain, or the relay, until one of them has answered.
//
// A host that has the message, or refuses it for good, ends it, and so does one that has all of the message and is silent: who sends it to
// the next one at once may have it delivered twice. Whom one puts off another is asked about. Sessions are kept for the next message.

import { limits } from '#lib/limits.ts'
import type { SrsKey } from '#mail/address/srs.ts'
import type { Outbound, Target } from '#store/sending/outbound.ts'
import { returnPath } from '../returned/return-path.ts'
import { byObstacle, byRefusal, bySent, doubted, isCrowded, isPutOff, type Recipient, unconnected } from './attempt.ts'
import { requireTlsMissing } from './host/sayable.ts'
import type { OutgoingMessage } from './message.ts'
import { byNotice, type WireNotice } from './notice.ts'
import type { Attempt } from './results.ts'
import { keywordOf, wire } from './route.ts'
import { NotConnected, type RelaySessions } from './sessions.ts'
import { type MailEnvelope, MailFailed, type MailRoute, type MailSent } from './smtp-client.ts'

/** Recipients of whom the same is said. */
interface Group {
  readonly recipients: readonly Recipient[]
  readonly dsn?: WireNotice | undefined
}

export class Transactions {
  readonly #sessions: RelaySessions
  readonly #srs: SrsKey
  readonly #broken: (target: Target, error: unknown) => Attempt

  /** @param broken what becomes of a target for which something of ours broke */
  constructor(sessions: RelaySessions, srs: SrsKey, broken: (target: Target, error: unknown) => Attempt) {
    this.#sessions = sessions
    this.#srs = srs
    this.#broken = broken
  }

  /** One after the other where their senders want to hear different things; what goes wrong with one costs no other its result. */
  async send(
    message: Outbound,
    recipients: readonly Recipient[],
    ways: readonly MailRoute[],
    opened: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<Attempt[]> {
    const attempts: Attempt[] = []
    for (const { recipients: same, dsn } of byNotice(message, recipients)) {
      const transacted = this.#transact(message, { recipients: same, dsn }, ways, opened, signal)
      attempts.push(...(await transacted.catch(error => same.map(({ target }) => this.#broken(target, error)))))
    }
    return attempts
  }

  /** Those whom a host puts off go to the next one (RFC 5321 5.1), and keep the answer of the first where that says no more. */
  async #transact(
    message: Outbound,
    { recipients, dsn }: Group,
    ways: readonly MailRoute[],
    opened: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<Attempt[]> {
    const said = new Map<Target, Attempt>()
    let left = recipients
    let [answers, unfit] = [0, 0]
    let last: MailFailed | undefined
    let at: string | undefined
    for (const route of ways) {
      const came = await this.#give(message, { recipients: left, dsn }, route, opened, signal)
      if (came instanceof MailFailed) {
        // That one leads inside ends nothing while another is out of reach for now; who said something is told of before who did not.
        if (last === undefined || (came.failure !== 'blocked' && !last.closing)) [last, at] = [came, route.host]
        if (came.unfit) unfit += 1
      } else {
        for (const one of came) if (!(said.has(one.target) && isPutOff(one))) said.set(one.target, one)
        left = came.filter(isPutOff).map(({ target }) => recipientOf(recipients, target))
        answers += 1
        if (left.length === 0 || answers === limits.outbound.answersMax) break
      }
      if (signal.aborted) break
    }
    if (answers > 0) return [...said.values()]
    if (unfit === ways.length) return recipients.map(({ target }) => byObstacle(target, requireTlsMissing))
    return unconnected(recipients, last, at)
  }

  /** What a host said to each; why it said nothing, where another one may be asked. */
  async #give(
    message: Outbound,
    { recipients, dsn }: Group,
    route: MailRoute,
    opened: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<Attempt[] | MailFailed> {
    const from = wire(returnPath(message, this.#srs))
    const envelope = { from, to: recipients.map(({ to }) => to), ...(dsn && { dsn }), ...keywordOf(message) }
    try {
      const sent = await this.#hand(route, envelope, opened, signal)
      const attempts = recipients.map(recipient => bySent(recipient, sent, route.host))
      const left = recipients.filter((_, at) => isCrowded(attempts[at] as Attempt))
      // None of whom one was taken: there is no end to be reached like that.
      if (left.length === 0 || left.length === recipients.length || signal.aborted) return attempts
      const later = await this.#give(message, { recipients: left, dsn }, route, opened, signal)
      return later instanceof MailFailed ? attempts : instead(attempts, later)
    } catch (error) {
      const failure = error instanceof NotConnected ? error.failed : error
      if (!(failure instanceof MailFailed)) return recipients.map(({ target }) => this.#broken(target, error))
      if (failure === error && failure.status !== null && !failure.closing)
        return recipients.map(recipient => byRefusal(recipient, failure, route.host))
      // What was in doubt once may go to the next host.
      if (failure.doubtful && recipients.every(({ target }) => target.attempts <= 1))
        return recipients.map(recipient => doubted(recipient, failure, route.host))
      return failure
    }
  }

  /** Gives it to a host, in a form that this one takes. @throws as `RelaySessions.send` */
  async #hand(
    route: MailRoute,
    envelope: MailEnvelope,
    opened: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<MailSent> {
    const send = (form: OutgoingMessage) => {
      const { size, eightBit, utf8 } = form
      return this.#sessions.send(route, { ...envelope, size, eightBit, utf8 }, () => form.bytes(), signal)
    }
    try {
      return await send(opened)
    } catch (error) {
      const lacks = error instanceof MailFailed ? error.lacks : undefined
      if (lacks === undefined) throw error
      return await send(lacks === 'utf8' ? await opened.asciiTop() : await opened.sevenBit())
    }
  }
}

/** What came of the recipients who were left for another transaction; that too many were named says nothing new. */
function instead(attempts: readonly Attempt[], later: readonly Attempt[]): Attempt[] {
  return attempts.map(one => {
    const found = later.find(({ target }) => target === one.target)
    return found === undefined || isCrowded(found) ? one : found
  })
}

function recipientOf(recipients: readonly Recipient[], target: Target): Recipient {
  return recipients.find(one => one.target === target) as Recipient
}
