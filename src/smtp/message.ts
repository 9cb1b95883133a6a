// The bytes of a message on their way in (DATA and BDAT), and what the peer is told about them.
//
// A message that must be refused is read to its end first, so that the session stays in step, but nothing of it is kept.
//
// LMTP answers for every recipient. SMTP has one reply for all: 250 where all have the message. Where some have it and some
// do not, a 5xx would have the sender told that nobody got it, and a 250 would lose it; so the reply is a temporary one. The
// sender tries again, who has the message is not given it twice (the backend's promise), and who is refused for good is
// refused at RCPT the next time, alone. Where nobody has it, a permanent reply needs all reasons to be permanent.

import { monotonic } from '#lib/clock.ts'
import { Fault, smtpReply } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type Connection, Disconnected } from '#net/connection.ts'
import type { Intake, Outcome } from './backend.ts'
import { DotReader } from './dots.ts'
import type { Bounds } from './setting.ts'

/** One message being received. */
export class Arrival {
  readonly #intake: Intake<unknown>
  readonly #bytesMax: number
  readonly #onFailed: (reason: unknown) => void
  readonly #until: number
  #size = 0
  #failed = false
  #failure: unknown

  /** @param onFailed hears once why nothing of it is kept */
  constructor(
    intake: Intake<unknown>,
    { messageBytesMax, messageMs }: Pick<Bounds, 'messageBytesMax' | 'messageMs'>,
    onFailed: (reason: unknown) => void = () => {},
  ) {
    this.#intake = intake
    this.#onFailed = onFailed
    this.#bytesMax = messageBytesMax
    this.#until = monotonic() + messageMs
  }

  get size(): number {
    return this.#size
  }

  /** Takes bytes; after a failure only counts them. @throws Fault IdleTimeout; Disconnected where far too much comes */
  take(bytes: Buffer): void | Promise<void> {
    this.#size += bytes.length
    this.hurry()
    if (this.#failed) {
      if (this.#size > limits.smtp.discardBytesMax) throw new Disconnected('The peer sends far more than it may')
      return
    }
    if (this.#size > this.#bytesMax) return this.fail(new Fault('MessageTooLarge'))
    try {
      const work = this.#intake.write(bytes)
      if (work !== undefined) return work.catch(error => this.fail(error))
    } catch (error) {
      return this.fail(error)
    }
  }

  /** @throws Fault IdleTimeout where it has been coming for too long */
  hurry(): void {
    if (monotonic() > this.#until) throw new Fault('IdleTimeout')
  }

  /** Forgets the message for a reason; the first reason stays. */
  fail(reason: unknown): void | Promise<void> {
    if (this.#failed) return
    this.#failed = true
    this.#failure = reason
    this.#onFailed(reason)
    return this.#intake.abort()
  }

  /** @throws the reason it failed for, where it has */
  check(): void {
    if (this.#failed) throw this.#failure
  }

  /** What the intake makes of it. @throws the reason it failed for */
  async finish(): Promise<unknown> {
    if (!this.#failed) {
      try {
        return await this.#intake.finish()
      } catch (error) {
        await this.fail(error)
      }
    }
    throw this.#failure
  }
}

/** Reads a message up to its final dot. @throws Fault IdleTimeout; Disconnected; the arrival has failed then */
export async function readDots(connection: Connection, arrival: Arrival): Promise<void> {
  const reader = new DotReader()
  try {
    for (let end = -1; end < 0; ) {
      const chunk = connection.peek() ?? (await connection.fill())
      end = reader.feed(chunk)
      connection.consume(end < 0 ? chunk.length : end)
      if (reader.malformed) await arrival.fail(new Fault('MessageMalformed'))
      for (const piece of reader.pieces) {
        const work = arrival.take(piece)
        if (work !== undefined) await work
      }
    }
  } catch (error) {
    await arrival.fail(error)
    throw error
  }
}

/** Reads one chunk of BDAT (RFC 3030). @throws as `readDots` */
export async function readChunk(connection: Connection, length: number, arrival: Arrival): Promise<void> {
  try {
    // A chunk may have no bytes.
    arrival.hurry()
    await connection.literal(length, bytes => arrival.take(bytes))
  } catch (error) {
    await arrival.fail(error)
    throw error
  }
}

/** Reads a chunk that nobody wants, so that the peer sees the answer. @throws Fault IdleTimeout; Disconnected */
export async function discardChunk(connection: Connection, length: number, ms: number): Promise<void> {
  const until = monotonic() + ms
  await connection.literal(length, () => {
    if (monotonic() > until) throw new Fault('IdleTimeout')
  })
}

export interface Reply {
  readonly code: number
  readonly enhanced: string
  readonly text: string
}

/** What is said about one recipient. */
export function replyOf(outcome: Outcome, stored: string): Reply {
  if (outcome.refused === undefined) return { code: 250, enhanced: '2.0.0', text: stored }
  return smtpReply(outcome.refused)
}

/** The one reply of SMTP for all recipients; see above. */
export function replyForAll(outcomes: readonly Outcome[], stored: string): Reply {
  const refused = outcomes.filter(outcome => outcome.refused !== undefined).map(outcome => smtpReply(outcome.refused))
  const [first] = refused
  if (first === undefined) return { code: 250, enhanced: '2.0.0', text: stored }
  const temporary = refused.find(({ code }) => code < 500)
  if (refused.length === outcomes.length) return temporary ?? first
  const having = outcomes.length - refused.length
  const text = `${having} of ${outcomes.length} recipients have it, send it again for the others: ${(temporary ?? first).text}`
  return { code: temporary?.code ?? 451, enhanced: temporary?.enhanced ?? '4.2.0', text }
}
