// Which domains are closed, for those who ask for every recipient and every login: a set that is read again when a domain or
// an alias of one has changed, and otherwise costs a look.
//
// Whoever reads an account's row anyway hears of it there (accounts/standing.ts).

import type { Reader } from '../engine/reader.ts'
import type { Changes } from '../engine/watched.ts'
import { Recent } from '../mailboxes/recent.ts'
import { closedDomains } from './domain.ts'

export class ClosedDomains {
  readonly #read: Reader
  readonly #known: Recent<ReadonlySet<string>>

  constructor(read: Reader, changes: Changes) {
    this.#read = read
    this.#known = new Recent(() => changes.of('domain', 'domainalias'))
  }

  /** Whether a domain is closed, by itself or as another name of one that is. */
  async has(domain: string): Promise<boolean> {
    return (await this.#known.get('', () => closedDomains(this.#read))).has(domain)
  }
}
