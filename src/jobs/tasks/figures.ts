// Takes a sample of the metrics each minute and sums samples up, so that the last days can be looked at in the service itself.
//
// Nobody waits for it: samples are written behind everything else, and one that could not be is missing. What is older than is kept goes in
// the same unit, so the table does not grow.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { figuresOf, since, summed } from '#actors/status/figures.ts'
import { every, now, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { type Figures, figureExpire, figurePut, figuresBetween, newestFigures } from '#store/upkeep/figures.ts'

const { fineMs, fineKeptMs, coarseMs, coarseKeptMs, spansMax } = limits.figures

export interface SamplingOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly metrics: Pick<Metrics, 'values'>
  readonly log: Log
}

export class Sampling {
  readonly #options: SamplingOptions
  readonly #timer: Timer
  #before: Figures = { counts: {}, gauges: {}, times: {} }
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #failing = false

  constructor(options: SamplingOptions) {
    this.#options = options
    this.#timer = every(fineMs, () => void this.sample())
  }

  /** Takes one now; never two at once: who asks while one is taken gets the next. */
  sample(): Promise<void> {
    if (this.#running !== undefined) {
      this.#next ??= this.#running.then(() => {
        this.#next = undefined
        return this.sample()
      })
      return this.#next
    }
    this.#running = this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async close(): Promise<void> {
    this.#timer.cancel()
    await (this.#next ?? this.#running)
  }

  async #round(): Promise<void> {
    const { read, writer, metrics, log } = this.#options
    try {
      const after = figuresOf(await metrics.values())
      const figures = since(this.#before, after)
      const at = Math.floor(now() / fineMs) * fineMs
      const [same] = await figuresBetween(read, fineMs, at, at + 1)
      const sample = { step: fineMs, at, figures: same === undefined ? figures : summed([same.figures, figures]) }
      const operations = [operation(figurePut, sample), ...(await this.#sums(at)), ...expiry(at)]
      await writer.submit({ operations, bytes: 1000, background: true })
      this.#before = after
      this.#failing = false
    } catch (error) {
      if (!this.#failing) log.warn({ error }, 'the figures of a minute could not be kept')
      this.#failing = true
    }
  }

  /** Spans that are over and were not summed up. */
  async #sums(at: number): Promise<Operation[]> {
    const { read } = this.#options
    const current = Math.floor(at / coarseMs) * coarseMs
    const newest = (await newestFigures(read, coarseMs)) ?? 0
    const first = Math.max(newest + coarseMs, current - spansMax * coarseMs)
    if (first >= current) return []
    const rows = await figuresBetween(read, fineMs, first, current)
    const spans = Map.groupBy(rows, row => Math.floor(row.at / coarseMs) * coarseMs)
    return [...spans].map(([span, some]) =>
      operation(figurePut, { step: coarseMs, at: span, figures: summed(some.map(row => row.figures)) }),
    )
  }
}

function expiry(at: number): Operation[] {
  return [
    operation(figureExpire, { step: fineMs, before: at - fineKeptMs }),
    operation(figureExpire, { step: coarseMs, before: at - coarseKeptMs }),
  ]
}
