// Work that must not run on the main loop, on threads: passwords, security keys and pictures, strangers'
// patterns, long reads, encryption of what arrives. Each pool has its own threads and its own finite queue, so a storm in one cannot hold up another.
//
// Promises: a full queue is Fault('Overloaded') at once; a task that waits or runs past its deadline is
// Fault('TimedOut'), its thread is killed and replaced, and the pool answers again; keys of one pool take turns, so one
// account's storm leaves the others theirs, and what is one too many is taken from whoever has most waiting. Threads start
// with the first task and are let go when nothing came for a while.

import { availableParallelism } from 'node:os'
import { threadFile } from '#lib/build-info.ts'
import { after, monotonic } from '#lib/clock.ts'
import { Fault, type FaultCode } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { PatternTasks } from '#lib/pattern.ts'
import type { PasswordTasks } from '#lib/secret/hash.ts'
import type { KeyTasks } from '#lib/secret/key-tasks.ts'
import { Recall } from '#lib/secret/recall.ts'
import type { SealTasks } from '#mail/crypt/sealing.ts'
import type { VerifyTasks } from '#mail/origin/verification.ts'
import type { PoolReportTask } from '#mail/report/arrived.ts'
import type { PoolBounceTask } from '#mail/report/bounce.ts'
import type { ListZones } from '#mail/spam/standing.ts'
import type { SpamTasks } from '#mail/spam/tasks.ts'
import { Passwords } from './pool/passwords.ts'
import { type PoolTask, PoolThread, type PoolThreadForm } from './pool/thread.ts'
import { type RunOptions, Turns } from './pool/turns.ts'

/** Task name -> what it takes and gives. A thread serves each under its name (lib/process/serve.ts). */
export type TaskTable = Readonly<Record<string, { readonly input: unknown; readonly value: unknown }>>

export interface PoolsOptions {
  readonly log: Log
  readonly metrics?: Metrics
  /** Threads; 0 passwordThreads means one for each processor. */
  readonly threads?: { readonly passwordThreads: number; readonly patternThreads: number; readonly readThreads: number }
  /** Whether a password that was just verified is recognised without hashing again. */
  readonly recall: boolean
  /** The thread for long reads: its file, and what it is given at start (the database's path). */
  readonly reads?: { readonly file: URL; readonly given: unknown }
  /** DNS servers that are asked about senders; those of the system where absent. */
  readonly dnsServers?: readonly string[]
  /** Lists in DNS that are asked about who brings mail. */
  readonly dnsLists?: ListZones
  /** Rounds of hashes of passwords; the standard form's where absent. */
  readonly rounds?: number
  /** Threads come from services of this process that ended, and are left to others (pool/spares.ts): where nothing is kept. */
  readonly spares?: boolean
}

export interface Pools {
  readonly passwords: Passwords
  /** Security keys, signed profiles, QR codes, reports of strangers. */
  readonly keys: Pool<KeyTasks & PoolReportTask & PoolBounceTask>
  readonly patterns: Patterns
  /** Encryption of what is stored. */
  readonly seal: Pool<SealTasks>
  /** Where mail comes from. */
  readonly verify: Pool<VerifyTasks>
  /** What was learned of spam. */
  readonly spam: Pool<SpamTasks>
  /** Long reads; absent where no file was given. */
  readonly reads: Pool<TaskTable> | undefined
  /** Refuses what waits, kills what runs. For the end of the service, when nobody waits for an answer any more. */
  close(): Promise<void>
}

