// One thread of a pool: started when it is needed, ended when a task of it is late, let go when nothing came for a while.
//
// Promises: a task past its deadline ends with TimedOut and the next one is answered, by another thread where this one has to
// be ended; there is never more than one. Tasks that share a thread are asked to end first, and take the others along only
// where they do not.

import { after, monotonic, type Timer, within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Shared } from '#lib/process/task.ts'
import { Thread, ThreadEnded } from '#lib/process/thread.ts'
import { leaveSpare, takeSpare } from './spares.ts'

export interface PoolThreadForm {
  readonly name: string
  readonly file: URL
  /** Tasks at once on one thread; all of them go with a thread that is ended. */
  readonly concurrency?: number
  /** Tasks work in slices (lib/process/serve.ts `sharing`) and end when they are told to. */
  readonly sharing?: boolean
  /**
   * A deadline is processor time of the thread: where the machine is short of it, a task may take up to
   * `limits.pool.starvedFactor` times as long. Needs one task at a time.
   */
  readonly ownTime?: boolean
  /** What the thread is given at its start. */
  readonly given?: unknown
  /** Heap of one thread. */
  readonly heapMib?: number
  /** Threads come from the pools before and are left to those after (spares.ts). */
  readonly spares?: boolean
  /** Time it may take to start where that is not limits.pool.startMs. */
  readonly startMs?: number
  readonly log: Log
}

export interface PoolTask {
  readonly name: string
  readonly input: unknown
  readonly deadlineMs: number
  /** Not 0 when nobody waits for the answer any more. */
  readonly stop: Int32Array
}

export class PoolThread {
  readonly #form: PoolThreadForm
  #thread: Thread | undefined
  /** The thread, once it is up. */
  #up: Promise<Thread> | undefined
  /** Until the one before is gone. */
  #before: Promise<void> = Promise.resolve()
  #idle: Timer | undefined
  #stopped = false
  #running = 0

  constructor(form: PoolThreadForm) {
    this.#form = form
  }

  get started(): boolean {
    return this.#up !== undefined
  }

  get free(): boolean {
    return this.#running < (this.#form.concurrency ?? 1)
  }

  /** Tasks under way. */
  get running(): number {
    return this.#running
  }

  /** Processor time it has had since it was started, milliseconds; undefined where there is none, or nobody can tell. */
  async processorMs(): Promise<number | undefined> {
    return this.#thread?.processorMs()
  }

  /** Runs one task; the deadline counts from the moment the thread is up. */
  async run({ name, input, deadlineMs, stop }: PoolTask): Promise<unknown> {
    this.#running += 1
    this.#idle?.cancel()
    const { sharing, ownTime } = this.#form
    let late = false
    let ended = false
    let timer: Timer | undefined
    try {
      // On a machine that is busy beyond measure it comes up later, and whoever asks again is answered.
      const startMs = this.#form.startMs ?? limits.pool.startMs
      const thread = await within(startMs, this.#ready(), () => new Fault('TimedOut'))
      const end = () => {
        late = true
        if (sharing !== true) return void this.#letGo(thread)
        Atomics.store(stop, 0, 1)
        timer = after(limits.pool.endMs, () => void this.#letGo(thread))
      }
      const used = ownTime === true ? processorUse(thread) : undefined
      const started = monotonic()
      const look = async () => {
        const leftMs = deadlineMs - ((await used?.(deadlineMs)) ?? deadlineMs)
        if (ended) return
        const starved = leftMs > 0 && monotonic() - started < deadlineMs * limits.pool.starvedFactor
        if (starved) timer = after(Math.max(leftMs, 1), () => void look())
        else end()
      }
      timer = after(deadlineMs, () => void look())
      const given = sharing === true ? ({ input, stop } satisfies Shared<unknown>) : input
      const value = await thread.ask(name, given)
      if (late) throw new Fault('TimedOut')
      return value
    } catch (error) {
      throw this.#failure(error, late)
    } finally {
      ended = true
      timer?.cancel()
      this.#running -= 1
      if (this.#running === 0) this.#idle = after(limits.pool.idleMs, () => void this.#letGo(this.#thread))
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#idle?.cancel()
    const thread = this.#thread
    if (thread !== undefined && (await this.#leaves(thread))) this.#forget(Promise.resolve())
    else await this.#letGo(this.#thread)
  }

  /** Leaves the thread to others, where it may be left and does nothing. */
  async #leaves(thread: Thread): Promise<boolean> {
    const { spares, given } = this.#form
    if (spares !== true || this.#running > 0 || thread.ended) return false
    if (given !== undefined) {
      const left = await within(limits.pool.endMs, thread.ask('leave', null), () => new Fault('TimedOut')).catch(
        () => false,
      )
      if (left === false) return false
    }
    return leaveSpare(this.#form, thread)
  }

  #ready(): Promise<Thread> {
    // One that died by itself is replaced.
    if (this.#thread?.ended === true) this.#forget(this.#thread.gone)
    this.#up ??= this.#start()
    return this.#up
  }

  async #start(): Promise<Thread> {
    await this.#before
    if (this.#stopped) throw new Fault('Stopping')
    const { file, given, heapMib, name, log, spares } = this.#form
    const spare = spares === true ? takeSpare(this.#form) : undefined
    const thread = spare ?? new Thread({ file, given, heapMib })
    this.#thread = thread
    void thread.gone.then(() => {
      if (thread.failure !== undefined && !this.#stopped)
        log.error({ error: thread.failure, pool: name }, 'a thread of the pool died')
    })
    try {
      await thread.up
      if (spare !== undefined && given !== undefined) await thread.ask('enter', given)
    } catch (error) {
      if (this.#thread === thread) this.#forget(thread.gone)
      throw error
    }
    return thread
  }

  #failure(error: unknown, late: boolean): unknown {
    if (this.#stopped) return new Fault('Stopping', { cause: error })
    const { code } = error as { code?: unknown }
    const taken = error instanceof ThreadEnded || code === 'ERR_WORKER_OUT_OF_MEMORY'
    return late || taken ? new Fault('TimedOut', { cause: error }) : error
  }

  async #letGo(thread: Thread | undefined): Promise<void> {
    if (thread === undefined || thread !== this.#thread) return this.#before
    this.#forget(thread.end())
    await this.#before
  }

  #forget(gone: Promise<void>): void {
    this.#thread = undefined
    this.#up = undefined
    this.#before = gone
  }
}

/**
 * Asks from now on how much processor time the thread has had, milliseconds: 0 where it does not come to answer within the
 * given time, undefined where nobody can tell.
 */
function processorUse(thread: Thread): (withinMs: number) => Promise<number | undefined> {
  const before = thread.processorMs()
  return withinMs => {
    const use = Promise.all([before, thread.processorMs()]).then(([from, to]) =>
      from === undefined || to === undefined ? undefined : to - from,
    )
    return within(withinMs, use, () => new Fault('TimedOut')).catch(() => 0)
  }
}
