// The writes of events on their way out: subscriptions, endpoints, deliveries.
//
// Fan-out moves events from `event` to `payload` and makes their deliveries in one write, so an event is matched exactly
// once. A delivery counts its attempt and its next time before the call (`delivery.claim`) and learns the result after it
// (`delivery.settle`); both take many rows at once. The payload goes with its last delivery.

import type { Sql } from '../engine/sqlite.ts'
import { defineWrite } from '../engine/write.ts'

export interface WebhookInsertRow {
  id: string
  /** Number of the endpoint, new or that of the URL. */
  endpoint: number
  url: string
  /** JSON array. */
  type: string
  user: string | null
  secret: string | null
  created: number
}

/** Adds a subscription, and its endpoint where the URL is new. An endpoint that was paused is tried again. */
export const webhookInsert = defineWrite<WebhookInsertRow>('webhook.insert', (sql, row) => {
  sql(`INSERT INTO endpoint (num, url, failures, failing_since, paused, reason) VALUES (?, ?, 0, NULL, NULL, NULL)
    ON CONFLICT (url) DO UPDATE SET failures = 0, failing_since = NULL, paused = NULL, reason = NULL`).run(
    row.endpoint,
    row.url,
  )
  sql(`INSERT INTO webhook (id, endpoint, type, user, secret, created)
    VALUES (@id, @endpoint, @type, @user, @secret, @created)`).run(row)
  sql(`INSERT INTO meta (key, value) VALUES ('endpoint.last', ?)
    ON CONFLICT DO UPDATE SET value = max(value, excluded.value)`).run(row.endpoint)
})

/** Ends a subscription. Its deliveries are taken away afterwards, a few at a time. */
export const webhookDelete = defineWrite<{ id: string }>('webhook.delete', (sql, row) => {
  sql('DELETE FROM webhook WHERE id = ?').run(row.id)
  sql('DELETE FROM endpoint WHERE num NOT IN (SELECT endpoint FROM webhook)').run()
})

export const webhookSecret = defineWrite<{ id: string; secret: string | null }>('webhook.secret', (sql, row) => {
  sql('UPDATE webhook SET secret = @secret WHERE id = @id').run(row)
})

/** Pauses an endpoint, or with `at` null lets it run again. */
export const endpointPause = defineWrite<{ num: number; at: number | null; reason: string | null }>(
  'endpoint.pause',
  (sql, row) => {
    sql('UPDATE endpoint SET paused = @at, reason = @reason, failures = 0, failing_since = NULL WHERE num = @num').run(
      row,
    )
  },
)

export interface FanoutRow {
  /** Highest event number that was ever matched. */
  cursor: number
  /** Event number and the subscriptions it goes to, in the order that gives the deliveries their `n`. */
  events: [event: number, targets: [endpoint: number, webhook: string][]][]
}

/** Makes the deliveries of events and takes the events from the table where they waited. */
export const eventFanout = defineWrite<FanoutRow>('event.fanout', (sql, row) => {
  const insert = sql(`INSERT INTO delivery (event, n, endpoint, webhook, state, attempts, due)
    SELECT ?, ?, ?, ?, 0, 0, 0 WHERE EXISTS (SELECT 1 FROM webhook WHERE id = ?)`)
  const keep = sql(
    'INSERT INTO payload (event, at, name, user, body) SELECT num, at, name, user, body FROM event WHERE num = ?',
  )
  const drop = sql('DELETE FROM event WHERE num = ?')
  for (const [event, targets] of row.events) {
    let made = 0
    targets.forEach(([endpoint, webhook], index) => {
      made += insert.run(event, index + 1, endpoint, webhook, webhook).changes
    })
    if (made > 0) keep.run(event)
    drop.run(event)
  }
  sql(`INSERT INTO meta (key, value) VALUES ('event.cursor', ?)
    ON CONFLICT DO UPDATE SET value = max(value, excluded.value)`).run(row.cursor)
})

export interface ClaimRow {
  at: number
  /** Deliveries about to be tried, and when they are due again should nothing more be heard of them. */
  rows: [event: number, n: number, due: number][]
}

export const deliveryClaim = defineWrite<ClaimRow>('delivery.claim', (sql, row) => {
  const claim =
    sql(`UPDATE delivery SET state = 1, attempts = attempts + 1, due = ?, since = coalesce(since, ?), tried = ?
    WHERE event = ? AND n = ?`)
  for (const [event, n, due] of row.rows) claim.run(due, row.at, row.at, event, n)
})

export interface SettleRow {
  /** Arrived, or to be forgotten. */
  done: [event: number, n: number][]
  failed: { event: number; n: number; dead: boolean; due: number; failure: string; status: number | null }[]
  /** Claimed but never tried. */
  released: [event: number, n: number][]
  /** How endpoints are doing now. */
  health: { num: number; failures: number; since: number | null }[]
}

export const deliverySettle = defineWrite<SettleRow>('delivery.settle', (sql, row) => {
  remove(sql, row.done)
  const fail = sql('UPDATE delivery SET state = ?, due = ?, failure = ?, status = ? WHERE event = ? AND n = ?')
  for (const { event, n, dead, due, failure, status } of row.failed) {
    fail.run(dead ? 2 : 1, due, failure, status, event, n)
  }
  const release = sql(`UPDATE delivery SET attempts = attempts - 1, due = 0, state = min(state, attempts - 1),
    since = CASE attempts WHEN 1 THEN NULL ELSE since END WHERE event = ? AND n = ? AND state = 1`)
  for (const [event, n] of row.released) release.run(event, n)
  const health = sql('UPDATE endpoint SET failures = ?, failing_since = ? WHERE num = ? AND paused IS NULL')
  for (const { num, failures, since } of row.health) health.run(failures, since, num)
})

/** Puts dead deliveries back to the start; their last failure stays to be seen. */
export const deliveryReplay = defineWrite<{ rows: [event: number, n: number][] }>('delivery.replay', (sql, row) => {
  const replay = sql(
    'UPDATE delivery SET state = 0, attempts = 0, due = 0, since = NULL WHERE event = ? AND n = ? AND state = 2',
  )
  for (const [event, n] of row.rows) replay.run(event, n)
})

/** Forgets deliveries, whatever their state. */
export const deliveryDelete = defineWrite<{ rows: [event: number, n: number][] }>('delivery.delete', (sql, row) => {
  remove(sql, row.rows)
})

function remove(sql: Sql, rows: readonly [event: number, n: number][]): void {
  const drop = sql('DELETE FROM delivery WHERE event = ? AND n = ?')
  const free = sql('DELETE FROM payload WHERE event = ? AND NOT EXISTS (SELECT 1 FROM delivery WHERE event = ?)')
  for (const [event, n] of rows) {
    drop.run(event, n)
    free.run(event, event)
  }
}
