// What a load process is asked to do and what it answers: plain data that goes through a message.
//
// Latencies are those of the operations that succeeded, in milliseconds; a job ends after `count` operations or `ms`
// milliseconds, whichever comes first.

import type { Target } from './line.ts'

/** An Ed25519 or RSA key of a domain, PEM. */
export interface SigningKey {
  readonly domain: string
  readonly selector: string
  readonly privateKey: string
}

interface Bounds {
  readonly connections: number
  readonly count?: number
  readonly ms?: number
}

export interface DeliverJob extends Bounds, Target {
  readonly kind: 'deliver'
  readonly protocol: 'lmtp' | 'smtp'
  /** Recipients, taken in turn. */
  readonly recipients: readonly string[]
  /** Bytes of each message, or the realistic mixture of `count` messages. */
  readonly size: number | 'mixed'
  readonly seed: number
  /** Signs each message with DKIM, all but its Message-ID. */
  readonly key?: SigningKey
}

export interface RequestJob extends Bounds, Target {
  readonly kind: 'request'
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Bodies, taken in turn; none for a request without one. */
  readonly bodies: readonly string[]
  readonly status: number
}

export interface LoginJob extends Bounds, Target {
  readonly kind: 'login'
  readonly protocol: 'imap' | 'pop3'
  readonly users: readonly { readonly name: string; readonly password: string }[]
}

export type Job = DeliverJob | RequestJob | LoginJob

export interface LoadResult {
  readonly done: number
  readonly failed: number
  /** Text -> how often, the first few kinds. */
  readonly errors: Readonly<Record<string, number>>
  readonly seconds: number
  /** Operations a second. */
  readonly rate: number
  /** Bytes of the messages or answers. */
  readonly bytes: number
  readonly p50: number
  readonly p99: number
  readonly worst: number
  /** CPU seconds the generator used. */
  readonly cpuSeconds: number
}

/** Counts operations of one job: who may start the next, what each took, what went wrong. */
export class LoadCounters {
  readonly #job: Bounds
  readonly #started = performance.now()
  readonly #cpu = process.cpuUsage()
  readonly #latencies: number[] = []
  readonly #errors: Record<string, number> = {}
  #begun = 0
  #failed = 0
  #bytes = 0
  #running = 0
  #finish: (() => void) | undefined

  constructor(job: Bounds) {
    this.#job = job
  }

  /** The number of the next operation, or undefined when there is to be none. */
  next(): number | undefined {
    const { count = Number.POSITIVE_INFINITY, ms = Number.POSITIVE_INFINITY } = this.#job
    if (this.#begun >= count || performance.now() - this.#started >= ms) return undefined
    this.#begun += 1
    return this.#begun - 1
  }

  done(since: number, bytes: number): void {
    this.#latencies.push(performance.now() - since)
    this.#bytes += bytes
  }

  failed(reason: string): void {
    this.#failed += 1
    const text = reason.slice(0, 120)
    if (text in this.#errors || Object.keys(this.#errors).length < 10)
      this.#errors[text] = (this.#errors[text] ?? 0) + 1
  }

  /** Runs `connections` workers, each told how to say that it has ended, and gives the result when all have. */
  async run(worker: (ended: () => void) => void): Promise<LoadResult> {
    await new Promise<void>(resolve => {
      this.#finish = resolve
      this.#running = this.#job.connections
      for (let index = 0; index < this.#job.connections; index++) worker(() => this.#ended())
    })
    const seconds = (performance.now() - this.#started) / 1000
    const cpu = process.cpuUsage(this.#cpu)
    const sorted = this.#latencies.toSorted((a, b) => a - b)
    return {
      done: sorted.length,
      failed: this.#failed,
      errors: this.#errors,
      seconds,
      rate: sorted.length / seconds,
      bytes: this.#bytes,
      p50: percentile(sorted, 50),
      p99: percentile(sorted, 99),
      worst: sorted.at(-1) ?? 0,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
    }
  }

  #ended(): void {
    this.#running -= 1
    if (this.#running === 0) this.#finish?.()
  }
}

/** The value below which `percent` of the sorted values lie. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0
}
