// The main-thread end of the writer: gathers units, sends batches, settles promises.
//
// Group commit without a timer or a handshake: units leave when the loop has been round once (at once from somebody alone,
// or when they carry some KB), and the thread makes one transaction of what came while it synced the one before. What nobody
// waits for goes last, one request of it at a time. A broken rule fails its unit alone; a failed commit fails all its units and
// turns the writer unhealthy: it then refuses units with a temporary error and tries the disk by itself. After a unit of a partition
// failed, or its commit, later ones made from the same state (epoch) are refused as stale, also those on their way.

import { after, breathe, monotonic } from '#lib/clock.ts'
import { Fault, type FaultCode } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { RecurringLine } from '#lib/journal/recurring-line.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { OwnedThread } from '#lib/process/lodging.ts'
import { type Answer, settled } from '#lib/process/task.ts'
import { Queue } from '#lib/queue.ts'
import { LostLease } from '../cluster/tenancy.ts'
import { metaDelete, metaPut } from '../engine/meta.ts'
import { conflictOf } from '../engine/table.ts'
import { Changes, type Watched } from '../engine/watched.ts'
import { type Operation, operation, type Write } from '../engine/write.ts'
import { LogGrowth } from './log-growth.ts'
import { type Opened, startWriterThread, type WriterThread } from './thread.ts'

export interface Unit {
  /** Whose units keep their order and fail together: a user's number, or 0 for none. */
  readonly partition: number
  /** Which loading of the partition's state the unit was made from. */
  readonly epoch: number
  readonly operations: Operation[]
  /** Bytes it carries, about. */
  readonly bytes: number
  /** Nobody waits for it: it goes after those somebody waits for. */
  readonly background?: boolean
  /** Under which it was made, where nodes share the database: a shard and its term. */
  readonly lease?: readonly [shard: number, term: number] | undefined
}

/** Units that leave together. */
export interface WriterRequest {
  readonly units: Pick<Unit, 'partition' | 'epoch' | 'operations' | 'lease'>[]
  /** Bytes they carry, about. */
  readonly bytes: number
}

/** What became of one transaction. It answers its last request, and all before that were not answered yet. */
export interface WriterReply {
  /** Units that failed, counted through its requests in order; the others are on disk. */
  readonly failures: {
    unit: number
    kind: 'conflict' | 'stale' | 'fenced' | 'file' | 'refused' | 'error'
    text: string
    /** Of one that a write refused. */
    code?: FaultCode
  }[]
  /** The commit itself failed: nothing of it is on disk. */
  readonly broken: string | null
  /** What the commit alone took, milliseconds. */
  readonly commitMs: number
  /** Why the write-ahead log could not be copied back lately, so that it grows. */
  readonly uncopied?: string
  /** Watched tables that it may have changed. */
  readonly changed?: readonly Watched[]
  /** Units that may have changed one, as far as that is known; else it may have been each of them. */
  readonly changing?: readonly number[]
}

/** A unit refused because an earlier one of its partition failed; whoever made it may make it anew. */
export class StaleUnit extends Error {}

interface Waiting {
  readonly unit: Unit
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export interface WriterOptions {
  readonly file: string
  readonly log: Log
  readonly metrics: Metrics
  /** Started for that file already; otherwise one is started. */
  readonly thread?: WriterThread
}

/** A request on its way. */
interface Sent {
  readonly number: number
  readonly units: readonly Waiting[]
  readonly bytes: number
  /** Units in it that nobody waits for. */
  readonly background: boolean
  readonly at: number
}

/** How long an unhealthy writer waits before it tries the disk again, milliseconds. */
const probeMs = 500

export class Writer {
  /** What was found when the database was opened. */
  readonly opened: Opened
  readonly #thread: OwnedThread
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #urgent = new Queue<Waiting>(limits.writer.pendingUnitsMax)
  readonly #background = new Queue<Waiting>(limits.writer.pendingUnitsMax)
  /** Of what waits here. */
  #bytes = 0
  /** Of that, what has come since something left. */
  #freshBytes = 0
  /** Oldest first. */
  readonly #sent: Sent[] = []
  #sentUnits = 0
  #sentBytes = 0
  #settled = 0
  /** What was changed, for who keeps what he read. */
  readonly changes = new Changes()
  /** Told of tables that a batch may have changed, and waited for before who changed them is answered: other nodes keep what they read, too. */
  announce: ((changed: readonly Watched[]) => Promise<void>) | undefined
  /** Partition -> its last answer that waits, and those after it with it: a node that hangs holds up nobody else. */
  readonly #announcing = new Map<number, Promise<unknown>>()
  /** Keys of answers that belong to no partition. */
  #unordered = 0
  #failure: Fault | undefined
  #closing = false
  /** There is no thread any more. */
  #ended = false
  /** What waits leaves at the end of this round of the loop. */
  #leaving = false
  /** The last transaction was one unit. */
  #single = false
  readonly #growth: LogGrowth
  readonly #unstored: RecurringLine

