// What DNS said, remembered: many messages ask the same of the same few domains, and a server that has gone must not be asked
// anew for each of them.
//
// Bounded in number and in bytes; the oldest go first. "There is none" is an answer, too, remembered for a shorter time
// (RFC 2308); that nobody could say is remembered for some seconds only. Questions that are on their way are shared. The
// system's resolver does not tell how long an answer holds, so the times are ours and short (limits.verify).

import { elapsed } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

/** Answers a question as node:dns does: rejects with an error that has a `code`. */
export type Resolve = (name: string, type: string) => Promise<unknown>

interface Answer {
  readonly until: number
  readonly bytes: number
  readonly value: Promise<unknown>
}

const none = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])
/** Of the entry itself, beside what was answered. */
const entryBytes = 200

export class DnsAnswers {
  readonly #resolve: Resolve
  readonly #known = new Map<string, Answer>()
  readonly #asking = new Map<string, Promise<unknown>>()
  #bytes = 0

  constructor(resolve: Resolve) {
    this.#resolve = resolve
  }

  /** How many answers are remembered. */
  get size(): number {
    return this.#known.size
  }

  /** Rejects as the resolver did. What comes back is shared: a caller must not change it. */
  ask(name: string, type: string): Promise<unknown> {
    const key = `${type} ${name.toLowerCase()}`
    const known = this.#known.get(key)
    if (known !== undefined && known.until > elapsed()) return known.value
    const asking = this.#asking.get(key)
    if (asking !== undefined) return asking
    const question = this.#resolve(name, type).finally(() => this.#asking.delete(key))
    this.#asking.set(key, question)
    question.then(
      value => this.#keep(key, question, limits.verify.answerMs, JSON.stringify(value).length),
      ({ code = '' }: { code?: string }) =>
        this.#keep(key, question, none.has(code) ? limits.verify.absentMs : limits.verify.failureMs, 0),
    )
    return question
  }

  #keep(key: string, value: Promise<unknown>, ms: number, size: number): void {
    const bytes = size + key.length + entryBytes
    if (bytes > limits.verify.answerBytesMax) return
    this.#drop(key)
    this.#known.set(key, { until: elapsed() + ms, bytes, value })
    this.#bytes += bytes
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= limits.verify.answersMax && this.#bytes <= limits.verify.answersBytesMax) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#known.get(key)?.bytes ?? 0
    this.#known.delete(key)
  }
}
