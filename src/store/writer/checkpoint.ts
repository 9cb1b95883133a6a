// Copying the write-ahead log back into the database.
//
// Done by the writer it takes a seventh of its time, half of that waiting for the disk, and everybody waits with it. So a
// thread of its own (workers/checkpoint.ts) copies what there is while the writer goes on, and the writer the little that
// has come since; then the log begins anew (bench/NOTES.md, Writer). SQLite syncs the database only in a pass that reaches
// the end of the log, so that stays with the writer.

import { threadFile } from '#lib/build-info.ts'
import { isPassing } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import { Thread } from '#lib/process/thread.ts'
import { copyBack, framesOf, type Handle, isRefusedByDisk, type Sql } from '../engine/sqlite/handle.ts'

/** What the thread is at: a number that it shares with the writer. */
export const copying = { idle: 0, busy: 1, done: 2, closed: 3 } as const

export interface CheckpointData {
  readonly file: string
  readonly state: Int32Array<SharedArrayBuffer>
  /** Its folder is thrown away: nothing is synced. */
  readonly passing: boolean
}

/** Batches between two looks at the length of the log; while nobody waits it is looked at sooner. */
const looks = { idle: 8, busy: 16 }

/** The writer's end. The thread starts when it is first needed. */
export class Checkpoints {
  readonly #handle: Handle
  readonly #sql: Sql
  readonly #file: string
  readonly #state = new Int32Array(new SharedArrayBuffer(4))
  #thread: Thread | undefined
  #batches = 0
  /** Why the log could not be copied back the last time; undefined where it could. */
  failure: string | undefined

  constructor(handle: Handle, sql: Sql, file: string) {
    this.#handle = handle
    this.#sql = sql
    this.#file = file
  }

  /** To be called between two batches. `idle`: nobody waits for the next. */
  look(idle: boolean): void {
    if (this.#at() === copying.done) {
      this.#copyBack('PASSIVE')
      Atomics.store(this.#state, 0, copying.idle)
    }
    this.#batches += 1
    if (this.#batches < (idle ? looks.idle : looks.busy)) return
    this.#batches = 0
    const log = framesOf(this.#sql)
    if (this.#at() === copying.idle && log >= limits.writer.checkpointPages) this.#copy()
    if (this.#at() === copying.busy && log >= limits.writer.logPagesMax) this.#wait(copying.busy)
  }

  /** Ends the thread and cuts the log. */
  end(): void {
    if (this.#thread !== undefined) {
      void this.#thread.close()
      for (let state = this.#at(); state !== copying.closed; state = this.#at()) if (!this.#wait(state)) break
    }
    this.#copyBack('TRUNCATE')
  }

  /** Where the disk does not take what the log holds it stays, until the next try or the next start: nothing is lost meanwhile. */
  #copyBack(mode: 'PASSIVE' | 'TRUNCATE'): void {
    try {
      copyBack(this.#handle, mode)
      this.failure = undefined
    } catch (error) {
      if (!isRefusedByDisk(error)) throw error
      this.failure = String(error)
    }
  }

  #at(): number {
    return Atomics.load(this.#state, 0)
  }

  /** Whether the thread came away from `state` in time. */
  #wait(state: number): boolean {
    return Atomics.wait(this.#state, 0, state, limits.writer.checkpointMs) !== 'timed-out'
  }

  #copy(): void {
    this.#thread ??= this.#start()
    Atomics.store(this.#state, 0, copying.busy)
    this.#thread.send('copy', null)
  }

  #start(): Thread {
    const given: CheckpointData = { file: this.#file, state: this.#state, passing: isPassing(this.#file) }
    const thread = new Thread({ file: threadFile('checkpoint'), given })
    // A thread that could not start, or died: what it was to copy is copied here, and the next time it starts anew.
    void thread.gone.then(() => {
      if (this.#thread !== thread) return
      this.#thread = undefined
      Atomics.compareExchange(this.#state, 0, copying.busy, copying.done)
    })
    return thread
  }
}