  private constructor({ thread, hear }: WriterThread, options: WriterOptions, opened: Opened) {
    this.opened = opened
    this.#thread = thread
    this.#log = options.log
    this.#growth = new LogGrowth(options.log)
    this.#unstored = new RecurringLine(options.log, 'error', 'the file of a large message could not be stored')
    this.#metrics = options.metrics
    hear((id, answer) => this.#settle(id, answer))
    void thread.gone.then(() => {
      if (thread.failure !== undefined) this.#fail(thread.failure)
    })
  }

  /** Processor time of its thread, as that has it. */
  processorMs(): Promise<number | undefined> {
    return this.#thread.processorMs()
  }

  /** Waits for the thread, which brings the schema up to date before this resolves. */
  static async open(options: WriterOptions): Promise<Writer> {
    const started = options.thread ?? startWriterThread(options.file, true)
    return new Writer(started, options, await started.ready)
  }

  /** Whether commits go through. */
  get healthy(): boolean {
    return this.#failure === undefined
  }

  /** Batches that were answered; grows before anybody hears of one. */
  get commits(): number {
    return this.#settled
  }

  /** Units that are not on disk yet. */
  get pending(): number {
    return this.#waiting + this.#sentUnits
  }

  /** Units that have not left. */
  get #waiting(): number {
    return this.#urgent.length + this.#background.length
  }

  /**
   * Queues a unit; resolves when it is on disk.
   *
   * @throws Fault of the index (`conflict`, engine/table.ts) for a broken rule, StorageUnavailable when the disk refuses, Overloaded when too much
   * waits, StaleUnit when an earlier unit of the partition failed, LostLease when another node has the account by now
   */
  submit(unit: Unit): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#closing) return Promise.reject(new Fault('Stopping'))
    if (this.#bytes + unit.bytes > limits.writer.pendingBytesMax && this.#waiting > 0) {
      return Promise.reject(new Fault('Overloaded'))
    }
    return new Promise((resolve, reject) => {
      const queue = unit.background === true ? this.#background : this.#urgent
      if (!queue.push({ unit, resolve, reject })) return reject(new Fault('Overloaded'))
      this.#bytes += unit.bytes
      this.#freshBytes += unit.bytes
      this.#soon()
    })
  }

  /** One write outside of any actor. */
  write<Row>(write: Write<Row>, row: Row): Promise<void> {
    return this.submit({ partition: 0, epoch: 0, operations: [operation(write, row)], bytes: 64 })
  }

  /** Inserts a row and deletes it again, in one unit and for good: resolves where the disk takes writes. */
  prove(): Promise<void> {
    const key = `health.${newId()}`
    const operations = [operation(metaPut, { key, value: 1 }), operation(metaDelete, { key })]
    return this.submit({ partition: 0, epoch: 0, operations, bytes: 100 })
  }

  /** Limits the database to `pages` pages, 0 for no limit: how a test fills the disk. */
  limitPages(pages: number): void {
    this.#thread.send('limitPages', pages)
  }

  /** Sends what waits, then ends the thread. */
  async close(): Promise<void> {
    this.#closing = true
    while (this.pending > 0 || this.#announcing.size > 0)
      await new Promise(resolve => after(1, () => resolve(undefined)))
    await this.#thread.close()
  }

  /** Sends what waits: at once where it is much, otherwise when the loop has been round, with what arrived meanwhile. */
  #soon(): void {
    const alone = this.#single && this.#sent.length === 0 && !this.#leaving
    if (alone || this.#freshBytes >= limits.writer.leaveBytes) {
      this.#send()
      return
    }
    if (this.#leaving) return
    this.#leaving = true
    void breathe().then(() => {
      this.#leaving = false
      this.#send()
    })
  }

  /** Sends what waits, as far as the thread can take it. */
  #send(): void {
    this.#freshBytes = 0
    while (this.#waiting > 0) {
      const { units, bytes, background } = this.#next()
      if (units.length === 0) return
      this.#bytes -= bytes
      this.#post(units, bytes, background)
    }
  }

  /** What leaves next: one transaction at most, and no more than makes two with what is on its way. */
  #next(): { units: Waiting[]; bytes: number; background: boolean } {
    const { batchUnitsMax, batchBytesMax } = limits.writer
    const unitsMax = Math.min(batchUnitsMax, 2 * batchUnitsMax - this.#sentUnits)
    const bytesMax = Math.min(batchBytesMax, 2 * batchBytesMax - this.#sentBytes)
    const units: Waiting[] = []
    let bytes = 0
    let background = false
    const crowded = this.#sent.some(request => request.background)
    while (units.length < unitsMax && bytes < bytesMax) {
      let waiting = this.#urgent.shift()
      if (waiting === undefined && !crowded) {
        waiting = this.#background.shift()
        background ||= waiting !== undefined
      }
      if (waiting === undefined) break
      units.push(waiting)
      bytes += waiting.unit.bytes
    }
    return { units, bytes, background }
  }

  #post(units: readonly Waiting[], bytes: number, background: boolean): void {
    const written = units.map(({ unit }) => ({
      partition: unit.partition,
      epoch: unit.epoch,
      operations: unit.operations,
      ...(unit.lease !== undefined && { lease: unit.lease }),
    }))
    const number = this.#thread.send('write', { units: written, bytes } satisfies WriterRequest)
    this.#sent.push({ number, units, bytes, background, at: monotonic() })
    this.#sentUnits += units.length
    this.#sentBytes += bytes
  }

