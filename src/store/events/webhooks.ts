// Reading what goes out: subscriptions with their endpoints, events that wait to be matched, deliveries by endpoint.
//
// Subscriptions are few (limits.webhook.subscriptionsMax) and read whole; deliveries may be many and are read in pieces
// along the index (endpoint, state, event, n). The bodies of events are read one at a time, when they are sent.

import type { Reader } from '../engine/reader.ts'
import { integer, json, moment, nullable, table, text } from '../engine/table.ts'
import { checkParts } from '../upkeep/check.ts'

/** Where deliveries go: one row for each distinct URL, with how it has been doing. */
table(
  'endpoint',
  {
    num: integer,
    /** Sealed where it holds a password. */
    url: text,
    failures: integer,
    failingSince: nullable(moment),
    paused: nullable(moment),
    reason: nullable(text),
  },
  { key: ['num'], indexes: { endpoint_url: { on: ['url'], unique: true } } },
)

table(
  'webhook',
  {
    id: text,
    endpoint: integer,
    type: json<readonly string[]>(),
    /** Id of the account whose events it gets. */
    user: nullable(text),
    /** Signs deliveries; sealed. */
    secret: nullable(text),
    created: moment,
  },
  { key: ['id'], clustered: true, indexes: { webhook_endpoint: { on: ['endpoint'] } } },
)

/** An event on its way. The body stands last, so that reading the rest does not touch its pages. */
table('payload', { event: integer, at: moment, name: text, user: nullable(text), body: text }, { key: ['event'] })

