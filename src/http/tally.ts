// Counts requests for the metrics, by method, route template and status (wire-details 1).
//
// Labels come from closed sets only: the route is the template, never the path, and unknown methods are one. The
// counters' children are kept, which makes counting a map look-up.

import type { Metrics } from '#lib/metrics.ts'

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

interface Child {
  readonly requests: { inc(): void }
  readonly seconds: { observe(seconds: number): void }
}

export class Tally {
  readonly #metrics: Pick<Metrics, 'apiRequests' | 'apiSeconds'>
  readonly #children = new Map<string, Child>()

  constructor(metrics: Pick<Metrics, 'apiRequests' | 'apiSeconds'>) {
    this.#metrics = metrics
  }

  /** One answered request that took `ms`. */
  count(method: string, route: string, status: number, ms: number): void {
    const key = `${method} ${route} ${status}`
    const child = this.#children.get(key) ?? this.#child(key, method, route, status)
    child.requests.inc()
    child.seconds.observe(ms / 1000)
  }

  #child(key: string, method: string, route: string, status: number): Child {
    const known = methods.has(method)
    const child = {
      requests: this.#metrics.apiRequests.labels(known ? method : 'other', route, String(status)),
      seconds: this.#metrics.apiSeconds.labels(route),
    }
    if (known) this.#children.set(key, child)
    return child
  }
}
