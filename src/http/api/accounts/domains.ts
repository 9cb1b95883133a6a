// Domains over HTTP: aliases, and the lists by which accounts of a tag take or refuse senders (api-semantics 10.9).
//
// Domains are taken in ASCII or unicode and in any case, and shown in lower case and unicode; tags are compared in lower
// case. A change is in force for the next message and the next login.

import { Type } from 'typebox'
import { createDomainAlias, deleteDomainAccess, deleteDomainAlias, putDomainAccess } from '#actors/admin/domains.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { domainToUnicode, isDomain } from '#mail/address/address.ts'
import { holdsDomain } from '#store/accounts/address.ts'
import { listDomainAccess } from '#store/domains/access.ts'
import { countAliases, findAlias, findDomainAlias, listAliases } from '#store/domains/alias.ts'
import { findDomain } from '#store/domains/domain.ts'
import { counted } from '#store/engine/counted.ts'
import type { Reader } from '#store/engine/reader.ts'
import { pagedCounted } from '../../cursor.ts'
import { endpoint } from '../../endpoint.ts'
import { isWithin, requireWithin } from '../../guard/within.ts'
import { field, id, moment, optional, pageReply, paging, text } from '../../schema.ts'

export interface DomainDeps {
  readonly system: ActorSystem
}

/** A domain of two labels at least, in unicode or ASCII; in lower case and unicode inside. */
export const domainName = field<string>({ type: 'string', format: 'idn-hostname' }, (value, path, problems) => {
  if (typeof value !== 'string') return problems.add(path, 'must be a string')
  const domain = domainToUnicode(value)
  return isDomain(domain) ? domain : problems.add(path, 'must contain a valid domain name')
})

const aliasId = id({ description: 'Id of the alias' })
const entryId = id({ description: 'Id of the entry' })

export function domainEndpoints(deps: DomainDeps) {
  return [...aliasEndpoints(deps), ...accessEndpoints(deps)]
}

