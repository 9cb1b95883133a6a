// Domains: aliases, access lists and a domain's new name. Commands of the directory, and one for accounts.
//
// What belongs to an account is changed in its own turn, so a domain's new name is not one unit: each account is whole, and
// asking again goes on where it broke off. Lists and aliases keep to lower case and unicode.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import {
  type Address,
  addressUpdate,
  forwardedInDomain,
  listAddresses,
  renameConflict,
  usersInDomain,
} from '#store/accounts/address.ts'
import { userUpdate } from '#store/accounts/users.ts'
import {
  countDomainAccess,
  type DomainAccessRow,
  domainAccessDelete,
  domainAccessPut,
  findDomainAccess,
  findDomainEntry,
} from '#store/domains/access.ts'
import {
  countAliasesOf,
  domainAliasDelete,
  domainAliasInsert,
  domainAliasRename,
  findDomainAlias,
} from '#store/domains/alias.ts'
import { dkimRename, findDkimFor } from '#store/domains/dkim.ts'
import { domainRename as domainRenamed, findDomain } from '#store/domains/domain.ts'
import { grow, moved } from '../domain/growth.ts'
import type { ActorSystem } from '../kernel/system.ts'
import type { UserCommand } from '../user/user.ts'
import { type DirectoryCommand, rebindTokens } from './directory.ts'

/** Makes `alias` stand for `domain`. @throws Fault AliasExists */
export const createDomainAlias: DirectoryCommand<{ alias: string; domain: string }, { id: string }> = {
  name: 'domainalias.create',
  run(turn, { alias, domain }) {
    const id = newId()
    turn.write(domainAliasInsert, { id, alias, domain, created: turn.now })
    turn.emit('domainalias.created', { domainalias: id, alias, domain })
    return { id }
  },
}

/** @throws Fault AliasNotFound */
export const deleteDomainAlias: DirectoryCommand<{ id: string }, void> = {
  name: 'domainalias.delete',
  async run(turn, { id }) {
    const found = await findDomainAlias(turn.read, id)
    if (found === undefined) throw new Fault('AliasNotFound')
    turn.write(domainAliasDelete, { id })
    turn.emit('domainalias.deleted', { domainalias: id, alias: found.alias, domain: found.domain })
  },
}

/** Puts a domain on the list of a tag; it is on one of both lists only. */
export const putDomainAccess: DirectoryCommand<Pick<DomainAccessRow, 'tag' | 'domain' | 'action'>, { id: string }> = {
  name: 'domainaccess.put',
  async run(turn, { tag, domain, action }) {
    const known = await findDomainEntry(turn.read, tag, domain)
    if (known === undefined && (await countDomainAccess(turn.read, tag)) >= limits.domain.entriesMax) {
      throw new Fault('InputValidationError', { text: 'There are as many domains for this tag as there may be' })
    }
    const id = known?.id ?? newId()
    turn.write(domainAccessPut, { id, tag, domain, action, created: turn.now })
    return { id }
  },
}

/** @throws Fault DomainNotFound */
export const deleteDomainAccess: DirectoryCommand<{ id: string }, void> = {
  name: 'domainaccess.delete',
  async run(turn, { id }) {
    if ((await findDomainAccess(turn.read, id)) === undefined) throw new Fault('DomainNotFound')
    turn.write(domainAccessDelete, { id })
  },
}

export interface DomainRename {
  readonly previous: string
  readonly current: string
}

export interface DomainRenamed {
  readonly modifiedAddresses: number
  readonly modifiedUsers: number
  readonly modifiedDkim: number
  readonly modifiedAliases: number
}

/**
 * Gives a domain another name in every address. Each account changes as a whole and in its order; asked again after it
 * broke off, it goes on where it was.
 *
 * @throws Fault AddressExistsError when an address with the new name is taken; nothing has changed then
 */
export async function renameDomain(
  system: ActorSystem,
  { previous, current }: DomainRename,
  signal: AbortSignal,
): Promise<DomainRenamed> {
  const { read, directory } = system
  if ((await findDomain(read, previous))?.disabled === true) {
    throw new Fault('NotPermitted', { text: 'The domain is disabled: its accounts would be open; enable it first' })
  }
  const taken = await renameConflict(read, previous, current)
  if (taken !== undefined) throw new Fault('AddressExistsError', { text: `The address ${taken} already exists` })
  let addresses = 0
  let users = 0
  for (let last = ''; ; ) {
    const ids = await usersInDomain(read, previous, last, limits.domain.renamesInFlightMax)
    if (ids.length === 0) break
    last = ids.at(-1) ?? last
    const done = await Promise.all(ids.map(id => system.handle(id).run(renameAddresses, { previous, current }, signal)))
    addresses += done.reduce((sum, one) => sum + one.addresses, 0)
    users += done.filter(one => one.main).length
  }
  const rest = await directory.run(renameRest, { previous, current }, signal)
  return {
    modifiedAddresses: addresses + rest.addresses,
    modifiedUsers: users,
    modifiedDkim: rest.dkim,
    modifiedAliases: rest.aliases,
  }
}

export const renameAddresses: UserCommand<DomainRename, { addresses: number; main: boolean }> = {
  name: 'address.rename',
  async run(turn, { previous, current }) {
    const { user } = turn.state
    if (user === undefined || user.deleted !== null) return { addresses: 0, main: false }
    const before = user.address
    const addresses = (await listAddresses(turn.read, user.id)).filter(one => one.domain === previous)
    for (const address of addresses) {
      const isMain = address.address === before
      move(address, current)
      turn.write(addressUpdate, address)
      if (isMain) user.address = address.address
    }
    const main = user.address !== before
    if (addresses.length > 0) grow(turn, { domain: current, addresses: true })
    if (main) {
      turn.write(userUpdate, user)
      moved(turn, before, user.address)
    }
    return { addresses: addresses.length, main }
  },
}

export const renameRest: DirectoryCommand<DomainRename, { addresses: number; aliases: number; dkim: number }> = {
  name: 'domain.rename',
  async run(turn, { previous, current }) {
    const addresses = await forwardedInDomain(turn.read, previous)
    for (const address of addresses) {
      move(address, current)
      turn.write(addressUpdate, address)
    }
    if (addresses.length > 0) grow(turn, { domain: current, forwards: true })
    // As with those accounts that look after it: they go where what was said of it goes.
    if ((await findDomain(turn.read, current)) === undefined) await rebindTokens(turn, previous, current)
    turn.write(domainRenamed, { previous, current })
    const aliases = await countAliasesOf(turn.read, previous)
    turn.write(domainAliasRename, { previous, current })
    const key = await findDkimFor(turn.read, previous)
    const dkim = key !== undefined && (await findDkimFor(turn.read, current)) === undefined
    if (dkim) turn.write(dkimRename, { previous, current })
    turn.emit('address.domain.renamed', { previous, current })
    return { addresses: addresses.length, aliases, dkim: dkim ? 1 : 0 }
  },
}

function move(address: Address, domain: string): void {
  const withDomain = (text: string) => `${text.slice(0, text.lastIndexOf('@'))}@${domain}`
  address.address = withDomain(address.address)
  address.key = withDomain(address.key)
  address.domain = domain
}
