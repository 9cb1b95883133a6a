// What of the metrics is kept for some days, and how a span of it is told: as counts, as what stood, as times that half and nearly all stayed
// below.
//
// Names are a closed set, each with where it comes from. Sums are exact; a time is read off its bucket, between the bounds. Who starts anew
// begins at nought, and so does what a thread that is gone had counted: a count never falls.

import { limits } from '#lib/limits.ts'
import { type Measured, prefix, seconds } from '#lib/metrics.ts'
import type { FigureRow, Figures } from '#store/upkeep/figures.ts'

type Labels = Readonly<Record<string, string | number>>
type Source = readonly [meter: string, wanted?: (labels: Labels) => boolean]

const brought = ({ service }: Labels) => service === 'smtp' || service === 'lmtp'
const posted = ({ service }: Labels) => service === 'submission' || service === 'submissions'
const result =
  (...words: string[]) =>
  (labels: Labels) =>
    words.includes(String(labels.result))

const verdicts = ['pass', 'none', 'quarantine', 'reject']

const counted = {
  received: ['deliveries_total', labels => brought(labels) && labels.result === 'stored'],
  refused: ['deliveries_total', labels => brought(labels) && labels.result !== 'stored'],
  submitted: ['deliveries_total', labels => posted(labels) && labels.result === 'stored'],
  turnedAway: ['turned_away_total'],
  sent: ['outbound_deliveries_total', result('delivered')],
  sendFailed: ['outbound_deliveries_total', result('failed')],
  sendRetried: ['outbound_deliveries_total', result('retry')],
  verdictPass: ['verifications_total', result('pass')],
  verdictNone: ['verifications_total', result('none')],
  verdictQuarantine: ['verifications_total', result('quarantine')],
  verdictReject: ['verifications_total', result('reject')],
  verdictOther: ['verifications_total', labels => !verdicts.includes(String(labels.result))],
  logins: ['auth_attempts_total', result('success')],
  loginsFailed: ['auth_attempts_total', labels => labels.result !== 'success'],
  connections: ['connections_total'],
  connectionsRefused: ['connections_refused_total'],
  calls: ['api_requests_total'],
  callsFailed: ['api_requests_total', labels => Number(labels.status) >= 500],
  webhooks: ['webhook_posts_total', result('delivered')],
  webhooksFailed: ['webhook_posts_total', labels => labels.result !== 'delivered'],
} as const satisfies Record<string, Source>

const stood = {
  queue: 'outbound_waiting',
  queueAge: 'outbound_oldest_seconds',
  sessions: 'sessions',
  users: 'users',
  storage: 'storage_bytes',
  diskFree: 'disk_free_bytes',
  disk: 'disk_bytes',
} as const

const timed = {
  call: 'api_request_seconds',
  delivery: 'delivery_seconds',
  command: 'command_seconds',
  commit: 'writer_commit_seconds',
} as const

/** Milliseconds below which half, and all but one in a hundred, stayed. */
const shares = { P50: 0.5, P99: 0.99 } as const

export const figureNames: readonly string[] = [
  ...Object.keys(counted),
  ...Object.keys(stood),
  ...Object.keys(timed).flatMap(name => Object.keys(shares).map(share => name + share)),
]

/** What was counted since the start, and what stands now. */
export function figuresOf(measured: readonly Measured[]): Figures {
  const meters = new Map(measured.map(meter => [meter.name, meter.values]))
  const valuesOf = (name: string) => meters.get(prefix + name) ?? []
  const sum = ([name, wanted]: Source) =>
    valuesOf(name).reduce((total, { value, labels }) => total + (wanted?.(labels) === false ? 0 : value), 0)
  return {
    counts: mapped(counted, (source: Source) => sum(source)),
    gauges: mapped(stood, name => sum([name])),
    times: mapped(timed, name => {
      const buckets = valuesOf(name).filter(({ metricName }) => metricName === `${prefix + name}_bucket`)
      // As the registry says them, each bucket holds those below.
      const upTo = [...seconds, Number.POSITIVE_INFINITY].map(bound =>
        buckets.reduce((total, { value, labels }) => total + (boundOf(labels) === bound ? value : 0), 0),
      )
      return upTo.map((value, index) => value - (upTo[index - 1] ?? 0))
    }),
  }
}

