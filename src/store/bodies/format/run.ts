// Runs of small bodies, read in one go: one row and one piece of memory for many, a third of the time of one at a time
// (bench/NOTES.md, Long FETCH).
//
// What is large, has parts, is gone or damaged is left out: whoever opens it is told.

import { limits } from '#lib/limits.ts'
import { among, concatenated, joined } from '../../engine/dialect.ts'
import type { Reader } from '../../engine/reader.ts'
import { Body } from '../read.ts'
import { DamagedBody, unpack } from './codec.ts'

/**
 * Opens small bodies without parts, many in one go. What is large, has parts, is gone or damaged is left out: whoever
 * opens it is told.
 */
export async function readBodies(read: Reader, nums: readonly number[]): Promise<BodyRun> {
  // One row and one buffer: thousands of small ones are a third of the time, and garbage that is collected at once.
  const [found] = await read.arrays<[rows: string | null, total: number, packed: Buffer]>(
    `SELECT ${joined("num || ' ' || size || ' ' || codec || ' ' || length(skeleton)")}, sum(size),
     ${concatenated('skeleton')}
     FROM body WHERE num IN ${among()} AND recipe IS NULL AND size <= ?`,
    JSON.stringify(nums),
    limits.body.wholeBytesMax,
  )
  if (found === undefined || found[0] === null) return new BodyRun(0)
  const [rows, total, packed] = found
  const run = new BodyRun(total)
  const columns = numbersIn(rows)
  let from = 0
  for (let column = 0; column < columns.length; column += 4) {
    const [num, size, codec, length] = [columns[column], columns[column + 1], columns[column + 2], columns[column + 3]]
    run.add(num ?? 0, codec ?? 0, packed.subarray(from, from + (length ?? 0)), size ?? 0)
    from += length ?? 0
  }
  return run
}

/** Whole numbers with a blank between each two. */
function numbersIn(text: string): number[] {
  const numbers: number[] = []
  let number = 0
  for (let at = 0; at <= text.length; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (digit >= 0) number = number * 10 + digit
    else {
      numbers.push(number)
      number = 0
    }
  }
  return numbers
}

/** What of a run crosses between threads: its memory, and for each body its number, start and end in there. */
export interface PackedRun {
  readonly slab: Uint8Array<ArrayBuffer>
  readonly places: readonly number[]
}

/**
 * Bodies that were read together. Their bytes lie in one piece of memory, and that is all there is of them until one is
 * asked for: with an object or two for each, keeping ten thousand made the collector a part of the time of reading them.
 */
export class BodyRun {
  readonly #slab: Buffer<ArrayBuffer>
  /** Number of a body -> where its number stands in `#places`. */
  readonly #at = new Map<number, number>()
  /** Number, start and end of each. */
  readonly #places: number[] = []
  #filled = 0

  /** @param memory what they lie in, or bytes of all that will be added */
  constructor(memory: number | Buffer<ArrayBuffer>) {
    this.#slab = typeof memory === 'number' ? Buffer.allocUnsafeSlow(memory) : memory
  }

  static from({ slab, places }: PackedRun): BodyRun {
    const run = new BodyRun(Buffer.from(slab.buffer, slab.byteOffset, slab.byteLength))
    for (let at = 0; at < places.length; at += 3) run.#put(places[at] ?? 0, places[at + 1] ?? 0, places[at + 2] ?? 0)
    return run
  }

  get nums(): Iterable<number> {
    return this.#at.keys()
  }

  get bytes(): number {
    return this.#slab.length
  }

  /** The next one, unpacked; one that is damaged leaves its room empty. */
  add(num: number, codec: number, packed: Buffer, size: number): void {
    const start = this.#filled
    const place = this.#slab.subarray(start, start + size)
    this.#filled += size
    try {
      const value = unpack(codec, packed, size, place)
      if (value !== place) value.copy(place)
    } catch (error) {
      if (error instanceof DamagedBody) return
      throw error
    }
    this.#put(num, start, this.#filled)
  }

  get(num: number): Body | undefined {
    const at = this.#at.get(num)
    if (at === undefined) return undefined
    const [start = 0, end = 0] = [this.#places[at + 1], this.#places[at + 2]]
    return new Body(end - start, this.#slab.subarray(start, end), null)
  }

  /** Itself for another thread, which is to have its memory: it must not be used here any more. */
  pack(): PackedRun {
    return { slab: this.#slab, places: this.#places }
  }

  #put(num: number, start: number, end: number): void {
    this.#at.set(num, this.#places.length)
    this.#places.push(num, start, end)
  }
}
