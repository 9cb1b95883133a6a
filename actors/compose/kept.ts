// What was received for one call of composing, to be let go at its end however it ends: bodies whose rows nobody wrote.

import type { Received } from '#store/bodies/bodies.ts'

/** What was received for one call, to be let go at its end. */
export class Kept {
  readonly #received = new Set<Received>()

  add(received: Received): Received {
    this.#received.add(received)
    return received
  }

  /** Runs a call and lets go of what it received, however it ends. */
  static async during<Result>(run: (kept: Kept) => Promise<Result>): Promise<Result> {
    const kept = new Kept()
    try {
      return await run(kept)
    } finally {
      for (const one of kept.#received) await one.discard()
    }
  }
}
