// The cache without a disk, where its folder cannot be written: the same tables in memory, gone with the process.
//
// As many entries as on a disk, so memory has the same bound (limits.cache.entriesMax).

import type { Entry, Tables } from './cache.ts'

/** Empty tables. */
export function memoryTables(): Tables {
  const kept = new Map<string, Entry>()
  return {
    root: { flushed: Promise.resolve(true), resetReadTxn: () => {}, close: async () => {} },
    entries: {
      get: key => kept.get(key),
      put: async (key: string, entry: Entry) => {
        kept.set(key, entry)
        return true
      },
      remove: async (key: string) => kept.delete(key),
    },
    ends: {
      put: async () => true,
      remove: async () => true,
      /** Put in order when asked for, which is seldom. */
      getKeys({ end, limit }) {
        const [until] = end ?? [Number.POSITIVE_INFINITY]
        const ends = Array.from(kept, ([key, entry]): [number, string] => [entry[0], key])
        return ends
          .filter(([at]) => at < until)
          .sort(([a], [b]) => a - b)
          .slice(0, limit)
      },
    },
    lasting: false,
    count: () => kept.size,
  }
}
