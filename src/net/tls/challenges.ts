// The answers to challenges of ACME servers that are open right now (RFC 8555 8.3): token -> key authorization.
//
// Only tokens that an ACME server gave out for an order of ours are answered, and only while the order is under way. Both
// front ends ask here: the API and the plain HTTP listener.

import { limits } from '#lib/limits.ts'

export class Challenges {
  /** Has other nodes answer it too, whichever the ACME server asks; null: no longer. */
  share: ((token: string, answer: string | null) => Promise<void>) | undefined
  readonly #answers = new Map<string, string>()

  /** Answers a token from now on. @returns false where the token has no form of one, or there are too many */
  open(token: string, answer: string): boolean {
    if (!isToken(token) || this.#answers.size >= limits.acme.challengesMax) return false
    this.#answers.set(token, answer)
    return true
  }

  close(token: string): void {
    this.#answers.delete(token)
  }

  /** What an ACME server wants to read; undefined where nobody asked for the token. */
  answer(token: string): string | undefined {
    return this.#answers.get(token)
  }
}

const { tokenLengthMin, tokenLengthMax } = limits.acme
const form = new RegExp(`^[A-Za-z0-9_-]{${tokenLengthMin},${tokenLengthMax}}$`)

function isToken(text: string): boolean {
  return form.test(text)
}