/** One event for one subscription; one that arrived has no row. */
table(
  'delivery',
  {
    event: integer,
    /** Counts the subscriptions the event matched. */
    n: integer,
    endpoint: integer,
    webhook: text,
    /** Place in `deliveryStates`. */
    state: integer,
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

/** A subscription and how its endpoint is doing. Subscriptions with the same URL share an endpoint. */
export interface Subscription {
  readonly id: string
  readonly endpoint: number
  readonly url: string
  /** Event names and wildcards. */
  readonly type: readonly string[]
  /** Account whose events it gets; null for everybody's and nobody's. */
  readonly user: string | null
  readonly secret: string | null
  readonly created: number
  /** When it was paused, and why; null while it runs. */
  readonly paused: number | null
  readonly reason: string | null
  /** Failures in a row, and the moment of the first. */
  readonly failures: number
  readonly failingSince: number | null
}

/** An event that nobody has matched yet. */
export interface WaitingEvent {
  readonly num: number
  readonly name: string
  readonly user: string | null
}

export const deliveryStates = ['waiting', 'retrying', 'dead'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** What a loop needs to know of a delivery. */
export interface DueDelivery {
  readonly event: number
  readonly n: number
  readonly webhook: string
  readonly attempts: number
  readonly due: number
  readonly since: number | null
  readonly name: string
  readonly user: string | null
}

/** What is shown of a delivery. */
export interface Delivery {
  readonly event: number
  readonly n: number
  readonly webhook: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly due: number
  readonly tried: number | null
  readonly failure: string | null
  readonly status: number | null
  readonly name: string
  readonly at: number
}

/** Every subscription, by id. */
export async function listSubscriptions(read: Reader): Promise<Subscription[]> {
  return read
    .all<Omit<Subscription, 'type'> & { type: string }>(
      `SELECT w.id, w.endpoint, e.url, w.type, w.user, w.secret, w.created, e.paused, e.reason, e.failures,
        e.failing_since AS failingSince FROM webhook w JOIN endpoint e ON e.num = w.endpoint ORDER BY w.id`,
    )
    .map(row => ({ ...row, type: JSON.parse(row.type) as string[] }))
}

/** The number of the endpoint of this URL, or one that no endpoint ever had. */
export async function endpointNumber(read: Reader, url: string): Promise<number> {
  const found = read.one<{ num: number }>('SELECT num FROM endpoint WHERE url = ?', url)
  if (found !== undefined) return found.num
  const last = read.one<{ value: number }>("SELECT value FROM meta WHERE key = 'endpoint.last'")
  return (last?.value ?? 0) + 1
}

/** The oldest events that wait to be matched. */
export async function waitingEvents(read: Reader, count: number): Promise<WaitingEvent[]> {
  return read.all<WaitingEvent>('SELECT num, name, user FROM event ORDER BY num LIMIT ?', count)
}

const due = 'd.event, d.n, d.webhook, d.attempts, d.due, d.since, p.name, p.user'

/** Deliveries of an endpoint that were never tried, behind a place in their order. */
export async function freshDeliveries(
  read: Reader,
  endpoint: number,
  place: readonly [event: number, n: number],
  count: number,
): Promise<DueDelivery[]> {
  return read.all<DueDelivery>(
    `SELECT ${due} FROM delivery d JOIN payload p ON p.event = d.event
      WHERE d.endpoint = ? AND d.state = 0 AND (d.event, d.n) > (?, ?) ORDER BY d.event, d.n LIMIT ?`,
    endpoint,
    ...place,
    count,
  )
}

/** The oldest deliveries of an endpoint that were tried and wait for another try. */
export async function triedDeliveries(read: Reader, endpoint: number, count: number): Promise<DueDelivery[]> {
  return read.all<DueDelivery>(
    `SELECT ${due} FROM delivery d JOIN payload p ON p.event = d.event
      WHERE d.endpoint = ? AND d.state = 1 ORDER BY d.event, d.n LIMIT ?`,
    endpoint,
    count,
  )
}

/** What is sent of an event. */
export interface Payload {
  readonly at: number
  readonly name: string
  /** JSON object. */
  readonly body: string
}

/** The payload of an event; undefined when nobody waits for it any more. */
export async function findPayload(read: Reader, event: number): Promise<Payload | undefined> {
  return read.one<Payload>('SELECT at, name, body FROM payload WHERE event = ?', event)
}

const shown = `d.event, d.n, d.webhook, d.state, d.attempts, d.due, d.tried, d.failure, d.status, p.name, p.at`

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
  const rows = states.flatMap(state =>
    read.all<Omit<Delivery, 'state'> & { state: number }>(
      `SELECT ${shown} FROM delivery d JOIN payload p ON p.event = d.event
        WHERE d.endpoint = ? AND d.state = ? AND d.webhook = ? AND (d.event, d.n) ${compare} (?, ?)
        ORDER BY d.event ${order}, d.n ${order} LIMIT ?`,
      where.endpoint,
      deliveryStates.indexOf(state),
      where.webhook,
      ...(place ?? start),
      count,
    ),
  )
  const sign = direction === 'forward' ? 1 : -1
  return rows
    .sort((a, b) => sign * (a.event - b.event || a.n - b.n))
    .slice(0, count)
    .map(row => ({ ...row, state: deliveryStates[row.state] ?? 'dead' }))
}

/** One delivery of a subscription. */
export async function findDelivery(
  read: Reader,
  webhook: string,
  event: number,
  n: number,
): Promise<Delivery | undefined> {
  const row = read.one<Omit<Delivery, 'state'> & { state: number }>(
    `SELECT ${shown} FROM delivery d JOIN payload p ON p.event = d.event
      WHERE d.event = ? AND d.n = ? AND d.webhook = ?`,
    event,
    n,
    webhook,
  )
  return row === undefined ? undefined : { ...row, state: deliveryStates[row.state] ?? 'dead' }
}

/** How many deliveries of a subscription are in each state, counted up to `max` of the endpoint. */
export async function countDeliveries(
  read: Reader,
  endpoint: number,
  webhook: string,
  max: number,
): Promise<Record<DeliveryState, number>> {
  const count = (state: number) =>
    read.one<{ n: number }>(
      `SELECT count(*) AS n FROM (SELECT webhook FROM delivery WHERE endpoint = ? AND state = ? LIMIT ?)
        WHERE webhook = ?`,
      endpoint,
      state,
      max,
      webhook,
    )?.n ?? 0
  return { waiting: count(0), retrying: count(1), dead: count(2) }
}

/** The dead deliveries of a subscription, oldest first. */
export async function deadDeliveries(
  read: Reader,
  endpoint: number,
  webhook: string,
  count: number,
): Promise<[event: number, n: number][]> {
  return read.arrays<[number, number]>(
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
  return read.all(
    `SELECT d.event, d.n, d.webhook, p.at FROM delivery d JOIN payload p ON p.event = d.event
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
export function outgoingFigures(read: Reader, endpoints: readonly number[], max: number): OutgoingFigures {
  const count = (text: string, ...values: unknown[]) => read.one<{ n: number }>(text, ...values)?.n ?? 0
  const oldest = read.one<{ at: number }>('SELECT at FROM event ORDER BY num LIMIT 1')
  const dead = (endpoint: number) =>
    count('SELECT count(*) AS n FROM (SELECT 1 FROM delivery WHERE endpoint = ? AND state = 2 LIMIT ?)', endpoint, max)
  return {
    waitingEvents: count('SELECT count(*) AS n FROM (SELECT 1 FROM event LIMIT ?)', max),
    oldestEvent: oldest?.at ?? null,
    dead: endpoints.reduce((sum, endpoint) => sum + dead(endpoint), 0),
  }
}

/** When the oldest untried delivery of an endpoint happened; null where there is none. */
export function oldestFresh(read: Reader, endpoint: number): number | null {
  const row = read.one<{ at: number }>(
    `SELECT p.at FROM delivery d JOIN payload p ON p.event = d.event
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
      query: `SELECT event || ':' || n FROM delivery WHERE event NOT IN (SELECT event FROM payload)`,
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
      says: 'every subscription has its endpoint, and every endpoint a subscription',
      query: `SELECT id FROM webhook WHERE endpoint NOT IN (SELECT num FROM endpoint)
        UNION ALL SELECT num FROM endpoint WHERE num NOT IN (SELECT endpoint FROM webhook)`,
    },
    {
      says: 'a delivery that was tried counts its attempts, one that was not has none',
      query: `SELECT event || ':' || n FROM delivery WHERE (state = 0 AND attempts <> 0) OR (state = 1 AND attempts < 1)`,
    },
  ],
})
