// The questions that one method may ask of DNS about one message: so many of them, and an end to all.
//
// Answers of a size that nobody has use for are none. Whether somebody did not say is known afterwards.

import { monotonic, within } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Resolve } from './dns-answers.ts'

const said = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/** Asks for one method of one message: so many questions, and an end to all of them. */
class Asker {
  readonly #resolve: Resolve
  readonly #until: number
  #left: number
  /** Somebody did not say whether there is an answer. */
  unanswered = false
  /** As the library wants it. */
  readonly resolver = ((name: string, type: string) => this.#ask(name, type)) as never

  constructor(lookupsMax: number, until: number, resolve: Resolve) {
    this.#left = lookupsMax
    this.#until = until
    this.#resolve = resolve
  }

  async #ask(name: string, type: string): Promise<unknown> {
    this.#left -= 1
    if (this.#left < 0) throw late()
    try {
      const ms = this.#until - monotonic()
      if (ms <= 0) throw late()
      return bounded(await within(ms, this.#resolve(name, type), late))
    } catch (error) {
      if (!said.has((error as NodeJS.ErrnoException).code ?? '')) this.unanswered = true
      throw error
    }
  }
}

/** @param until by the monotonic clock */
export function askersUntil(until: number, resolve: Resolve): (lookupsMax: number) => Asker {
  return lookupsMax => new Asker(lookupsMax, until, resolve)
}

function late(): Error {
  return Object.assign(new Error('no more questions for this message'), { code: 'ETIMEOUT' })
}

/** An answer of a size that is worth reading: a key or a policy of 64 KB is none. */
function bounded(answer: unknown): unknown {
  if (!Array.isArray(answer)) return answer
  const readable = (one: unknown) => !Array.isArray(one) || one.join('').length <= limits.verify.recordLengthMax
  // The same array for the same answer: what was made of it is known by it.
  return answer.every(readable) ? answer : answer.filter(readable)
}
