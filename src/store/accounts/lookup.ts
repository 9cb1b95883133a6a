// Whom addresses mean, and accounts, for who asks for the same ones all the time: a delivery looks at both for every
// recipient. What is given out is shared: it must not be changed. Nothing is remembered past the commit that touches what it
// came from.

import { normalizeAddress } from '#mail/address/address.ts'
import { findAlias } from '../domains/alias.ts'
import { ClosedDomains } from '../domains/closed.ts'
import { adminsOf } from '../domains/domain.ts'
import type { Reader } from '../engine/reader.ts'
import type { Changes } from '../engine/watched.ts'
import { Recent } from '../mailboxes/recent.ts'
import { type Address, firstUser, firstUserOf, resolveAddress } from './address.ts'
import { findUser, type User } from './users.ts'

/** Whether an address, as it is compared, is one of those that every domain has. */
function isForKeeper(key: string): boolean {
  return /^(?:postmaster|abuse)@/.test(key)
}

const everUsed = `SELECT 1 FROM "user" UNION ALL SELECT 1 FROM address
  UNION ALL SELECT 1 FROM meta WHERE key = 'account.removed' LIMIT 1`

/**
 * Who looks after a domain, in unicode: those who are named for it, else the account that has had an address there for longest;
 * nobody where the domain is not here.
 */
export async function keepersOf(read: Reader, domain: string): Promise<readonly string[]> {
  const alias = await findAlias(read, domain)
  const name = alias?.domain ?? domain
  const first = await firstUserOf(read, name)
  // A domain without addresses takes no mail, whoever looks after it.
  if (first === undefined) return []
  const admins = await Promise.all((await adminsOf(read, name)).map(id => findUser(read, id)))
  const taking = admins.filter(admin => admin !== undefined && admin.deleted === null && !admin.disabled)
  return taking.length > 0 ? taking.map(admin => admin?.id ?? '') : [first]
}

export class Lookup {
  readonly #read: Reader
  readonly #addresses: Recent<Address | undefined>
  readonly #users: Recent<User | undefined>
  readonly #keepers: Recent<readonly string[]>
  readonly #closed: ClosedDomains
  #inUse = false

  constructor(read: Reader, changes: Changes) {
    this.#read = read
    this.#addresses = new Recent(() => changes.of('address', 'domainalias'))
    this.#users = new Recent(() => changes.of('user'))
    this.#closed = new ClosedDomains(read, changes)
    this.#keepers = new Recent(() => changes.of('address', 'domainalias', 'domain_admin', 'user'))
  }

  /** Whose an address is, wildcards and aliases included; see `resolveAddress`. */
  address(text: string): Promise<Address | undefined> {
    return this.#addresses.get(text, () => resolveAddress(this.#read, text, true))
  }

  /** Whether a domain is closed, by itself or as another name of one that is. Asks nothing while no domain changes. */
  isClosed(domain: string): Promise<boolean> {
    return this.#closed.has(domain)
  }

  /** The account with this id, deleted ones too. */
  user(id: string): Promise<User | undefined> {
    return this.#users.get(id, () => findUser(this.#read, id))
  }

  /**
   * Whose the mail to postmaster@ and abuse@ of a domain is where nobody made these (RFC 5321 4.5.1, RFC 2142): those who look
   * after it, else the account that has had an address there for longest. Nobody for other names, and in domains that are not here.
   */
  keepers(text: string): Promise<readonly string[]> {
    const { key, domain } = normalizeAddress(text)
    return isForKeeper(key) ? this.#keepers.get(key, () => keepersOf(this.#read, domain)) : Promise.resolve([])
  }

  /** The account that came first, among those that take mail. */
  async first(): Promise<string | undefined> {
    const [first] = await this.#keepers.get('', async () => [(await firstUser(this.#read)) ?? ''])
    return first === '' ? undefined : first
  }

  /** Whether anybody has, or ever had, an account or an address here. */
  async inUse(): Promise<boolean> {
    this.#inUse ||= (await this.#read.one(everUsed)) !== undefined
    return this.#inUse
  }
}
