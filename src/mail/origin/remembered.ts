// What was worked out, remembered for a while: many messages of one sender ask the same of the same answers of DNS.
//
// Bounded in number and in the length of what is asked; the oldest goes first. What is on its way is shared. Only what `keeps`
// says is kept: an answer that rests on a server which did not answer is for one message alone.

import { elapsed } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

interface Entry<Value> {
  readonly until: number
  readonly value: Value
}

export class Remembered<Value> {
  readonly #known = new Map<string, Entry<Value>>()
  readonly #keeps: (value: Value) => boolean

  constructor(keeps: (value: Value) => boolean) {
    this.#keeps = keeps
  }

  /** How many are remembered. */
  get size(): number {
    return this.#known.size
  }

  find(key: string): Value | undefined {
    const entry = this.#known.get(key)
    return entry !== undefined && entry.until > elapsed() ? entry.value : undefined
  }

  keep(key: string, value: Value): void {
    if (key.length > limits.verify.resultKeyLengthMax || !this.#keeps(value)) return
    this.#known.delete(key)
    this.#known.set(key, { until: elapsed() + limits.verify.resultMs, value })
    const [oldest] = this.#known.keys()
    if (this.#known.size > limits.verify.resultsMax && oldest !== undefined) this.#known.delete(oldest)
  }

  /** What is known of it, or what `make` makes of it. What comes back is shared: a caller must not change it. */
  async of(key: string, make: () => Promise<Value>): Promise<Value> {
    const found = this.find(key)
    if (found !== undefined) return found
    const value = await make()
    this.keep(key, value)
    return value
  }
}
