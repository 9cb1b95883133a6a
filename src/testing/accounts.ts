// Accounts that come into being when somebody first names them, and the way in to them.
//
// Nothing of this is reachable by a configuration: a service that makes accounts of strangers' wishes is for tests alone.

import type { LoginAttempt } from '#actors/auth/authentication.ts'
import type { Grant } from '#actors/auth/grant.ts'
import { createUser, type NewUser } from '#actors/user/account.ts'
import type { Core } from '#core'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { isAddress, normalizeAddress, splitAddress } from '#mail/address/address.ts'
import { defaultMailboxes } from '#mail/path.ts'
import { resolveAddress } from '#store/accounts/address.ts'
import { resolveLogin } from '#store/accounts/login-name.ts'
import { findUser } from '#store/accounts/users.ts'

export interface AccountRules {
  /** Addresses and domains that are taken, in lower case; any where it is null. */
  readonly accept: ReadonlySet<string> | null
  /** Any password opens an account. */
  readonly open: boolean
}

/** Of those who log in by a name alone (RFC 2606 2). */
const bareDomain = 'inbox.test'

export class Accounts {
  readonly #rules: AccountRules
  /** Those under way, by what addresses are compared by. */
  readonly #making = new Map<string, Promise<string>>()

  constructor(rules: AccountRules) {
    this.#rules = rules
  }

  /** Sees to it that an address has an account. @throws Fault AddressNotFound for one that is not taken */
  async recipient(core: Core, address: string): Promise<void> {
    if (!isAddress(address)) return
    const found = await resolveAddress(core.read, address, true)
    if (found !== undefined) return
    if (!this.#accepts(address)) throw new Fault('AddressNotFound')
    await this.make(core, address)
  }

  /** The account of an address, made where there is none. `password` is for those that are to be opened by the true one. */
  async make(core: Core, address: string, password?: string): Promise<string> {
    const { key } = normalizeAddress(address)
    const under = this.#making.get(key)
    if (under !== undefined) return under
    const making = this.#make(core, address, password).finally(() => this.#making.delete(key))
    this.#making.set(key, making)
    return making
  }

  async authenticate(core: Core, attempt: LoginAttempt): Promise<{ user: string; grant: Grant }> {
    const { username, scope } = attempt
    if (!this.#rules.open) return core.credentials.authentication.authenticate(attempt)
    // Whoever only sends needs no account: any name will do, as that of an API key.
    if (scope === 'smtp') return { user: '', grant: { kind: 'login', user: '', scope, authVersion: 0, asp: null } }
    const user = (await resolveLogin(core.read, username)) ?? (await this.#named(core, username))
    const account = await findUser(core.read, user)
    if (account === undefined) throw new Fault('AuthFailed')
    return { user, grant: { kind: 'login', user, scope, authVersion: account.authVersion, asp: null } }
  }

  /** An account for somebody who is not known yet. */
  async #named(core: Core, username: string): Promise<string> {
    const address = username.includes('@') ? username : `${username}@${bareDomain}`
    if (!isAddress(address) || !this.#accepts(address)) throw new Fault('AuthFailed')
    return this.make(core, address)
  }

  #accepts(address: string): boolean {
    const { accept } = this.#rules
    if (accept === null) return true
    const lower = address.toLowerCase()
    return accept.has(lower) || accept.has(splitAddress(lower).domain)
  }

  async #make(core: Core, text: string, password: string | undefined): Promise<string> {
    const found = await resolveAddress(core.read, text, true)
    if (found?.user != null) return found.user
    const { key, address, domain } = normalizeAddress(text)
    const hash = password === undefined ? '' : await core.pools.passwords.hash(password)
    const user: NewUser['user'] = {
      ...{ username: address.toLowerCase(), key, name: '', address, password: hash, temporary: null },
      ...{ disabled: false, suspended: false, activated: true, quota: 0, tags: [], options: { spamLevel: 50 } },
    }
    const mailboxes = defaultMailboxes().map(folder => ({ ...folder, retention: 0 }))
    const made = { user, address: { key, address, domain, tags: [] }, mailboxes }
    const { id } = await core.system.handle(newId()).run(createUser, made)
    return id
  }
}
