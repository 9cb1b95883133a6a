// Rows that were read a moment ago, for what asks for the same ones again and again (who a name means, whose a token is).
//
// Nothing is kept past the next commit that may have changed it, so nobody reads what was true before a change they were told of;
// a change made by another process (`teal token revoke`) is seen after `maxAgeMs`. What is given out is shared: it must
// not be changed.

import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

export class Recent<Value> {
  readonly #commits: () => number
  #known = new Map<string, Value>()
  /** Commits when the map was begun, and when that was. */
  #at = -1
  #since = 0

  /** @param commits how many commits there were that may matter, a number that grows before anybody is told of one */
  constructor(commits: () => number) {
    this.#commits = commits
  }

  /** The value of `key` where it is known, at once. */
  peek(key: string): Value | undefined {
    return this.#current().get(key)
  }

  /** The value of `key`, loaded where it is not known. */
  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.#current()
    const at = this.#at
    const found = known.get(key)
    if (found !== undefined || known.has(key)) return found as Value
    const value = await load()
    // Read while something was committed: it may be half of before and half of after.
    if (this.#commits() === at) known.set(key, value)
    return value
  }

  #current(): Map<string, Value> {
    const at = this.#commits()
    const time = monotonic()
    if (at !== this.#at || time - this.#since > limits.recent.maxAgeMs || this.#known.size > limits.recent.entriesMax) {
      this.#known = new Map()
      this.#at = at
      this.#since = time
    }
    return this.#known
  }
}
