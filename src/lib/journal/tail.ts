// The last lines of a log, in memory, for whoever looks at a service without reaching its machine.
//
// Lines are those that were written, with what is masked masked. They are bounded in number and bytes, the oldest go first, and who listens to
// new ones is told and never waited for.

import { limits } from '../limits.ts'

export interface TailLine {
  /** Rises by one with each line; begins at 1 with each start. */
  readonly number: number
  /** JSON, without the line break. */
  readonly text: string
}

export class LogTail {
  #lines: TailLine[] = []
  #first = 0
  #number = 0
  #bytes = 0
  readonly #listeners = new Set<(line: TailLine) => void>()

  /** Adds a line as it is written. */
  add(written: string): void {
    const text = written.length <= limits.log.tailLineMax ? written.trimEnd() : shortened(written)
    const line = { number: ++this.#number, text }
    this.#lines.push(line)
    this.#bytes += text.length
    const { tailLinesMax, tailBytesMax } = limits.log
    while (this.#lines.length - this.#first > tailLinesMax || this.#bytes > tailBytesMax) {
      this.#bytes -= this.#lines[this.#first]?.text.length ?? 0
      this.#first += 1
    }
    // What went is let go of now and then, not with each line.
    if (this.#first > tailLinesMax) {
      this.#lines = this.#lines.slice(this.#first)
      this.#first = 0
    }
    for (const listener of this.#listeners) listener(line)
  }

  /** Lines before the one of this number, the newest first. */
  *before(number = Number.POSITIVE_INFINITY): Generator<TailLine> {
    for (let at = this.#lines.length - 1; at >= this.#first; at--) {
      const line = this.#lines[at]
      if (line !== undefined && line.number < number) yield line
    }
  }

  /** Calls `listener` with each new line until the returned function is called. It must not throw or log. */
  listen(listener: (line: TailLine) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

/** The head of a line that is too long, still JSON. */
function shortened(written: string): string {
  const { level, time, event, msg } = JSON.parse(written) as Record<string, unknown>
  return JSON.stringify({ level, time, event, msg: String(msg).slice(0, limits.journal.textLengthMax), cut: true })
}
