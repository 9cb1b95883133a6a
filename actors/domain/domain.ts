// Domains as things of their own: made, changed, forgotten; commands of the directory.
//
// A domain that is closed takes no mail, lets nobody in and sends nothing. Whoever closes one hears of it when each session of
// its accounts has ended, wherever it lives; nothing of the accounts is changed, so all is as it was when it is opened again.

import { Fault, invalid } from '#lib/fault.ts'
import { findUser } from '#store/accounts/users.ts'
import { findAlias } from '#store/domains/alias.ts'
import { type Domain, domainAdmins, domainDelete, domainPut, findDomain, plainDomain } from '#store/domains/domain.ts'
import { domainUse } from '#store/domains/domain-list.ts'
import type { Reader } from '#store/engine/reader.ts'
import { domainHold } from '#store/sending/domain-hold.ts'
import { type DirectoryCommand, rebindTokens } from '../admin/directory.ts'
import type { ActorSystem } from '../kernel/system.ts'

/** What may be said of a domain; what is not given stays as it is. */
export interface DomainChange {
  readonly name: string
  readonly fields: Partial<Omit<Domain, 'name' | 'created'>>
  /** Ids of the accounts that look after it. */
  readonly admins?: readonly string[] | undefined
  /** It must not be made yet; otherwise it must be here in some way. */
  readonly create: boolean
}

/** @throws Fault DomainExists, AliasExists, DomainNotFound, InputValidationError for an admin that is no account */
export async function changeDomain(system: ActorSystem, change: DomainChange, signal?: AbortSignal): Promise<void> {
  const { closed } = await system.directory.run(putDomain, change, signal)
  if (closed) await system.review()
}

export const putDomain: DirectoryCommand<DomainChange, { closed: boolean }> = {
  name: 'domain.put',
  async run(turn, { name, fields, admins, create }) {
    const { read } = turn
    const known = await findDomain(read, name)
    if (create && known !== undefined) throw new Fault('DomainExists')
    if (create && (await findAlias(read, name)) !== undefined) throw new Fault('AliasExists')
    if (!create && known === undefined && !(await isUsed(read, name))) throw new Fault('DomainNotFound')
    await requireAccounts(read, admins ?? [])
    const before = known ?? { ...plainDomain(name), created: turn.now }
    const row = { ...before, ...fields }
    if (!row.disabled) row.disabledReason = ''
    turn.write(domainPut, row)
    if (admins !== undefined) turn.write(domainAdmins, { domain: name, users: admins })
    if (known === undefined) turn.emit('domain.created', { domain: name })
    else turn.emit('domain.updated', { domain: name, disabled: row.disabled })
    if (row.disabled === before.disabled) return { closed: false }
    turn.write(domainHold, null)
    turn.wake()
    return { closed: row.disabled }
  },
}

async function requireAccounts(read: Reader, users: readonly string[]): Promise<void> {
  for (const [at, id] of users.entries()) {
    const user = await findUser(read, id)
    if (user === undefined || user.deleted !== null) throw invalid(`admins,${at}`, 'must be the id of a user')
  }
}

/** Whether something lies in a domain. */
async function isUsed(read: Reader, name: string): Promise<boolean> {
  const { addresses, aliases, keys } = await domainUse(read, name)
  return addresses + aliases + keys > 0
}

/**
 * Forgets what was said of a domain, and who looks after it. With `force` also of one in which something lies: that stays, and goes on as in a
 * domain nobody made, without limits.
 *
 * @throws Fault DomainNotFound, DomainInUse, NotPermitted for one that is closed, which must not open in passing
 */
export const forgetDomain: DirectoryCommand<{ name: string; force: boolean }, void> = {
  name: 'domain.forget',
  async run(turn, { name, force }) {
    const known = await findDomain(turn.read, name)
    const { addresses, aliases, keys } = await domainUse(turn.read, name)
    if (known === undefined && addresses + aliases + keys === 0) throw new Fault('DomainNotFound')
    if (addresses + aliases + keys > 0 && !force) {
      const said = `Of this domain are still here: ${addresses} addresses, ${aliases} aliases, ${keys} DKIM keys`
      throw new Fault('DomainInUse', { text: said })
    }
    if (known?.disabled === true && addresses > 0) {
      throw new Fault('NotPermitted', { text: 'The domain is disabled: its addresses would be open; enable it first' })
    }
    await rebindTokens(turn, name, null)
    if (known === undefined) return
    turn.write(domainDelete, { name })
    turn.emit('domain.deleted', { domain: name })
  },
}
