// Addresses across accounts over HTTP: the list of all, who an address belongs to, a domain's new name.
//
// A user sees the own addresses only. Whom an address belongs to is answered by the same function that finds the account
// of incoming mail, so what is shown here is what happens there.

import { Type } from 'typebox'
import { renameDomain } from '#actors/admin/domains.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { isId } from '#lib/id.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { domainToUnicode } from '#mail/address/address.ts'
import { type Address, findAddress, pageAddresses, resolveAddress } from '#store/accounts/address.ts'
import { usernamesOf } from '#store/accounts/users.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Settings } from '#store/folder/settings.ts'
import { pagedCounted } from '../../cursor.ts'
import { endpoint } from '../../endpoint.ts'
import { isWithin } from '../../guard/within.ts'
import { bool, moment, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { words } from '../service/words.ts'
import { addressId, addressOrId } from './addresses.ts'
import { domainName } from './domains.ts'
import { forwardedShape, shownForward } from './forwarded.ts'
import { type DailyCounters, free, texts } from './user-view.ts'

export interface DirectoryDeps {
  readonly system: ActorSystem
  readonly settings: Settings
  readonly counters: DailyCounters
  /** Filtered lists look at every address, on a thread. */
  readonly reads: Pick<Reads, 'listAddresses'>
}

const row = {
  id: addressId,
  name: Type.String(),
  address: Type.String(),
  user: Type.Optional(userId),
  username: Type.Optional(Type.String({ description: 'Of that user' })),
  forwarded: Type.Boolean(),
  forwardedDisabled: Type.Boolean(),
  targets: Type.Optional(texts),
  tags: texts,
  metaData: Type.Optional(free),
  internalData: Type.Optional(free),
}

export function directoryEndpoints({ system, settings, counters, reads }: DirectoryDeps) {
  const { read } = system

  const list = endpoint({
    method: 'GET',
    path: '/addresses',
    tag: 'Addresses',
    summary: 'List addresses of all users and forwarded ones',
    allow: 'addresslisting.read',
    listing: true,
    domains: true,
    open: true,
    query: {
      query: optional(text({ max: 255, lower: true, description: 'Part of an address' })),
      forward: optional(text({ max: 255, description: 'Part of a forwarding target' })),
      tags: optional(text({ max: 1024, description: 'Any of these, with commas between' })),
      requiredTags: optional(text({ max: 1024, description: 'All of these, with commas between' })),
      metaData: optional(bool()),
      internalData: optional(bool()),
      ...paging,
    },
    reply: { ...pageReply, query: Type.String(), results: Type.Array(Type.Object(row)) },
    async run({ input, onlyUser, onlyDomains, caller, signal }) {
      const { query = '', forward = '' } = input
      const tags = { tags: words(input.tags), requiredTags: words(input.requiredTags) }
      const page = { query, forward, ...tags, only: onlyUser, domains: onlyDomains }
      const turnKey = caller.user ?? caller.role
      const narrowed = [query, forward, ...tags.tags, ...tags.requiredTags].some(one => one !== '')
      const filtered = onlyUser === null && (onlyDomains !== null || narrowed)
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (key, direction, count) => {
          const task = { page, boundary: key === null ? null : String(key[0]), direction, count }
          return filtered ? reads.listAddresses(task, { signal, turnKey }) : pageAddresses(read, task)
        },
        boundary: address => [address.key],
      })
      const names = await usernamesOf(
        read,
        rows.flatMap(({ user }) => user ?? []),
      )
      return { query, ...cursors, results: rows.map(address => listed(address, names, input)) }
    },
  })

  const resolve = endpoint({
    method: 'GET',
    path: '/addresses/resolve/:address',
    tag: 'Addresses',
    summary: 'Find out whose an address is, also by aliases of its domain and by wildcards',
    allow: 'addresses.read',
    domains: true,
    params: { address: addressOrId },
    query: { allowWildcard: bool({ default: false, description: 'Whether an address with a `*` may answer' }) },
    reply: {
      id: addressId,
      address: Type.String(),
      user: Type.Optional(userId),
      name: Type.String(),
      targets: Type.Optional(forwardedShape.targets),
      limits: Type.Optional(forwardedShape.limits),
      autoreply: Type.Optional(forwardedShape.autoreply),
      forwardedDisabled: Type.Optional(forwardedShape.forwardedDisabled),
      tags: texts,
      created: moment,
      metaData: free,
      internalData: free,
    },
    faults: ['AddressNotFound'],
    async run({ input, onlyDomains }) {
      const found = isId(input.address)
        ? await findAddress(read, input.address)
        : await resolveAddress(read, input.address, input.allowWildcard)
      if (found === undefined || !isWithin(onlyDomains, found.domain)) throw new Fault('AddressNotFound')
      const { id, address, user, name, tags, forward } = found
      const { metaData = {}, internalData = {} } = found as { metaData?: object; internalData?: object }
      const owner = user === null ? {} : { user }
      const forwarding = forward === null ? {} : shownForward(id, forward, settings, counters)
      const created = new Date(found.created).toISOString()
      return { id, address, ...owner, name, ...forwarding, tags, created, metaData, internalData }
    },
  })

  const rename = endpoint({
    method: 'PUT',
    path: '/addresses/renameDomain',
    tag: 'Addresses',
    summary: 'Give a domain another name in every address',
    allow: 'addresses.update',
    body: { oldDomain: domainName, newDomain: domainName },
    reply: {
      modifiedAddresses: Type.Integer(),
      modifiedUsers: Type.Integer(),
      modifiedDkim: Type.Integer(),
      modifiedAliases: Type.Integer(),
    },
    faults: ['AddressExistsError', 'AliasExists', 'DomainLimit', 'NotPermitted'],
    async run({ input, signal }) {
      const previous = domainToUnicode(input.oldDomain)
      const current = domainToUnicode(input.newDomain)
      if (previous === current) throw invalid('newDomain', 'must be another domain')
      return renameDomain(system, { previous, current }, signal)
    },
  })

  return [list, resolve, rename]
}

function listed(
  address: Address,
  names: ReadonlyMap<string, string>,
  input: { metaData?: boolean; internalData?: boolean },
) {
  const { id, name, user, forward, tags } = address
  const { metaData = {}, internalData = {} } = address as { metaData?: object; internalData?: object }
  return {
    id,
    name,
    address: address.address,
    ...(user === null ? {} : { user, username: names.get(user) }),
    forwarded: forward !== null,
    forwardedDisabled: forward?.disabled ?? false,
    ...(forward === null ? {} : { targets: forward.targets.map(maskUrl) }),
    tags,
    ...(input.metaData === true ? { metaData } : {}),
    ...(input.internalData === true ? { internalData } : {}),
  }
}
