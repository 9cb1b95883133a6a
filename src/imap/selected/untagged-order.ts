// Telling a client what happens while none of its commands runs: in IDLE, and with NOTIFY between commands.
//
// Changes that come fast are told together, at most once in limits.imap.tellMs, so a storm of deliveries costs a waiting
// client some comparisons a second and not one for each message. Nothing is kept while nothing happens.

import { after, monotonic, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { Disconnected } from '#net/connection.ts'
import type { Session, Waiting } from '../session.ts'

export class Telling implements Waiting {
  readonly #session: Session
  /** Whether messages may be told gone. */
  readonly #expunge: boolean
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #toldAt = 0
  #over = false

  constructor(session: Session, expunge: boolean) {
    this.#session = session
    this.#expunge = expunge
  }

  /** Something may have changed. */
  stir(): this {
    if (this.#over || this.#timer !== undefined || this.#running !== undefined) return this
    if (!this.#session.news(this.#expunge)) return this
    const wait = Math.max(0, this.#toldAt + limits.imap.tellMs - monotonic())
    this.#timer = after(wait, () => {
      this.#timer = undefined
      this.#tell()
    })
    return this
  }

  /** Ends it. A command may run when this resolves. */
  async stop(): Promise<void> {
    this.#over = true
    this.#timer?.cancel()
    await this.#running
  }

  #tell(): void {
    const { services, connection, untagged, out, pace } = this.#session
    pace.restart()
    this.#running = this.#session
      .tell(this.#expunge)
      .then(async () => {
        if (untagged.numbered) await untagged.held(this.#expunge)
        out.flush()
      })
      .catch(error => {
        if (!(error instanceof Disconnected)) services.log.error({ error }, 'a waiting client could not be told')
        connection.destroy()
      })
      .finally(() => {
        this.#running = undefined
        this.#toldAt = monotonic()
        this.stir()
      })
  }
}
