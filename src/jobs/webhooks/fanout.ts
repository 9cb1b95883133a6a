// From events to deliveries: reads what waits in `event`, matches subscriptions, and moves each event in one unit.
//
// A unit inserts one delivery for every match, keeps the event's body as payload where there was one, and takes the
// event away. Events are taken by presence, not by number: numbers are given out before commits, so a lower one may
// become visible after a higher one. One unit is on its way at a time, so deliveries of one account keep their order.

import type { Subscriptions } from '#actors/admin/webhook.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Reader } from '#store/engine/reader.ts'
import { operation } from '#store/engine/write.ts'
import { eventFanout, type FanoutRow } from '#store/events/deliveries.ts'
import { waitingEvents } from '#store/events/event.ts'
import { Loop, type LoopMetrics } from '../loop.ts'

export interface FanoutOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly subscriptions: Subscriptions
  readonly log: Log
  readonly metrics: LoopMetrics
  /** Told after each unit: endpoint -> its lowest event in that unit. */
  readonly arrived: (endpoints: ReadonlyMap<number, number>) => void
}

interface Batch {
  readonly row: FanoutRow
  readonly bytes: number
  readonly endpoints: ReadonlyMap<number, number>
}

/** Bytes that a delivery and an event weigh in a unit, about. */
const rowBytes = 64

/** Makes the loop; it starts with its first kick. */
export function fanoutLoop(options: FanoutOptions): Loop<Batch> {
  const { read, writer, subscriptions, log, metrics, arrived } = options
  return new Loop<Batch>(
    {
      name: 'fan-out',
      async claim(_room, _at, under) {
        const events = await waitingEvents(read, limits.webhook.fanoutEventsMax)
        if (events.length === 0) return []
        const batch = match(subscriptions, events)
        // Events are not attempted but moved: the claim is the work.
        await writer.submit({
          operations: [operation(eventFanout, batch.row)],
          bytes: batch.bytes,
          background: true,
          under,
        })
        return [batch]
      },
      async run(batch) {
        if (batch.endpoints.size > 0) arrived(batch.endpoints)
      },
      next: () => null,
    },
    { inFlightMax: 1, log, metrics, duty: writer.duty },
  )
}

function match(subscriptions: Subscriptions, events: Awaited<ReturnType<typeof waitingEvents>>): Batch {
  const endpoints = new Map<number, number>()
  const rows: FanoutRow['events'] = []
  let deliveries = 0
  let cursor = 0
  for (const { num, name, user } of events) {
    const targets = subscriptions.match(name, user)
    if (rows.length > 0 && deliveries + targets.length > limits.webhook.fanoutDeliveriesMax) break
    rows.push([num, targets.map(({ endpoint, id }) => [endpoint, id])])
    for (const { endpoint } of targets) endpoints.set(endpoint, Math.min(num, endpoints.get(endpoint) ?? num))
    deliveries += targets.length
    cursor = Math.max(cursor, num)
  }
  return { row: { cursor, events: rows }, bytes: (rows.length + deliveries) * rowBytes, endpoints }
}
