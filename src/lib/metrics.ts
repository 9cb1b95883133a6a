// The counters and histograms of one service, in one registry (prom-client).
//
// A registry belongs to a service, not to the process, so that two services in one test process do not mix. Label
// values are from closed sets; a value a stranger chose is never a label (wire-details 1).

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { AggregatorRegistry, Counter as CollectedCounter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { Counter, Histogram } from './meter.ts'

export type Metrics = ReturnType<typeof makeMetrics>

/** How names begin. */
export const prefix = 'wildduck_'

/** Bounds of buckets for times, in seconds. */
export const seconds = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10]

/**
 * Makes the metrics of one service. Names keep the prefix that the contract has (wire-details 1), and are Prometheus'
 * in the rest: base units, `_total` for what only grows.
 *
 * @param how `part`: those of one thread of it, which are added to the service's
 */
export function makeMetrics(version: string, { part = false }: { readonly part?: boolean } = {}) {
  const registry = new Registry()
  const registers = [registry]
  if (!part) collectProcess(registry)
  const parts: (() => Promise<unknown[]>)[] = []
  const whole = async () => {
    if (parts.length === 0) return registry
    const others = (await Promise.all(parts.map(read => read()))).flat()
    return AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...others] as never[])
  }
  const { gauge } = makers(registers)

  if (!part) {
    gauge('info', 'The running service', ['version']).labels(version).set(1)
    gauge('up', 'Whether the service is up').set(1)
  }
  return {
    registry,
    /** All of it as text, with what threads counted. */
    async text(): Promise<string> {
      return (await whole()).metrics()
    },
    /** All of it as values, with what threads counted. */
    async values(): Promise<readonly Measured[]> {
      return (await whole()).getMetricsAsJSON() as Promise<unknown> as Promise<readonly Measured[]>
    },
    /** Adds what other threads count: `read` gives the JSON of each one's registry. */
    include(read: () => Promise<unknown[]>): void {
      parts.push(read)
    },
    ...collectors(registers),
    ...meters(makers(registers)),
  }
}

/** Of what the library can tell of the process and the runtime: the rest is for who looks into the runtime itself. */
const runtime: ReadonlySet<string> = new Set([
  ...['nodejs_eventloop_lag_seconds', 'nodejs_eventloop_lag_p99_seconds', 'nodejs_version_info'],
  ...['nodejs_heap_size_total_bytes', 'nodejs_heap_size_used_bytes', 'nodejs_external_memory_bytes'],
])

/** `process_` as every client of Prometheus has it, and what shows that the runtime is at its end. */
function collectProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const { name } of registry.getMetricsAsArray()) {
    if (!name.startsWith('process_') && !runtime.has(name)) registry.removeSingleMetric(name)
  }
}

/** What is read when somebody asks. */
function collectors(registers: Registry[]) {
  const memories: [of: string, count: () => number][] = []
  return {
    /** Makes a gauge whose value is read when someone asks. */
    observe(name: string, help: string, read: () => number | Promise<number>): void {
      new Gauge({
        name: prefix + name,
        help,
        registers,
        async collect() {
          this.set(await read())
        },
      })
    },
    /** Shows how much is remembered of others, each kind under a name of its own; several of one name are added up. */
    remembers(of: string, count: () => number): void {
      memories.push([of, count])
      if (memories.length > 1) return
      new Gauge({
        name: `${prefix}remembered`,
        help: 'Entries that are kept in memory of what was found out of others',
        labelNames: ['of'],
        registers,
        collect() {
          this.reset()
          for (const [name, read] of memories) this.labels(name).inc(read())
        },
      })
    },
    /** Makes a gauge with a value for each of a bounded set of names, read when someone asks. */
    observeEach(name: string, help: string, label: string, read: () => Promise<Iterable<[string, number]>>): void {
      new Gauge({
        name: prefix + name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          const values = [...(await read())]
          this.reset()
          for (const [value, number] of values) this.labels(value).set(number)
        },
      })
    },
    /** Makes a counter that somebody else counts, for each of a bounded set of names, read when someone asks. */
    countEach(name: string, help: string, label: string, read: () => Promise<Iterable<[string, number]>>): void {
      new CollectedCounter({
        name: prefix + name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          const values = [...(await read())]
          this.reset()
          for (const [value, number] of values) this.labels(value).inc(number)
        },
      })
    },
  }
}

/** A meter with its values. */
export interface Measured {
  readonly name: string
  readonly values: readonly {
    readonly value: number
    /** Of a histogram: its name with `_bucket`, `_sum` or `_count`. */
    readonly metricName?: string
    readonly labels: Readonly<Record<string, string | number>>
  }[]
}

/** The JSON of a registry: of each meter its kind and values. */
export type Counted = readonly { readonly type: unknown }[]

