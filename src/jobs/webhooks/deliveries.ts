// Deliveries on their way: which endpoint may be called, the calls, and what became of them.
//
// Before a call its attempt and its next time are on disk; a result follows in the next unit that leaves. Both go by
// groups: one claim covers what all endpoints may start, results gather while the unit before them is being written. What
// a crash leaves behind are attempts without a result; each is due again a retry later, and is the only way in which a
// delivery can come twice. Outboxes (outbox.ts) keep the order and hold each endpoint's window.

import type { Subscriptions, WebhookHandle } from '#actors/admin/webhook.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { now } from '#lib/clock.ts'
import { jitter } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { LostLease } from '#store/cluster/tenancy.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import {
  deliveryClaim,
  deliveryId,
  deliverySettle,
  findPayload,
  freshDeliveries,
  type Payload,
  type SettleRow,
  triedDeliveries,
} from '#store/events/deliveries.ts'
import type { Subscription } from '#store/events/subscriptions.ts'
import { clockNow, deliveryClockBack } from '#store/upkeep/clock-back.ts'
import { Loop, persist, type Term } from '../loop.ts'
import type { Caller, Outcome, Post } from './call.ts'
import { Outbox, type Pending, type Run } from './outbox.ts'

export interface DeliveriesOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly handle: WebhookHandle
  readonly log: Log
  readonly metrics: Metrics
  /** By scheme, without the colon. */
  readonly callers: Readonly<Record<string, Caller>>
}

