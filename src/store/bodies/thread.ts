// The main-thread end of the thread that reads ahead (workers/body.ts): while one slice of a long answer goes out, the next
// ones are read and unpacked elsewhere, which leaves the main loop a third of the work and everybody else their turn.
//
// Nobody depends on it. It starts when somebody asks for the first time, and until it is up, while it is busy with others,
// after it failed and when it takes too long, the answer is that there is none: whoever asked reads for himself. One that
// failed or took too long is not started again for a while. It holds nothing and is let go when nothing came for a while.

import type { Worker } from 'node:worker_threads'
import { startThread } from '#lib/build-info.ts'
import { after, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { BodyRun, type PackedRun } from './format/run.ts'

export interface BodyQuestion {
  readonly id: number
  readonly nums: readonly number[]
}

export type BodyAnswer = { readonly ready: true } | { readonly id: number; readonly run: PackedRun | null }

/** Milliseconds. */
const expectMs = 20

export class BodyThread {
  readonly #dataDir: string
  readonly #log: Log | undefined
  #worker: Worker | undefined
  #up = false
  #closed = false
  /** Until then none is started (monotonic). */
  #notBefore = 0
  #last = 0
  readonly #asked = new Map<number, (run: BodyRun | undefined) => void>()
  #starting: Timer | undefined
  #idle: Timer | undefined
  #late: Timer | undefined

  constructor(dataDir: string, log?: Log) {
    this.#dataDir = dataDir
    this.#log = log
  }

  /** Starts the thread, if there is none, in a moment: what is being answered now goes first. */
  expect(): void {
    if (this.#worker !== undefined || this.#starting !== undefined) return
    this.#starting = after(expectMs, () => {
      this.#starting = undefined
      this.#start()
    })
  }

  /** Small bodies without parts; undefined where whoever asks had better read them himself. */
  read(nums: readonly number[]): Promise<BodyRun | undefined> {
    this.#start()
    const worker = this.#up ? this.#worker : undefined
    if (worker === undefined || this.#asked.size >= limits.body.aheadMax) return Promise.resolve(undefined)
    const id = ++this.#last
    this.#idle?.cancel()
    if (this.#asked.size === 0) this.#watch()
    worker.postMessage({ id, nums } satisfies BodyQuestion)
    return new Promise(resolve => this.#asked.set(id, resolve))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#letGo()
  }

  /** Where there is none and may be one. */
  #start(): void {
    if (this.#closed || this.#worker !== undefined || monotonic() < this.#notBefore) return
    const worker = startThread('body', { dataDir: this.#dataDir })
    this.#worker = worker
    worker.on('message', (answer: BodyAnswer) => {
      if (worker === this.#worker) this.#settle(answer)
    })
    // It cannot open the database, or ran out of memory.
    worker.on('error', error => {
      if (worker === this.#worker) this.#fail(error)
    })
    // After the listeners: they attach it.
    worker.unref()
    this.#rest()
  }

  #fail(error: unknown): void {
    this.#log?.warn({ error }, 'the thread that reads ahead failed')
    this.#notBefore = monotonic() + limits.pool.idleMs
    void this.#letGo()
  }

  #settle(answer: BodyAnswer): void {
    if ('ready' in answer) {
      this.#up = true
      return
    }
    const { id, run } = answer
    const resolve = this.#asked.get(id)
    this.#asked.delete(id)
    this.#late?.cancel()
    if (this.#asked.size === 0) this.#rest()
    else this.#watch()
    resolve?.(run === null ? undefined : BodyRun.from(run))
  }

  /** Every answer must come soon after the one before. */
  #watch(): void {
    this.#late = after(limits.body.aheadMs, () => this.#fail(new Fault('TimedOut')))
  }

  #rest(): void {
    this.#idle?.cancel()
    this.#idle = after(limits.pool.idleMs, () => void this.#letGo())
  }

  async #letGo(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#up = false
    this.#starting?.cancel()
    this.#starting = undefined
    this.#idle?.cancel()
    this.#late?.cancel()
    const asked = [...this.#asked.values()]
    this.#asked.clear()
    // None of them is told that it failed: it is told to read for itself.
    for (const resolve of asked) resolve(undefined)
    await worker?.terminate()
  }
}
