// Traces: one span a message, one a call, gathered and posted to a collector.
//
// Nobody ever waits for it. What is gathered is bounded; what a collector that is slow, gone or full does not take is dropped
// and counted, and one that failed is left alone for a while. Written by hand, since what is needed of OpenTelemetry's own
// packages (eighteen of them, 34 MB) is one request in JSON.

import { after, monotonic, now, type Timer, within } from '../clock.ts'
import { randomHex } from '../id.ts'
import { limits } from '../limits.ts'
import { type Attributes, exportText, type Parent, type Span } from './span.ts'

export interface TracerOptions {
  /** Posts a request in JSON; how many spans of it were refused. Rejects where it was not taken. */
  post(text: string): Promise<number>
  /** Of a hundred traces that begin here, how many are kept. */
  readonly sample: number
  /** What is told of this service. */
  readonly resource: Attributes
  readonly version: string
  onSpans(result: 'sent' | 'dropped', count: number): void
}

/** A span that has begun. */
export interface Begun {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly sampled: boolean
  readonly start: number
  readonly since: number
}

const traceIdBytes = 16
const spanIdBytes = 8
/** Of a trace id's end, which is random: what is compared with the share that is kept. */
const shareDigits = 8

export class Tracer {
  readonly #options: TracerOptions
  #waiting: Span[] = []
  #timer: Timer | undefined
  #posting: Promise<void> | undefined
  /** Failures in a row. */
  #failures = 0
  #restUntil = 0

  constructor(options: TracerOptions) {
    this.#options = options
  }

  /** @param parent of a caller that is believed: the same trace goes on, kept or not as it says */
  begin(parent?: Parent): Begun {
    const traceId = parent?.traceId ?? randomHex(traceIdBytes)
    const sampled = parent?.sampled ?? this.#keeps(traceId)
    const spanId = randomHex(spanIdBytes)
    return { traceId, spanId, parentId: parent?.spanId, sampled, start: now(), since: monotonic() }
  }

  end(begun: Begun, { name, kind, attributes, failed = false }: Ended): void {
    const { traceId, spanId, parentId, sampled, start, since } = begun
    if (!sampled) return
    if (this.#waiting.length >= limits.tracing.waitingMax) {
      this.#options.onSpans('dropped', 1)
      return
    }
    const ms = monotonic() - since
    this.#waiting.push({ traceId, spanId, parentId, name, kind, start, ms, attributes, failed })
    if (this.#waiting.length >= limits.tracing.batchMax) this.#post()
    else this.#timer ??= after(limits.tracing.gatherMs, () => this.#post())
  }

  /** Posts what is left, as far as the collector takes it within a moment. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#restUntil = 0
    const flush = async () => {
      await this.#posting
      do {
        this.#post()
        await this.#posting
      } while (this.#waiting.length > 0 && this.#failures === 0)
    }
    await within(limits.tracing.closeMs, flush(), () => new Error('The collector is slow')).catch(() => {})
    this.#drop(this.#waiting.splice(0).length)
  }

  #keeps(traceId: string): boolean {
    return Number.parseInt(traceId.slice(-shareDigits), 16) < (this.#options.sample / 100) * 16 ** shareDigits
  }

  #post(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#posting !== undefined || this.#waiting.length === 0) return
    const rest = this.#restUntil - monotonic()
    if (rest > 0) {
      this.#timer = after(rest, () => this.#post())
      return
    }
    const spans = this.#waiting.splice(0, limits.tracing.batchMax)
    this.#posting = this.#send(spans).finally(() => {
      this.#posting = undefined
      if (this.#waiting.length > 0) this.#timer ??= after(this.#waitMs(), () => this.#post())
    })
  }

  /** Of a full batch nothing is left to be gathered. */
  #waitMs(): number {
    return this.#waiting.length >= limits.tracing.batchMax ? 0 : limits.tracing.gatherMs
  }

  async #send(spans: readonly Span[]): Promise<void> {
    const { post, resource, version, onSpans } = this.#options
    try {
      const refused = await post(exportText(spans, resource, version))
      this.#failures = 0
      this.#drop(Math.min(refused, spans.length))
      if (refused < spans.length) onSpans('sent', spans.length - refused)
    } catch {
      // Told by the count: a line for each would say the same every few seconds.
      this.#drop(spans.length)
      const { restMs, restMsMax } = limits.tracing
      this.#restUntil = monotonic() + Math.min(restMsMax, restMs * 2 ** this.#failures)
      this.#failures += 1
    }
  }

  #drop(count: number): void {
    if (count > 0) this.#options.onSpans('dropped', count)
  }
}

interface Ended extends Pick<Span, 'name' | 'kind' | 'attributes'> {
  /** By our fault. */
  readonly failed?: boolean
}