export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #subscriptions: Subscriptions
  readonly #loop: Loop<Run>
  readonly #outboxes = new Map<number, Outbox>()
  /** Origin -> runs in flight. */
  readonly #origins = new Map<string, number>()
  readonly #stop = new AbortController()
  /** Ends with the first word of a stop, before anything is cut off. */
  readonly #leaving = new AbortController()
  /** Subscriptions whose endpoint wants no more, until they are gone from the rows. */
  readonly #ended = new Set<string>()
  /** Under which what is remembered was read. */
  #under: Term
  #running = 0
  #turn = 0
  #results: SettleRow = emptyResults()
  #recording: Promise<void> | undefined

  constructor(options: DeliveriesOptions) {
    this.#options = options
    this.#subscriptions = options.handle.subscriptions
    const { subscriptionsMax, inFlightMax } = limits.webhook
    this.#loop = new Loop<Run>(
      {
        name: 'deliveries',
        clockBack: (ms, under) => this.#clockBack(ms, under),
        begin: under => this.#begin(under),
        claim: (_room, at) => this.#claim(at),
        run: (run, signal) => this.#run(run, signal),
        next: () => this.#next(),
      },
      {
        inFlightMax: inFlightMax + subscriptionsMax,
        log: options.log,
        metrics: options.metrics,
        duty: options.writer.duty,
      },
    )
  }

  get outboxes(): Iterable<Outbox> {
    return this.#outboxes.values()
  }

  /** Takes up what is in the rows; call once before anything else. */
  start(): void {
    this.refresh()
  }

  /** Something may have become due. */
  kick(): void {
    this.#loop.kick()
  }

  /** New deliveries: endpoint -> the lowest event among them. */
  arrived(endpoints: ReadonlyMap<number, number>): void {
    for (const [num, event] of endpoints) this.#outboxes.get(num)?.arrived(event)
    this.#loop.kick()
  }

  /** Follows a change of the subscriptions: endpoints that came, went, were paused or let run again. */
  refresh(): void {
    const present = new Map(this.#subscriptions.all.map(subscription => [subscription.endpoint, subscription]))
    for (const num of this.#outboxes.keys()) if (!present.has(num)) this.#outboxes.delete(num)
    for (const [num, subscription] of present) {
      const outbox = this.#outboxes.get(num)
      const paused = subscription.paused !== null
      if (outbox === undefined) this.#outboxes.set(num, newOutbox(subscription))
      else if (paused && !outbox.paused) outbox.pause()
      else if (!paused && outbox.paused) outbox.reopen()
    }
    for (const outbox of this.#outboxes.values()) outbox.rescan()
    this.#loop.kick()
  }

  /** Ends: nothing new starts, what is in flight ends or is cut off, every result is on disk. */
  async close(): Promise<void> {
    this.#leaving.abort()
    await this.#loop.close()
    this.#stop.abort()
    await this.#recording
  }

  /** Forgets what it knew of rows: another process or node may have gone on with them, and left some behind. */
  async #begin(under: Term): Promise<void> {
    await this.#recorded()
    if (this.#leaving.signal.aborted) return
    this.#under = under
    this.#outboxes.clear()
    this.refresh()
    for (const outbox of this.#outboxes.values()) {
      outbox.add(await triedDeliveries(this.#options.read, outbox.num, limits.webhook.aheadMax), false)
    }
  }

  async #clockBack(ms: number, under: Term): Promise<void> {
    await this.#options.writer.write(deliveryClockBack, clockNow(), under)
    for (const outbox of this.#outboxes.values()) outbox.clockBack(ms)
  }

  /** What was found out before is written, under the turn in which it was; a stop has no time for a database that is away. */
  async #recorded(): Promise<void> {
    const { signal } = this.#leaving
    await Promise.race([
      this.#recording,
      new Promise(resolve => signal.addEventListener('abort', resolve, { once: true })),
    ])
  }

  async #claim(at: number): Promise<readonly Run[]> {
    const runs: Run[] = []
    const outboxes = [...this.#outboxes.values()]
    this.#turn = outboxes.length === 0 ? 0 : (this.#turn + 1) % outboxes.length
    for (const outbox of [...outboxes.slice(this.#turn), ...outboxes.slice(0, this.#turn)]) {
      if (outbox.empty) continue
      await this.#fill(outbox)
      const taken = outbox.take(at, this.#roomFor(outbox))
      for (const run of taken) this.#count(run, 1)
      runs.push(...taken)
    }
    if (runs.length === 0) return []
    const rows = runs.flatMap(run => run.deliveries).map(claimRow(at))
    try {
      await this.#submit([operation(deliveryClaim, { at, rows })], rows.length, this.#under)
    } catch (error) {
      for (const run of runs) this.#putBack(run, run.deliveries)
      throw error
    }
    return runs
  }

  async #fill(outbox: Outbox): Promise<void> {
    const room = outbox.room
    if (room === 0) return
    const rows = await freshDeliveries(this.#options.read, outbox.num, outbox.place, room)
    outbox.add(rows, true)
    if (rows.length < room) outbox.more = false
  }

  /** Every endpoint may have one run; more only while there is room in all and at its origin. */
  #roomFor(outbox: Outbox): number {
    const first = outbox.running === 0 ? 1 : 0
    const all = limits.webhook.inFlightMax - this.#running
    const origin = limits.webhook.connectionsMax - (this.#origins.get(outbox.origin) ?? 0)
    return Math.max(first, Math.min(all, origin))
  }

  #count(run: Run, change: 1 | -1): void {
    this.#running += change
    const count = (this.#origins.get(run.outbox.origin) ?? 0) + change
    if (count === 0) this.#origins.delete(run.outbox.origin)
    else this.#origins.set(run.outbox.origin, count)
  }

  async #run(run: Run, signal: AbortSignal): Promise<void> {
    const failed: Pending[] = []
    let index = 0
    try {
      for (; index < run.deliveries.length && failed.length === 0; index++) {
        const pending = run.deliveries[index]
        const leave = run.outbox.paused || this.#leaving.signal.aborted
        if (pending === undefined || (leave && index > 0)) break
        if (!(await this.#deliver(run, pending, signal))) failed.push(pending)
      }
    } finally {
      // Dead ones and those whose fate only the disk knows are not put back.
      const waiting = failed.filter(pending => pending.due > 0)
      this.#count(run, -1)
      const released = run.deliveries.slice(index)
      for (const { event, n } of released) this.#results.released.push([event, n])
      run.outbox.finish(run, waiting, released.map(untried))
      this.#record()
    }
  }

  /** One call; whether the next of the run may follow. */
  async #deliver(run: Run, pending: Pending, signal: AbortSignal): Promise<boolean> {
    const { event, n, webhook } = pending
    const subscription = this.#ended.has(webhook) ? undefined : this.#subscriptions.find(webhook)
    const payload = subscription && (await findPayload(this.#options.read, event))
    if (subscription === undefined || payload === undefined) {
      this.#results.done.push([event, n])
      return true
    }
    const outcome = await this.#call(subscription, payload, pending, signal)
    // Cut off by a stop: the row says that it was tried and when it is due again.
    if (outcome.failure !== null && signal.aborted) return false
    this.#options.metrics.webhookPosts.labels(outcome.failure ?? 'delivered').inc()
    if (outcome.failure === null) this.#succeed(run.outbox, pending)
    else if (outcome.gone === true) this.#end(subscription, pending)
    else this.#fail(run, pending, subscription, outcome)
    return outcome.failure === null || outcome.gone === true
  }

  async #call(subscription: Subscription, payload: Payload, pending: Pending, signal: AbortSignal): Promise<Outcome> {
    const { url, secret } = subscription
    const target = URL.canParse(url) ? new URL(url) : undefined
    const caller = target && this.#options.callers[target.protocol.slice(0, -1)]
    if (target === undefined || caller === undefined) return { failure: 'target', status: null }
    try {
      return await caller.call(target, secret, postOf(payload, pending), signal)
    } catch (error) {
      // Our own mistake must not become a delivery that is tried without end.
      this.#options.log.error({ error, webhook: subscription.id }, 'a webhook call broke off')
      return { failure: 'protocol', status: null }
    }
  }

  #succeed(outbox: Outbox, pending: Pending): void {
    this.#results.done.push([pending.event, pending.n])
    if (outbox.failures > 0) this.#results.health.push({ num: outbox.num, failures: 0, since: null })
    outbox.succeeded()
    if (this.#results.done.length >= recordRows) this.#record()
  }

  #fail(run: Run, pending: Pending, subscription: Subscription, outcome: Outcome): void {
    const { outbox } = run
    const { event, n } = pending
    const at = now()
    outbox.failed(run, at)
    const dead = pending.attempts >= limits.webhook.attemptsMax
    pending.due = dead ? 0 : at + Math.max(waitMs(pending.attempts, jitter()), outcome.waitMs ?? 0)
    const failure = outcome.failure ?? 'protocol'
    this.#results.failed.push({ event, n, dead, due: pending.due, failure, status: outcome.status })
    this.#results.health.push({ num: outbox.num, failures: outbox.failures, since: outbox.failingSince })
    if (dead) this.#options.log.warn({ webhook: pending.webhook, event, failure }, 'a webhook delivery is dead')
    const { pauseFailures, pauseMs } = limits.webhook
    if (outbox.failures >= pauseFailures && at - (outbox.failingSince ?? at) >= pauseMs && !outbox.paused) {
      outbox.pause()
      this.#change(subscription, failure, this.#options.handle.pause(outbox.num, failure))
    }
  }

  /** The endpoint answered 410: what waits for this subscription is forgotten with it. */
  #end(subscription: Subscription, { event, n }: Pending): void {
    const { id } = subscription
    this.#results.done.push([event, n])
    this.#ended.add(id)
    this.#change(
      subscription,
      'gone',
      this.#options.handle.end(id, 'gone').finally(() => this.#ended.delete(id)),
    )
  }

  /** A change of a subscription that the endpoint caused; where it fails, the next answer causes it again. */
  #change(subscription: Subscription, reason: string, change: Promise<void>): void {
    const webhook = subscription.id
    change.then(
      () => this.#options.log.warn({ webhook, reason }, 'a webhook was taken out of service'),
      () => this.refresh(),
    )
  }

  /** Writes what has gathered, in one unit after the other. */
  #record(): void {
    if (this.#recording === undefined && hasResults(this.#results)) this.#recording = this.#drain()
  }

  async #drain(): Promise<void> {
    while (hasResults(this.#results)) {
      const results = this.#results
      this.#results = emptyResults()
      const rows = results.done.length + results.failed.length + results.released.length
      const write = () => this.#settle(results, rows)
      try {
        await persist(write, this.#stop.signal)
      } catch (error) {
        this.#options.log.error(
          { error },
          'results of webhook calls could not be written; they are made again when due',
        )
        continue
      }
      if (results.released.length > 0)
        for (const outbox of this.#outboxes.values()) this.#reread(outbox, results.released)
    }
    this.#recording = undefined
  }

  /** Where another node has gone on with the rows it learns what arrived, so as not to send it again; the rest is its own to say. */
  async #settle(results: SettleRow, rows: number): Promise<void> {
    try {
      await this.#submit([operation(deliverySettle, results)], rows, this.#under)
    } catch (error) {
      if (!(error instanceof LostLease)) throw error
      await this.#submit([operation(deliverySettle, { ...emptyResults(), done: results.done })], rows)
    }
  }

  /** Rows that are untried again may lie before the place where their outbox reads. */
  #reread(outbox: Outbox, released: SettleRow['released']): void {
    if (released.some(([event]) => event <= outbox.place[0])) outbox.rescan()
  }

  #submit(operations: Operation[], rows: number, under?: number): Promise<void> {
    return this.#options.writer.submit({ operations, bytes: rows * rowBytes, background: true, under })
  }

  #putBack(run: Run, deliveries: readonly Pending[]): void {
    this.#count(run, -1)
    run.outbox.finish(run, [], deliveries.map(untried))
  }

  #next(): number | null {
    let soonest: number | null = null
    for (const outbox of this.#outboxes.values()) {
      const next = outbox.next()
      if (next !== null && (soonest === null || next < soonest)) soonest = next
    }
    return soonest
  }
}