/** The sums of what two threads counted, without what only holds while they run. */
export async function addCounted(one: Counted, other: Counted): Promise<Counted> {
  const sums = [one, other].map(counted => counted.filter(({ type }) => type !== 'gauge'))
  return AggregatorRegistry.aggregate(sums as never[]).getMetricsAsJSON() as Promise<unknown> as Promise<Counted>
}

/** What one of several threads that serve uses, told apart by its name. */
export function observeThread({ registry }: Metrics, thread: string): void {
  const delays = monitorEventLoopDelay({ resolution: 20 })
  delays.enable()
  const one = (name: string, help: string, read: () => number) =>
    new Gauge({
      ...{ name: `${prefix}thread_${name}`, help, labelNames: ['thread'], registers: [registry] },
      collect() {
        this.labels(thread).set(read())
      },
    })
  one('heap_bytes', 'Heap a thread that serves has in use', () => getHeapStatistics().used_heap_size)
  one('loop_delay_seconds', 'How late its loop was at most since somebody asked', () => {
    const most = delays.max
    delays.reset()
    return most / 1e9
  })
}

/** What is counted. */
function meters({ counter, gauge, most, histogram }: ReturnType<typeof makers>) {
  return {
    apiRequests: counter('api_requests_total', 'HTTP requests', ['method', 'route', 'status']),
    apiSeconds: histogram('api_request_seconds', 'Time to answer an HTTP request', seconds, ['route']),
    authAttempts: counter('auth_attempts_total', 'Authentication attempts', ['service', 'scope', 'result']),
    connections: counter('connections_total', 'Accepted connections', ['service']),
    connectionsRefused: counter('connections_refused_total', 'Connections over a bound', ['service']),
    sessions: gauge('sessions', 'Open sessions', ['service']),
    commands: counter('commands_total', 'Protocol commands', ['service', 'command', 'result']),
    commandSeconds: histogram('command_seconds', 'Time to answer a protocol command', seconds, ['service']),
    messages: counter('messages_total', 'Messages stored', ['source']),
    deliveries: counter('deliveries_total', 'Recipients answered at delivery', ['service', 'result']),
    deliverySeconds: histogram('delivery_seconds', 'Time from a message to its answer', seconds, ['service']),
    writerBatches: counter('writer_batches_total', 'Transactions', ['result']),
    writerUnits: histogram('writer_batch_units', 'Units in one transaction', [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
    writerSeconds: histogram('writer_batch_seconds', 'Time from sending a batch to its commit', seconds),
    writerCommitSeconds: histogram('writer_commit_seconds', 'Time of the commit alone, most of it the sync', seconds),
    actors: gauge('actors', 'Users with an actor in memory'),
    poolTasks: counter('pool_tasks_total', 'Tasks of the thread pools', ['pool', 'result']),
    poolSeconds: histogram('pool_task_seconds', 'Time from asking a thread pool to its answer', seconds, ['pool']),
    verified: counter('verifications_total', 'Messages of strangers by what DMARC asked for', ['result']),
    marks: counter('marks_total', 'Marks of domains (BIMI) that were fetched, by what they proved', ['result']),
    turnedAway: counter('turned_away_total', 'Messages and recipients put off at the door', ['reason']),
    dnsListsOff: most('dns_lists_off', 'Lists in DNS that are not asked: the resolver is public, or they do not work'),
    scanned: counter('scanned_total', 'Messages that other programs looked at', ['scanner', 'result']),
    webhookPosts: counter('webhook_posts_total', 'Webhook deliveries', ['result']),
    acmeAttempts: counter('acme_attempts_total', 'Attempts to fetch a certificate by ACME', ['result']),
    policies: counter('outbound_policies_total', 'Ways to domains and hosts by what they want: MTA-STS, DANE', [
      'mode',
    ]),
    reports: counter('reports_total', 'Reports that domains are told, by what came of them', ['kind', 'result']),
    arrivedReports: counter('arrived_reports_total', 'Reports of others about domains of ours', ['result']),
    bounces: counter('bounces_total', 'Recipients of which came back later that they did not get a message', ['kind']),
    spans: counter('trace_spans_total', 'Spans for the collector: sent, or dropped since it is slow or gone', [
      'result',
    ]),
    loopItems: counter('loop_items_total', 'Items that loops worked on, by whether they broke off', ['loop', 'result']),
    loopBusy: gauge('loop_in_flight', 'Items that loops work on at the moment', ['loop']),
    relayed: counter('outbound_deliveries_total', 'Outbound recipients', ['result']),
  }
}

/** What makes metrics whose names have the prefix. */
function makers(registers: Registry[]) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name: prefix + name, help, labelNames, registers })
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name: prefix + name, help, labelNames, registers })
  /** One that several threads see the same of: not their sum. */
  const most = (name: string, help: string) => new Gauge({ name: prefix + name, help, registers, aggregator: 'max' })
  const histogram = <Label extends string>(name: string, help: string, buckets: number[], labelNames: Label[] = []) =>
    new Histogram({ name: prefix + name, help, labelNames, registers }, buckets)
  return { counter, gauge, most, histogram }
}
