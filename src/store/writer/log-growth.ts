// Tells the operator, once, that the write-ahead log only grows, and once that it does no longer.

import type { Log } from '#lib/log.ts'

export class LogGrowth {
  readonly #log: Log
  #grows = false

  constructor(log: Log) {
    this.#log = log
  }

  /** @param reason why the log could not be copied back lately; undefined where it could */
  note(reason: string | undefined): void {
    if ((reason !== undefined) === this.#grows) return
    this.#grows = reason !== undefined
    if (reason === undefined) this.#log.info('the write-ahead log is copied back into the database again')
    else this.#log.error({ reason }, 'the write-ahead log cannot be copied back into the database: it grows')
  }
}