/** Wait after the attempt with this number (from 1): doubled each time, a fifth more or less by `chance` in [0, 1). */
function waitMs(attempt: number, chance: number): number {
  const { retryMs, retryMsMax } = limits.webhook
  return Math.round(Math.min(retryMs * 2 ** (attempt - 1), retryMsMax) * (0.8 + 0.4 * chance))
}

/** Bytes that a row weighs in a unit, about; results that are written before their run has ended. */
const rowBytes = 48
const recordRows = 16

function claimRow(at: number): (pending: Pending) => [event: number, n: number, due: number] {
  return ({ event, n, attempts }) => [event, n, at + waitMs(attempts, jitter())]
}

/** A delivery as it was before it was claimed. */
function untried(pending: Pending): Pending {
  const attempts = pending.attempts - 1
  return { ...pending, attempts, due: 0, since: attempts === 0 ? null : pending.since }
}

function postOf({ at, name, body }: Payload, { event, n }: Pending): Post {
  const id = deliveryId(at, event, n)
  const head = `{"id":"${id}","time":${at},"ev":${JSON.stringify(name)}`
  return { id, name, at, json: body === '{}' ? `${head}}` : `${head},${body.slice(1)}` }
}

function newOutbox({ endpoint, url, paused, failures, failingSince }: Subscription): Outbox {
  return new Outbox({ num: endpoint, url, paused: paused !== null, failures, failingSince })
}

function emptyResults(): SettleRow {
  return { done: [], failed: [], released: [], health: [] }
}

function hasResults({ done, failed, released, health }: SettleRow): boolean {
  return done.length + failed.length + released.length + health.length > 0
}
