// The owner's end of a thread: starts it, asks it, ends it. The one way in which threads are started (workers/), whoever
// needs one: pools, the writer, the checkpoint, the thread that reads ahead.
//
// Promises: a request has its answer, or an error when the thread dies or is ended first; a thread is never ended while it
// loads what is native (native.ts); one that is idle does not keep the process. Who may ask how much, and how long a task may
// take, is for the owner to say (src/pool.ts).

import { isMainThread, type Transferable, Worker } from 'node:worker_threads'
import { threadOptions } from '../build-info.ts'
import { after, clockShift } from '../clock.ts'
import { limits } from '../limits.ts'
import { detach } from './background.ts'
import { memoryIsScarce } from './memory.ts'
import { mayEnd, newGate } from './native.ts'
import { type Answer, type Close, type Reply, type Request, settled, type ThreadData } from './task.ts'

/** Whether this code runs in no thread of its own. */
export const isHome = isMainThread

export interface ThreadForm {
  readonly file: URL
  /** What the thread is given at its start. */
  readonly given?: unknown
  readonly heapMib?: number | undefined
  /** Bound of the young part of its heap: a third of it is what is copied in one go at most. */
  readonly youngMib?: number
  /** Keeps the process for as long as it lives. */
  readonly lasting?: boolean
  /** Takes all answers: for an owner that sends (`send`) and settles them itself. */
  readonly onReply?: (id: number, answer: Answer) => void
}

/** What a request is told when its thread was ended. */
export class ThreadEnded extends Error {}

interface Asked {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** Young part of a thread's heap where memory is scarce: the engine's own choice would be sixteen times as much. */
const scarceYoungMib = 3

/** How often it is looked whether a thread has loaded what it loads, milliseconds. */
const lookMs = 2

export class Thread {
  /** What its start came to. @throws the fault or the error that it failed with */
  readonly up: Promise<unknown>
  /** Resolves when there is no thread any more. */
  readonly gone: Promise<void>
  readonly #form: ThreadForm
  readonly #worker: Worker
  readonly #gate = newGate()
  readonly #asked = new Map<number, Asked>()
  #last = 0
  #ended = false
  #exited = false
  #failure: unknown

  constructor(form: ThreadForm) {
    const { file, given, heapMib, youngMib = memoryIsScarce() ? scarceYoungMib : undefined } = form
    this.#form = form
    this.#worker = new Worker(file, {
      workerData: { gate: this.#gate, clock: clockShift(), given } satisfies ThreadData,
      execArgv: [...threadOptions],
      resourceLimits: {
        ...(heapMib !== undefined && { maxOldGenerationSizeMb: heapMib }),
        ...(youngMib !== undefined && { maxYoungGenerationSizeMb: youngMib }),
      },
    })
    this.up = new Promise((resolve, reject) => this.#asked.set(0, { resolve, reject }))
    // Whoever waits for it hears of it; nobody may do so yet.
    this.up.catch(() => {})
    this.gone = new Promise(resolve => this.#worker.once('exit', () => resolve()))
    this.#worker.on('message', ({ id, ...answer }: Reply) => this.#settle(id, answer))
    this.#worker.once('error', error => this.#leave(error))
    this.#worker.once('exit', () => {
      this.#exited = true
      this.#leave(this.#failure ?? new Error('the thread ended by itself'))
    })
    // After the listeners, which attach it.
    detach(this.#worker)
  }

  /** Whether it takes no requests any more. */
  get ended(): boolean {
    return this.#ended
  }

  /** What it died of; undefined while it lives and where it was ended or closed. */
  get failure(): unknown {
    return this.#failure
  }

  /** Runs a task. @throws its fault or error, ThreadEnded, or what the thread died of */
  ask<Value>(task: string, input: unknown, memory: readonly Transferable[] = []): Promise<Value> {
    if (this.#ended) return Promise.reject(this.#failure ?? new ThreadEnded())
    return new Promise<Value>((resolve, reject) => {
      const id = this.send(task, input, memory)
      if (this.#asked.size === 0) this.#worker.ref()
      this.#asked.set(id, { resolve, reject })
    })
  }

  /** Sends a request whose answer nobody waits for, or `onReply` sees; gives its number. */
  send(task: string, input: unknown, memory: readonly Transferable[] = []): number {
    const id = ++this.#last
    this.#worker.postMessage({ id, task, input } satisfies Request, [...memory])
    return id
  }

  /** Processor time it has had, milliseconds; undefined where the runtime does not tell (Node before 22.20) or it has ended. */
  async processorMs(): Promise<number | undefined> {
    try {
      const { user, system } = await this.#worker.cpuUsage()
      return (user + system) / 1000
    } catch {
      return undefined
    }
  }

  /** Lets it do what it was sent, then end. */
  close(): Promise<void> {
    this.#ended = true
    this.#worker.postMessage({ close: true } satisfies Close)
    return this.gone
  }

  /** Ends it, whatever it does: requests are told at once. One that never comes up is left to itself after a while. */
  async end(): Promise<void> {
    this.#ended = true
    this.#refuse(new ThreadEnded('the thread was ended'))
    let waited = 0
    while (!this.#exited && !mayEnd(this.#gate) && waited < limits.pool.startMs) {
      await Promise.race([this.gone, new Promise<void>(resolve => after(lookMs, resolve))])
      waited += lookMs
    }
    if (waited < limits.pool.startMs) await this.#worker.terminate()
    else this.#worker.unref()
  }

  #settle(id: number, answer: Answer): void {
    this.#form.onReply?.(id, answer)
    const asked = this.#asked.get(id)
    if (asked === undefined) return
    this.#asked.delete(id)
    if (this.#asked.size === 0 && this.#form.lasting !== true) this.#worker.unref()
    try {
      asked.resolve(settled(answer) as never)
    } catch (error) {
      asked.reject(error)
    }
  }

  #leave(error: unknown): void {
    if (!this.#ended) this.#failure = error
    this.#ended = true
    this.#refuse(error)
  }

  #refuse(error: unknown): void {
    const asked = [...this.#asked.values()]
    this.#asked.clear()
    for (const { reject } of asked) reject(error)
  }
}
