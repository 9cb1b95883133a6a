// Webhooks: events reach every matching subscriber at least once, across crashes.
//
// Three loops over rows: fan-out (event -> deliveries), deliveries (calls with retries), and a sweep that takes away what
// belongs to nobody or is too old. What a subscriber can rely on: a delivery has the same id in every attempt and comes
// twice only where the outcome of a call was not known; events of one subject arrive in order, each after the one before
// it was taken, unless that one has failed for an hour; different subjects start in order and may overlap. Retries come
// after 2 s, 4 s, 8 s and so on up to 12 h: 17 attempts over some 30 hours, then the delivery is dead.

import type { WebhookHandle } from '#actors/admin/webhook.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { every, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { memoize } from '#lib/memoize.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Outward } from '#net/outward/outward.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { deliveryDelete, oldestFresh, outgoingFigures, walkDeliveries } from '#store/events/deliveries.ts'
import { Loop } from '../loop.ts'
import { HttpCaller } from './call.ts'
import { Deliveries } from './deliveries.ts'
import { fanoutLoop } from './fanout.ts'
import { MailCaller } from './mail-call.ts'
import type { Place } from './outbox.ts'

export interface WebhooksOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly handle: WebhookHandle
  readonly outward: Outward
  readonly log: Log
  readonly metrics: Metrics
  /** Time for one call (`webhooks.timeout`). */
  readonly timeoutMs: number
  /** Name of this service. */
  readonly hostname: string
  readonly version: string
  /** Certificates to trust besides the built-in ones, for tests. */
  readonly ca?: string
}

export interface Webhooks {
  /** Events were committed. */
  kick(): void
  /** Looks for due deliveries now: after a replay, or when a test has moved the clock. */
  look(): void
  close(): Promise<void>
}

/** Starts the delivery of events; what an earlier run left behind goes on. */
export function startWebhooks(options: WebhooksOptions): Webhooks {
  const { read, writer, handle, outward, log, metrics, timeoutMs, hostname, version, ca } = options
  const trust = ca === undefined ? {} : { ca }
  const http = new HttpCaller({ outward, timeoutMs, userAgent: `Teal/${version}`, ...trust })
  const mail = new MailCaller({ outward, timeoutMs, hostname, ...trust })
  const callers = { http, https: http, smtp: mail, smtps: mail }
  const deliveries = new Deliveries({ read, writer, handle, log, metrics, callers })
  const arrived = (endpoints: ReadonlyMap<number, number>) => deliveries.arrived(endpoints)
  const fanout = fanoutLoop({ read, writer, subscriptions: handle.subscriptions, log, metrics, arrived })
  const sweep = sweepLoop(options)
  handle.subscriptions.onChange(() => {
    deliveries.refresh()
    sweep.restart()
  })
  deliveries.start()
  fanout.kick()
  sweep.restart()
  const report = watchHealth(options, deliveries)
  return {
    kick: () => fanout.kick(),
    look: () => deliveries.kick(),
    async close() {
      report.cancel()
      await fanout.close()
      await deliveries.close()
      await sweep.loop.close()
      await http.close()
      await mail.close()
    },
  }
}

interface Sweep {
  readonly loop: Loop<[event: number, n: number][]>
  /** Walks all deliveries again from the start. */
  restart(): void
}

/** Walks all deliveries now and then, and takes away those of ended subscriptions and those of long ago. */
function sweepLoop({ read, writer, handle, log, metrics }: WebhooksOptions): Sweep {
  let place: Place | null = [0, 0]
  let due = 0
  const loop = new Loop<[event: number, n: number][]>(
    {
      name: 'webhook sweep',
      async claim(_room, at) {
        if (place === null && at >= due) place = [0, 0]
        if (place === null) return []
        const rows = await walkDeliveries(read, place, limits.webhook.sweepRowsMax)
        const last = rows.at(-1)
        const done = last === undefined || rows.length < limits.webhook.sweepRowsMax
        place = done ? null : [last.event, last.n]
        if (done) due = at + limits.webhook.sweepMs
        const oldest = at - limits.webhook.keepMs
        const over = rows.filter(row => row.at < oldest || handle.subscriptions.find(row.webhook) === undefined)
        // An empty piece counts as an item as well, so that the walk goes on.
        return done && over.length === 0 ? [] : [over.map(({ event, n }) => [event, n])]
      },
      async run(rows) {
        if (rows.length === 0) return
        const operations: Operation[] = [operation(deliveryDelete, { rows })]
        await writer.submit({ operations, bytes: rows.length * 32, background: true })
      },
      clockBack: ms => {
        due -= ms
      },
      next: () => due,
    },
    { inFlightMax: 1, log, metrics, duty: writer.duty },
  )
  const restart = () => {
    place = [0, 0]
    loop.kick()
  }
  return { loop, restart }
}

/** Gauges for the metrics, and a line in the log while deliveries are late. */
function watchHealth({ read, log, metrics }: WebhooksOptions, deliveries: Deliveries) {
  const figures = async () => {
    const at = now()
    const outboxes = [...deliveries.outboxes]
    const all = await outgoingFigures(read, countMax)
    let oldest = at
    for (const outbox of outboxes) {
      if (outbox.paused) continue
      const fresh = await oldestFresh(read, outbox.num)
      oldest = Math.min(oldest, fresh ?? at, outbox.oldestDue(at) ?? at)
    }
    return {
      ageSeconds: (at - oldest) / 1000,
      dead: all.dead,
      lag: all.waitingEvents,
      lagSeconds: all.oldestEvent === null ? 0 : Math.max(at - all.oldestEvent, 0) / 1000,
      paused: outboxes.filter(outbox => outbox.paused).length,
    }
  }
  const cached = memoize(figures, limits.webhook.figuresMs)
  metrics.observe(
    'webhook_oldest_seconds',
    'Age of the oldest webhook delivery that is due',
    async () => (await cached()).ageSeconds,
  )
  metrics.observe('webhook_dead', 'Webhook deliveries that are dead and kept', async () => (await cached()).dead)
  metrics.observe('webhook_paused', 'Webhook endpoints that are paused', async () => (await cached()).paused)
  metrics.observe('event_lag', 'Events that wait to be matched with webhooks', async () => (await cached()).lag)
  metrics.observe(
    'event_lag_seconds',
    'Age of the oldest event that waits to be matched',
    async () => (await cached()).lagSeconds,
  )
  const report = async () => {
    const { ageSeconds, dead, lag, paused } = await figures()
    if (ageSeconds * 1000 < limits.webhook.reportMs && lag < limits.webhook.fanoutEventsMax) return
    log.warn({ ageSeconds, dead, lag, paused }, 'webhook deliveries are late')
  }
  const failed = (error: unknown) => log.error({ error }, 'it cannot be told how late webhook deliveries are')
  return every(limits.webhook.reportMs, () => void report().catch(failed))
}

/** Rows counted of one kind; a larger figure says no more. */
const countMax = 10_000
