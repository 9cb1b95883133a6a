// The one place that knows what time it is and that sets timers.
//
// Everything else asks here, so that a test can move the whole service's wall clock (`shiftClock`) instead of
// waiting for a window to end. Threads share that number with whoever started them, so they are moved along. Timers run on
// real time and never keep the process alive by themselves.

import { detach } from './process/background.ts'

/** By how much the wall clock is moved, was moved on in all, and is corrected: numbers in memory that the threads of this process share. */
let shift = new Float64Array(new SharedArrayBuffer(24))

/** What a thread is given to have the same clock as this one. */
export function clockShift(): Float64Array<SharedArrayBuffer> {
  return shift
}

/** In a thread, before anything else: its clock is that of its owner. */
export function followClock(owned: Float64Array<SharedArrayBuffer>): void {
  shift = owned
}

/** Wall clock, milliseconds since 1970. */
export function now(): number {
  return Date.now() + (shift[0] as number) + (shift[2] as number)
}

/** What is added to the machine's own clock, milliseconds. */
export function clockCorrection(): number {
  return shift[2] as number
}

/**
 * From now on the wall clock of this process is that of another machine.
 *
 * @param time what that clock said (milliseconds since 1970) when asked; the answer came now
 * @param tookMs since it was asked
 * @param mostMs a difference that does not matter, besides what lies in the way of the answer
 * @returns whether it was off by more, and is corrected now
 */
export function correctClock(time: number, tookMs: number, mostMs: number): boolean {
  const off = time - (Date.now() - tookMs / 2)
  if (Math.abs(off - clockCorrection()) <= mostMs + tookMs / 2) return false
  shift[2] = Math.abs(off) <= mostMs ? 0 : Math.round(off)
  return true
}

/** Monotonic clock in milliseconds with a fraction, for durations. Not affected by `shiftClock`. */
export function monotonic(): number {
  return performance.now()
}

/** The same in whole milliseconds, which all threads of the process read alike. */
export function commonMonotonic(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + Math.floor(nanoseconds / 1e6)
}

/** Monotonic clock for how long something is remembered: unlike `monotonic` it goes on with `advanceClock`. */
export function elapsed(): number {
  return performance.now() + (shift[1] as number)
}

/** Moves the wall clock of this process by `ms` (tests only); 0 puts it back. */
export function shiftClock(ms: number): void {
  shift[0] = ms
}

const advanced = new Set<(ms: number) => void>()

/**
 * Moves the wall clock of this process on by `ms` (tests only): whoever waits for a moment looks whether it has come,
 * and what is done every so often is done once where its time has passed. Deadlines of what is under way stay.
 */
export function advanceClock(ms: number): void {
  shift[0] = (shift[0] as number) + ms
  shift[1] = (shift[1] as number) + ms
  for (const listener of [...advanced]) listener(ms)
}

/** Calls `listener` whenever the clock was moved on, until the returned function is called. */
export function onAdvance(listener: (ms: number) => void): () => void {
  advanced.add(listener)
  return () => void advanced.delete(listener)
}

export interface Timer {
  cancel(): void
}

/** Runs `task` once after `ms`. The process may end before that. */
export function after(ms: number, task: () => void): Timer {
  const handle = setTimeout(task, ms)
  handle.unref()
  return { cancel: () => clearTimeout(handle) }
}

/** Runs `task` every `ms` until cancelled. The process may end before that. */
export function every(ms: number, task: () => void): Timer {
  const handle = setInterval(task, ms)
  handle.unref()
  const deaf = onAdvance(passed => {
    if (passed >= ms) task()
  })
  return {
    cancel: () => {
      clearInterval(handle)
      deaf()
    },
  }
}

/** Resolves after `ms`, or rejects with the signal's reason. Keeps the process alive meanwhile, if anything of it does. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(handle)
      reject(signal?.reason)
    }
    const handle = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    detach(handle)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Stops this thread for `ms`: for work of a process of its own that is to leave the machine to others. */
export function halt(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Resolves when everything else that is due has had its turn; for work that comes in slices. */
export function breathe(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** `promise`, or the error that `late` makes when it has not settled within `ms`. */
export function within<T>(ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    // What is known already settles before the loop goes on, and needs no timer.
    const start = setImmediate(() => {
      timer = setTimeout(() => reject(late()), ms)
    })
    const end = () => {
      clearImmediate(start)
      clearTimeout(timer)
    }
    promise.then(
      value => {
        end()
        resolve(value)
      },
      error => {
        end()
        reject(error)
      },
    )
  })
}

/** The longest a timer can wait, milliseconds. */
const longestMs = 2 ** 31 - 1

/** Keeps the process alive until the returned function is called. */
export function hold(): () => void {
  const handle = setInterval(() => {}, longestMs)
  return () => clearInterval(handle)
}

/** What `task` gives, with the process kept alive until then. */
export async function holding<Value>(task: () => Promise<Value>): Promise<Value> {
  const release = hold()
  try {
    return await task()
  } finally {
    release()
  }
}
