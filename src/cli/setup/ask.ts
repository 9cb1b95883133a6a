// Questions to whoever sets a server up, on a terminal; without one the defaults are taken.
//
// What is no answer is asked for again, nobody agrees to anything by a slip, and whoever breaks off (Ctrl+C, Ctrl+D) is told how to
// go on. What is typed as a secret is never on the screen.

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Fault } from '#lib/fault.ts'

export class Questions {
  readonly #asks: boolean

  /** @param asks whether anybody is there to answer */
  constructor(asks: boolean) {
    this.#asks = asks
  }

  get asks(): boolean {
    return this.#asks
  }

  /** @param wrong why it is no answer; undefined for one */
  async text(
    question: string,
    initial: string,
    wrong: (answer: string) => string | undefined = () => undefined,
  ): Promise<string> {
    if (!this.#asks) return initial
    for (;;) {
      const answer = await this.#ask(`${question}${initial === '' ? '' : ` [${initial}]`}: `, process.stderr)
      const given = answer.trim() || initial
      const reason = wrong(given)
      if (reason === undefined) return given
      process.stderr.write(`${reason}\n`)
    }
  }

  async yes(question: string, initial: boolean): Promise<boolean> {
    if (!this.#asks) return initial
    const answer = await this.#ask(`${question} [${initial ? 'Y/n' : 'y/N'}] `, process.stderr)
    const given = answer.trim().toLowerCase()
    if (given === '') return initial
    // Nobody agrees to anything by a slip.
    return given === 'y' || given === 'yes'
  }

  /** What is typed is not shown. */
  async secret(question: string): Promise<string> {
    const answer = await this.#ask('', new Writable({ write: (_chunk, _encoding, done) => done() }), question)
    process.stderr.write('\n')
    return answer
  }

  /** @param before written once the terminal shows nothing by itself any more: who types fast is not shown either */
  async #ask(question: string, output: NodeJS.WritableStream, before = ''): Promise<string> {
    const lines = createInterface({ input: process.stdin, output, terminal: true })
    process.stderr.write(before)
    try {
      return await lines.question(question)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ABORT_ERR') throw error
      process.stderr.write('\n')
      throw new Fault('InputValidationError', {
        text: 'It was broken off. Run it again: what is there by now stays, and it goes on from there.',
      })
    } finally {
      lines.close()
    }
  }
}
