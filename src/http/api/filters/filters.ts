// Filters over HTTP (api-semantics 6; wire-shapes, Filters): the lists of them, and changing them.
//
// Filters are evaluated in the order in which they were made, until they are put into another one (filter-order.ts). A change is checked here for its form and in the account's
// turn for what it names. What filters decide about messages is in filter-decisions.ts.

import { Type } from 'typebox'
import { createFilter, deleteFilter, type NewFilter, updateFilter } from '#actors/user/rules.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import type { FilterAction, FilterQuery } from '#mail/filter/filter.ts'
import { counted } from '#store/engine/counted.ts'
import { countFilterPage, findFilter, listFilters, pageFilters } from '#store/rules/filter.ts'
import { pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, metaData, moment, object, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { type Behind, originOf } from '../auth/factor-fields.ts'
import { requireUser } from '../messages/mailboxes.ts'
import { decisionEndpoints } from './filter-decisions.ts'
import type { FilterDeps } from './filter-deps.ts'
import { actionFields, queryFields, readAction } from './filter-form.ts'
import { orderEndpoints } from './filter-order.ts'
import { previewEndpoints } from './filter-preview.ts'
import {
  actionShape,
  cleaned,
  filterId,
  free,
  iso,
  listed,
  listedFilter,
  maskedAction,
  offenceShape,
  offencesOf,
  pathsOf,
  queryShape,
} from './filter-view.ts'

const params = { user: userId, filter: filterId }
const name = text({ max: limits.filter.nameLengthMax, trim: true, description: 'Name of the filter' })

export function filterEndpoints(deps: FilterDeps): Endpoint[] {
  return [
    ...[...listingEndpoints(deps), ...changeEndpoints(deps), ...orderEndpoints(deps)],
    ...[...decisionEndpoints(deps), ...previewEndpoints(deps)],
  ]
}

function listingEndpoints({ system, settings }: FilterDeps): Endpoint[] {
  const { read } = system
  const all = endpoint({
    method: 'GET',
    path: '/filters',
    tag: 'Filters',
    summary: 'List the filters of all users',
    allow: 'filters.read',
    listing: true,
    open: true,
    query: {
      forward: optional(text({ max: 255, trim: true, description: 'Part of a forwarding target' })),
      metaData: bool({ default: false, description: 'With metaData' }),
      ...paging,
    },
    reply: {
      ...pageReply,
      results: Type.Array(
        Type.Object({ ...listed, user: Type.Optional(userId), targets: Type.Optional(Type.Array(Type.String())) }),
      ),
    },
    async run({ input, onlyUser }) {
      const where = { user: onlyUser, forward: input.forward ?? '' }
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['number'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countFilterPage(picture, where),
            picture => pageFilters(picture, where, boundary && Number(boundary[0]), direction, count),
          ),
        boundary: one => [one.num],
      })
      const results = await Promise.all(
        rows.map(async one => ({
          ...listedFilter(one, await pathsOf(read, one.user), input.metaData),
          user: one.owner,
          ...(one.action.targets !== undefined && { targets: one.action.targets.map(maskUrl) }),
        })),
      )
      return { ...cursors, results }
    },
  })

  const own = endpoint({
    method: 'GET',
    path: '/users/:user/filters',
    tag: 'Filters',
    summary: 'List the filters of a user in the order in which they are evaluated',
    allow: 'filters.read',
    params: { user: userId },
    query: { metaData: bool({ default: false, description: 'With metaData' }) },
    reply: {
      limits: Type.Object({ allowed: Type.Integer(), used: Type.Integer() }),
      results: Type.Array(Type.Object(listed)),
    },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const filters = await listFilters(read, user.num)
      const paths = await pathsOf(read, user.num)
      const allowed = user.options.limits?.filters || settings.get('const:max:filters')
      const results = filters.map(filter => listedFilter(filter, paths, input.metaData))
      return { limits: { allowed, used: filters.length }, results }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/filters/:filter',
    tag: 'Filters',
    summary: 'Get one filter',
    allow: 'filters.read',
    params,
    reply: {
      id: filterId,
      name: Type.Optional(Type.String()),
      query: queryShape,
      action: actionShape,
      disabled: Type.Boolean(),
      created: moment,
      metaData: Type.Optional(free),
      offences: offenceShape,
    },
    faults: ['UserNotFound', 'FilterNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const filter = await findFilter(read, user.num, input.filter)
      if (filter === undefined) throw new Fault('FilterNotFound')
      return {
        id: filter.id,
        ...(filter.name !== null && { name: filter.name }),
        query: filter.query,
        action: maskedAction(filter.action),
        disabled: filter.disabled,
        created: iso(filter.created),
        ...(filter.metaData !== undefined && { metaData: filter.metaData }),
        ...offencesOf(filter),
      }
    },
  })
  return [all, own, get]
}