function aliasEndpoints({ system: { read, directory } }: DomainDeps) {
  const row = { id: aliasId, alias: Type.String(), domain: Type.String() }

  const list = endpoint({
    method: 'GET',
    path: '/domainaliases',
    tag: 'DomainAliases',
    summary: 'List domain aliases',
    allow: 'domainaliases.read',
    domains: true,
    open: true,
    query: { query: optional(text({ max: 255, description: 'Part of an alias or a domain' })), ...paging },
    reply: { ...pageReply, query: Type.Optional(Type.String()), results: Type.Array(Type.Object(row)) },
    async run({ input, onlyDomains }) {
      const query = domainToUnicode(input.query ?? '')
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countAliases(picture, query, onlyDomains),
            picture =>
              listAliases(
                picture,
                query,
                boundary === null ? null : String(boundary[0]),
                direction,
                count,
                onlyDomains,
              ),
          ),
        boundary: one => [one.alias],
      })
      const results = rows.map(({ id: key, alias, domain }) => ({ id: key, alias, domain }))
      return { query: input.query, ...cursors, results }
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/domainaliases',
    tag: 'DomainAliases',
    summary: 'Make a domain stand for another one',
    allow: 'domainaliases.create',
    domains: true,
    body: { alias: domainName, domain: domainName },
    reply: { id: aliasId },
    faults: ['AliasExists'],
    async run({ input, signal, onlyDomains }) {
      if (onlyDomains !== null) await requireOwnAlias(read, onlyDomains, input)
      if (input.alias === input.domain) throw invalid('alias', 'must be another domain')
      return directory.run(createDomainAlias, { alias: input.alias, domain: input.domain }, signal)
    },
  })

  const resolve = endpoint({
    method: 'GET',
    path: '/domainaliases/resolve/:alias',
    tag: 'DomainAliases',
    summary: 'Find the id of an alias',
    allow: 'domainaliases.read',
    domains: true,
    params: { alias: domainName },
    reply: { id: aliasId },
    faults: ['AliasNotFound'],
    async run({ input, onlyDomains }) {
      const found = await findAlias(read, input.alias)
      if (found === undefined || !isWithin(onlyDomains, found.domain)) throw new Fault('AliasNotFound')
      return { id: found.id }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/domainaliases/:alias',
    tag: 'DomainAliases',
    summary: 'Get a domain alias',
    allow: 'domainaliases.read',
    domains: true,
    params: { alias: aliasId },
    reply: { ...row, created: moment },
    faults: ['AliasNotFound'],
    async run({ input, onlyDomains }) {
      const found = await findDomainAlias(read, input.alias)
      if (found === undefined || !isWithin(onlyDomains, found.domain)) throw new Fault('AliasNotFound')
      return { ...found, created: new Date(found.created).toISOString() }
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/domainaliases/:alias',
    tag: 'DomainAliases',
    summary: 'Delete a domain alias',
    allow: 'domainaliases.delete',
    domains: true,
    params: { alias: aliasId },
    faults: ['AliasNotFound'],
    async run({ input, signal, onlyDomains }) {
      const found = await findDomainAlias(read, input.alias)
      if (found !== undefined && !isWithin(onlyDomains, found.domain)) throw new Fault('AliasNotFound')
      await directory.run(deleteDomainAlias, { id: input.alias }, signal)
      return {}
    },
  })

  return [list, create, resolve, get, remove]
}

/**
 * Whoever looks after a domain has the names below it, and no others, stand for it: mail for any other would be taken from
 * whose it is.
 *
 * @throws Fault MissingPrivileges
 */
async function requireOwnAlias(read: Reader, domains: readonly string[], { alias, domain }: Record<string, string>) {
  requireWithin(domains, domain ?? '')
  const below = domains.some(one => alias?.endsWith(`.${one}`))
  const taken = (await findDomain(read, alias ?? '')) !== undefined || (await holdsDomain(read, alias ?? ''))
  if (!below || taken) throw new Fault('MissingPrivileges')
}

const tagName = text({ max: 128, trim: true, lower: true, description: 'Tag of accounts, in any case' })

function accessEndpoints({ system: { read, directory } }: DomainDeps) {
  const lists = (['allow', 'block'] as const).flatMap(action => {
    const what = action === 'allow' ? 'never' : 'always'
    const put = endpoint({
      method: 'POST',
      path: `/domainaccess/:tag/${action}`,
      tag: 'DomainAccess',
      summary: `Take mail from a domain ${what} for junk, for users with a tag`,
      allow: 'domainaccess.create',
      params: { tag: tagName },
      body: { domain: domainName },
      reply: { id: entryId },
      async run({ input, signal }) {
        return directory.run(putDomainAccess, { tag: input.tag, domain: input.domain, action }, signal)
      },
    })
    const list = endpoint({
      method: 'GET',
      path: `/domainaccess/:tag/${action}`,
      tag: 'DomainAccess',
      summary: `List the domains whose mail is ${what} taken for junk`,
      allow: 'domainaccess.read',
      params: { tag: tagName },
      reply: { results: Type.Array(Type.Object({ id: entryId, domain: Type.String(), action: Type.String() })) },
      async run({ input }) {
        const rows = await listDomainAccess(read, input.tag, action)
        return { results: rows.map(row => ({ id: row.id, domain: row.domain, action: row.action })) }
      },
    })
    return [put, list]
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/domainaccess/:domain',
    tag: 'DomainAccess',
    summary: 'Take a domain off its list, by the id of the entry',
    allow: 'domainaccess.delete',
    params: { domain: entryId },
    reply: { deleted: entryId },
    faults: ['DomainNotFound'],
    async run({ input, signal }) {
      await directory.run(deleteDomainAccess, { id: input.domain }, signal)
      return { deleted: input.domain }
    },
  })

  return [...lists, remove]
}
