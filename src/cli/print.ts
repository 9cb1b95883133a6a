// What commands print: for programs one line of JSON each, for people text; progress goes to standard error.
//
// Whatever a program may read goes to standard output and nothing else does, so that output can be piped while a person
// watches the progress.

import { monotonic } from '#lib/clock.ts'
import { harmless, harmlessInJson } from '#lib/journal/harmless.ts'

/** Prints `value` as a line of JSON where that is wanted, else `text`; neither does anything to a terminal. */
export function print(json: boolean | undefined, value: unknown, text: string): void {
  process.stdout.write(`${json === true ? harmlessInJson(JSON.stringify(value)) : harmless(text)}\n`)
}

/** How far it is, for people on a terminal, in place of what was said before. */
export function said({ json }: { readonly json?: boolean }, text: string): void {
  if (json !== true && process.stderr.isTTY === true) process.stderr.write(`\r\x1b[K${text}`)
}

/** How often progress is shown, milliseconds: on a terminal in place, elsewhere as lines. */
const barMs = 100
const lineMs = 5000

/** How far a long command is: a bar with rate and time left on a terminal, a line now and then elsewhere. */
export class Progress {
  readonly #what: string
  readonly #quiet: boolean
  readonly #began = monotonic()
  readonly #bar = process.stderr.isTTY === true
  #shownAt: number
  #total = 0
  #done = 0

  constructor(what: string, quiet: boolean) {
    this.#what = what
    this.#quiet = quiet
    this.#shownAt = this.#began
  }

  /** There is more to do than was known, or (below 0) less. */
  expect(more: number): void {
    this.#total += more
  }

  add(done: number): void {
    this.#done += done
    const at = monotonic()
    if (this.#quiet || at - this.#shownAt < (this.#bar ? barMs : lineMs)) return
    this.#shownAt = at
    process.stderr.write(this.#bar ? `\r\x1b[K${this.#text(at)}` : `${this.#text(at)}\n`)
  }

  /** A line of its own. */
  note(text: string): void {
    process.stderr.write(this.#bar && !this.#quiet ? `\r\x1b[K${text}\n` : `${text}\n`)
  }

  end(): void {
    if (this.#quiet || this.#total === 0) return
    process.stderr.write(this.#bar ? `\r\x1b[K${this.#text(monotonic())}\n` : `${this.#text(monotonic())}\n`)
  }

  #text(at: number): string {
    const seconds = Math.max((at - this.#began) / 1000, 0.001)
    const rate = this.#done / seconds
    const part = this.#total === 0 ? 1 : Math.min(this.#done / this.#total, 1)
    const filled = Math.round(part * 24)
    const bar = this.#bar ? `[${'='.repeat(filled)}${' '.repeat(24 - filled)}] ` : ''
    const left = rate > 0 ? Math.ceil((this.#total - this.#done) / rate) : 0
    const percent = `${Math.floor(part * 100)}%`
    return `${bar}${percent} ${this.#done}/${this.#total} ${this.#what}, ${Math.round(rate)}/s, ${clock(left)} left`
  }
}

function clock(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  return `${minutes}:${String(seconds % 60).padStart(2, '0')}`
}
