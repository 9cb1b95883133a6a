// Opened bodies for those who read them again, bounded in bytes.
//
// Bodies that were read together lie in one piece of memory and go together: what is counted is what is held. The run
// that was used last goes last.
//
// The index of the runs is many small ones: a large one that always gains and loses is laid out anew now and then, all of it at once.

import type { Body } from './read.ts'

/** Bodies that come and go together. */
export interface Run {
  readonly nums: Iterable<number>
  /** What it holds. */
  readonly bytes: number
  get(num: number): Body | undefined
}

/** How many indexes there are. Laying out one of a hundred thousand bodies halted everybody for 20 ms. */
const indexCount = 64

export class BodyCache {
  readonly #bytesMax: number
  readonly #runOf: readonly Map<number, Run>[] = Array.from({ length: indexCount }, () => new Map())
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
    return this.#indexOf(num).has(num)
  }

  get(num: number): Body | undefined {
    const run = this.#indexOf(num).get(num)
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
    let added = false
    for (const num of run.nums) {
      const index = this.#indexOf(num)
      if (index.has(num)) continue
      index.set(num, run)
      added = true
    }
    if (!added) return
    this.#runs.add(run)
    this.#newest = run
    this.#bytes += run.bytes
    for (const oldest of this.#runs) {
      if (this.#bytes <= this.#bytesMax) break
      this.#runs.delete(oldest)
      this.#bytes -= oldest.bytes
      for (const num of oldest.nums) {
        const index = this.#indexOf(num)
        if (index.get(num) === oldest) index.delete(num)
      }
    }
    if (!this.#runs.has(run)) this.#newest = undefined
  }

  #indexOf(num: number): Map<number, Run> {
    return this.#runOf[num % indexCount] as Map<number, Run>
  }
}
