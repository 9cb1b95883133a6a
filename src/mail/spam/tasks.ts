// What the thread for spam is asked and answers: plain data, and memory that both see.

/** A model that does not change any more. */
export interface SharedModel {
  /** Which of the account's it is. */
  readonly rev: number
  /** Messages learned. */
  readonly spam: number
  readonly ham: number
  readonly memory: SharedArrayBuffer
}

export interface SpamTasks {
  /** The model of an account as it is now; null where it has none. */
  readonly model: { readonly input: { readonly user: number }; readonly value: SharedModel | null }
  /** Learns some marks of an account. */
  readonly learn: { readonly input: { readonly user: number }; readonly value: unknown }
}
