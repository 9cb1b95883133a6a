// One thread of a pool, started when it is needed: a Piscina of one, so that we know whose time it takes.
//
// Promises: a task past its deadline ends with TimedOut and the thread answers again, killed and replaced where it has to
// be; a thread without work is let go after a while. Tasks that share a thread are asked to end first, and take the
// others along only where they do not.

import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { threadOptions } from '#lib/build-info.ts'
import { after, type Timer, within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Shared } from '#lib/process/task.ts'

export interface ThreadForm {
  readonly name: string
  readonly file: URL
  /** Tasks at once on one thread; all of them go with a thread that is killed. */
  readonly concurrency?: number
  /** Tasks work in slices (lib/process/task.ts `sharing`) and end when they are told to. */
  readonly sharing?: boolean
  readonly workerData?: unknown
  /** Heap of one thread. */
  readonly heapMib?: number
  readonly log: Log
}

export interface ThreadTask {
  readonly name: string
  readonly input: unknown
  readonly deadlineMs: number
  /** Not 0 when nobody waits for the answer any more. */
  readonly stop: Int32Array
}

export class Thread {
  readonly #form: ThreadForm
  #piscina: Piscina | undefined
  #up: Promise<unknown> | undefined
  #idle: Timer | undefined
  #stopped = false
  #running = 0

  constructor(form: ThreadForm) {
    this.#form = form
  }

  get started(): boolean {
    return this.#piscina !== undefined
  }

  get free(): boolean {
    return this.#running < (this.#form.concurrency ?? 1)
  }

  /** Tasks under way. */
  get running(): number {
    return this.#running
  }

  /** Runs one task; the deadline counts from the moment the thread is up. */
  async run({ name, input, deadlineMs, stop: asked }: ThreadTask): Promise<unknown> {
    const piscina = this.#piscina ?? this.#start()
    this.#running += 1
    this.#idle?.cancel()
    const stop = new AbortController()
    const { concurrency, sharing } = this.#form
    const shared = concurrency !== undefined
    let late = false
    let timer: Timer | undefined
    try {
      await within(limits.pool.startMs, this.#up ?? Promise.resolve(), () => new Error('the thread does not start'))
      timer = after(deadlineMs, () => {
        late = true
        if (sharing === true) {
          Atomics.store(asked, 0, 1)
          timer = after(limits.pool.endMs, () => void this.#letGo())
          return
        }
        if (shared) return void this.#letGo()
        this.#replace(piscina)
        stop.abort()
      })
      // A task that can be aborted has a thread for itself.
      const given = sharing === true ? ({ input, stop: asked } satisfies Shared<unknown>) : input
      const answer = await piscina.run(given, shared ? { name } : { name, signal: stop.signal })
      if (late) throw new Fault('TimedOut')
      return answer
    } catch (error) {
      throw this.#failure(error, late || (shared && this.#piscina !== piscina))
    } finally {
      timer?.cancel()
      this.#running -= 1
      if (this.#running === 0) this.#idle = after(limits.pool.idleMs, () => void this.#letGo())
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#idle?.cancel()
    // A thread that is ended while it loads what is native takes the process with it.
    const up = Promise.resolve(this.#up).catch(() => {})
    await within(limits.pool.startMs, up, () => new Error('the thread does not start')).catch(() => {})
    await this.#letGo()
  }

  #start(): Piscina {
    const { file, workerData, heapMib, concurrency = 1 } = this.#form
    const piscina = new Piscina({
      filename: fileURLToPath(file),
      name: 'ready',
      ...{ minThreads: 1, maxThreads: 1, maxQueue: 2, idleTimeout: Infinity },
      concurrentTasksPerWorker: concurrency,
      ...{ atomics: 'disabled', recordTiming: false, workerData },
      execArgv: [...threadOptions],
      ...(heapMib === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMib } }),
    })
    // A thread that dies with a task fails that task; without one there is nobody to tell but the log.
    piscina.on('error', error => this.#form.log.error({ error, pool: this.#form.name }, 'a thread of the pool died'))
    this.#piscina = piscina
    this.#up = this.#ready(piscina)
    return piscina
  }

  /** Before a kill: the next task waits until the old thread is gone, so that there is never more than one. */
  #replace(piscina: Piscina): void {
    const [worker] = piscina.threads
    const gone = new Promise<void>(resolve => (worker === undefined ? resolve() : worker.once('exit', () => resolve())))
    this.#up = gone.then(() => this.#ready(piscina))
    this.#up.catch(() => {})
  }

  #ready(piscina: Piscina): Promise<unknown> {
    const up = piscina.run(null, { name: 'ready' })
    up.catch(() => {})
    return up
  }

  #failure(error: unknown, late: boolean): unknown {
    if (this.#stopped) return new Fault('Stopping', { cause: error })
    if (late) return new Fault('TimedOut', { cause: error })
    const { code } = error as { code?: unknown }
    return code === 'ERR_WORKER_OUT_OF_MEMORY' ? new Fault('TimedOut', { cause: error }) : error
  }

  async #letGo(): Promise<void> {
    const piscina = this.#piscina
    this.#piscina = undefined
    this.#up = undefined
    await piscina?.destroy()
  }
}