/** Makes the pools. No thread starts before the first task. */
export function makePools(options: PoolsOptions): Pools {
  const { log, metrics, threads, spares = false } = options
  const make = <Tasks extends object>(form: Omit<PoolForm, 'log' | 'metrics'>) =>
    new Pool<Tasks>({ ...form, log, metrics })
  const { pool } = limits
  const passwords = make<PasswordTasks>({
    name: 'password',
    file: threadFile('password'),
    threads: threads?.passwordThreads || availableParallelism(),
    queueLengthMax: pool.passwordQueueMax,
    perKeyMax: pool.passwordsPerKeyMax,
    deadlineMs: pool.passwordMs,
    spares,
  })
  const keys = make<KeyTasks & PoolReportTask & PoolBounceTask>({
    name: 'key',
    file: threadFile('key'),
    threads: 1,
    queueLengthMax: pool.keyQueueMax,
    deadlineMs: pool.keyMs,
    spares,
  })
  const patterns = make<PatternTasks>({
    name: 'pattern',
    file: threadFile('pattern'),
    threads: threads?.patternThreads ?? 1,
    queueLengthMax: pool.patternQueueMax,
    deadlineMs: pool.patternMs,
    ownTime: true,
    heapMib: pool.patternHeapMib,
    spares,
  })
  const seal = make<SealTasks>({ ...sealForm(), spares })
  const verify = make<VerifyTasks>(verifyForm(options.dnsServers ?? [], options.dnsLists))
  const spam = make<SpamTasks>(spamForm(options.reads?.given))
  const reads =
    options.reads === undefined
      ? undefined
      : make<TaskTable>({ ...readForm(), ...options.reads, spares, threads: threads?.readThreads ?? 1 })
  return {
    passwords: new Passwords(hashing(passwords), new Recall({ enabled: options.recall }), options.rounds),
    keys,
    patterns: {
      run: (task, run) => patterns.run('match', task, run),
      each: (task, run) => patterns.run('each', task, run),
    },
    ...{ seal, verify, spam, reads },
    close: async () => {
      await Promise.all([passwords, keys, patterns, seal, verify, spam, reads].map(pool => pool?.close()))
    },
  }
}

function hashing(pool: Pool<PasswordTasks>): ConstructorParameters<typeof Passwords>[0] {
  return {
    hash: (input, options) => pool.run('hash', input, options),
    verify: (input, options) => pool.run('verify', input, options),
  }
}

/** Tasks of several accounts share a thread, one of each account, in slices. */
function readForm(): Omit<PoolForm, 'log' | 'metrics' | 'threads' | 'file'> {
  const { readAccounts, readHeapMib, readQueueMax, readsPerKeyMax, readMs } = limits.pool
  return {
    name: 'read',
    ...{ sharing: true, concurrency: readAccounts, perKeyRunningMax: 1, heapMib: readHeapMib },
    queueLengthMax: readQueueMax,
    ...{ perKeyMax: readsPerKeyMax, perKeyFault: 'TooManyReads' },
    deadlineMs: readMs,
  }
}

function sealForm(): Omit<PoolForm, 'log' | 'metrics'> {
  const { sealQueueMax: queueLengthMax, sealsPerKeyMax: perKeyMax, sealMs: deadlineMs } = limits.pool
  return { name: 'seal', file: threadFile('seal'), threads: 1, queueLengthMax, perKeyMax, deadlineMs }
}

function verifyForm(servers: readonly string[], lists?: ListZones): Omit<PoolForm, 'log' | 'metrics'> {
  const { concurrency, queueMax: queueLengthMax, taskMs: deadlineMs } = limits.verify
  const file = threadFile('verify')
  return { name: 'verify', file, threads: 1, concurrency, queueLengthMax, deadlineMs, given: { servers, lists } }
}

/** Reads the same database as long reads do. */
function spamForm(given: unknown): Omit<PoolForm, 'log' | 'metrics'> {
  const { concurrency, queueMax: queueLengthMax, taskMs: deadlineMs } = limits.spam
  return { name: 'spam', file: threadFile('spam'), threads: 1, concurrency, queueLengthMax, deadlineMs, given }
}

export interface Patterns {
  /** For each text, which patterns match it. @throws Fault Overloaded, TimedOut, InputValidationError */
  run(task: PatternTasks['match']['input'], options?: RunOptions): Promise<PatternTasks['match']['value']>
  /** Whether each pattern matches one of its own texts; `marks` tells how far it came. @throws the same */
  each(task: PatternTasks['each']['input'], options?: RunOptions): Promise<PatternTasks['each']['value']>
}

interface PoolForm extends PoolThreadForm {
  readonly threads: number
  readonly queueLengthMax: number
  /** Waiting tasks of one key, and with what more are refused. */
  readonly perKeyMax?: number
  readonly perKeyFault?: FaultCode
  /** Running tasks of one key. */
  readonly perKeyRunningMax?: number
  readonly deadlineMs: number
  readonly metrics: Metrics | undefined
}

