// Counters and histograms that are counted thousands of times a second, for prom-client's registry.
//
// The library's own cost a microsecond each time, which several of them make a tenth of a login. These keep a number for
// each set of labels and say it in the library's form when somebody reads the registry; names, types and lines are the
// same. Label values come from closed sets: what was seen once is kept for as long as the service runs.

import type { Metric, Registry } from 'prom-client'

interface MeterForm<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly registers: readonly Registry[]
}

interface Line {
  readonly metricName?: string
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
}

/** One child for each set of label values; a meter without labels shows its one even where nothing was counted. */
abstract class Meter<Label extends string, Child> {
  readonly name: string
  readonly help: string
  abstract readonly type: string
  readonly #labelNames: readonly Label[]
  readonly #children = new Map<string, { readonly labels: Record<string, string>; readonly child: Child }>()

  constructor({ name, help, labelNames, registers }: MeterForm<Label>) {
    this.name = name
    this.help = help
    this.#labelNames = labelNames
    for (const registry of registers) registry.registerMetric(this as unknown as Metric<Label>)
  }

  /** What counts for these values, in the order of the labels. */
  labels(...values: string[]): Child {
    const key = values.join('\n')
    let found = this.#children.get(key)
    if (found === undefined) {
      const labels = Object.fromEntries(this.#labelNames.map((name, index) => [name, values[index] ?? '']))
      found = { labels, child: this.make() }
      this.#children.set(key, found)
    }
    return found.child
  }

  /** For the registry. */
  async get(): Promise<{ name: string; help: string; type: string; aggregator: string; values: Line[] }> {
    if (this.#labelNames.length === 0) this.labels()
    const values = [...this.#children.values()].flatMap(({ labels, child }) => this.lines(labels, child))
    return { name: this.name, help: this.help, type: this.type, aggregator: 'sum', values }
  }

  protected abstract make(): Child
  protected abstract lines(labels: Record<string, string>, child: Child): Line[]
}

class Counted {
  value = 0

  inc(by = 1): void {
    this.value += by
  }
}

export class Counter<Label extends string> extends Meter<Label, Counted> {
  readonly type = 'counter'

  protected make(): Counted {
    return new Counted()
  }

  protected lines(labels: Record<string, string>, { value }: Counted): Line[] {
    return [{ value, labels }]
  }
}

class Observed {
  readonly bounds: readonly number[]
  /** How many lay at or below each bound and above the one before. */
  readonly counts: number[]
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.sum += value
    this.count += 1
    const { bounds } = this
    for (let index = 0; index < bounds.length; index++) {
      if (value <= (bounds[index] ?? 0)) {
        this.counts[index] = (this.counts[index] ?? 0) + 1
        return
      }
    }
  }
}

export class Histogram<Label extends string> extends Meter<Label, Observed> {
  readonly type = 'histogram'
  readonly #bounds: readonly number[]

  /** @param bounds upper bounds of the buckets, rising */
  constructor(form: MeterForm<Label>, bounds: readonly number[]) {
    super(form)
    this.#bounds = bounds
  }

  /** For one without labels. */
  observe(value: number): void {
    this.labels().observe(value)
  }

  protected make(): Observed {
    return new Observed(this.#bounds)
  }

  protected lines(labels: Record<string, string>, { bounds, counts, sum, count }: Observed): Line[] {
    let below = 0
    const bucket = (le: string | number, value: number): Line => {
      return { metricName: `${this.name}_bucket`, value, labels: { le, ...labels } }
    }
    const lines = bounds.map((bound, index) => {
      below += counts[index] ?? 0
      return bucket(bound, below)
    })
    lines.push(bucket('+Inf', count))
    lines.push({ metricName: `${this.name}_sum`, value: sum, labels })
    lines.push({ metricName: `${this.name}_count`, value: count, labels })
    return lines
  }
}
