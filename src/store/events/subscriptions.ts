// Subscriptions to events and the endpoints they go to: tables, reads and writes.
//
// Subscriptions are few (limits.webhook.subscriptionsMax) and read whole. Those with the same URL share an endpoint, which
// comes with the first of them and goes with the last. What waits to be delivered is in deliveries.ts.

import { integer, json, moment, nullable, text } from '../engine/column.ts'
import { factOf, raiseFact } from '../engine/meta.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, type Write } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

/** Where deliveries go: one row for each distinct URL, with how it has been doing. */
const endpoints = table(
  'endpoint',
  {
    num: integer,
    /** Sealed where it holds a password. */
    url: text,
    /** Failures in a row, and the moment of the first. */
    failures: integer,
    failingSince: nullable(moment),
    /** When it was paused, and why; null while it runs. */
    paused: nullable(moment),
    reason: nullable(text),
  },
  { key: ['num'], long: ['url'], indexes: { endpoint_url: { on: ['url'], unique: true } } },
)

const webhooks = table(
  'webhook',
  {
    id: text,
    endpoint: integer,
    /** Event names and wildcards. */
    type: json<readonly string[]>(),
    /** Id of the account whose events it gets; null for everybody's and nobody's. */
    user: nullable(text),
    /** Signs deliveries; sealed. */
    secret: nullable(text),
    created: moment,
  },
  { key: ['id'], clustered: true, indexes: { webhook_endpoint: { on: ['endpoint'] } } },
)

type Endpoint = RowOf<typeof endpoints>
type Webhook = RowOf<typeof webhooks>

/** A subscription and how its endpoint is doing. */
export type Subscription = Readonly<Webhook & Omit<Endpoint, 'num'>>

/** How an endpoint begins, or begins anew. */
const fresh = { failures: 0, failingSince: null, paused: null, reason: null } as const

const addEndpoint = `${endpoints.insertion}
  ON CONFLICT (url) DO UPDATE SET failures = 0, failing_since = NULL, paused = NULL, reason = NULL`

/**
 * Adds a subscription, and its endpoint where the URL is new: `endpoint` is its number, or that of the URL. An endpoint
 * that was paused is tried again.
 */
export const webhookInsert = defineWrite<Webhook & Pick<Endpoint, 'url'>>('webhook.insert', (sql, row) => {
  sql(addEndpoint).run(endpoints.values({ num: row.endpoint, url: row.url, ...fresh }))
  sql(webhooks.insertion).run(webhooks.values(row))
  raiseFact(sql, 'endpoint.last', row.endpoint)
})

/** Ends a subscription. Its deliveries are taken away afterwards, a few at a time. */
export const webhookDelete = defineWrite<Pick<Webhook, 'id'>>('webhook.delete', (sql, row) => {
  sql(webhooks.deleting(['id'])).run(row.id)
  sql(`DELETE FROM ${endpoints} WHERE num NOT IN (SELECT endpoint FROM ${webhooks})`).run()
})

export const webhookSecret = webhooks.defineUpdate('secret', { set: ['secret'], by: ['id'] })

const pause = endpoints.defineUpdate('pause', { set: ['paused', 'reason', 'failures', 'failingSince'], by: ['num'] })

/** Pauses an endpoint, or with `paused` null lets it run again. */
export const endpointPause: Write<Pick<Endpoint, 'num' | 'paused' | 'reason'>> = {
  ...pause,
  encode: row => pause.encode?.({ ...fresh, ...row }),
}

/** Every subscription, by id. */
export async function listSubscriptions(read: Reader): Promise<Subscription[]> {
  const list = `${webhooks.listOf('w')}, ${endpoints.listOf('e', ['url', 'failures', 'failingSince', 'paused', 'reason'])}`
  return (
    await read.all<Record<string, unknown>>(
      `SELECT ${list} FROM ${webhooks} w JOIN ${endpoints} e ON e.num = w.endpoint ORDER BY w.id`,
    )
  ).map(row => webhooks.decode(row) as Subscription)
}

/** The number of the endpoint of this URL, or one that no endpoint ever had. */
export async function endpointNumber(read: Reader, url: string): Promise<number> {
  return (await endpoints.one(read, 'WHERE url = ?', url))?.num ?? (await factOf(read, 'endpoint.last')) + 1
}

checkParts.push({
  rules: [
    {
      says: 'every subscription has its endpoint, and every endpoint a subscription',
      query: `SELECT id FROM webhook AS o WHERE NOT EXISTS (SELECT 1 FROM endpoint AS i WHERE i.num = o.endpoint)
        UNION ALL SELECT num || '' FROM endpoint AS o WHERE NOT EXISTS (SELECT 1 FROM webhook AS i WHERE i.endpoint = o.num)`,
    },
  ],
})
