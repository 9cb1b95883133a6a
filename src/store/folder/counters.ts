// Counts and marks that hold for the whole service, as whoever uses them sees them, on whatever thread: they have one owner
// (cache.ts), so that what is counted in two places is counted once.
//
// An answer that is not there at once is one from another thread. What the owner forgets (a crash) all forget.

/** A counter within its window. */
export interface Count {
  readonly used: number
  /** Milliseconds until it starts anew; 0 for one that has not begun. */
  readonly ttlMs: number
}

type Soon<Value> = Value | Promise<Value>

export interface Counters {
  /** What a counter has reached. */
  counted(kind: string, id: string): Soon<Count>
  /** Adds to a counter. */
  count(kind: string, id: string, windowMs: number, amount?: number): Soon<Count>
  /** Adds to a counter only if it stays within `max`: all or nothing. */
  spend(
    kind: string,
    id: string,
    windowMs: number,
    max: number,
    amount?: number,
  ): Soon<Count & { readonly allowed: boolean }>
  /** Adds as much of `wanted` as stays within `max`, and says how much that was. */
  draw(kind: string, id: string, windowMs: number, max: number, wanted: number): Soon<number>
  /** False where it is marked already. */
  mark(kind: string, id: string, ttlMs: number): Soon<boolean>
  /** Forgets a counter or a mark. */
  remove(kind: string, id: string): void
}
