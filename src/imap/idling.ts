// A client that waits (RFC 2177): it is told changes as they happen until it says DONE.
//
// Changes that come fast are told together, at most once in limits.imap.tellMs, so a storm of deliveries costs a waiting
// client some comparisons a second and not one for each message. Nothing is kept while nothing happens.

import { after, monotonic, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { Disconnected } from '#net/connection.ts'
import type { Session } from './session.ts'
import { malformed } from './wire/decoder.ts'

export class Idling {
  readonly #session: Session
  #timer: Timer | undefined
  #telling: Promise<void> | undefined
  #toldAt = 0
  #over = false

  constructor(session: Session) {
    this.#session = session
  }

  /** Waits for DONE. @throws Fault BadCommand when the client says something else */
  async run(): Promise<void> {
    const { out, connection } = this.#session
    out.line('+ idling').flush()
    this.stir()
    try {
      const line = connection.takeLine() ?? (await connection.line())
      if (line.toString('latin1').trim().toUpperCase() !== 'DONE') throw malformed('Expected DONE')
    } finally {
      this.stop()
      await this.#telling
    }
  }

  /** Something changed. */
  stir(): void {
    if (this.#over || this.#timer !== undefined || this.#telling !== undefined) return
    if (this.#session.view?.news(true) !== true) return
    const wait = Math.max(0, this.#toldAt + limits.imap.tellMs - monotonic())
    this.#timer = after(wait, () => {
      this.#timer = undefined
      this.#tell()
    })
  }

  stop(): void {
    this.#over = true
    this.#timer?.cancel()
  }

  #tell(): void {
    const { view, teller, services, connection } = this.#session
    this.#telling = view
      ?.tell(teller, true)
      .catch(error => {
        if (!(error instanceof Disconnected)) services.log.error({ error }, 'an idling client could not be told')
        connection.destroy()
      })
      .finally(() => {
        this.#telling = undefined
        this.#toldAt = monotonic()
        this.stir()
      })
  }
}
