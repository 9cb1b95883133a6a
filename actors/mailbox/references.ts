// Which thread each Message-ID of an account belongs to, by hash, as far as it is in memory.
//
// Nearly every message that comes in has an id nobody has seen, and finding that out on disk is costly (bench/NOTES.md,
// Deliveries). So all ids of an account that has few are read at once; from then on what is not here is not there.

import { limits } from '#lib/limits.ts'
import { remember } from '#lib/memoize.ts'
import type { Reader } from '#store/engine/reader.ts'
import { findReferences, listReferences } from '#store/mailboxes/references.ts'

const { referencesMax, referencesReadMax } = limits.actor

export class References {
  readonly #threads = new Map<number, number>()
  /** Whether all of the account's are here; undefined while nobody has looked. */
  #whole: boolean | undefined

  /** Reads what is known of these ids, where that is not in memory. */
  async load(read: Reader, user: number, hashes: readonly number[]): Promise<void> {
    if (this.#whole === true || hashes.every(hash => this.#threads.has(hash))) return
    if (this.#whole === undefined) {
      const rows = await listReferences(read, user, referencesReadMax + 1)
      this.#whole = rows.length <= referencesReadMax
      if (this.#whole) for (const [hash, thread] of rows) this.put(hash, thread)
      if (this.#whole) return
    }
    const unknown = hashes.filter(hash => !this.#threads.has(hash))
    for (const [hash, thread] of await findReferences(read, user, unknown)) this.put(hash, thread)
  }

  /** The thread of a known id, after `load`. */
  get(hash: number): number | undefined {
    return this.#threads.get(hash)
  }

  has(hash: number): boolean {
    return this.#threads.has(hash)
  }

  put(hash: number, thread: number): void {
    if (this.#threads.size >= referencesMax && !this.#threads.has(hash)) this.#whole = false
    remember(this.#threads, hash, thread, referencesMax)
  }
}
