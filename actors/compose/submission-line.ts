// What the log says of a message that was submitted over HTTP: the line of one that came over SMTP, as far as there is the same to
// say.
//
// Subject and text are never among it; passwords in URLs are masked, and of many recipients the first are named.

import { Fault } from '#lib/fault.ts'
import { cut, type Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import type { Outgoing } from '../sending/outgoing.ts'

export interface Submitter {
  /** Id of the account in whose name it is sent. */
  readonly user: string
  /** Address of who is behind the call, or of the program that speaks for him. */
  readonly ip: string
  readonly protocol: 'HTTP' | 'HTTPS'
}

const serverError = 500

export class SubmissionLine {
  readonly #journal: Journal
  readonly #submitter: Submitter

  constructor(journal: Journal, submitter: Submitter) {
    this.#journal = journal
    this.#submitter = submitter
  }

  /** It is in the queue. */
  queued({ from, targets, prepared, options }: Outgoing, queueId: string): void {
    const named = targets.slice(0, limits.journal.recipientsMax)
    const more = targets.length - named.length
    const to = named.map(({ value }) => ({ address: cut(maskUrl(value)), action: 'queued', queued: [queueId] }))
    const messageId = options?.messageId
    this.#note(
      {
        ...{ id: queueId, from: cut(from), size: prepared.size },
        ...(messageId !== undefined && messageId !== '' && { messageId: cut(messageId) }),
        ...{ to, ...(more > 0 && { more }) },
      },
      'message taken',
    )
  }

  /** Runs what sends a message, and tells where that is refused. @throws what it throws */
  async during<Result>(send: () => Promise<Result>): Promise<Result> {
    try {
      return await send()
    } catch (error) {
      if (error instanceof Fault && error.status < serverError) this.#note({ refused: error.code }, 'message refused')
      throw error
    }
  }

  #note(fields: object, text: string): void {
    const { user, ip, protocol } = this.#submitter
    this.#journal.note('message', ip, { service: 'api', protocol, user, ...fields }, text)
  }
}
