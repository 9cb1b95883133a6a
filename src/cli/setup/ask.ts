// Questions to whoever sets a server up, on a terminal; without one the defaults are taken.

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

export class Questions {
  readonly #asks: boolean

  /** @param asks whether anybody is there to answer */
  constructor(asks: boolean) {
    this.#asks = asks
  }

  get asks(): boolean {
    return this.#asks
  }

  async text(question: string, initial: string): Promise<string> {
    if (!this.#asks) return initial
    const answer = await this.#ask(`${question}${initial === '' ? '' : ` [${initial}]`}: `, process.stderr)
    return answer.trim() || initial
  }

  async yes(question: string, initial: boolean): Promise<boolean> {
    if (!this.#asks) return initial
    const answer = await this.#ask(`${question} [${initial ? 'Y/n' : 'y/N'}] `, process.stderr)
    return answer.trim() === '' ? initial : /^y/i.test(answer.trim())
  }

  /** What is typed is not shown. */
  async secret(question: string): Promise<string> {
    process.stderr.write(question)
    const answer = await this.#ask('', new Writable({ write: (_chunk, _encoding, done) => done() }))
    process.stderr.write('\n')
    return answer
  }

  async #ask(question: string, output: NodeJS.WritableStream): Promise<string> {
    const lines = createInterface({ input: process.stdin, output, terminal: true })
    try {
      return await lines.question(question)
    } finally {
      lines.close()
    }
  }
}
