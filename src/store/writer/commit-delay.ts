// Where a sync takes milliseconds: whether the writer waits for company before it begins the next transaction.
//
// Who has just been answered often sends more at once, yet too late for the transaction that begins at that moment: half of
// 16 senders share one sync, the other half the next. So they are waited for, as long as a sync at most (bench/NOTES.md,
// Writer). Who does not come back so soon is not waited for again for a while; where syncs are quick nobody is.

import { limits } from '#lib/limits.ts'
import type { Arrivals, Batch } from './inbox.ts'

/** Slow commits in a row that make a slow disk: one alone does not. */
const slowInARow = 4

/** Commits after a wait in vain before the next wait. */
const rest = 16

/** Share of those waited for that makes a wait worth it. */
const enough = 0.75

export class CommitDelay {
  #slow = 0
  /** What the last commit took, milliseconds. */
  #took = 0
  /** Units that are here soon if everybody comes back. */
  #expected = 0
  #until = 0
  #waited = false
  #resting = 0

  /** This transaction has ended at `now`, after a commit that took `ms`. */
  committed(batch: Batch, ms: number, now: number, arrivals: () => Arrivals): void {
    // The shorter of two: one long pause of the disk is not worth as long a wait.
    const sync = Math.min(ms, this.#took)
    this.#took = ms
    this.#slow = ms < limits.writer.slowSyncMs ? 0 : this.#slow + 1
    this.#expected = 0
    this.#waited = false
    if (this.#resting > 0) this.#resting -= 1
    else if (this.#slow >= slowInARow && batch.bytes < limits.writer.companyBytesMax) {
      this.#expected = batch.units.length + arrivals().units
      this.#until = now + sync
    }
  }

  /** Milliseconds to wait for others at `now`; 0 to begin. */
  wait(now: number, arrivals: () => Arrivals): number {
    if (this.#expected === 0) return 0
    const { units, bytes, other } = arrivals()
    if (other || units >= this.#expected || bytes >= limits.writer.companyBytesMax) return 0
    if (now < this.#until) {
      this.#waited = true
      return this.#until - now
    }
    if (this.#waited && units < enough * this.#expected) this.#resting = rest
    return 0
  }
}
