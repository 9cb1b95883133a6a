// Whom addresses mean, and accounts, for who asks for the same ones all the time: a delivery looks at both for every
// recipient. What is given out is shared: it must not be changed.

import type { Reader } from '../engine/reader.ts'
import type { Changes } from '../engine/watched.ts'
import { Recent } from '../mailboxes/recent.ts'
import { type Address, resolveAddress } from './address.ts'
import { findUser, type User } from './users.ts'

const everUsed = `SELECT 1 FROM user UNION ALL SELECT 1 FROM address
  UNION ALL SELECT 1 FROM meta WHERE key = 'account.removed' LIMIT 1`

export class Lookup {
  readonly #read: Reader
  readonly #addresses: Recent<Address | undefined>
  readonly #users: Recent<User | undefined>
  #inUse = false

  constructor(read: Reader, changes: Changes) {
    this.#read = read
    this.#addresses = new Recent(() => changes.of('address', 'domainalias'))
    this.#users = new Recent(() => changes.of('user'))
  }

  /** Whose an address is, wildcards and aliases included; see `resolveAddress`. */
  address(text: string): Promise<Address | undefined> {
    return this.#addresses.get(text, () => resolveAddress(this.#read, text, true))
  }

  /** The account with this id, deleted ones too. */
  user(id: string): Promise<User | undefined> {
    return this.#users.get(id, () => findUser(this.#read, id))
  }

  /** Whether anybody has, or ever had, an account or an address here. */
  inUse(): boolean {
    this.#inUse ||= this.#read.one(everUsed) !== undefined
    return this.#inUse
  }
}
