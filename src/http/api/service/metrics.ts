// GET /metrics: counters of the service as Prometheus text (api-semantics 1.10), for the token of an operator, and without
// one only where that is configured.
//
// Collecting walks every counter, so those who ask at the same moment share one result.

import type { Registry } from 'prom-client'
import { Fault } from '#lib/fault.ts'
import type { Log } from '#lib/log.ts'
import { binary } from '../../answer.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'

export interface MetricsDeps {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>
  readonly enabled: boolean
  /** Whether anybody may ask. */
  readonly public: boolean
  readonly log: Log
}

export function metricsEndpoints(deps: MetricsDeps): Endpoint[] {
  if (!deps.enabled) return []
  const { registry, log } = deps
  let round: Promise<string> | null = null
  const collect = (): Promise<string> => {
    round ??= registry.metrics().finally(() => {
      round = null
    })
    return round
  }
  const metrics = endpoint({
    method: 'GET',
    path: '/metrics',
    tag: 'Service',
    summary: 'Counters for Prometheus',
    allow: deps.public ? 'public' : null,
    open: true,
    replyType: 'text/plain',
    async run({ caller }) {
      if (!deps.public && (caller.user !== null || caller.role === 'domain')) throw new Fault('MissingPrivileges')
      try {
        return binary({ headers: { 'content-type': registry.contentType }, body: await collect() })
      } catch (error) {
        log.error({ error }, 'metrics could not be collected')
        const headers = { 'content-type': 'text/plain; charset=utf-8' }
        return binary({ status: 500, headers, body: 'The metrics could not be collected\n' })
      }
    },
  })
  return [metrics]
}
