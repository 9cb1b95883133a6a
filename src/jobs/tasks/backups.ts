// Backups that come by themselves: a point every so often into the folder of the configuration, taken on a thread of its own.
//
// When one is due is seen from the newest point, so that a start of the service brings none too early and none too late. One
// that failed is told and tried again after a while; the service goes on.

import { threadFile } from '#lib/build-info.ts'
import { elapsed, every, now, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { Thread } from '#lib/process/thread.ts'
import { listPoints } from '#store/upkeep/points.ts'

export interface BackupOptions {
  readonly dataDir: string
  /** Where they are kept, how many, and how often one is taken (milliseconds). */
  readonly folder: string
  readonly keep: number
  readonly every: number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'observe'>
}

export class Backups {
  readonly #options: BackupOptions
  readonly #timer: Timer
  #running: Promise<void> | undefined
  /** It was to be looked while one was under way. */
  #again = false
  #thread: Thread | undefined
  /** When the newest was taken; undefined before it was looked. */
  #last: number | undefined
  #restUntil = 0
  /** One is to be taken whether it is due or not. */
  #wanted = false
  #failed: { readonly at: number; readonly reason: string } | undefined
  #closed = false

  constructor(options: BackupOptions) {
    this.#options = options
    options.metrics.observe('backup_age_seconds', 'Age of the newest backup; -1 where there is none', () => {
      return this.#last === undefined || this.#last === 0 ? -1 : Math.max(0, now() - this.#last) / 1000
    })
    this.#timer = every(limits.backup.lookMs, () => this.look())
    this.look()
  }

  /** Whether one is being taken. */
  get running(): boolean {
    return this.#wanted || this.#thread !== undefined
  }

  /** When the last attempt failed, and why; undefined where it did not. */
  get failed(): { readonly at: number; readonly reason: string } | undefined {
    return this.#failed
  }

  /** Takes one now, in the background; where one is being taken that one will do. */
  take(): void {
    if (this.running) return
    this.#wanted = true
    this.#restUntil = 0
    this.look()
  }

  /** Takes one where it is due. */
  look(): void {
    if (this.#closed || elapsed() < this.#restUntil) return
    if (this.#running !== undefined) {
      this.#again = true
      return
    }
    this.#running = this.#round().finally(() => {
      this.#running = undefined
      const again = this.#again
      this.#again = false
      if (again) this.look()
    })
  }

  /** Breaks one off that is under way: the next goes on with what is there. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer.cancel()
    await this.#thread?.end()
    await this.#running
  }

  async #round(): Promise<void> {
    const { dataDir, folder, keep, every: intervalMs, log } = this.#options
    try {
      const [newest] = await listPoints(folder)
      this.#last = newest === undefined ? 0 : Date.parse(newest.created)
      const at = now()
      const age = at - this.#last
      // One from times to come was taken while the clock was wrong: how old it is nobody knows.
      const isDue = age >= intervalMs || age < -limits.backup.lookMs
      if ((!isDue && !this.#wanted) || this.#closed) return
      this.#wanted = false
      this.#thread = new Thread({ file: threadFile('backup') })
      const taken = await this.#thread.ask<object>('take', { dataDir, folder, keep, at })
      this.#last = at
      this.#failed = undefined
      log.info(taken, 'took a backup')
    } catch (error) {
      if (this.#closed) return
      this.#restUntil = elapsed() + limits.backup.restMs
      this.#failed = { at: now(), reason: error instanceof Error ? error.message : String(error) }
      log.error({ error, folder }, 'no backup could be taken')
    } finally {
      await this.#thread?.end()
      this.#thread = undefined
    }
  }
}
