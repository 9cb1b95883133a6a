// A line of the log for what everybody meets again and again while it lasts, a full disk say: told at once, and then now and then
// with how often it was met since.

import { monotonic } from '../clock.ts'
import { limits } from '../limits.ts'
import type { Log } from '../log.ts'

export class RecurringLine {
  readonly #log: Log
  readonly #level: 'warn' | 'error'
  readonly #text: string
  #told = Number.NEGATIVE_INFINITY
  /** Since it was told. */
  #times = 0

  constructor(log: Log, level: 'warn' | 'error', text: string) {
    this.#log = log
    this.#level = level
    this.#text = text
  }

  /** @param fields of this time: those of others between two lines are not told */
  met(fields: object): void {
    this.#times += 1
    const at = monotonic()
    if (at - this.#told < limits.log.recurringMs) return
    this.#log[this.#level]({ ...fields, ...(this.#times > 1 && { times: this.#times }) }, this.#text)
    this.#told = at
    this.#times = 0
  }
}
