// The thread's end of a thread: takes requests, runs the task of that name, says what came of it.
//
// A thread is a file in workers/ that calls `serve` with its tasks; one that orders its requests itself (the writer) uses
// `threadEnd`. Where several tasks share a thread, `sharing` gives each slices, so that all of them come along and one that
// nobody waits for ends. What `open` loads and opens is there before the thread may be ended.

import { type MessagePort, parentPort, receiveMessageOnPort, type Transferable, workerData } from 'node:worker_threads'
import { breathe, followClock, monotonic } from '../clock.ts'
import { Fault } from '../fault.ts'
import { limits } from '../limits.ts'
import type { Slices } from '../pace.ts'
import type { Lodge } from './lodging.ts'
import { beginStart, endStart } from './native.ts'
import { type Answer, type Close, type Reply, type Request, refusal, type Shared, type ThreadData } from './task.ts'

type Task = (input: never) => unknown

/** A value whose memory goes along. */
class Transferred {
  readonly value: unknown
  readonly memory: readonly Transferable[]

  constructor(value: unknown, memory: readonly Transferable[]) {
    this.value = value
    this.memory = memory
  }
}

/** For a task: gives `value`, and the memory of it that is named away. */
export function transferring<Value>(value: Value, memory: readonly Transferable[]): Value {
  return new Transferred(value, memory) as unknown as Value
}

export interface ThreadEnd<Given> {
  readonly port: MessagePort
  readonly given: Given
  /** A request that has come though the loop has not been round; undefined where there is none. */
  receive(): unknown
  /** To be called once: `open` has run, or failed, when the owner hears of it. Gives whether it is up. */
  start(open?: () => unknown): boolean
  reply(id: number, answer: Answer): void
}

/** This thread, as its owner started it. */
export function threadEnd<Given = unknown>(): ThreadEnd<Given> {
  const port = parentPort
  if (port === null) throw new Error('this file is a thread')
  const { gate, clock, given } = workerData as ThreadData
  followClock(clock)
  beginStart(gate)
  return endAt(port, given as Given, endStart)
}

/** A thread that several share (lodging.ts): `begin` gets an end for each who comes. */
export function lodgings<Given>(end: ThreadEnd<unknown>, begin: (end: ThreadEnd<Given>) => void): void {
  let started = false
  end.port.on('message', (message: Request<'lodge', Lodge> | Close) => {
    if ('close' in message) return void end.port.close()
    const { port, given } = message.input
    const open = () => begin(endAt(port, given as Given))
    // The first one loads what is native.
    if (started) open()
    else end.start(open)
    started = true
  })
}

function endAt<Given>(port: MessagePort, given: Given, started = () => {}): ThreadEnd<Given> {
  const reply = (id: number, answer: Answer) => post(port, id, answer)
  return {
    port,
    given,
    receive: () => receiveMessageOnPort(port)?.message,
    reply,
    start: open => {
      try {
        reply(0, { value: open?.() })
        return true
      } catch (error) {
        reply(0, refusal(error))
        return false
      } finally {
        started()
      }
    },
  }
}

/** Answers requests by these tasks, each begun when its request has come. `close` runs before the thread ends. */
export function serve<Given>(
  tasks: Readonly<Record<string, Task>>,
  { end = threadEnd<Given>(), open, close }: { end?: ThreadEnd<Given>; open?: () => unknown; close?: () => void } = {},
): void {
  const { port, reply } = end
  port.on('message', (message: Request | Close) => {
    if (!('close' in message)) return void answer(tasks, message, reply)
    close?.()
    port.close()
  })
  if (!end.start(open)) port.close()
}

async function answer(
  tasks: Readonly<Record<string, Task>>,
  { id, task, input }: Request,
  reply: (id: number, answer: Answer) => void,
): Promise<void> {
  try {
    const run = tasks[task]
    if (run === undefined) throw new Error(`this thread has no task ${task}`)
    reply(id, { value: await run(input as never) })
  } catch (error) {
    reply(id, refusal(error))
  }
}

function post(port: MessagePort, id: number, answer: Answer): void {
  if ('value' in answer && answer.value instanceof Transferred) {
    port.postMessage({ id, value: answer.value.value } satisfies Reply, [...answer.value.memory])
    return
  }
  try {
    port.postMessage({ id, ...answer } satisfies Reply)
  } catch (error) {
    // It holds what cannot cross, as errors of libraries sometimes do.
    const what = 'error' in answer ? answer.error : error
    port.postMessage({ id, error: new Error(String((what as Error | undefined)?.message ?? what)) } satisfies Reply)
  }
}

/** A task that works in slices: it may throw from `turn`, and what it then answers nobody hears. */
export function sharing<Input, Value>(
  task: (input: Input, slices: Slices) => Value | Promise<Value>,
): (shared: Shared<Input>) => Promise<Value> {
  return async ({ input, stop }) => {
    const slices = new ThreadSlices(stop)
    // Those that are under way already come first.
    await slices.turn()
    return task(input, slices)
  }
}

/** Tasks of one thread take turns simply by letting its loop go. */
class ThreadSlices implements Slices {
  readonly #stop: Int32Array
  #since = 0

  constructor(stop: Int32Array) {
    this.#stop = stop
  }

  get spent(): boolean {
    return monotonic() - this.#since >= limits.pace.threadMs
  }

  async turn(): Promise<void> {
    await breathe()
    if (Atomics.load(this.#stop, 0) !== 0) throw new Fault('Stopping')
    this.#since = monotonic()
  }
}
