// The integers of rows that come by the thousand. The service is the only writer, so it gives out numbers from memory and
// a unit needs no answer but done or conflict. A number whose unit failed is never used again; gaps mean nothing.
// Message-IDs for mail that has none are given out here, too, in the name of this host.

import { madeMessageId } from '#mail/header/message-id.ts'
import { whole } from './dialect.ts'
import type { Reader } from './reader.ts'

const sources = {
  user: 'SELECT max(num) AS last FROM "user"',
  mailbox:
    'SELECT max(last) AS last FROM (SELECT max(num) AS last FROM mailbox UNION ALL SELECT max(mailbox) FROM removed_mailbox)',
  message:
    'SELECT max(last) AS last FROM (SELECT max(num) AS last FROM message UNION ALL SELECT max(num) FROM expunged UNION ALL SELECT max(thread) FROM reference UNION ALL SELECT max(num) FROM archive)',
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

export class Sequence {
  readonly #last = new Map<SequenceName, number>()

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

  /** The next number of that name, never given out before. */
  next(name: SequenceName): number {
    const number = (this.#last.get(name) ?? 0) + 1
    this.#last.set(name, number)
    return number
  }

  /** The first of so many numbers in a row. */
  block(name: SequenceName, count: number): number {
    const first = this.next(name)
    this.#last.set(name, first + count - 1)
    return first
  }

  /** A Message-ID: the same for the same `seed`, a new one where that is empty. */
  messageId(seed: string): string {
    return madeMessageId(this.#hostname, seed)
  }
}
