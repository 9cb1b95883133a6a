// Endpoints on which a test may lay a hand: each call is shown to it first, behind the checks of caller and input.
//
// Only what teal/testing starts has these; other services have the endpoints as they are.

import type { Intercept } from '#net/intercept.ts'
import { Json } from '../answer.ts'
import { Call } from '../call.ts'
import type { Endpoint } from '../endpoint.ts'

/** The same endpoints, refused, delayed or cut where `intercept` says so. */
export function intercepted(endpoints: readonly Endpoint[], intercept: Intercept): readonly Endpoint[] {
  return endpoints.map(endpoint => ({
    ...endpoint,
    async run(call) {
      const { method: at, path: argument } = call.request
      const verdict = await intercept({ protocol: 'http', at, argument })
      if (verdict === undefined) return endpoint.run(call)
      if ('drop' in verdict) {
        if (call instanceof Call) call.wire.cut()
        return undefined
      }
      const [, status = '503', error = 'Refused by a test'] = /^(\d{3})(?: (.*))?$/.exec(verdict.reply) ?? []
      return new Json(Number(status), { success: false, error, code: 'InternalError' })
    },
  }))
}
