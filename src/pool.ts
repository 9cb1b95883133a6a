// Work that must not run on the main loop, on threads (Piscina): passwords, security keys and pictures, strangers'
// patterns, long reads. Each pool has its own threads and its own finite queue, so a storm in one cannot hold up another.
//
// Promises: a full queue is Fault('Overloaded') at once; a task that waits or runs past its deadline is
// Fault('TimedOut'), its thread is killed and replaced, and the pool answers again; lanes of one pool take turns, so one
// account's storm leaves the others theirs, and what is one too many is taken from whoever has most waiting. Threads start
// with the first task and are let go when nothing came for a while.

import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { after, monotonic, type Timer, within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { threadFile, threadOptions } from '#lib/own.ts'
import type { PatternTasks } from '#lib/pattern.ts'
import type { PasswordTasks } from '#lib/secret/hash.ts'
import type { KeyTasks } from '#lib/secret/key-tasks.ts'
import { Recall } from '#lib/secret/recall.ts'
import { type Answer, settled } from '#lib/task.ts'
import type { VerifyTasks } from '#mail/verification.ts'
import { Passwords } from './pool/passwords.ts'
import { Turns } from './pool/turns.ts'

export interface RunOptions {
  /** Ends the caller's wait; a task that has not started is not started any more. */
  readonly signal?: AbortSignal | undefined
  /** Time the task may wait, and time it may then run; a thread that runs longer is killed. */
  readonly deadlineMs?: number
  /** Whose task it is (an account, or a path down to one): lanes take turns, at every step of the path. */
  readonly lane?: string | readonly string[]
}

/** Task name -> what it takes and gives. A thread exports each under its name, wrapped by `answering`, and `ready`. */
export type TaskTable = Readonly<Record<string, { readonly input: unknown; readonly value: unknown }>>

export interface PoolsOptions {
  readonly log: Log
  readonly metrics?: Metrics
  /** Threads; 0 passwordThreads means one for each processor. */
  readonly threads?: { readonly passwordThreads: number; readonly patternThreads: number; readonly readThreads: number }
  /** Whether a password that was just verified is recognised without hashing again. */
  readonly recall: boolean
  /** The thread for long reads: its file, and what it is given at start (the database's path). */
  readonly reads?: { readonly file: URL; readonly workerData: unknown }
  /** DNS servers that are asked about senders; those of the system where absent. */
  readonly dnsServers?: readonly string[]
}

export interface Pools {
  readonly passwords: Passwords
  /** Security keys, signed profiles, QR codes. */
  readonly keys: Pool<KeyTasks>
  readonly patterns: Patterns
  /** Where mail comes from. */
  readonly verify: Pool<VerifyTasks>
  /** Long reads; absent where no file was given. */
  readonly reads: Pool<TaskTable> | undefined
  /** Refuses what waits, kills what runs. For the end of the service, when nobody waits for an answer any more. */
  close(): Promise<void>
}

/** Makes the pools. No thread starts before the first task. */
export function makePools(options: PoolsOptions): Pools {
  const { log, metrics, threads } = options
  const make = <Tasks extends object>(form: Omit<PoolForm, 'log' | 'metrics'>) => {
    return new Pool<Tasks>({ ...form, log, metrics })
  }
  const { pool } = limits
  const passwords = make<PasswordTasks>({
    name: 'password',
    file: threadFile('password'),
    threads: threads?.passwordThreads || availableParallelism(),
    queueLengthMax: pool.passwordQueueMax,
    laneLengthMax: pool.passwordLaneMax,
    deadlineMs: pool.passwordMs,
  })
  const keys = make<KeyTasks>({
    name: 'key',
    file: threadFile('key'),
    threads: 1,
    queueLengthMax: pool.keyQueueMax,
    deadlineMs: pool.keyMs,
  })
  const patterns = make<PatternTasks>({
    name: 'pattern',
    file: threadFile('pattern'),
    threads: threads?.patternThreads ?? 1,
    queueLengthMax: pool.patternQueueMax,
    deadlineMs: pool.patternMs,
    heapMib: pool.patternHeapMib,
  })
  const verify = make<VerifyTasks>(verifyForm(options.dnsServers ?? []))
  const reads =
    options.reads === undefined
      ? undefined
      : make<TaskTable>({
          name: 'read',
          ...options.reads,
          threads: threads?.readThreads ?? 1,
          queueLengthMax: pool.readQueueMax,
          deadlineMs: pool.readMs,
        })
  return {
    passwords: new Passwords(passwords, new Recall({ enabled: options.recall })),
    keys,
    patterns: {
      run: (task, run) => patterns.run('match', task, run),
      each: (task, run) => patterns.run('each', task, run),
    },
    ...{ verify, reads },
    close: async () => {
      await Promise.all([passwords.close(), keys.close(), patterns.close(), verify.close(), reads?.close()])
    },
  }
}

function verifyForm(servers: readonly string[]): Omit<PoolForm, 'log' | 'metrics'> {
  const { concurrency, queueMax: queueLengthMax, taskMs: deadlineMs } = limits.verify
  const file = threadFile('verify')
  return { name: 'verify', file, threads: 1, concurrency, queueLengthMax, deadlineMs, workerData: { servers } }
}

export interface Patterns {
  /** For each text, which patterns match it. @throws Fault Overloaded, TimedOut, InputValidationError */
  run(task: PatternTasks['match']['input'], options?: RunOptions): Promise<PatternTasks['match']['value']>
  /** Whether each pattern matches one of its own texts; `marks` tells how far it came. @throws the same */
  each(task: PatternTasks['each']['input'], options?: RunOptions): Promise<PatternTasks['each']['value']>
}

interface PoolForm {
  readonly name: string
  readonly file: URL
  readonly threads: number
  /** Tasks at once on one thread, for those that wait more than they work; all of them go with a thread that is killed. */
  readonly concurrency?: number
  readonly queueLengthMax: number
  /** Waiting tasks of one lane. */
  readonly laneLengthMax?: number
  readonly deadlineMs: number
  readonly workerData?: unknown
  /** Heap of one thread. */
  readonly heapMib?: number
  readonly log: Log
  readonly metrics: Metrics | undefined
}

interface Job {
  readonly name: string
  readonly input: unknown
  readonly deadlineMs: number
  /** Settles the caller's promise, once, and forgets timer and signal. */
  finish(result: Result, settle: () => void): void
  resolve(value: unknown): void
  reject(error: unknown): void
  finished: boolean
}

type Result = 'ok' | 'fault' | 'overloaded' | 'late' | 'left' | 'error'

/** Threads of one kind behind one finite queue. Piscina's own queue is not used: it has no bound where tasks can be aborted. */
export class Pool<Tasks extends object> {
  readonly #form: PoolForm
  readonly #threads: Thread[]
  readonly #turns = new Turns<Job>()
  #closed = false

  constructor(form: PoolForm) {
    this.#form = form
    this.#threads = Array.from({ length: form.threads }, () => new Thread(form))
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#turns.size
  }

  /**
   * Runs the task of that name on a thread.
   *
   * @throws Fault Overloaded, TimedOut, Stopping, whatever the task refuses with, or the signal's reason
   */
  run<Name extends keyof Tasks & string>(
    name: Name,
    input: Tasks[Name] extends { input: infer Input } ? Input : never,
    options: RunOptions = {},
  ): Promise<Tasks[Name] extends { value: infer Value } ? Value : never> {
    return new Promise((resolve, reject) => {
      const job = this.#job(name, input, options, resolve as (value: unknown) => void, reject)
      if (job === undefined) return
      this.#turns.add(pathOf(options.lane), job)
      if (this.#turns.size > this.#form.queueLengthMax) this.#shed()
      this.#next()
    })
  }

  /** Refuses what waits and kills what runs. */
  async close(): Promise<void> {
    this.#closed = true
    for (const job of this.#turns.all()) job.finish('left', () => job.reject(new Fault('Stopping')))
    await Promise.all(this.#threads.map(thread => thread.stop()))
  }

  #job(
    name: string,
    input: unknown,
    options: RunOptions,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ): Job | undefined {
    const { signal, deadlineMs = this.#form.deadlineMs } = options
    const asked = monotonic()
    const count = (result: Result) => {
      this.#form.metrics?.poolTasks.labels(this.#form.name, result).inc()
      this.#form.metrics?.poolSeconds.labels(this.#form.name).observe((monotonic() - asked) / 1000)
    }
    const refusal = this.#refusal(pathOf(options.lane), signal)
    if (refusal !== undefined) {
      count(refusal instanceof Fault && refusal.code === 'Overloaded' ? 'overloaded' : 'left')
      reject(refusal)
      return undefined
    }
    const leave = () => job.finish('left', () => reject(signal?.reason))
    const timer = after(deadlineMs, () => {
      if (this.#turns.has(job)) job.finish('late', () => reject(new Fault('TimedOut')))
    })
    const job: Job = {
      ...{ name, input, deadlineMs, resolve, reject, finished: false },
      finish: (result, settle) => {
        if (job.finished) return
        job.finished = true
        timer.cancel()
        signal?.removeEventListener('abort', leave)
        this.#turns.remove(job)
        count(result)
        settle()
      },
    }
    signal?.addEventListener('abort', leave, { once: true })
    return job
  }

  #refusal(lane: readonly string[], signal: AbortSignal | undefined): unknown {
    if (this.#closed) return new Fault('Stopping')
    if (signal?.aborted) return signal.reason
    const full = this.#turns.sizeOf(lane) >= (this.#form.laneLengthMax ?? Infinity)
    return full ? new Fault('Overloaded') : undefined
  }

  /** One too many: the branch that has most waiting loses its newest, whoever came last. */
  #shed(): void {
    const job = this.#turns.longest()
    job?.finish('overloaded', () => job.reject(new Fault('Overloaded')))
  }

  /** Gives waiting tasks to free threads, a lane at a time. */
  #next(): void {
    while (this.#turns.size > 0 && !this.#closed) {
      const thread =
        this.#threads.find(candidate => candidate.free && candidate.started) ?? this.#threads.find(({ free }) => free)
      if (thread === undefined) return
      const job = this.#turns.take()
      if (job === undefined) return
      void this.#give(thread, job)
    }
  }

  async #give(thread: Thread, job: Job): Promise<void> {
    try {
      const answer = (await thread.run(job)) as Answer<unknown>
      const value = settled(answer)
      job.finish('ok', () => job.resolve(value))
    } catch (error) {
      const fault = error instanceof Fault
      const result = !fault
        ? 'error'
        : error.code === 'TimedOut'
          ? 'late'
          : error.code === 'Stopping'
            ? 'left'
            : 'fault'
      job.finish(result, () => job.reject(error))
    }
    this.#next()
  }
}

function pathOf(lane: string | readonly string[] = ''): readonly string[] {
  return typeof lane === 'string' ? [lane] : lane
}

/** One thread, started when it is needed: a Piscina of one, so that we know whose time it takes. */
class Thread {
  readonly #form: PoolForm
  #piscina: Piscina | undefined
  #up: Promise<unknown> | undefined
  #idle: Timer | undefined
  #stopped = false
  #running = 0

  constructor(form: PoolForm) {
    this.#form = form
  }

  get started(): boolean {
    return this.#piscina !== undefined
  }

  get free(): boolean {
    return this.#running < (this.#form.concurrency ?? 1)
  }

  /** Runs one task; the deadline counts from the moment the thread is up. */
  async run({ name, input, deadlineMs }: Job): Promise<unknown> {
    const piscina = this.#piscina ?? this.#start()
    this.#running += 1
    this.#idle?.cancel()
    const stop = new AbortController()
    const shared = this.#form.concurrency !== undefined
    let timer: Timer | undefined
    try {
      await within(limits.pool.startMs, this.#up ?? Promise.resolve(), () => new Error('the thread does not start'))
      timer = after(deadlineMs, () => {
        if (shared) return void this.#letGo()
        this.#replace(piscina)
        stop.abort()
      })
      // A task that can be aborted has a thread for itself.
      return await piscina.run(input, shared ? { name } : { name, signal: stop.signal })
    } catch (error) {
      throw this.#failure(error, stop.signal.aborted || (shared && this.#piscina !== piscina))
    } finally {
      timer?.cancel()
      this.#running -= 1
      if (this.#running === 0) this.#idle = after(limits.pool.idleMs, () => void this.#letGo())
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#idle?.cancel()
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
      ...(threadOptions === undefined ? {} : { execArgv: [...threadOptions] }),
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
