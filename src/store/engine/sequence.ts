// The integers of rows that come by the thousand. The service is the only writer, so it gives out numbers from memory and
// a unit needs no answer but done or conflict. A number whose unit failed is never used again; gaps mean nothing.
// Message-IDs for mail that has none are given out here, too, in the name of this host.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { madeMessageId } from '#mail/header/message-id.ts'
import { whole } from './dialect.ts'
import type { Reader } from './reader.ts'

const sources = {
  user: 'SELECT max(num) AS last FROM "user"',
  // What went from a folder may outlive it, and its account, for a while: no other folder may take it for its own.
  mailbox:
    'SELECT max(last) AS last FROM (SELECT max(num) AS last FROM mailbox UNION ALL SELECT max(mailbox) FROM removed_mailbox UNION ALL SELECT max(mailbox) FROM expunged)',
  message: `SELECT max(last) AS last FROM (SELECT max(num) AS last FROM message UNION ALL SELECT max(num) FROM expunged UNION ALL SELECT max(thread) FROM reference UNION ALL SELECT max(num) FROM archive UNION ALL SELECT ${whole('value')} FROM meta WHERE key = 'message.num')`,
  body: 'SELECT max(num) AS last FROM body',
  outbound: 'SELECT max(num) AS last FROM outbound',
  filter: 'SELECT max(num) AS last FROM filter',
  trace: 'SELECT max(num) AS last FROM trace',
  event: `SELECT max(last) AS last FROM (SELECT max(num) AS last FROM event UNION ALL
    SELECT ${whole('value')} FROM meta WHERE key = 'event.cursor')`,
} as const

export type SequenceName = keyof typeof sources

/** What gives out numbers. */
export type Numbers = Pick<Sequence, 'next' | 'messageId'>

/** First and last of numbers in a row that are this node's. */
interface Block {
  next: number
  readonly last: number
}

/** Where nodes get numbers that no other gets: so many in a row of each name, all above `least`; the first of each. */
export type GiveBlocks = (
  least: Readonly<Record<string, number>>,
  count: number,
) => Promise<Readonly<Record<string, number>>>

export class Sequence {
  readonly #last = new Map<SequenceName, number>()
  /** Where nodes share a database: what this one may give out, and what it has taken ahead. */
  #blocks: Map<SequenceName, Block[]> | undefined
  #give: GiveBlocks | undefined
  #taking: Promise<void> | undefined
  readonly #hostname: string

  private constructor(hostname: string) {
    this.#hostname = hostname
  }

  /** Goes on behind the greatest numbers there are. */
  static async open(read: Reader, hostname = 'localhost'): Promise<Sequence> {
    const sequence = new Sequence(hostname)
    for (const name of Object.keys(sources) as SequenceName[]) {
      sequence.#last.set(name, (await read.one<{ last: number | null }>(sources[name]))?.last ?? 0)
    }
    return sequence
  }

  /** From now on numbers are those that are given to this node alone. */
  async share(give: GiveBlocks): Promise<void> {
    this.#give = give
    await this.renew()
  }

  /**
   * Leaves what was taken ahead for numbers above all that any node was given: what an account gets from here on is above what
   * it got elsewhere.
   */
  async renew(): Promise<void> {
    const names = Object.keys(sources) as SequenceName[]
    const fresh = await this.#take(names)
    this.#blocks = new Map(names.map(name => [name, [fresh(name)]]))
  }

  /** The next number of that name, never given out before. @throws Fault Overloaded where a node has none left */
  next(name: SequenceName): number {
    if (this.#blocks !== undefined) return this.#own(name, 1)
    const number = (this.#last.get(name) ?? 0) + 1
    this.#last.set(name, number)
    return number
  }

  /** The first of so many numbers in a row. */
  block(name: SequenceName, count: number): number {
    if (this.#blocks !== undefined) return this.#own(name, count)
    const first = this.next(name)
    this.#last.set(name, first + count - 1)
    return first
  }

  /** Of what this node was given, the first of so many in a row. */
  #own(name: SequenceName, count: number): number {
    const blocks = this.#blocks?.get(name) ?? []
    while (blocks.length > 0 && roomIn(blocks[0]) < count) blocks.shift()
    if (blocks.reduce((room, block) => room + roomIn(block), 0) < limits.cluster.numbersLow) this.#more()
    const [block] = blocks
    if (block === undefined) throw new Fault('Overloaded')
    const first = block.next
    block.next += count
    return first
  }

  /** Takes ahead for all names that have few left. */
  #more(): void {
    const few = [...(this.#blocks ?? [])].filter(([, [first, more]]) => {
      return more === undefined && roomIn(first) < limits.cluster.numbersLow
    })
    this.#taking ??= this.#take(few.map(([name]) => name))
      .then(fresh => {
        for (const [name, blocks] of few) if (this.#blocks?.get(name) === blocks) blocks.push(fresh(name))
      })
      // Whoever wants the next one asks again.
      .catch(() => {})
      .finally(() => {
        this.#taking = undefined
      })
  }

  async #take(names: readonly SequenceName[]): Promise<(name: SequenceName) => Block> {
    const count = limits.cluster.numbersTaken
    const least = Object.fromEntries(names.map(name => [name, this.#last.get(name) ?? 0]))
    const firsts = (await this.#give?.(least, count)) ?? {}
    return name => {
      const first = firsts[name]
      if (first === undefined) throw new Error(`there are no numbers for ${name}`)
      return { next: first, last: first + count - 1 }
    }
  }

  /** A Message-ID: the same for the same `seed`, a new one where that is empty. */
  messageId(seed: string): string {
    return madeMessageId(this.#hostname, seed)
  }
}

function roomIn(block: Block | undefined): number {
  return block === undefined ? 0 : block.last - block.next + 1
}
