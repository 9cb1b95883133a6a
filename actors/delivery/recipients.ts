// Whose an address is that mail comes to: an account's, one that only forwards, or a sender we rewrote; asked before the bytes arrive, so
// that a stranger hears of a wrong address at RCPT.
//
// postmaster@ and abuse@ of domains that are here are somebody's, whether they were made or not. Nothing is changed here.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { normalizeAddress, splitAddress } from '#mail/address/address.ts'
import { isRewritten, readRewritten } from '#mail/address/srs.ts'
import type { Lookup } from '#store/accounts/lookup.ts'
import { readUsage } from '#store/accounts/users.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'
import { findOutbound } from '#store/sending/outbound.ts'
import type { Actors } from '../kernel/system.ts'
import { Storms } from '../screening/storm.ts'
import { ownerOfForward } from '../sending/forward-owner.ts'
import type { DeliveryRecipient } from './envelope.ts'
import type { ForwardKeys } from './forward.ts'

export interface RecipientOptions {
  readonly system: Actors
  readonly settings: Settings
  readonly keys: ForwardKeys
  readonly throttle: Counters
  readonly lookup: Lookup
  /** Address of the account that gets mail to postmaster@ and abuse@ of all domains; '' leaves it to each domain's first. */
  readonly postmaster: string
}

export class Recipients {
  readonly #options: RecipientOptions
  readonly #storms: Storms

  constructor(options: RecipientOptions) {
    this.#options = options
    this.#storms = new Storms(options.throttle)
  }

  /**
   * Finds the account an address belongs to: dots and `+label` of the local part do not matter.
   *
   * @throws Fault UserNotFound, NoAccountsYet, UserDisabled, DomainDisabled, OverQuotaError, DeliveryRateExceeded
   */
  async find(address: string): Promise<DeliveryRecipient> {
    const { keys, lookup } = this.#options
    if (isRewritten(address, keys.srs.domain)) return this.#returned(address)
    const found = await lookup.address(address)
    if ((await lookup.isClosed(normalizeAddress(address).domain)) || (await lookup.isClosed(found?.domain ?? ''))) {
      throw new Fault('DomainDisabled')
    }
    if (found?.user === null) {
      if (found.forward === null || found.forward.disabled) throw new Fault('UserDisabled')
      return { address, user: '', forward: found }
    }
    return found === undefined ? this.#kept(address) : this.#account(address, found.user)
  }

  /** An address that nobody made is that of all who look after the domain; one of them who can take it is enough. */
  async #kept(address: string): Promise<DeliveryRecipient> {
    const [first, ...others] = await this.#keepers(address)
    if (first === undefined) throw await this.#unknown()
    try {
      return { ...(await this.#account(address, first)), also: others }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      for (const [at, other] of others.entries()) {
        const found = await this.#account(address, other).catch(() => undefined)
        if (found !== undefined) return { ...found, also: others.slice(at + 1) }
      }
      throw error
    }
  }

  /** What comes back to a sender we rewrote is for who forwards; without one, as for addresses of old, for the sender there was. */
  async #returned(address: string): Promise<DeliveryRecipient> {
    const { system, keys, postmaster } = this.#options
    const read = readRewritten(address, keys.srs, now())
    if (read === undefined) throw await this.#unknown()
    const message = read.message === 0 ? undefined : await findOutbound(system.read, read.message)
    const sender = read.sender || message?.options.originalSender
    if (sender === undefined) throw await this.#unknown()
    const returned = { ...read, sender }
    const owner = message === undefined ? undefined : await ownerOfForward(system.read, message, postmaster)
    if (owner === undefined) return { address, user: '', returned }
    return { ...(await this.#account(address, owner.id)), returned }
  }

  /** @throws Fault as `recipient` */
  async #account(address: string, user: string): Promise<DeliveryRecipient> {
    const { system, settings, lookup } = this.#options
    const account = await lookup.user(user)
    if (account === undefined || account.deleted !== null) throw new Fault('UserNotFound')
    if (account.disabled) throw new Fault('UserDisabled')
    // One whose own domain is closed is so at its addresses elsewhere, too.
    if (await lookup.isClosed(splitAddress(account.address).domain)) throw new Fault('DomainDisabled')
    await this.#storms.refuse(account)
    const storage = system.storageOf(account.id) ?? (await readUsage(system.read, account.num)).storage
    if (storage >= (account.quota || settings.get('const:max:storage'))) throw new Fault('OverQuotaError')
    return { address, user: account.id, account }
  }

  /** Who gets mail to postmaster@ and abuse@ of a domain that is here: the account that was named, or those of the domain. */
  async #keepers(address: string): Promise<readonly string[]> {
    const { lookup, postmaster } = this.#options
    const ofDomain = await lookup.keepers(address)
    const all = ofDomain.length > 0 ? ofDomain : await this.#ownPostmaster(address)
    if (all.length === 0 || postmaster === '') return all
    const named = (await lookup.address(postmaster))?.user
    return named === undefined || named === null ? all : [named]
  }

  /** RFC 5321 4.5.1: the postmaster without a domain is this host's, whatever domains it has. */
  async #ownPostmaster(address: string): Promise<readonly string[]> {
    const { lookup, keys } = this.#options
    const { local, domain } = splitAddress(address)
    if (local.toLowerCase() !== 'postmaster' || domain.toLowerCase() !== keys.hostname.toLowerCase()) return []
    const named = `postmaster@${keys.srs.domain}`
    const made = (await lookup.address(named))?.user
    if (made !== undefined && made !== null) return [made]
    const kept = await lookup.keepers(named)
    if (kept.length > 0) return kept
    const first = await lookup.first()
    return first === undefined ? [] : [first]
  }

  /** A data directory whose disk is not mounted looks like a new one: no mail must come back for that. */
  async #unknown(): Promise<Fault> {
    return new Fault((await this.#options.lookup.inUse()) ? 'UserNotFound' : 'NoAccountsYet')
  }
}