interface Job extends PoolTask {
  /** The first name of its key. */
  readonly branch: string
  /** Settles the caller's promise, once, and forgets timer and signal. */
  finish(result: Result, settle: () => void): void
  resolve(value: unknown): void
  reject(error: unknown): void
  finished: boolean
}

type Result = 'ok' | 'fault' | 'overloaded' | 'late' | 'left' | 'error'

/** Threads of one kind behind one finite queue. */
export class Pool<Tasks extends object> {
  readonly #form: PoolForm
  readonly #threads: PoolThread[]
  readonly #turns = new Turns<Job>()
  /** First name of a key -> its running tasks. */
  readonly #running = new Map<string, number>()
  #closed = false

  constructor(form: PoolForm) {
    this.#form = form
    this.#threads = Array.from({ length: form.threads }, () => new PoolThread(form))
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
      this.#turns.add(pathOf(options.turnKey), job)
      if (this.#turns.size > this.#form.queueLengthMax) this.#shed()
      this.#next()
    })
  }

  /** Processor time of its threads since they were started, milliseconds; undefined where none is up, or nobody can tell. */
  async processorMs(): Promise<number | undefined> {
    const each = (await Promise.all(this.#threads.map(thread => thread.processorMs()))).filter(ms => ms !== undefined)
    return each.length === 0 ? undefined : each.reduce((sum, ms) => sum + ms, 0)
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
    const refusal = this.#refusal(pathOf(options.turnKey), signal)
    if (refusal !== undefined) {
      count(refusal instanceof Fault && refusal.code === 'Overloaded' ? 'overloaded' : 'left')
      reject(refusal)
      return undefined
    }
    const leave = () => job.finish('left', () => reject(signal?.reason))
    const patience = this.#form.ownTime === true ? limits.pool.starvedFactor : 1
    const timer = after(options.waitMs ?? deadlineMs * patience, () => {
      if (this.#turns.has(job)) job.finish('late', () => reject(new Fault('TimedOut')))
    })
    const job: Job = {
      ...{ name, input, branch: pathOf(options.turnKey)[0] ?? '', deadlineMs, resolve, reject, finished: false },
      stop: new Int32Array(new SharedArrayBuffer(4)),
      finish: (result, settle) => {
        if (job.finished) return
        job.finished = true
        Atomics.store(job.stop, 0, 1)
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

  #refusal(turnKey: readonly string[], signal: AbortSignal | undefined): unknown {
    if (this.#closed) return new Fault('Stopping')
    if (signal?.aborted) return signal.reason
    const full = this.#turns.sizeOf(turnKey) >= (this.#form.perKeyMax ?? Infinity)
    return full ? new Fault(this.#form.perKeyFault ?? 'Overloaded') : undefined
  }

  /** One too many: the branch that has most waiting loses its newest, whoever came last. */
  #shed(): void {
    const job = this.#turns.longest()
    job?.finish('overloaded', () => job.reject(new Fault('Overloaded')))
  }

  /** Gives waiting tasks to free threads, a key at a time. */
  #next(): void {
    const { perKeyRunningMax = Infinity } = this.#form
    while (this.#turns.size > 0 && !this.#closed) {
      const thread = this.#freest()
      if (thread === undefined) return
      const job = this.#turns.take(branch => (this.#running.get(branch) ?? 0) < perKeyRunningMax)
      if (job === undefined) return
      void this.#give(thread, job)
    }
  }

  #freest(): PoolThread | undefined {
    const load = (thread: PoolThread) => thread.running * 2 + (thread.started ? 0 : 1)
    let best: PoolThread | undefined
    for (const thread of this.#threads) {
      if (thread.free && (best === undefined || load(thread) < load(best))) best = thread
    }
    return best
  }

  #count(branch: string, change: 1 | -1): void {
    const running = (this.#running.get(branch) ?? 0) + change
    if (running === 0) this.#running.delete(branch)
    else this.#running.set(branch, running)
  }

  async #give(thread: PoolThread, job: Job): Promise<void> {
    this.#count(job.branch, 1)
    try {
      const value = await thread.run(job)
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
    this.#count(job.branch, -1)
    this.#next()
  }
}

function pathOf(turnKey: string | readonly string[] = ''): readonly string[] {
  return typeof turnKey === 'string' ? [turnKey] : turnKey
}
