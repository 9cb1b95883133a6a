// Somebody who waits for a connection: for input, or for output to be taken. Settled once, by whoever knows first.

export interface Waiter {
  resolve(): void
  reject(reason: unknown): void
  /** Whether a stopping service may interrupt it. */
  readonly idle?: boolean
}
