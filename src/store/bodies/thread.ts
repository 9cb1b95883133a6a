// The main-thread end of the thread that reads ahead (workers/body.ts): while one slice of a long answer goes out, the next
// ones are read and unpacked elsewhere, which leaves the main loop a third of the work and everybody else their turn.
//
// Nobody depends on it. It starts when somebody asks for the first time, and until it is up, while it is busy with others,
// after it failed and when it takes too long, the answer is that there is none: whoever asked reads for himself. One that
// failed or took too long is not started again for a while. It holds nothing and is let go when nothing came for a while.

import { threadFile } from '#lib/build-info.ts'
import { after, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { Thread } from '#lib/process/thread.ts'
import { type Place, placeOf } from '../folder/place.ts'
import { BodyRun, type PackedRun } from './format/run.ts'

/** Milliseconds. */
const expectMs = 20

export class BodyThread {
  readonly #place: Place
  readonly #log: Log | undefined
  #thread: Thread | undefined
  #up = false
  #closed = false
  /** Until then none is started (monotonic). */
  #notBefore = 0
  #asked = 0
  #starting: Timer | undefined
  #idle: Timer | undefined
  #late: Timer | undefined

  constructor(place: Place, log?: Log) {
    this.#place = place
    this.#log = log
  }

  /** Starts the thread, if there is none, in a moment: what is being answered now goes first. */
  expect(): void {
    if (this.#thread !== undefined || this.#starting !== undefined) return
    this.#starting = after(expectMs, () => {
      this.#starting = undefined
      this.#start()
    })
  }

  /** Small bodies without parts; undefined where whoever asks had better read them himself. */
  async read(nums: readonly number[]): Promise<BodyRun | undefined> {
    this.#start()
    const thread = this.#up ? this.#thread : undefined
    if (thread === undefined || this.#asked >= limits.body.aheadMax) return undefined
    this.#idle?.cancel()
    if (this.#asked === 0) this.#watch(thread)
    this.#asked += 1
    // Whoever asked reads for himself and is told what is wrong.
    const run = await thread.ask<PackedRun>('read', nums).catch(() => undefined)
    if (thread === this.#thread) this.#answered(thread)
    return run === undefined ? undefined : BodyRun.from(run)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#letGo()
  }

  /** Where there is none and may be one. */
  #start(): void {
    if (this.#closed || this.#thread !== undefined || monotonic() < this.#notBefore) return
    const thread = new Thread({ file: threadFile('body'), given: placeOf(this.#place) })
    this.#thread = thread
    const failed = (error: unknown) => {
      if (thread === this.#thread) this.#fail(error)
    }
    // It cannot open the database, or runs out of memory later.
    thread.up.then(() => {
      if (thread === this.#thread) this.#up = true
    }, failed)
    void thread.gone.then(() => failed(thread.failure))
    this.#rest()
  }

  #fail(error: unknown): void {
    this.#log?.warn({ error }, 'the thread that reads ahead failed')
    this.#notBefore = monotonic() + limits.pool.idleMs
    void this.#letGo()
  }

  #answered(thread: Thread): void {
    this.#asked -= 1
    this.#late?.cancel()
    if (this.#asked === 0) this.#rest()
    else this.#watch(thread)
  }

  /** Every answer must come soon after the one before. */
  #watch(thread: Thread): void {
    this.#late = after(limits.body.aheadMs, () => {
      if (thread === this.#thread) this.#fail(new Fault('TimedOut'))
    })
  }

  #rest(): void {
    this.#idle?.cancel()
    this.#idle = after(limits.pool.idleMs, () => void this.#letGo())
  }

  async #letGo(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    this.#up = false
    this.#asked = 0
    this.#starting?.cancel()
    this.#starting = undefined
    this.#idle?.cancel()
    this.#late?.cancel()
    // None of those who asked is told that it failed: they are told to read for themselves.
    await thread?.end()
  }
}
