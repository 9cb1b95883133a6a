// What a view says of its folder, in the order in which a client must hear it (view.ts finds it, untagged.ts words it).
//
// Nothing here knows how anything is said, and nothing is said twice: a listener keeps nothing of what it was told. What waits
// for rows or for the socket is a promise.

/** What a client is to be told; `tell` calls these in the order in which they must be sent. */
export interface Listener {
  /** Messages went: sequence numbers as they stand one after the other, and uids. */
  gone(seqs: readonly number[], uids: readonly number[]): void
  /** The number of messages is now this. */
  exists(total: number): void
  /** The number of recent messages is now this. */
  recent(total: number): void
  /** Those at the end are new, and known to the view now. */
  arrived(uids: readonly number[]): Promise<void>
  /** Keywords appeared that the client has not heard of. */
  keywords(): Promise<void>
  /** A message has these flags now. */
  flags(seq: number, uid: number, flags: number, keywords: string | null, modseq: number): void
  /** Much was said: waits for the socket. */
  room(): Promise<void>
}
