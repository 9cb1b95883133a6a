// Events on their way out: deliveries by endpoint and the payload they share. Tables, reads and writes.
//
// Fan-out moves events from `event` to `payload` and makes their deliveries in one write, so an event is matched exactly
// once. A delivery counts its attempt and its next time before the call (`delivery.claim`) and learns the result after it
// (`delivery.settle`); both take many rows at once. The payload goes with its last delivery. Deliveries may be many and are
// read in pieces along the index (endpoint, state, event, n); bodies of events are read one at a time, when they are sent.

import { integer, moment, nullable, placeIn, text } from '../engine/column.ts'
import { least, listRows } from '../engine/dialect.ts'
import { raiseFact } from '../engine/meta.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import type { Sql } from '../engine/sqlite/handle.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'
import { events } from './event.ts'

/** An event on its way. The body stands last, so that reading the rest does not touch its pages. */
const payloads = table(
  'payload',
  {
    event: integer,
    at: moment,
    name: text,
    user: nullable(text),
    /** JSON object. */
    body: text,
  },
  { key: ['event'] },
)

export const deliveryStates = ['waiting', 'retrying', 'dead'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** One event for one subscription; one that arrived has no row. */
const deliveries = table(
  'delivery',
  {
    event: integer,
    /** Counts the subscriptions the event matched. */
    n: integer,
    endpoint: integer,
    webhook: text,
    state: placeIn(deliveryStates),
    attempts: integer,
    due: moment,
    since: nullable(moment),
    tried: nullable(moment),
    failure: nullable(text),
    status: nullable(integer),
  },
  {
    key: ['event', 'n'],
    clustered: true,
    indexes: { delivery_endpoint: { on: ['endpoint', 'state', 'event', 'n'] } },
  },
)

type Row = RowOf<typeof deliveries>
export type Payload = RowOf<typeof payloads>

/** What a loop needs to know of a delivery. */
export type DueDelivery = Readonly<
  Pick<Row, 'event' | 'n' | 'webhook' | 'attempts' | 'due' | 'since'> & Pick<Payload, 'name' | 'user'>
>

/** What is shown of a delivery. */
export type Delivery = Readonly<Omit<Row, 'endpoint' | 'since'> & Pick<Payload, 'name' | 'at'>>

export interface FanoutRow {
  /** Highest event number that was ever matched. */
  cursor: number
  /** Event number and the subscriptions it goes to, in the order that gives the deliveries their `n`. */
  events: [event: number, targets: [endpoint: number, webhook: string][]][]
}

const fanOut = defineProcedure(
  'event_fan_out',
  '_event bigint, _endpoints text, _webhooks text',
  `BEGIN
  INSERT INTO delivery (event, n, endpoint, webhook, state, attempts, due)
    SELECT _event, e.key + 1, e.value::bigint, w.value, 0, 0, 0
      FROM ${listRows('_endpoints')} AS e JOIN ${listRows('_webhooks')} AS w ON w.key = e.key
      WHERE EXISTS (SELECT 1 FROM webhook WHERE id = w.value);
  IF FOUND THEN
    INSERT INTO payload (event, at, name, "user", body) SELECT num, at, name, "user", body FROM event WHERE num = _event;
  END IF;
  DELETE FROM event WHERE num = _event;
END`,
)

/** Makes the deliveries of events and takes the events from the table where they waited. */
export const eventFanout = defineWrite<FanoutRow>(
  'event.fanout',
  (sql, row) => {
    const insert = sql(`INSERT INTO ${deliveries} (event, n, endpoint, webhook, state, attempts, due)
    SELECT ?, ?, ?, ?, 0, 0, 0 WHERE EXISTS (SELECT 1 FROM webhook WHERE id = ?)`)
    const keep = sql(
      `INSERT INTO ${payloads} (${payloads.list}) SELECT ${events.listOf(undefined, ['num', 'at', 'name', 'user', 'body'])}
      FROM ${events} WHERE num = ?`,
    )
    const drop = sql(events.deleting(['num']))
    for (const [event, targets] of row.events) {
      let made = 0
      targets.forEach(([endpoint, webhook], index) => {
        made += insert.run(event, index + 1, endpoint, webhook, webhook).changes
      })
      if (made > 0) keep.run(event)
      drop.run(event)
    }
    raiseFact(sql, 'event.cursor', row.cursor)
  },
  {
    told: (sql, { events: matched, cursor }) => {
      for (const [event, targets] of matched) {
        const [endpoints, webhooks] = [0, 1].map(at => JSON.stringify(targets.map(target => target[at])))
        sql(fanOut.call).run(event, endpoints, webhooks)
      }
      raiseFact(sql, 'event.cursor', cursor)
    },
  },
)

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
  const fail = sql(deliveries.updating({ set: ['state', 'due', 'failure', 'status'], by: ['event', 'n'] }))
  for (const { event, n, dead, due, failure, status } of row.failed) {
    fail.run(dead ? 2 : 1, due, failure, status, event, n)
  }
  const release = sql(`UPDATE delivery SET attempts = attempts - 1, due = 0, state = ${least('state', 'attempts - 1')},
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
  const drop = sql(deliveries.deleting(['event', 'n']))
  const free = sql('DELETE FROM payload WHERE event = ? AND NOT EXISTS (SELECT 1 FROM delivery WHERE event = ?)')
  for (const [event, n] of rows) {
    drop.run(event, n)
    free.run(event, event)
  }
}

/** A delivery with its payload. */
const joined = `FROM ${deliveries} d JOIN ${payloads} p ON p.event = d.event`

const due = `${deliveries.listOf('d', ['event', 'n', 'webhook', 'attempts', 'due', 'since'])}, ${payloads.listOf('p', ['name', 'user'])}`

/** Deliveries of an endpoint that were never tried, behind a place in their order. */
export async function freshDeliveries(
  read: Reader,
  endpoint: number,
  place: readonly [event: number, n: number],
  count: number,
): Promise<DueDelivery[]> {
  return await read.all<DueDelivery>(
    `SELECT ${due} ${joined}
      WHERE d.endpoint = ? AND d.state = 0 AND (d.event, d.n) > (?, ?) ORDER BY d.event, d.n LIMIT ?`,
    endpoint,
    ...place,
    count,
  )
}

/** The oldest deliveries of an endpoint that were tried and wait for another try. */
export async function triedDeliveries(read: Reader, endpoint: number, count: number): Promise<DueDelivery[]> {
  return await read.all<DueDelivery>(
    `SELECT ${due} ${joined}
      WHERE d.endpoint = ? AND d.state = 1 ORDER BY d.event, d.n LIMIT ?`,
    endpoint,
    count,
  )
}

/** The payload of an event; undefined when nobody waits for it any more. */
export async function findPayload(read: Reader, event: number): Promise<Payload | undefined> {
  return await payloads.one(read, 'WHERE event = ?', event)
}

const told = ['event', 'n', 'webhook', 'state', 'attempts', 'due', 'tried', 'failure', 'status'] as const
const shown = `${deliveries.listOf('d', told)}, ${payloads.listOf('p', ['name', 'at'])}`

/** Deliveries as they are shown; `rest` is what follows the join. */
async function readShown(read: Reader, rest: string, ...values: unknown[]): Promise<Delivery[]> {
  const rows = await read.all<Record<string, unknown>>(`SELECT ${shown} ${joined} ${rest}`, ...values)
  return rows.map(row => deliveries.decode(row, told) as unknown as Delivery)
}

/** Deliveries of a subscription in the order of their events, from a place on, forward or back. */
export async function listDeliveries(
  read: Reader,
  where: { endpoint: number; webhook: string; state: DeliveryState | null },
  place: readonly [event: number, n: number] | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<Delivery[]> {
  const [compare, order, start] =
    direction === 'forward' ? ['>', 'ASC', [0, 0]] : (['<', 'DESC', [Number.MAX_SAFE_INTEGER, 0]] as const)
  const states = where.state === null ? deliveryStates : [where.state]
  const rows: Delivery[] = []
  for (const state of states) {
    const some = await readShown(
      read,
      `WHERE d.endpoint = ? AND d.state = ? AND d.webhook = ? AND (d.event, d.n) ${compare} (?, ?)
        ORDER BY d.event ${order}, d.n ${order} LIMIT ?`,
      where.endpoint,
      deliveryStates.indexOf(state),
      where.webhook,
      ...(place ?? start),
      count,
    )
    rows.push(...some)
  }
  const sign = direction === 'forward' ? 1 : -1
  return rows.sort((a, b) => sign * (a.event - b.event || a.n - b.n)).slice(0, count)
}

/** One delivery of a subscription. */
export async function findDelivery(
  read: Reader,
  webhook: string,
  event: number,
  n: number,
): Promise<Delivery | undefined> {
  const [found] = await readShown(read, 'WHERE d.event = ? AND d.n = ? AND d.webhook = ?', event, n, webhook)
  return found
}

/** How many deliveries of a subscription are in each state, counted up to `max` of the endpoint. */
export async function countDeliveries(
  read: Reader,
  endpoint: number,
  webhook: string,
  max: number,
): Promise<Record<DeliveryState, number>> {
  const count = async (state: number) =>
    (
      await read.one<{ n: number }>(
        `SELECT count(*) AS n FROM (SELECT webhook FROM delivery WHERE endpoint = ? AND state = ? LIMIT ?)
        WHERE webhook = ?`,
        endpoint,
        state,
        max,
        webhook,
      )
    )?.n ?? 0
  return { waiting: await count(0), retrying: await count(1), dead: await count(2) }
}

/** The dead deliveries of a subscription, oldest first. */
export async function deadDeliveries(
  read: Reader,
  endpoint: number,
  webhook: string,
  count: number,
): Promise<[event: number, n: number][]> {
  return await read.arrays<[number, number]>(
    'SELECT event, n FROM delivery WHERE endpoint = ? AND state = 2 AND webhook = ? ORDER BY event, n LIMIT ?',
    endpoint,
    webhook,
    count,
  )
}

/** A piece of all deliveries in order, for the sweep. */
export async function walkDeliveries(
  read: Reader,
  place: readonly [event: number, n: number],
  count: number,
): Promise<{ event: number; n: number; webhook: string; at: number }[]> {
  return await read.all(
    `SELECT d.event, d.n, d.webhook, p.at ${joined}
      WHERE (d.event, d.n) > (?, ?) ORDER BY d.event, d.n LIMIT ?`,
    ...place,
    count,
  )
}

/** Figures for the metrics. Times are of the oldest, null where there is none. */
export interface OutgoingFigures {
  /** Events that nobody has matched yet. */
  readonly waitingEvents: number
  readonly oldestEvent: number | null
  readonly dead: number
}

/** Counts at most `max` of each. */
export async function outgoingFigures(read: Reader, max: number): Promise<OutgoingFigures> {
  const count = async (rest: string) =>
    (await read.one<{ n: number }>(`SELECT count(*) AS n FROM (SELECT 1 FROM ${rest} LIMIT ?)`, max))?.n ?? 0
  const [oldest] = await events.all(read, 'ORDER BY num LIMIT 1')
  return {
    waitingEvents: await count(`${events}`),
    oldestEvent: oldest?.at ?? null,
    dead: await count(`${deliveries} WHERE endpoint IN (SELECT num FROM endpoint) AND state = 2`),
  }
}

/** When the oldest untried delivery of an endpoint happened; null where there is none. */
export async function oldestFresh(read: Reader, endpoint: number): Promise<number | null> {
  const row = await read.one<{ at: number }>(
    `SELECT p.at ${joined}
      WHERE d.endpoint = ? AND d.state = 0 ORDER BY d.event, d.n LIMIT 1`,
    endpoint,
  )
  return row?.at ?? null
}

/** `<24 hexadecimal digits>:<n>`: seconds and number of the event, and which of its subscriptions it goes to. */
export function deliveryId(at: number, event: number, n: number): string {
  const seconds = Math.floor(at / 1000)
  return `${seconds.toString(16).padStart(8, '0')}${event.toString(16).padStart(16, '0')}:${n}`
}

/** The event and `n` of a delivery's id; undefined where it is none. */
export function parseDeliveryId(id: string): { event: number; n: number } | undefined {
  const match = /^[0-9a-f]{8}([0-9a-f]{16}):([1-9]\d{0,3})$/.exec(id)
  const event = Number.parseInt(match?.[1] ?? '', 16)
  return Number.isSafeInteger(event) ? { event, n: Number(match?.[2]) } : undefined
}

checkParts.push({
  rules: [
    {
      says: 'every delivery has its payload',
      query: `SELECT event || ':' || n FROM delivery AS o WHERE NOT EXISTS (SELECT 1 FROM payload AS i WHERE i.event = o.event)`,
    },
    {
      says: 'every payload has a delivery',
      query: 'SELECT event FROM payload p WHERE NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event = p.event)',
    },
    {
      says: 'an event that was matched no longer waits',
      query: 'SELECT num FROM event WHERE num IN (SELECT event FROM payload)',
    },
    {
      says: 'a delivery that was tried counts its attempts, one that was not has none',
      query: `SELECT event || ':' || n FROM delivery WHERE (state = 0 AND attempts <> 0) OR (state = 1 AND attempts < 1)`,
    },
  ],
})
