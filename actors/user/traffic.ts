// What an account moves in a day, in bytes, counted under the names of its limits.
//
// Counters of the cache: a crash forgets the last moments of them.

import { limits } from '#lib/limits.ts'
import type { Cache } from '#store/folder/cache.ts'

export type TrafficKind = 'imapUpload' | 'imapDownload' | 'pop3Download'

export class Traffic {
  readonly #cache: Pick<Cache, 'counted' | 'count'>

  constructor(cache: Pick<Cache, 'counted' | 'count'>) {
    this.#cache = cache
  }

  /** Bytes so far, in the day that began with the first of them. */
  used(kind: TrafficKind, user: string): number {
    return this.#cache.counted(kind, user).used
  }

  count(kind: TrafficKind, user: string, bytes: number): void {
    this.#cache.count(kind, user, limits.time.day, bytes)
  }
}
