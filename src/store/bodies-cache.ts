// Opened bodies for those who read them again, bounded in bytes.
//
// Bodies that were read together lie in one piece of memory and go together: what is counted is what is held. The group
// that was used last goes last.

import type { Body } from './bodies-read.ts'

interface Group {
  readonly nums: readonly number[]
  readonly bytes: number
}

export class BodyCache {
  readonly #bytesMax: number
  readonly #bodies = new Map<number, { readonly body: Body; readonly group: Group }>()
  /** The one used last at the end. */
  readonly #groups = new Set<Group>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes of the bodies that are kept. */
  get bytes(): number {
    return this.#bytes
  }

  has(num: number): boolean {
    return this.#bodies.has(num)
  }

  get(num: number): Body | undefined {
    const found = this.#bodies.get(num)
    if (found === undefined) return undefined
    this.#groups.delete(found.group)
    this.#groups.add(found.group)
    return found.body
  }

  /** Keeps bodies that are not kept yet and share their memory. */
  put(bodies: readonly (readonly [num: number, body: Body])[]): void {
    if (bodies.length === 0) return
    const bytes = bodies.reduce((sum, [, body]) => sum + body.size, 0)
    const group = { nums: bodies.map(([num]) => num), bytes }
    for (const [num, body] of bodies) this.#bodies.set(num, { body, group })
    this.#groups.add(group)
    this.#bytes += bytes
    for (const oldest of this.#groups) {
      if (this.#bytes <= this.#bytesMax) break
      this.#groups.delete(oldest)
      this.#bytes -= oldest.bytes
      for (const num of oldest.nums) this.#bodies.delete(num)
    }
  }
}