function changeEndpoints({ system, authLog }: FilterDeps): Endpoint[] {
  /** Where mail goes on to is in the log of the account (api-semantics 2.8). */
  async function note(
    call: Behind & { readonly input: { readonly user: string } },
    { id: filter, targets, isNew }: { id: string; targets: readonly string[]; isNew: boolean },
  ): Promise<void> {
    const { num } = await requireUser(system.read, call.input.user)
    const event = { result: 'success', filter, ...originOf(call) } as const
    if (isNew) await authLog.add(num, { action: 'filter added', ...event })
    for (const target of targets) {
      await authLog.add(num, { action: 'filter forward added', target: maskUrl(target), ...event })
    }
  }

  const create = endpoint({
    method: 'POST',
    path: '/users/:user/filters',
    tag: 'Filters',
    summary: 'Add a filter',
    description:
      'All conditions must hold. A condition is a text that must be found, without regard to case; written ' +
      '`/pattern/` with some of the flags `i`, `m`, `s`, `u` it is a regular expression of JavaScript. An expression ' +
      'that takes too long counts as not matching and is noted on the filter; after some times the filter is disabled.',
    allow: 'filters.create',
    params: { user: userId },
    body: {
      name: optional(name),
      query: object(queryFields),
      action: object(actionFields),
      disabled: bool({ default: false, description: 'Not evaluated' }),
      metaData: optional(metaData()),
    },
    reply: { id: filterId },
    faults: ['UserNotFound', 'NoSuchMailbox', 'TooMany'],
    async run({ input, caller, request, signal }) {
      const filter: NewFilter = {
        name: input.name ?? null,
        disabled: input.disabled,
        query: cleaned(input.query) as FilterQuery,
        action: cleaned(await readAction(system.secrets, input.action)) as FilterAction,
        metaData: input.metaData,
      }
      const { id, targets } = await system.handle(input.user).run(createFilter, filter, signal)
      await note({ input, caller, request }, { id, targets, isNew: true })
      return { id }
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/users/:user/filters/:filter',
    tag: 'Filters',
    summary: 'Change a filter; an empty value or null takes a condition or an action away',
    allow: 'filters.update',
    params,
    body: {
      name: optional(name),
      query: optional(object(queryFields)),
      action: optional(object(actionFields)),
      disabled: optional(bool()),
      metaData: optional(metaData()),
    },
    faults: ['UserNotFound', 'NoSuchMailbox', 'FilterNotFound'],
    async run({ input, caller, request, signal }) {
      const { filter, name: to, query, action, disabled, metaData: meta } = input
      if ([to, query, action, disabled, meta].every(value => value === undefined)) return {}
      const change = {
        id: filter,
        name: to,
        disabled,
        metaData: meta,
        ...(query !== undefined && { query }),
        ...(action !== undefined && { action: await readAction(system.secrets, action) }),
      }
      const { targets } = await system.handle(input.user).run(updateFilter, change, signal)
      await note({ input, caller, request }, { id: filter, targets, isNew: false })
      return {}
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/filters/:filter',
    tag: 'Filters',
    summary: 'Delete a filter',
    allow: 'filters.delete',
    params,
    faults: ['UserNotFound', 'FilterNotFound'],
    async run({ input, signal }) {
      await system.handle(input.user).run(deleteFilter, { id: input.filter }, signal)
      return {}
    },
  })
  return [create, update, remove]
}
