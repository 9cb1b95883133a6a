// Tokens that are none, as failed logins in the log: with the address they came from, and without a character of them.
//
// A page whose login is over goes on with its old token, which is no attack: the same token of the same network is told of once.

import { createHash } from 'node:crypto'
import type { Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import { remember } from '#lib/memoize.ts'
import { networkOf } from '#lib/network.ts'

const digestLength = 24

export class WrongTokens {
  readonly #journal: Pick<Journal, 'note' | 'on'>
  readonly #known = new Map<string, true>()

  constructor(journal: Pick<Journal, 'note' | 'on'>) {
    this.#journal = journal
  }

  /** @param route what was asked for, as a template: nothing that a stranger chose */
  note(token: string, address: string, route: string): void {
    if (!this.#journal.on) return
    const digest = createHash('sha256')
      .update(`${networkOf(address)} ${token}`)
      .digest('base64')
      .slice(0, digestLength)
    if (this.#known.has(digest)) return
    remember(this.#known, digest, true, limits.http.wrongTokensMax)
    const about = { protocol: 'API', scope: 'token', result: 'InvalidToken', route }
    this.#journal.note('login-failed', address, about, 'a token was wrong')
  }
}