  #settle(upTo: number, answer: Answer): void {
    if (upTo === 0) return
    const reply = settled(answer) as WriterReply
    const units: Waiting[] = []
    let at = monotonic()
    for (let first = this.#sent[0]; first !== undefined && first.number <= upTo; first = this.#sent[0]) {
      this.#sent.shift()
      this.#sentUnits -= first.units.length
      this.#sentBytes -= first.bytes
      at = Math.min(at, first.at)
      for (const waiting of first.units) units.push(waiting)
    }
    if (units.length === 0) return
    this.#settled += 1
    this.#single = units.length === 1
    for (const table of reply.changed ?? []) this.changes.note(table)
    this.#growth.note(reply.uncopied)
    this.#metrics.writerBatches.labels(reply.broken === null ? 'ok' : 'failed').inc()
    this.#metrics.writerUnits.observe(units.length)
    this.#metrics.writerCommitSeconds.observe(reply.commitMs / 1000)
    this.#metrics.writerSeconds.observe((monotonic() - at) / 1000)
    if (reply.broken !== null) {
      this.#break(reply.broken, units)
      return
    }
    this.#send()
    const { changed = [] } = reply
    this.#answer(units, reply, changed.length === 0 ? undefined : this.announce?.(changed))
  }

  /** @param told when everybody who has to hear of its changes has */
  #answer(units: readonly Waiting[], { failures, changing }: WriterReply, told: Promise<void> | undefined): void {
    const failed = new Map(failures.map(failure => [failure.unit, failure]))
    units.forEach((waiting, index) => {
      const failure = failed.size === 0 ? undefined : failed.get(index)
      const answer = () => {
        if (failure === undefined) waiting.resolve()
        else waiting.reject(this.#failureOf(failure, waiting.unit))
      }
      if (told === undefined && this.#announcing.size === 0) answer()
      else this.#answerAfter(changing?.includes(index) === false ? undefined : told, waiting.unit.partition, answer)
    })
  }

  /** Answers of an account keep their order. */
  #answerAfter(told: Promise<void> | undefined, partition: number, answer: () => void): void {
    const before = partition === 0 ? undefined : this.#announcing.get(partition)
    if (told === undefined && before === undefined) {
      answer()
      return
    }
    const key = partition === 0 ? --this.#unordered : partition
    const after = Promise.allSettled([before, told]).then(() => {
      answer()
      if (this.#announcing.get(key) === after) this.#announcing.delete(key)
    })
    this.#announcing.set(key, after)
  }

  #failureOf(failure: WriterReply['failures'][number], { lease }: Unit): Error {
    if (failure.kind === 'fenced') return new LostLease(lease?.[0] ?? 0)
    if (failure.kind === 'stale') return new StaleUnit('an earlier unit failed')
    if (failure.kind === 'file') {
      this.#unstored.met({ failure: failure.text })
      return new Fault('StorageUnavailable')
    }
    if (failure.code !== undefined) return new Fault(failure.code, { text: failure.text })
    const constraint = /constraint failed: (.*)$/.exec(failure.text)?.[1] ?? ''
    const code = conflictOf(constraint)
    if (failure.kind === 'conflict' && code !== undefined) return new Fault(code)
    this.#log.error({ failure: failure.text }, 'a unit broke a rule of the schema')
    return new Error(failure.text)
  }

  /** The disk said no: everybody hears it at once, and the probe goes on until the disk says yes. */
  #break(reason: string, units: readonly Waiting[]): void {
    const fault = new Fault('StorageUnavailable')
    const known = this.#failure !== undefined
    this.#failure = fault
    for (const waiting of units) waiting.reject(fault)
    this.#rejectPending(fault)
    // What was on its way already breaks as well; that is the same failure.
    if (known) return
    this.#log.error({ reason }, 'storage refuses writes')
    after(probeMs, () => this.#probe())
  }

  #probe(): void {
    if (this.#closing || this.#ended) return
    const operations = [operation(metaPut, { key: 'probe', value: this.#settled })]
    const unit: Unit = { partition: 0, epoch: 0, operations, bytes: 0 }
    const resolve = () => {
      this.#failure = undefined
      this.#log.info('storage takes writes again')
    }
    this.#post([{ unit, resolve, reject: () => after(probeMs, () => this.#probe()) }], 0, false)
  }

  #fail(error: unknown): void {
    this.#log.fatal({ error }, 'the writer thread ended')
    this.#ended = true
    this.#failure = new Fault('StorageUnavailable', { cause: error })
    this.#sentUnits = 0
    for (const { units } of this.#sent.splice(0)) for (const { reject } of units) reject(this.#failure)
    this.#rejectPending(this.#failure)
  }

  #rejectPending(fault: Fault): void {
    for (const queue of [this.#urgent, this.#background]) {
      for (let waiting = queue.shift(); waiting !== undefined; waiting = queue.shift()) waiting.reject(fault)
    }
    this.#bytes = 0
  }
}
