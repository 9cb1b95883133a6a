// Opened bodies for those who read them again, bounded in bytes.
//
// Bodies that were read together lie in one piece of memory and go together: what is counted is what is held. The run
// that was used last goes last.

import type { Body } from './read.ts'

/** Bodies that come and go together. */
export interface Run {
  readonly nums: Iterable<number>
  /** What it holds. */
  readonly bytes: number
  get(num: number): Body | undefined
}

export class BodyCache {
  readonly #bytesMax: number
  readonly #runOf = new Map<number, Run>()
  /** The one used last at the end. */
  readonly #runs = new Set<Run>()
  #newest: Run | undefined
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes of the bodies that are kept. */
  get bytes(): number {
    return this.#bytes
  }

  has(num: number): boolean {
    return this.#runOf.has(num)
  }

  get(num: number): Body | undefined {
    const run = this.#runOf.get(num)
    if (run === undefined) return undefined
    // A listing asks for one after the other of the same run.
    if (run !== this.#newest) {
      this.#runs.delete(run)
      this.#runs.add(run)
      this.#newest = run
    }
    return run.get(num)
  }

  /** Keeps bodies that are not kept yet. */
  put(run: Run): void {
    const before = this.#runOf.size
    for (const num of run.nums) if (!this.#runOf.has(num)) this.#runOf.set(num, run)
    if (this.#runOf.size === before) return
    this.#runs.add(run)
    this.#newest = run
    this.#bytes += run.bytes
    for (const oldest of this.#runs) {
      if (this.#bytes <= this.#bytesMax) break
      this.#runs.delete(oldest)
      this.#bytes -= oldest.bytes
      for (const num of oldest.nums) if (this.#runOf.get(num) === oldest) this.#runOf.delete(num)
    }
    if (!this.#runs.has(run)) this.#newest = undefined
  }
}
