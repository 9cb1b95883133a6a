// The cache without a disk, where its folder cannot be written: the same tables in memory, gone with the process.
//
// As many entries as on a disk, so memory has the same bound (limits.cache.entriesMax).

/** Until when it counts, and for how long from when it was written; older versions wrote the former alone. */
export type Entry = readonly [until: number, value: unknown, wholeMs?: number]

/** What the cache needs of a place that keeps it: some of what LMDB has. */
export interface Tables {
  readonly root: {
    readonly flushed: Promise<unknown>
    resetReadTxn(): void
    close(): Promise<void>
    /** What it does is stored together or not at all. */
    batch(changes: () => void): Promise<boolean>
  }
  /** Key -> end and value. */
  readonly entries: Table<string, Entry> & {
    get(key: string): Entry | undefined
    /** From `start` on and before `end`, in the order of their keys. */
    getRange(range: {
      start: string
      end?: string
      limit: number
    }): Iterable<{ readonly key: string; readonly value: Entry }>
  }
  /** End and key, in the order of their ends. */
  readonly ends: Table<[number, string], number> & {
    getKeys(range: { end?: [number, string]; limit: number }): Iterable<[number, string]>
  }
  /** Entries there are. */
  count(): number
  /** Whether it lies in the folder. */
  readonly lasting: boolean
}

interface Table<Key, Value> {
  put(key: Key, value: Value): Promise<boolean>
  remove(key: Key): Promise<boolean>
}

/** Empty tables. */
export function memoryTables(): Tables {
  const kept = new Map<string, Entry>()
  return {
    root: {
      flushed: Promise.resolve(true),
      resetReadTxn: () => {},
      close: async () => {},
      async batch(changes) {
        changes()
        return true
      },
    },
    entries: {
      get: key => kept.get(key),
      put: async (key: string, entry: Entry) => {
        kept.set(key, entry)
        return true
      },
      remove: async (key: string) => kept.delete(key),
      /** As of `ends`. */
      getRange({ start, end, limit }) {
        const keys = [...kept.keys()]
          .filter(key => key >= start && (end === undefined || key < end))
          .sort()
          .slice(0, limit)
        return keys.flatMap(key => {
          const value = kept.get(key)
          return value === undefined ? [] : [{ key, value }]
        })
      },
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
