// The main-thread end of the writer: gathers units, sends batches, settles promises.
//
// Group commit without a timer: while one batch is being synced the next one gathers, and it leaves the moment the answer
// arrives; where none is on its way, a batch leaves when the loop has been round once (an eighth fewer commits with 16
// senders), or at once where the one before was a single unit: somebody alone would wait for nobody. A unit is all or
// nothing; a broken rule fails that unit alone; a failed commit fails every unit of the batch and turns the writer
// unhealthy: it then refuses units with a temporary error and tries the disk again by itself. After a unit of a lane
// failed, later units of that lane made from the same state (epoch) are refused as stale.

import type { Worker } from 'node:worker_threads'
import { after, breathe, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { Queue } from '#lib/queue.ts'
import type { Write } from './write.ts'
import { startWriterThread, type WriterThread } from './writer-thread.ts'
import { conflicts } from './writes.ts'

/** One write and its row, ready to cross threads. */
export type Operation = readonly [name: string, row: unknown]

export interface Unit {
  /** Whose units keep their order and fail together: a user's number, or 0 for none. */
  readonly lane: number
  /** Which loading of the lane's state the unit was made from. */
  readonly epoch: number
  readonly operations: Operation[]
  /** Bytes it carries, about. */
  readonly bytes: number
  /** Nobody waits for it: it goes after those somebody waits for. */
  readonly background?: boolean
}

export interface WriterRequest {
  readonly batch: number
  readonly units: { lane: number; epoch: number; operations: Operation[] }[]
  readonly checkpoint: boolean
}

export interface WriterReply {
  readonly batch: number
  /** Unit number -> why it failed; absent ones are on disk. */
  readonly failures: { unit: number; kind: 'conflict' | 'stale' | 'error'; text: string }[]
  /** The commit itself failed: nothing of the batch is on disk. */
  readonly broken: string | null
}

/** A unit refused because an earlier one of its lane failed; whoever made it may make it anew. */
export class StaleUnit extends Error {}

interface Waiting {
  readonly unit: Unit
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export interface WriterOptions {
  readonly file: string
  readonly dataDir: string
  readonly log: Log
  readonly metrics: Metrics
  /** Started for that file already; otherwise one is started. */
  readonly thread?: WriterThread
}

/** How long an unhealthy writer waits before it tries the disk again, milliseconds. */
const probeMs = 500

export class Writer {
  readonly #worker: Worker
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #urgent = new Queue<Waiting>(limits.writer.pendingUnitsMax)
  readonly #background = new Queue<Waiting>(limits.writer.pendingUnitsMax)
  #bytes = 0
  #batch = 0
  #sent: Waiting[] | undefined
  #sentAt = 0
  #settled = 0
  #failure: Fault | undefined
  #closed: (() => void) | undefined
  #closing = false
  /** A batch leaves at the end of this turn of the loop. */
  #leaving = false
  /** The last batch was one unit. */
  #single = false

  private constructor(worker: Worker, options: WriterOptions) {
    this.#worker = worker
    this.#log = options.log
    this.#metrics = options.metrics
    worker.on('message', (reply: WriterReply) => this.#settle(reply))
    worker.on('error', error => this.#fail(error))
    worker.on('exit', () => this.#closed?.())
  }

  /** Waits for the thread, which brings the schema up to date before this resolves. */
  static async open(options: WriterOptions): Promise<Writer> {
    const { worker, ready } = options.thread ?? startWriterThread(options.file, options.dataDir)
    await ready
    return new Writer(worker, options)
  }

  /** Whether commits go through. */
  get healthy(): boolean {
    return this.#failure === undefined
  }

  /** Batches that were answered; grows before anybody hears of one. */
  get commits(): number {
    return this.#settled
  }

  /** Units waiting for a batch of theirs. */
  get pending(): number {
    return this.#urgent.length + this.#background.length
  }

  /**
   * Queues a unit; resolves when it is on disk.
   *
   * @throws Fault of `conflicts` for a broken rule, StorageUnavailable when the disk refuses, Overloaded when too much
   * waits, StaleUnit when an earlier unit of the lane failed
   */
  submit(unit: Unit): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#closing) return Promise.reject(new Fault('Stopping'))
    if (this.#bytes + unit.bytes > limits.writer.pendingBytesMax && this.pending > 0) {
      return Promise.reject(new Fault('Overloaded'))
    }
    return new Promise((resolve, reject) => {
      const queue = unit.background === true ? this.#background : this.#urgent
      if (!queue.push({ unit, resolve, reject })) return reject(new Fault('Overloaded'))
      this.#bytes += unit.bytes
      this.#soon()
    })
  }

  /** One write outside of any actor. */
  write<Row>(write: Write<Row>, row: Row): Promise<void> {
    return this.submit({ lane: 0, epoch: 0, operations: [[write.name, row]], bytes: 64 })
  }

  /** Limits the database to `pages` pages, 0 for no limit: how a test fills the disk. */
  limitPages(pages: number): void {
    this.#worker.postMessage({ limitPages: pages })
  }

  /** Sends what waits, then ends the thread. */
  async close(): Promise<void> {
    this.#closing = true
    while (this.#sent !== undefined || this.pending > 0)
      await new Promise(resolve => after(1, () => resolve(undefined)))
    const closed = new Promise<void>(resolve => {
      this.#closed = resolve
    })
    this.#worker.postMessage({ close: true })
    await closed
  }

  /** Sends what waits when the loop has been round once: what arrived with it goes along. */
  #soon(): void {
    if (this.#leaving || this.#sent !== undefined) return
    if (this.#single) {
      this.#send()
      return
    }
    this.#leaving = true
    void breathe().then(() => {
      this.#leaving = false
      if (this.#sent === undefined) this.#send()
    })
  }

  #send(): void {
    const batch: Waiting[] = []
    let bytes = 0
    while (batch.length < limits.writer.batchUnitsMax && bytes < limits.writer.batchBytesMax) {
      const waiting = this.#urgent.shift() ?? this.#background.shift()
      if (waiting === undefined) break
      batch.push(waiting)
      bytes += waiting.unit.bytes
    }
    if (batch.length === 0) return
    this.#bytes -= bytes
    this.#batch += 1
    this.#sent = batch
    this.#single = batch.length === 1
    this.#sentAt = monotonic()
    const units = batch.map(({ unit }) => ({ lane: unit.lane, epoch: unit.epoch, operations: unit.operations }))
    const request: WriterRequest = { batch: this.#batch, units, checkpoint: this.pending === 0 }
    this.#worker.postMessage(request)
  }

  #settle(reply: WriterReply): void {
    const batch = this.#sent
    if (batch === undefined || reply.batch !== this.#batch) return
    this.#sent = undefined
    this.#settled += 1
    this.#metrics.writerBatches.labels(reply.broken === null ? 'ok' : 'failed').inc()
    this.#metrics.writerUnits.observe(batch.length)
    this.#metrics.writerSeconds.observe((monotonic() - this.#sentAt) / 1000)
    if (reply.broken !== null) this.#break(reply.broken, batch)
    else {
      this.#send()
      const failed = new Map(reply.failures.map(failure => [failure.unit, failure]))
      batch.forEach((waiting, index) => {
        const failure = failed.size === 0 ? undefined : failed.get(index)
        if (failure === undefined) waiting.resolve()
        else waiting.reject(this.#failureOf(failure))
      })
    }
  }

  #failureOf(failure: WriterReply['failures'][number]): Error {
    if (failure.kind === 'stale') return new StaleUnit('an earlier unit failed')
    const constraint = /constraint failed: (.*)$/.exec(failure.text)?.[1] ?? ''
    const code = conflicts[constraint]
    if (failure.kind === 'conflict' && code !== undefined) return new Fault(code)
    this.#log.error({ failure: failure.text }, 'a unit broke a rule of the schema')
    return new Error(failure.text)
  }

  /** The disk said no: everybody hears it at once, and the probe goes on until the disk says yes. */
  #break(reason: string, batch: Waiting[]): void {
    const fault = new Fault('StorageUnavailable')
    if (this.#failure === undefined) this.#log.error({ reason }, 'storage refuses writes')
    this.#failure = fault
    for (const waiting of batch) waiting.reject(fault)
    this.#rejectPending(fault)
    after(probeMs, () => this.#probe())
  }

  #probe(): void {
    if (this.#closing) return
    this.#batch += 1
    this.#sentAt = monotonic()
    const unit: Unit = { lane: 0, epoch: 0, operations: [['meta.put', { key: 'probe', value: this.#batch }]], bytes: 0 }
    const recovered = () => {
      this.#log.info('storage takes writes again')
    }
    this.#sent = [{ unit, resolve: recovered, reject: () => {} }]
    this.#failure = undefined
    this.#worker.postMessage({ batch: this.#batch, units: [unit], checkpoint: false } satisfies WriterRequest)
  }

  #fail(error: Error): void {
    this.#log.fatal({ error }, 'the writer thread ended')
    this.#failure = new Fault('StorageUnavailable', { cause: error })
    for (const waiting of this.#sent ?? []) waiting.reject(this.#failure)
    this.#sent = undefined
    this.#rejectPending(this.#failure)
  }

  #rejectPending(fault: Fault): void {
    for (const queue of [this.#urgent, this.#background]) {
      for (let waiting = queue.shift(); waiting !== undefined; waiting = queue.shift()) waiting.reject(fault)
    }
    this.#bytes = 0
  }
}