function boundOf({ le }: Labels): number {
  return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
}

/** What happened between two looks: without what is nought. */
export function since(before: Figures, after: Figures): Figures {
  const rise = (now: number, then: number | undefined) => Math.max(0, now - (then ?? 0))
  const counts = mapped(after.counts, (value, name) => rise(value, before.counts[name]))
  const times = mapped(after.times, (parts, name) =>
    parts.map((part, index) => rise(part, before.times[name]?.[index])),
  )
  return {
    counts: filtered(counts, value => value > 0),
    gauges: filtered(after.gauges, value => value !== 0),
    times: filtered(times, parts => parts.some(part => part > 0)),
  }
}

/** Of several spans, one after the other: counts are added, what stood is what stood last. */
export function summed(spans: readonly Figures[]): Figures {
  const counts: Record<string, number> = {}
  const times: Record<string, number[]> = {}
  for (const span of spans) {
    for (const [name, value] of Object.entries(span.counts)) counts[name] = (counts[name] ?? 0) + value
    for (const [name, parts] of Object.entries(span.times)) {
      times[name] = parts.map((part, index) => part + (times[name]?.[index] ?? 0))
    }
  }
  return { counts, times, gauges: spans.at(-1)?.gauges ?? {} }
}

/** A column for each name, with a value for each step of [from, to); null where nothing was sampled. */
export function columnsOf(rows: readonly FigureRow[], from: number, to: number, step: number) {
  const groups = Map.groupBy(rows, ({ at }) => Math.floor((at - from) / step))
  const columns: Record<string, (number | null)[]> = Object.fromEntries(figureNames.map(name => [name, []]))
  for (let index = 0; from + index * step < to; index++) {
    const group = groups.get(index)
    const values = group === undefined ? undefined : valuesOf(summed(group.map(row => row.figures)))
    for (const name of figureNames) columns[name]?.push(values === undefined ? null : (values[name] ?? null))
  }
  return columns
}

function valuesOf({ counts, gauges, times }: Figures): Record<string, number | null> {
  const values: Record<string, number | null> = {}
  for (const name of Object.keys(counted)) values[name] = counts[name] ?? 0
  for (const name of Object.keys(stood)) values[name] = gauges[name] ?? 0
  for (const name of Object.keys(timed)) {
    for (const [word, share] of Object.entries(shares)) values[name + word] = quantile(times[name] ?? [], share)
  }
  return values
}

/** Milliseconds below which a share of what was timed stayed; null where nothing was. */
function quantile(parts: readonly number[], share: number): number | null {
  const total = parts.reduce((sum, part) => sum + part, 0)
  let wanted = total * share
  for (const [index, part] of parts.entries()) {
    const low = seconds[index - 1] ?? 0
    const high = seconds[index] ?? low
    if (part > 0 && wanted <= part) return Math.round((low + ((high - low) * wanted) / part) * 1e4) / 10
    wanted -= part
  }
  return null
}

/** The step that gives no more points than are wanted: a whole number of those that are kept. */
export function stepFor(from: number, to: number, at: number, wanted: number | undefined): number {
  const { fineMs, fineKeptMs, coarseMs, pointsMax, pointsUsual } = limits.figures
  const least = from < at - fineKeptMs ? coarseMs : fineMs
  const asked = wanted ?? (to - from) / pointsUsual
  return Math.max(1, Math.ceil(Math.max(asked, (to - from) / pointsMax) / least)) * least
}

function mapped<Value, Made>(
  record: Readonly<Record<string, Value>>,
  make: (value: Value, name: string) => Made,
): Record<string, Made> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value, name)]))
}

function filtered<Value>(
  record: Readonly<Record<string, Value>>,
  wanted: (value: Value) => boolean,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => wanted(value)))
}
