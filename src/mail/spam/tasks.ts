// What the thread for spam is asked and answers: plain data.

import type { Features } from './features.ts'

/** How much speaks for spam, as a logarithm of odds, by models in the order in which they were asked. */
export interface SpamTasks {
  readonly classify: {
    readonly input: { readonly features: Features; readonly models: readonly number[] }
    readonly value: readonly number[]
  }
  /** Learns some marks of an account. */
  readonly learn: { readonly input: { readonly user: number }; readonly value: unknown }
}
