// Models of what was learned of spam, where mail is judged: their thread reads them into memory that both see, so that a message
// is held against them here and crosses to nobody.
//
// Each is asked for once and kept under the number that every change raises; the latest used stay. One that cannot be had is asked
// for again with the next message.

import { within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { remember } from '#lib/memoize.ts'
import { SpamModel } from '#mail/spam/model.ts'
import type { Pools } from '#pool'

interface Held {
  rev: number
  readonly asked: Promise<SpamModel | undefined>
  model?: SpamModel
}

export class SpamModels {
  readonly #pool: Pools['spam']
  readonly #held = new Map<number, Held>()

  constructor(pool: Pools['spam']) {
    this.#pool = pool
  }

  /** The model of an account, which is at `rev`. @throws Fault TimedOut after limits.spam.totalMs, and as the pool */
  async of(user: number, rev: number): Promise<SpamModel | undefined> {
    let held = this.#held.get(user)
    this.#held.delete(user)
    if (held?.rev !== rev) held = this.#ask(user, rev)
    remember(this.#held, user, held, limits.spam.modelsHereMax)
    return held.model ?? within(limits.spam.totalMs, held.asked, () => new Fault('TimedOut'))
  }

  #ask(user: number, rev: number): Held {
    const asked = this.#pool.run('model', { user }).then(
      found => {
        if (found === null) return this.#forget(user, held)
        held.model = new SpamModel(undefined, found.memory)
        // It may have learned more meanwhile.
        held.rev = found.rev
        return held.model
      },
      error => {
        this.#forget(user, held)
        throw error
      },
    )
    const held: Held = { rev, asked }
    return held
  }

  #forget(user: number, held: Held): undefined {
    if (this.#held.get(user) === held) this.#held.delete(user)
  }
}
