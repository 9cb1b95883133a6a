// Putting the filters of an account into another order, all at once: what is tried first, what last.
//
// The list must name each filter once, so that nobody who did not know of one moves it by chance.

import { orderFilters } from '#actors/user/rules.ts'
import { limits } from '#lib/limits.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { list, userId } from '../../schema.ts'
import type { FilterDeps } from './filter-deps.ts'
import { filterId } from './filter-view.ts'

export function orderEndpoints({ system }: Pick<FilterDeps, 'system'>): Endpoint[] {
  const order = endpoint({
    method: 'PUT',
    path: '/users/:user/filters/order',
    tag: 'Filters',
    summary: 'Put the filters of a user into another order',
    allow: 'filters.update',
    params: { user: userId },
    body: { filters: list(filterId, { max: limits.filter.orderMax }) },
    faults: ['UserNotFound'],
    async run({ input, signal }) {
      await system.handle(input.user).run(orderFilters, { ids: input.filters }, signal)
      return {}
    },
  })
  return [order]
}
