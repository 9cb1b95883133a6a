// What a thread for long reads remembers of searches: whole answers, so that the second page is there at once; what the index
// said; and texts that were looked into.
//
// Answers and sets are those of one change number of an account, so nothing that is given is out of date. Everything is
// bounded by limits.search, what was not asked for longest goes first.

import { limits } from '#lib/limits.ts'
import type { Reader } from '../engine/reader.ts'
import { TextCache } from './texts.ts'
import { Index } from './trigrams.ts'

/** Messages in the order of a list. */
export interface Found {
  readonly falling: boolean
  readonly keys: Float64Array
  readonly nums: Float64Array
}

export class SearchCache {
  readonly texts = new TextCache()
  readonly #found = new Map<string, Found>()
  readonly #indexes = new Map<number, { state: string; index: Index }>()
  #length = 0

  /** What a search found; `what` is all that it depends on but the account. */
  async find(read: Reader, user: number, what: unknown, search: () => Promise<Found>): Promise<Found> {
    const key = await keyOf(read, user, what)
    const known = this.#found.get(key)
    if (known !== undefined) return known
    const found = await search()
    // Somebody else may have made the same search meanwhile.
    if (!this.#found.has(key)) this.#length += found.nums.length + 1000
    this.#found.set(key, found)
    for (const [oldest, { nums }] of this.#found) {
      if (this.#length <= limits.search.cachedMax) break
      this.#found.delete(oldest)
      this.#length -= nums.length + 1000
    }
    return found
  }

  /** What such a search has found, where it is remembered. */
  async known(read: Reader, user: number, what: unknown): Promise<Found | undefined> {
    return this.#found.get(await keyOf(read, user, what))
  }

  /** The index of an account as it is now, for the time of one look: a folder may be gone through in several. */
  async index(read: Reader, user: number): Promise<Index> {
    const waiting = await read.one<{ count: number }>(
      'SELECT count(*) AS count FROM search_doc WHERE "user" = ? AND indexed = 0',
      user,
    )
    const state = `${await modseqOf(read, user)} ${waiting?.count ?? 0}`
    const known = this.#indexes.get(user)
    const fresh = known === undefined || known.state !== state || known.index.weight > limits.search.indexWeightMax
    const index = fresh ? new Index(read, user) : known.index
    // To the end: the one that was not asked for longest goes first.
    this.#indexes.delete(user)
    this.#indexes.set(user, { state, index })
    for (const oldest of this.#indexes.keys()) {
      if (this.#indexes.size <= limits.pool.readAccounts) break
      this.#indexes.delete(oldest)
    }
    return index
  }
}

async function keyOf(read: Reader, user: number, what: unknown): Promise<string> {
  return JSON.stringify([user, await modseqOf(read, user), what])
}

async function modseqOf(read: Reader, user: number): Promise<number> {
  return (await read.one<{ modseq: number }>('SELECT modseq FROM usage WHERE "user" = ?', user))?.modseq ?? 0
}
