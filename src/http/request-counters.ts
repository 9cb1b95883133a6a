// Counts requests for the metrics, by method, route template and status (wire-details 1).
//
// Labels come from closed sets only: the route is the template, never the path, and unknown methods are one. What was
// looked up once is kept, so that counting is looking up a number.

import type { Metrics } from '#lib/metrics.ts'

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

/** The counts of one method of one route. */
export interface RouteCounters {
  /** One answered request that took `ms`. */
  count(status: number, ms: number): void
}

export class RequestCounters {
  readonly #metrics: Pick<Metrics, 'apiRequests' | 'apiSeconds'>
  readonly #routes = new Map<string, RouteCounters>()

  constructor(metrics: Pick<Metrics, 'apiRequests' | 'apiSeconds'>) {
    this.#metrics = metrics
  }

  of(given: string, route: string): RouteCounters {
    const method = methods.has(given) ? given : 'other'
    const key = `${method} ${route}`
    let counters = this.#routes.get(key)
    if (counters === undefined) {
      counters = this.#make(method, route)
      this.#routes.set(key, counters)
    }
    return counters
  }

  #make(method: string, route: string): RouteCounters {
    const { apiRequests, apiSeconds } = this.#metrics
    const byStatus = new Map<number, { inc(): void }>()
    // Made with the first answer: a row of buckets for each route nobody calls would be nine tenths of the page.
    let seconds: ReturnType<typeof apiSeconds.labels> | undefined
    return {
      count(status, ms) {
        let requests = byStatus.get(status)
        if (requests === undefined) {
          requests = apiRequests.labels(method, route, String(status))
          byStatus.set(status, requests)
        }
        requests.inc()
        seconds ??= apiSeconds.labels(route)
        seconds.observe(ms / 1000)
      },
    }
  }
}
