// What an account moves in a day, in bytes, counted under the names of its limits.
//
// Counters of the cache: a crash forgets the last moments of them.

import { limits } from '#lib/limits.ts'
import type { Counters } from '#store/folder/counters.ts'

export type TrafficKind = 'imapUpload' | 'imapDownload' | 'pop3Download'

export class Traffic {
  readonly #cache: Pick<Counters, 'counted' | 'count'>

  constructor(cache: Pick<Counters, 'counted' | 'count'>) {
    this.#cache = cache
  }

  /** Bytes so far, in the day that began with the first of them. */
  async used(kind: TrafficKind, user: string): Promise<number> {
    return (await this.#cache.counted(kind, user)).used
  }

  count(kind: TrafficKind, user: string, bytes: number): void {
    void this.#cache.count(kind, user, limits.time.day, bytes)
  }
}
