// GET /health and /healthz: whether the store and the cache can be reached and written (specification, Health; api-semantics 10.1).
//
// Four checks in this order, each really made and each bounded in time; the first that fails is the answer. Calls that
// arrive while a round is under way share it, so that a storm of them costs one write.

import Type, { type Static } from 'typebox'
import { monotonic, within } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { json } from '../../answer.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'

export interface HealthDeps {
  readonly version: string
  readonly log: Log
  /** Each rejects where the thing does not work; one that never settles counts as failed after `checkMs`. */
  storePing(): Promise<unknown>
  /** Inserts a row and deletes it again. */
  storeWrite(): Promise<unknown>
  cachePing(): Promise<unknown>
  /** Sets a value, reads it back and removes it. */
  cacheWrite(): Promise<unknown>
  /** Where nodes share the database: all of them as this one sees them. */
  cluster?(): ClusterShown
  /** Instead of the limit, for tests. */
  readonly checkMs?: number
}

interface Health {
  readonly success: boolean
  readonly version: string
  readonly message?: string
}

/** Only of a service that is a node. */
const nodesShown = Type.Object({
  node: Type.String({ description: 'The node that answers' }),
  connected: Type.Boolean({ description: 'Whether it has a line to the others' }),
  waiting: Type.Integer({ description: 'What it asked of others that is not answered yet' }),
  nodes: Type.Array(
    Type.Object({
      name: Type.String(),
      alive: Type.Boolean(),
      leaving: Type.Boolean(),
      shards: Type.Integer({ description: 'Leases it has' }),
      silentMs: Type.Integer({ description: 'For how long its leases have run out' }),
      renewedMs: Type.Integer({ description: 'How long ago they were renewed' }),
      behind: Type.Integer({
        description: 'What the node that answers has told and asked it and it has not confirmed',
      }),
    }),
  ),
})

type ClusterShown = Static<typeof nodesShown>

export function healthEndpoints(deps: HealthDeps): Endpoint[] {
  let round: Promise<Health> | null = null
  let last: { readonly at: number; readonly success: boolean } | undefined
  const ask = () => {
    round ??= check(deps).finally(() => {
      round = null
    })
    return round
  }
  const health = endpoint({
    method: 'GET',
    path: '/health',
    tag: 'Service',
    summary: 'Check the store and the cache',
    description:
      'Pings the store, inserts and deletes a row, pings the cache, sets, gets and deletes a value. Answers 500 with ' +
      '`success: false` and a `message` when one of them fails.',
    allow: null,
    open: true,
    reply: { success: Type.Boolean(), version: Type.String(), cluster: Type.Optional(nodesShown) },
    async run() {
      const { success, version, message } = await ask()
      const nodes = deps.cluster === undefined ? {} : { cluster: deps.cluster() }
      return success ? { success, version, ...nodes } : json(500, { success, version, message })
    },
  })
  const plain = endpoint({
    method: 'GET',
    path: '/healthz',
    tag: 'Service',
    summary: 'Whether the service works, without a token',
    description:
      'Yes (200) or no (500) and nothing else. An answer is given again for a moment, so that strangers cause no writes.',
    allow: 'public',
    open: true,
    reply: { success: Type.Boolean() },
    async run() {
      if (last === undefined || monotonic() - last.at > limits.health.keptMs) {
        const { success } = await ask()
        last = { at: monotonic(), success }
      }
      return last.success ? { success: true } : json(500, { success: false })
    },
  })
  return [health, plain]
}

async function check(deps: HealthDeps): Promise<Health> {
  const { version, log, checkMs = limits.health.checkMs } = deps
  const checks: readonly [string, () => Promise<unknown>][] = [
    ['The data store cannot be reached', () => deps.storePing()],
    ['The data store cannot be written', () => deps.storeWrite()],
    ['The cache cannot be reached', () => deps.cachePing()],
    ['The cache cannot be written', () => deps.cacheWrite()],
  ]
  for (const [message, attempt] of checks) {
    try {
      await within(checkMs, attempt(), () => new Error(`No answer within ${checkMs} ms`))
    } catch (error) {
      log.error({ error }, message)
      return { success: false, version, message }
    }
  }
  return { success: true, version }
}
