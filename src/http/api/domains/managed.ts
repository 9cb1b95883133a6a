// Domains as things of their own over HTTP: list, make, show, change, forget.
//
// A domain in which something lies is in the list whether somebody made it or not. Aliases and lists of senders have
// endpoints of their own (accounts/domains.ts).

import { Type } from 'typebox'
import { changeDomain, forgetDomain } from '#actors/domain/domain.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault } from '#lib/fault.ts'
import { domainToUnicode } from '#mail/address/address.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import { adminsOf, findDomain, reaches } from '#store/domains/domain.ts'
import type { ListedDomain } from '#store/domains/domain-list.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Settings } from '#store/folder/settings.ts'
import { pagedCounted } from '../../cursor.ts'
import { endpoint } from '../../endpoint.ts'
import { type Domains, requireWithin } from '../../guard/within.ts'
import { bool, optional, pageReply, paging, text } from '../../schema.ts'
import { domainName } from '../accounts/domains.ts'
import { changeCatchAll, checkCatchAll, shownCatchAll } from './catch-all.ts'
import { domainFields, domainRow, domainShape, domainShown } from './domain-form.ts'

export interface ManagedDomainDeps {
  readonly system: ActorSystem
  readonly settings: Settings
  /** Counts accounts, on a thread. */
  readonly reads: Pick<Reads, 'listDomains'>
}

const changing = ['UserNotFound', 'AddressExistsError', 'DomainLimit'] as const

export function managedDomainEndpoints(deps: ManagedDomainDeps) {
  const { system } = deps
  const { read } = system

  const list = endpoint({
    method: 'GET',
    path: '/domains',
    tag: 'Domains',
    summary: 'List domains with what they hold',
    description: 'Those that were made, and those in which addresses, aliases or DKIM keys lie.',
    allow: 'domains.read',
    domains: true,
    open: true,
    query: { query: optional(text({ max: 255, description: 'Part of a name' })), ...paging },
    reply: { ...pageReply, query: Type.String(), results: Type.Array(Type.Object(domainShape)) },
    async run({ input, caller, signal, onlyDomains: only }) {
      const query = domainToUnicode(input.query ?? '')
      const defaultQuota = deps.settings.get('const:max:storage')
      const options = { signal, turnKey: caller.user ?? caller.role }
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (at, direction, count) => {
          const boundary = at === null ? null : String(at[0])
          return deps.reads.listDomains({ query, only, boundary, direction, count, defaultQuota }, options)
        },
        boundary: one => [one.name],
      })
      return { query, ...cursors, results: await Promise.all(rows.map(row => shown(row, only))) }
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/domains',
    tag: 'Domains',
    summary: 'Make a domain',
    description:
      'Addresses may lie in a domain that nobody made: what is made has limits, defaults and people who look after it.',
    allow: 'domains.create',
    body: { name: domainName, ...domainFields },
    reply: domainShape,
    faults: ['DomainExists', 'AliasExists', 'DomainNotFound', ...changing],
    async run({ input, signal }) {
      const { name, admins, catchAll } = input
      checkCatchAll(catchAll)
      await changeDomain(system, { name, fields: domainRow(input, {}), admins, create: true }, signal)
      if (catchAll !== undefined) await changeCatchAll(system, name, catchAll, signal)
      return one(name, null, signal)
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/domains/:domain',
    tag: 'Domains',
    summary: 'Get one domain',
    allow: 'domains.read',
    domains: true,
    params: { domain: domainName },
    reply: domainShape,
    faults: ['DomainNotFound'],
    run: ({ input, onlyDomains, signal }) => one(input.domain, onlyDomains, signal),
  })

  const update = endpoint({
    method: 'PUT',
    path: '/domains/:domain',
    tag: 'Domains',
    summary: 'Change a domain',
    description:
      'What is not given stays. A domain that is disabled takes no mail (550 5.1.2), lets nobody in and sends nothing; when this ' +
      'answers, the sessions of its users have ended. Limits below what there is take nothing away.',
    allow: 'domains.update',
    domains: true,
    filterInput: true,
    params: { domain: domainName },
    body: domainFields,
    reply: domainShape,
    faults: ['DomainNotFound', ...changing],
    async run({ input, signal, onlyDomains }) {
      const { domain: name, admins, catchAll } = input
      requireWithin(onlyDomains, name)
      checkCatchAll(catchAll)
      const catcher = catchAll === undefined || catchAll === false ? undefined : catchAll.user
      if (onlyDomains !== null && catcher !== undefined && !(await reaches(read, onlyDomains, catcher, true))) {
        throw new Fault('MissingPrivileges')
      }
      const fields = domainRow(input, (await findDomain(read, name))?.defaults ?? {})
      await changeDomain(system, { name, fields, admins, create: false }, signal)
      if (catchAll !== undefined) await changeCatchAll(system, name, catchAll, signal)
      return one(name, onlyDomains, signal)
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/domains/:domain',
    tag: 'Domains',
    summary: 'Forget a domain',
    description:
      'Refused while addresses, aliases or DKIM keys of it are here. With `force` they stay as they are, and only what was said of the ' +
      'domain is forgotten: its limits, its defaults and who looks after it. No account and no mail is ever deleted by this.',
    allow: 'domains.delete',
    params: { domain: domainName },
    query: { force: bool({ default: false, description: 'Also where something of it is here' }) },
    faults: ['DomainNotFound', 'DomainInUse', 'NotPermitted'],
    async run({ input, signal }) {
      await system.directory.run(forgetDomain, { name: input.domain, force: input.force }, signal)
      return {}
    },
  })

  async function one(name: string, only: Domains, signal: AbortSignal) {
    requireWithin(only, name)
    const defaultQuota = deps.settings.get('const:max:storage')
    const task = { query: '', only: [name], boundary: null, direction: 'forward', count: 1, defaultQuota } as const
    const [found] = (await deps.reads.listDomains(task, { signal })).rows
    if (found === undefined) throw new Fault('DomainNotFound')
    return shown(found, only)
  }

  /** Whoever looks after domains sees those beside who are accounts of them. */
  async function shown(domain: ListedDomain, only: Domains) {
    const users = await Promise.all((await adminsOf(read, domain.name)).map(user => findUser(read, user)))
    const living = users.filter(user => user !== undefined).filter(user => user.deleted === null)
    const admins: Pick<User, 'id' | 'username' | 'address'>[] = []
    for (const { id, username, address } of living) {
      if (only === null || (await reaches(read, only, id, false))) admins.push({ id, username, address })
    }
    return { ...domainShown(domain), catchAll: await shownCatchAll(read, domain.name), admins }
  }

  return [list, create, get, update, remove]
}
